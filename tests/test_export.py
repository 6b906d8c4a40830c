"""What `xformer export` writes says what our own decoder says, token by token, in engines that know nothing of this library."""

import inspect
import json
import random
import re
from functools import cache
from pathlib import Path

import ctranslate2
import onnxruntime
import pytest
import tokenizers
import torch

from tests.ci import in_ci
from xformer_lib.cli import main
from xformer_lib.data.batching import pad_rows
from xformer_lib.data.corpora import load_corpus, normalise
from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.decoding import beam_search, greedy
from xformer_lib.engine import accelerate, quantize_int8
from xformer_lib.export import export_ctranslate2, export_model, export_onnx, export_torch
from xformer_lib.export.programs import ready_for_export
from xformer_lib.export.tokenizer import export_tokenizer
from xformer_lib.nn import Transformer, TransformerConfig
from xformer_lib.pretrained import FOLDER
from xformer_lib.training.checkpoint import load_model

ROOT = Path(__file__).parents[1]
FIT = "prefer_deferred_runtime_asserts_over_guards" in inspect.signature(torch.export.export).parameters
newer = pytest.mark.skipif(not FIT, reason="this torch cannot leave the sizes open that the programs need")
SIZES = dict(vocab_size=31, d_model=24, num_heads=4, d_ff=40, num_encoder_layers=1, num_decoder_layers=1, max_len=40)
KINDS = {
    "sinusoidal": {"num_kv_heads": 2},
    "learned": {"positions": "learned", "norm": "post"},
    "rotary": {"positions": "rotary", "norm": "post", "num_kv_heads": 1},
    "relative": {"positions": "relative", "max_offset": 2, "norm": "post", "num_kv_heads": 2, "num_decoder_layers": 2},
    "alibi": {"positions": "alibi", "num_kv_heads": 2},
    "none": {"positions": "none"},
}


@cache
def shipped(name):
    return load_model(FOLDER / name)


@cache
def sentences(name):
    """What people say every day, and 300 of the fragment."""
    of_french = name == "fr-en"
    typed = (ROOT / "benchmarks" / f"everyday{'-fr' * of_french}.txt").read_text(encoding="utf-8").splitlines()
    return typed + [pair[of_french] for pair in load_corpus("fragment", "val")[:300]]


def decode(name, engine):
    """Return greedy ids, and the best of beams of four, of all sentences: 64 in a batch, with padding."""
    model, tokenizer = shipped(name)
    rows = [[*tokenizer.encode(normalise(text)), 2] for text in sentences(name)]
    sources = [torch.from_numpy(pad_rows(rows[at : at + 64])) for at in range(0, len(rows), 64)]
    beams = [best[0].ids for source in sources for best in beam_search(model, source, engine=engine)]
    return [ids for source in sources for ids in greedy(model, source, engine=engine)], beams


@cache
def wanted(name):
    """`tests/engine` holds the fast decoder to the plain one, which takes eight times as long."""
    return decode(name, "fast")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The folder of a shipped model in a format, written by the command."""

    @cache
    def export(name, form):
        folder = tmp_path_factory.mktemp("exported") / "new" / form
        assert main(["export", name, "--format", form, "--out", str(folder)]) == 0
        return folder

    return export


def equal(some, others):
    assert len(some) == len(others) == 320
    return sum(one == other for one, other in zip(some, others))


def onnx_program(path):
    """The program as a function of tensors."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    return lambda *given: [torch.from_numpy(out) for out in session.run(None, dict(zip(names, (x.numpy() for x in given))))]


def torch_program(path):
    return torch.export.load(path).module()


class ProgramSteps:
    """Our searches over two exported programs: `engine.Steps`."""

    look_every = 1

    def __init__(self, encoder, step, source):
        self.step, self.source = step, source
        self.memory, *self.cross = encoder(source)
        self.kept = [part[:, :, :, :0] for part in self.cross]

    def next_logits(self, tokens):
        logits, *self.kept = self.step(tokens[:, -1:], self.source, *self.cross, *self.kept)
        return logits

    def keep(self, rows):
        self.source = self.source[rows]
        self.cross, self.kept = ([part[:, rows] for part in parts] for parts in (self.cross, self.kept))

    reorder = keep


# A program takes half a minute to make: each form with one of the two models, whose shapes are the same.
PROGRAMS_OF = in_ci([("onnx", "en-fr"), ("torch", "fr-en")], [("torch", "fr-en")])
PROGRAMS = {"onnx": (onnx_program, "onnx"), "torch": (torch_program, "pt2")}


@newer
@pytest.mark.parametrize("form, name", PROGRAMS_OF)
def test_programs_find_the_same_words(form, name, exported, monkeypatch):
    ours, (load, suffix) = wanted(name), PROGRAMS[form]
    programs = [load(exported(name, form) / f"{part}.{suffix}") for part in ("encoder", "step")]
    for search in ("greedy_search", "beam"):
        monkeypatch.setattr(f"xformer_lib.decoding.{search}.start_decoding", lambda model, source, engine: ProgramSteps(*programs, source))
    found = decode(name, "of another kind")
    assert [equal(*pair) for pair in zip(found, ours)] == [320, 320]


@pytest.mark.parametrize("name", ["en-fr", "fr-en"])
def test_ctranslate2_finds_the_same_words(name, exported):
    """With its own search: in beams it keeps finished sentences apart, and may find what ours has dropped, 1 of 640 here."""
    folder = exported(name, "ctranslate2")
    translator = ctranslate2.Translator(str(folder), compute_type="float32")
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))

    rows = [tokenizer.encode(text).tokens for text in sentences(name)]

    def found(**search):
        ids = {}
        for length in {len(row) for row in rows}:  # as the limit follows from the length
            alike = [number for number, row in enumerate(rows) if len(row) == length]
            search |= {"max_decoding_length": 2 * length + 10, "suppress_sequences": [["<pad>"], ["<bos>"]]}
            said = translator.translate_batch([rows[number] for number in alike], **search)
            ids |= {number: list(map(tokenizer.token_to_id, one.hypotheses[0])) for number, one in zip(alike, said)}
        return [ids[number] for number in range(len(rows))]

    greedy, beams = wanted(name)
    assert equal(found(beam_size=1), greedy) == 320
    assert equal(found(beam_size=4, patience=2), beams) >= 319


@newer
@pytest.mark.parametrize("form, name", [("ctranslate2", "en-fr"), *PROGRAMS_OF])
def test_the_lines_of_the_readme_translate(form, name, exported, monkeypatch, capsys):
    """As they stand in the exported folder, with another sentence: one that is to be made plain first."""
    folder = exported(name, form)
    monkeypatch.chdir(folder)
    (lines,) = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    text = "  Où  est l’ascenseur\u202f? " if name == "fr-en" else "  I’ve  lost\u00a0my keys. "
    model, tokenizer = shipped(name)
    ids = [*tokenizer.encode(normalise(text)), 2]
    capsys.readouterr()
    exec(lines.replace("Hello!", text), {})
    assert capsys.readouterr().out == tokenizer.decode(greedy(model, torch.tensor([ids]))[0]) + "\n"
    about = json.loads((folder / "export.json").read_text(encoding="utf-8"))
    assert about["format"] == form and (about["pad_id"], about["bos_id"], about["eos_id"], about["max_len"]) == (0, 1, 2, 256)
    assert about["opset"] == (18 if form == "onnx" else None)


def test_a_model_that_says_nothing_says_nothing_there(tmp_path, monkeypatch, capsys):
    """CTranslate2 would make it say a word, if it is not told otherwise."""
    _, tokenizer = shipped("en-fr")
    model = Transformer(TransformerConfig(**SIZES | {"vocab_size": tokenizer.vocab_size})).eval()
    with torch.no_grad():
        model.decoder.norm.weight.zero_()
        model.decoder.norm.bias.fill_(1.0)
        model.embedding.weight[tokenizer.eos_id] = 1.0
    assert greedy(model, torch.tensor([[5, 2]])) == [[]]
    monkeypatch.setattr("xformer_lib.export.folder.load_model", lambda folder: (model, tokenizer))
    export_model("any", "ctranslate2", tmp_path / "out")
    monkeypatch.chdir(tmp_path / "out")
    (lines,) = re.findall(r"```python\n(.*?)```", Path("README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(lines, {})
    assert capsys.readouterr().out == "\n"


@pytest.mark.parametrize("name", ["en-fr", "fr-en"])
def test_the_package_tokenizers_alone_gives_the_same_ids(name, tmp_path):
    """Of what people type, and of signs in any order; special pieces come out of no text, and decode to nothing."""
    ours = Tokenizer.load(FOLDER / name / "tokenizer.json")
    export_tokenizer(ours, tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    signs = "ab é\u0301\u0327Œ\u00a0\u202f\u2009\u2019\u2018\u201c\u201d \t\n\r\x0b\x1c\x1f\x85\u3000\u200b\ufeff.,!<pad>0你\u1100\u1161"
    draw = random.Random(3)
    texts = [*sentences(name), "<pad> l’<eos>", "", *("".join(draw.choices(signs, k=draw.randrange(1, 30))) for _ in range(2000))]
    for text, read in zip(texts, theirs.encode_batch(texts)):
        plain = normalise(text)
        assert read.ids == [*ours.encode(plain), 2], text
        assert theirs.decode([1, *read.ids]) == plain and theirs.decoder.decode(read.tokens) == plain


def tiny(kind):
    """A model whose norms and offsets are drawn, too."""
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(**SIZES | KINDS[kind])).eval()
    for value in model.parameters():
        if value.ndim == 1:
            torch.nn.init.normal_(value, 0.3, 0.5)
    return model


@newer
@pytest.mark.parametrize("kind", in_ci(["learned", "rotary", "relative", "alibi"], ["relative"]))
@pytest.mark.parametrize("form, export", [("onnx", export_onnx), ("torch", export_torch)])
def test_programs_compute_every_kind_of_model(form, export, kind, tmp_path):
    """All kinds but what the shipped models are.

    Batches of one and more, sources of one word and more, with padding: the first step, which has no words behind it, and the next.
    """
    (load, suffix), model = PROGRAMS[form], tiny(kind)
    export(model, tmp_path)
    encoder, step, *decoder = (load(tmp_path / f"{name}.{suffix}") for name in ("encoder", "step", "decoder")[: 3 if form == "onnx" else 2])
    for batch, source_len in ((1, 1), (1, 5), (3, 7)):
        source, target = torch.randint(3, 31, (batch, source_len)), torch.randint(3, 31, (batch, 6))
        source[1:, 4:] = 0
        logits = model(source, target)
        steps = ProgramSteps(encoder, step, source)
        found = [steps.next_logits(target[:, : n + 1]) for n in range(6)]
        torch.testing.assert_close(torch.stack(found, 1), logits, rtol=1e-4, atol=1e-4)
        for score in decoder:
            torch.testing.assert_close(score(target, steps.memory, source)[0], logits, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "alibi"])
def test_ctranslate2_computes_these_kinds(kind, tmp_path):
    model = tiny(kind)
    export_ctranslate2(model, tmp_path)
    translator = ctranslate2.Translator(str(tmp_path), compute_type="float32")
    source, target = torch.randint(4, 31, (3, 7)), torch.randint(4, 31, (3, 6))
    source[1, 4:] = 0
    words = [[str(number) for number in row if number] for row in source.tolist()]
    found = translator.score_batch(words, [list(map(str, row)) for row in target.tolist()])
    log_probs = model(source, torch.cat([torch.ones(3, 1, dtype=torch.long), target], dim=1)).log_softmax(-1)
    wanted = log_probs[:, :-1].take_along_dim(target[..., None], dim=2)[..., 0]
    torch.testing.assert_close(torch.tensor([one.log_probs[:6] for one in found]), wanted, rtol=1e-4, atol=1e-4)
    step = translator.translate_batch(words, beam_size=1, min_decoding_length=0, max_decoding_length=12, suppress_sequences=[["0"], ["1"]])
    assert [list(map(int, one.hypotheses[0])) for one in step] == greedy(model, source, max_len=12)


def test_a_fast_model_is_exported_as_its_plain_twin():
    model = tiny("rotary")
    ready, source = ready_for_export(accelerate(model).train()), torch.randint(3, 31, (3, 5))
    assert type(ready) is Transformer and not ready.training and not any(weight.requires_grad for weight in ready.parameters())
    torch.testing.assert_close(ready.encode(source), model.eval().encode(source))


def test_what_cannot_be_exported_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="^positions: expected .*, got alibi; .* take onnx or torch"):
        export_ctranslate2(tiny("alibi"), tmp_path)
    with pytest.raises(ValueError, match="^words: expected 31 different ones, got 31, 1 different; "):
        export_ctranslate2(tiny("none"), tmp_path, words=["a"] * 31)
    for other in (quantize_int8(tiny("none")), "en-fr"):
        with pytest.raises(ValueError, match="^model: expected a Transformer without hooks, .*load_model or load_pretrained"):
            export_onnx(other, tmp_path)
    watched = tiny("none")
    watched.encoder.register_forward_hook(print)
    with pytest.raises(ValueError, match="^model: expected a Transformer without hooks, "):
        export_ctranslate2(watched, tmp_path)
    with pytest.raises(ValueError, match='^format: expected "onnx", "ctranslate2" or "torch", got .onxx.; '):
        export_model(FOLDER / "en-fr", "onxx", tmp_path / "out")
    monkeypatch.setattr("xformer_lib.export.programs.signature", lambda _: inspect.Signature())
    with pytest.raises(ImportError, match="^torch: expected a newer one .*; pip install --upgrade torch$"):
        export_torch(tiny("none"), tmp_path)
    monkeypatch.setattr("xformer_lib._needs.is_missing", lambda package: package in ("onnxscript", "ctranslate2"))
    for export, package in ((export_onnx, "onnxscript"), (export_ctranslate2, "ctranslate2")):
        with pytest.raises(ImportError, match=f"^{package}: not installed here; pip install {package}$"):
            export(tiny("none"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_export_replaces_nothing_and_leaves_no_half(tmp_path, monkeypatch):
    (tmp_path / "mine").write_text("text")
    for place, words in ((tmp_path, "holds mine"), (tmp_path / "mine", "is a file")):
        with pytest.raises(FileExistsError, match=f"^out: expected a new folder or an empty one, .*{words}; name another"):
            export_model(FOLDER / "en-fr", "ctranslate2", place)
    monkeypatch.setattr("xformer_lib.export.folder.export_tokenizer", None)
    (tmp_path / "out").mkdir()
    with pytest.raises(TypeError):
        export_model(FOLDER / "en-fr", "ctranslate2", tmp_path / "out")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["mine", "out"]
    monkeypatch.undo()
    export_model(FOLDER / "en-fr", "ctranslate2", tmp_path / "out")
    assert (tmp_path / "out" / "model.bin").exists()
