"""The model in the page against the model in PyTorch: the same pieces, words, logits and weights."""

import base64

import numpy as np
import pytest
import torch

from tests.book.browser import browse
from tests.ci import in_ci
from tests.explorables import live_model as live
from tests.explorables.gestures import press
from xformer_course.explorables import translator as figure
from xformer_course.explorables.translator import HEAD, LAYER, LOOKS, NEXT, SOURCE, SOURCE_IDS, WRITTEN
from xformer_lib import load_pretrained
from xformer_lib.data import Tokenizer, normalise
from xformer_lib.decoding import beam_search, greedy
from xformer_lib.inspection import attention_maps

browser = pytest.mark.browser
TEXTS = live.any_texts(200, seed=3)
WHOLE = {  # translated in the page: fifty and twenty, or a few of them
    "en-fr": in_ci(live.SENTENCES, live.SENTENCES[::7]),
    "fr-en": in_ci(live.EVERYDAY["fr-en"], live.EVERYDAY["fr-en"][::7]),
}
CLOSELY = [
    *(("en-fr", text) for text in ("She lives in Lyon.", "I will be there in five minutes 🙂.", live.SENTENCES[13], "日本語")),
    *(("fr-en", text) for text in (live.EVERYDAY["fr-en"][4], "Où est-il ? 🙂")),
]

LOOSE = ["\u2018a\u2019 \u201cb\u201d", "\u3000 a\x1c\x1d\x1e\x1f\x85b\u200bc\u2028\n", "I don\u2019t know. ", " \xa0\u202f"]

TRANSLATE = """
const { tokenizer, model, search } = engine;
return value.map((text) => {
  const source = [...tokenizer.encode(text), 2], encoded = model.encode(source);
  return { source, greedy: search.finish(search.greedy(model, encoded)).ids,
    beam: search.finish(search.beam(model, encoded)).map(({ ids, logProb, score }) => [ids, logProb, score]) };
});"""
LOOK = """
const { tokenizer, model, search } = engine;
const text64 = (rows) => { const all = new Float32Array(rows.reduce((n, row) => n + row.length, 0));
  rows.reduce((at, row) => { all.set(row, at); return at + row.length; }, 0);
  return btoa(new Uint8Array(all.buffer).reduce((s, b) => s + String.fromCharCode(b), "")); };
const encoded = model.encode([...tokenizer.encode(value), 2]), { ids, states } = search.finish(search.greedy(model, encoded));
return { ids, logits: text64(states.map((one) => one.logits)), encoder: encoded.weights.map(text64),
  decoder: [0, 1, 2].map((n) => text64(states.map((one) => one.self[n]))), cross: [0, 1, 2].map((n) => text64(states.map((one) => one.cross[n]))) };"""


def numbers(text):
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page of the figure with the model's files beside it."""
    return live.write_book(tmp_path_factory.mktemp("book"))


@pytest.fixture(scope="module")
def answers(chromium, page):
    """All that the page says, from one visit."""

    async def work(tab):
        await tab.visit(page.as_uri())
        found = {"before": [request.url for request in tab.requests if "translator/" in request.url]}
        found["first"] = await live.click_and_wait(tab)
        found["ids"] = await live.ask(tab, "return value.map((text) => engine.tokenizer.encode(text));", TEXTS)
        found["plain"] = await live.ask(tab, "return value.map((text) => engine.tokenizer.plain(text).normalize('NFC'));", [*TEXTS, *LOOSE])
        lists = [list(map(int, row)) for row in RANDOM_IDS]
        found["decoded"] = await live.ask(tab, "return value.map((ids) => engine.tokenizer.decode(ids));", lists)
        found["pieces"] = await live.ask(tab, "return engine.tokenizer.pieces(Array.from({ length: 8000 }, (_, id) => id));", 0)
        found["half"] = await live.ask(tab, "try { return engine.tokenizer.encode('a\\ud83d'); } catch (e) { return e.message; }", 0)
        found["translations"], found["close"] = {}, []
        for way, texts in WHOLE.items():
            if way == "fr-en":
                await press(tab, "French → English")
                found["french"] = await live.click_and_wait(tab, way=1)
            found["translations"][way] = [
                one for start in range(0, len(texts), 5) for one in await live.ask(tab, TRANSLATE, texts[start : start + 5])
            ]
            found["close"] += [await live.ask(tab, LOOK, text) for name, text in CLOSELY if name == way]
        return {**found, "complaints": tab.complaints}

    return browse(chromium, work)


RANDOM_IDS = np.random.default_rng(7).integers(0, 500, (101, 13))


@pytest.fixture(scope="module")
def pytorch():
    """Model and tokenizer of each direction."""
    return {name: (one.model.eval(), one.tokenizer) for name in WHOLE for one in [load_pretrained(name)]}


@browser
def test_a_click_leads_to_a_translation_from_a_folder(answers):
    assert answers["first"]["translation"] == "Je suis ingénieur."
    assert answers["before"] == [], "nothing of the model is loaded before the click"
    assert answers["french"]["translation"] == "Where's the station?"
    assert answers["complaints"] == []


@browser
def test_the_same_pieces_for_any_text(answers, pytorch):
    _, tokenizer = pytorch["en-fr"]
    assert answers["ids"] == tokenizer.encode_batch(TEXTS)
    assert answers["plain"] == [normalise(text) for text in [*TEXTS, *LOOSE]]
    assert answers["decoded"] == [tokenizer.decode(ids) for ids in RANDOM_IDS]
    assert answers["pieces"] == tokenizer.pieces(range(8000))
    assert "half of a surrogate pair" in answers["half"]


@browser
@pytest.mark.parametrize("way", WHOLE)
def test_the_same_words_as_pytorch(answers, pytorch, way):
    """Greedily, and every hypothesis of a beam of four with its log probability and score."""
    model, tokenizer = pytorch[way]
    assert len(live.SENTENCES) == 50
    for text, found in zip(WHOLE[way], answers["translations"][way], strict=True):
        source = torch.tensor([[*tokenizer.encode(text), 2]])
        assert found["source"] == source[0].tolist()
        written = [*greedy(model, source)[0], 2]
        assert found["greedy"] in (written, written[:-1]), text
        assert len(found["greedy"]) == len(written) or len(found["greedy"]) == 2 * source.shape[1] + 10
        best = beam_search(model, source)[0]
        assert [[one for one in ids if one != 2] for ids, _, _ in found["beam"]] == [one.ids for one in best], text
        scores = [[log_prob, score] for _, log_prob, score in found["beam"]]
        np.testing.assert_allclose(scores, [[one.log_prob, one.score] for one in best], atol=1e-4)


@browser
@pytest.mark.parametrize("number", range(len(CLOSELY)))
def test_logits_and_every_head_are_pytorchs(answers, pytorch, number):
    (way, text), found = CLOSELY[number], answers["close"][number]
    model, tokenizer = pytorch[way]
    source, read = ([*tokenizer.encode(text), 2], [1, *found["ids"][:-1]])
    with torch.inference_mode():
        logits = model(torch.tensor([source]), torch.tensor([read]))[0].numpy()
    s, t = len(source), len(read)
    ours = numbers(found["logits"]).reshape(t, 8000)
    np.testing.assert_allclose(ours[:, 2:], logits[:, 2:], atol=1e-4)
    assert np.isneginf(ours[:, :2]).all()
    maps = attention_maps(model, tokenizer, text, found["ids"][:-1])
    for layer in range(3):
        encoder, cross = (numbers(found[part][layer]).reshape(-1, 4, s).swapaxes(0, 1) for part in ("encoder", "cross"))
        np.testing.assert_allclose(encoder, maps.encoder[layer], atol=1e-4)
        np.testing.assert_allclose(cross, maps.cross[layer], atol=1e-4)
        flat, decoder = numbers(found["decoder"][layer]), np.zeros((4, t, t))
        for i, start in enumerate(4 * np.cumsum(range(t))):
            decoder[:, i, : i + 1] = flat[start : start + 4 * (i + 1)].reshape(4, i + 1)
        np.testing.assert_allclose(decoder, maps.decoder[layer], atol=1e-4)


def test_the_stored_picture_is_the_models(pytorch):
    """What stands there without a script: pieces, probabilities in percent, one head's weights in hundredths."""
    model, tokenizer = pytorch["en-fr"]
    text = figure().data["ways"][0]["examples"][0]
    source = [*tokenizer.encode(text), 2]
    assert (tuple(tokenizer.pieces(source)), tuple(source)) == (SOURCE, SOURCE_IDS)
    ids = [*greedy(model, torch.tensor([source]))[0], 2]
    assert tuple(tokenizer.pieces(ids)) == WRITTEN
    with torch.inference_mode():
        likely = model(torch.tensor([source]), torch.tensor([[1, *ids[:-1]]]))[0, :, 2:].softmax(-1).topk(3)
    for row, values, places in zip(NEXT, likely.values.tolist(), (likely.indices + 2).tolist(), strict=True):
        assert [piece for piece, _ in row] == tokenizer.pieces(places)
        np.testing.assert_allclose([share for _, share in row], 100 * np.array(values), atol=0.051)
    np.testing.assert_allclose(
        np.array(LOOKS) / 100, attention_maps(model, tokenizer, text, ids[:-1]).cross[LAYER - 1, HEAD - 1], atol=0.0051
    )


@pytest.mark.parametrize("name", WHOLE)
def test_the_scripts_carry_every_byte(tmp_path, name):
    """Written as strings of one byte a character, and read again, the files are what they were; at most 16 MB."""
    writer = live.writer()
    model = writer.MODELS / name
    assert writer.write_files(tmp_path, model) == sum(path.stat().st_size for path in tmp_path.iterdir()) <= 16_000_000
    data = b""
    for path in sorted(tmp_path.glob("part-*.js")):
        text = path.read_bytes().removeprefix(b'receiveFile("').removesuffix(b'");\n')
        assert not set(b"\r\n\0") & set(text)
        data += text.decode("latin-1").encode("latin-1").decode("unicode_escape").encode("latin-1")
    assert data == b"".join((model / file).read_bytes() for file in writer.NAMES)
    assert Tokenizer.load(model / "tokenizer.json").vocab_size == 8000


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="got no config.json; restore it"):
        live.writer().write_files(tmp_path / "out", tmp_path)
