"""Pictures: their numbers are those of the arrays, and what every one of them keeps."""

import re
from html import unescape

import numpy as np
import pytest

from tests.book.browser import browse
from tests.explorables.test_every import AUDIT
from xformer_course import pictures
from xformer_course.pictures.colours import DARK, LIGHT
from xformer_course.pictures.drawing import number
from xformer_lib.reference.attention import scaled_dot_product_attention

WORDS = ["The", "big", "yellow", "cat"]
KEYS = np.array([[0.0, 0], [2, 0], [2, 1], [0, 3]])
VALUES = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
QUERIES = {"The": [0, 1], "cat": [1, 0]}
LOOKS = {
    "tired": [{"animal": 0.9, "it": 0.1}, {"animal": 0.25, "it": 0.75}],
    "wide": [{"animal": 0.2, "it": 0.8}, {"animal": 0.6, "it": 0.4}],
}


def by_hand(keys=KEYS, values=VALUES):
    names = {"key_names": ["describes", "names"], "value_names": ["size", "colour", "animal"]}
    return pictures.attention_by_hand(WORDS, keys, values, QUERIES, first="cat", **names)


def reading(looks=LOOKS):
    lines = [["The", "animal", "rests"], ["it", "is"]]
    return pictures.reading(lines, "it", looks, title="What it means", sentences=["?", "It reads {best}.", "Now {best}, as it is {last}."])


def lanes(vector=(2.0, 4, 4, 6), reads="river"):
    return pictures.lanes("The bank by the river was steep".split(), "bank", np.array(vector), reads=reads)


def translating(weights=((0.7, 0.2, 0.1), (0.1, 0.8, 0.1), (0.05, 0.05, 0.9))):
    best = [[("Je", 0.91), ("Tu", 0.04)], [("dors", 0.83)], [("<eos>", 0.99)]]
    return pictures.translating(["I", "sleep", "<eos>"], ["Je", "dors", "<eos>"], np.array(weights), np.arange(24.0).reshape(3, 8), best)


def machine(d_model=20):
    words = "I am an engineer <eos>".split(), "<bos> Je suis ingénieur".split()
    return pictures.machine(*words, d_model=d_model, num_heads=4, d_ff=48, vocab_size=23)


def masked(scale=1.0):
    return pictures.masked(WORDS, scale * np.array([[0, 0, 0.7, 2.1]] * 3 + [[0, 1.4, 1.4, 0]]), np.tri(4, dtype=bool))


X = np.array([[1.0, 0, 0, 0, 0, 0], [0, 1, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]])
COLUMNS = ["article", "adjective", "noun", "size", "colour", "animal"]
TO = ["size", "colour", "animal", "article", "adjective", "animal"]
W_O = np.array([[float(name == column) for column in COLUMNS] for name in TO])
NAMES = [TO[:3], TO[3:]]


def two_heads(scale=4.0):
    """Head 1 of the course, and a head in which the noun asks for its article."""
    w_q, w_k, w_v = np.zeros((3, 6, 3))
    w_q[[0, 1, 2], [1, 1, 0]], w_k[[1, 2, 4], [0, 1, 1]], w_v[[3, 4, 5], [0, 1, 2]] = 1, [2, 3, 1], 1
    other_q, other_k, other_v = np.zeros((3, 6, 3))
    other_q[[0, 1, 2], [0, 0, 1]], other_k[[0, 4], [1, 0]], other_v[[0, 1, 5], [0, 1, 2]] = 1, scale, 1
    return [(w_q[:, :2], w_k[:, :2], w_v), (other_q[:, :2], other_k[:, :2], other_v)]


def projections(scale=4.0):
    means = {role: ["It says what it says."] * 4 for role in ("query", "key", "value")}
    return pictures.projections(WORDS, X, two_heads(scale)[1], properties=COLUMNS, means=means, first="cat")


def blocks(scale=4.0):
    return pictures.blocks(WORDS, X, two_heads(scale)[1])


def merging(chien=7):
    return pictures.merging({"chat": 9, "chats": 6, "chaton": 3, "chien": chien}, 3)


def heads(scale=4.0):
    questions = [["which is the noun?"] * 3 + ["which words describe me?"], ["which gives a colour?"] * 3 + ["which is my article?"]]
    return pictures.heads(WORDS, X, two_heads(scale), questions=questions, value_names=NAMES, first="cat")


def joining(answers=((0.4, 0.4, 0.1), (0.85, 0.1, 0.05))):
    return pictures.joining([np.array(answer) for answer in answers], NAMES, COLUMNS, W_O)


def all_in_one(scale=4.0):
    return pictures.all_in_one(WORDS, X, two_heads(scale), W_O, columns=COLUMNS, value_names=NAMES, sections=["a", "b", "c", "d", "e"])


def shuffled(positions=((0, 0, 0), (1, -1, 0), (2, -2, 0)), layer=lambda x: 1.3 * x - x.mean(axis=0)):
    rows = np.array([[0.3, -1.2, 0.5], [1.1, 0.4, -0.6], [-0.7, 0.8, 1.9]])
    return pictures.shuffled(["dog", "bites", "man"], rows, layer, [2, 0, 1], positions=positions)


def clocks(speeds=(np.pi / 2, np.pi / 4, np.pi / 8)):
    return pictures.clocks(speeds, ["fast", "middle", "slow"])


def blending(facts=((2.0, 5), (6, 1), (4, 3))):
    return pictures.blending(["cat", "dog", "hen"], np.array(facts), ["size", "colour"])


def then_and_now(num_kv_heads=2):
    sections = dict.fromkeys(("norm", "rotary", "qk-norm", "grouped", "gate"), "here")
    sizes = {"d_model": 512, "num_heads": 8, "d_ff": 2048, "gated_d_ff": 1365}
    return pictures.then_and_now(**sizes, num_kv_heads=num_kv_heads, sections=sections)


def caching(values=(10.0, 20, 30, 40)):
    numbers = np.full(4, np.log(2)), np.array([0.0, 1, 1, 0]), np.array(values)
    return pictures.caching(["<bos>", "Je", "suis", "ingénieur"], *numbers)


def drawers(scores=(0.27, 0.0, 0.0), temperatures=(1.0, 0.3, 0.1)):
    values = np.array([[2.35, 48.86], [-0.13, 51.51], [13.40, 52.52]])
    more = {} if scores is None else {"scores": np.array(scores), "values": values, "temperatures": temperatures}
    return pictures.drawers(["France", "UK", "Germany"], ["Paris", "London", "Berlin"], "French Republic", **more)


def chain(keep=0.5):
    return pictures.chain(["hearing", "is", "now", "scheduled", "on"], added=2, keep=keep)


def added(answer=(0, 0, 0, 0.4, 0.4, 0.1)):
    return pictures.added(COLUMNS, "cat", X[3], np.array(answer))


def cross_reading(weights=((0.9, 0.06, 0.04), (0.2, 0.7, 0.1))):
    return pictures.cross_reading(["Le", "chat"], ["The", "cat", "sleeps"], np.array(weights))


def flipping(w_2=(-2.0, 2)):
    inputs, w_1 = np.array([[0.0, 1], [0, -1], [1, 1], [1, -1]]), np.array([[1.0, 1], [1, -1]])
    return pictures.flipping(["good", "bad", "not good", "not bad"], inputs, w_1, np.array([-1.0, -1]), np.array(w_2))


def norming(first=(2.0, 4, 4, 6)):
    return pictures.norming(np.array([first, (20, 40, 40, 60), (6, 4, 4, 2)]))


def likeness(most=1.0):
    maps = np.stack([(1 - share) * np.eye(7) + share for share in (0.0, most / 2, most)])
    return pictures.likeness([0, 3, 6], maps, maps / 2, np.array([[0, most / 2, most], [0, most / 4, most / 2]]))


def poking(closed=0, share=0.25):
    mask = np.ones((4, 4), dtype=bool)
    mask[4 - closed :] = np.eye(4, dtype=bool)[4 - closed :]
    kinds = {"alone": np.eye(4, dtype=bool), "all": mask, "from there on": np.triu(mask)}
    return pictures.poking(WORDS, kinds, first=1, bars={name: {"loss": share, "right": 1 - share} for name in kinds})


def tying(at=2):
    matrix = np.arange(24.0).reshape(4, 6) % 5
    return pictures.tying([(0, "a"), (1, "b"), (3, "c")], matrix, np.eye(6)[at], source=1, target=3)


ALL = {
    "added": added, "cross-reading": cross_reading,
    "flipping": flipping, "norming": norming, "likeness": likeness, "poking": poking, "tying": tying,
    "by-hand": by_hand, "reading": reading, "lanes": lanes, "translating": translating, "machine": machine,
    "masked": masked, "projections": projections, "blocks": blocks, "merging": merging,
    "heads": heads, "joining": joining, "all-in-one": all_in_one, "shuffled": shuffled, "clocks": clocks, "blending": blending,
    "then-and-now": then_and_now, "caching": caching,
    "chain": chain, "drawers": drawers, "exact-drawers": lambda: drawers(scores=None),
}  # fmt: skip
each = pytest.mark.parametrize("make", ALL.values(), ids=ALL)


def shown(svg):
    """The texts of a picture."""
    return [unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


@pytest.mark.parametrize("seed", range(3))
def test_attention_by_hand_shows_the_numbers_of_its_arrays(seed):
    rng = np.random.default_rng(seed)
    keys, values = rng.integers(-3, 4, size=(4, 2)) + 0.25, rng.normal(size=(4, 3))
    texts = shown(by_hand(keys, values).svg)
    for query in QUERIES.values():
        output, weights = scaled_dot_product_attention(np.array([query], float), keys, values)
        wanted = [*(keys @ query), *(keys @ query / 2**0.5), *weights[0], *output[0], *(weights[0][:, None] * values).ravel()]
        assert {number(value) for value in wanted} <= set(texts)


def test_the_other_pictures_show_theirs():
    assert {".90", ".25", ".75"} & set(shown(reading().svg)) == {".90", ".25"}, "a word that reads itself has no ray"
    assert {".40", "1.10", "1"} <= set(shown(added().svg)) and "1.55" in shown(added((0, 0, 0, 0, 0, 0.55)).svg)
    assert "chat → cat .70" in shown(cross_reading().svg) and "chat → The .80" in shown(cross_reading(((1, 0, 0), (0.8, 0.1, 0.1))).svg)
    assert "bank: (−1.34, −.45, .45, 1.34)" in shown(lanes((1, 2, 3, 4)).svg)
    thick = [re.search(r'<path d="(M[\d.]+)[^>]*s-weight[^>]*stroke-width="5"', lanes(reads=word).svg) for word in ("river", "by", None)]
    assert thick[0][1] != thick[1][1] and thick[2] is None, "the line that is thick begins at the word that is read"
    assert "norm, Z: 5 × 28" in shown(machine(28).svg) and "(5, 28)" in machine(28).steps[2]
    travels = {step: svg.count('height="18"') for step, svg in re.findall(r'<g data-step="(\d+)"(.*?)</g>', machine().svg)}
    assert travels["2"] == travels["5"] == 5 and travels["7"] == 4, "a strip for each word on its way"
    texts = shown(translating().svg)
    assert {".70", ".80", ".90", ".91", ".83", ".99", "Tu", "dors"} <= set(texts)


def test_the_layer_of_today_keeps_what_its_heads_leave():
    for heads in (1, 2, 4):
        picture = then_and_now(heads)
        assert f"{2 * 64 * heads:,} numbers in the cache instead of 1,024" in picture.steps[4]
        assert picture.svg.count('class="f-key s-key"') == 8 + heads


def test_blocks_have_the_shapes_and_the_depths_of_their_matrices():
    assert {"4 × 6", "6 × 2", "6 × 3", "4 × 2", "2 × 4", "4 × 4", "4 × 3", "÷ √2"} <= set(shown(blocks().svg))
    strengths = [re.findall(r'class="f-weight"[^>]*fill-opacity="([^"]+)"', blocks(scale).svg) for scale in (0.0, 4.0)]
    assert strengths[0] != strengths[1] and len(strengths[1]) == 2 * 4 * 4  # the weights stand there twice
    assert len(set(strengths[0])) == 1  # without keys, all weights are a quarter


def test_a_merge_takes_the_most_frequent_pair():
    assert {"c·h: 25 times", "ch·a: 18 times", "cha·t: 18 times", "chat", "ch"} <= set(shown(merging().svg))
    assert "<b>ch·i</b> occurs 30 times" in merging(30).steps[2] and "and no pair" in merging().steps[2]
    assert "aa·a" in pictures.merging({"aaa": 2}, 1).description


def test_a_picture_opens_where_the_page_says():
    picture = norming()
    assert 'data-opens="1"' in picture._repr_html_() and 'data-opens="4"' in picture.at(4)._repr_html_()
    assert picture.at(4).svg == picture.svg
    with pytest.raises(ValueError, match="^step: expected 1 to 4, got 5; "):
        picture.at(5)


def test_a_cache_changes_what_is_made_and_not_what_is_read():
    picture = caching()
    assert {"Je reads 16.67", "suis reads 22", "4", "10"} <= set(shown(picture.svg))
    assert picture.steps[2].count("It reads 22.") == 2 and "<b>&lt;bos&gt;</b>" in picture.steps[0]
    assert "suis reads 24" in shown(caching((10, 20, 35, 40)).svg)


def test_the_map_has_the_shapes_of_a_model():
    """What the map says at each station is what hooks find in a real pass."""
    torch = pytest.importorskip("torch")
    from xformer_lib.inspection import record_attention
    from xformer_lib.nn import Transformer, TransformerConfig

    sizes = {"d_model": 20, "num_heads": 4, "d_ff": 48, "vocab_size": 23}
    model = Transformer(TransformerConfig(**sizes, num_encoder_layers=3, num_decoder_layers=3)).eval()
    source, target_in = torch.arange(3, 8)[None], torch.arange(8, 12)[None]
    with torch.no_grad(), record_attention(model) as maps:
        logits, memory = model(source, target_in), model.encode(source)
    told = dict(
        zip(
            ("source", "embedding", "self", "forward", "memory", "target", "embedded", "masked", "cross", "inner", "logits"),
            machine().steps,
        )
    )
    for station, tensor in (
        ("source", source), ("memory", memory), ("target", target_in), ("logits", logits),
        ("self", maps["encoder.layers.0.self_attention"]), ("masked", maps["decoder.layers.0.self_attention"]),
        ("cross", maps["decoder.layers.0.cross_attention"]),
    ):  # fmt: skip
        shape = ", ".join(map(str, tensor.shape[1:])) + "," * (tensor.dim() == 2)
        assert f"({shape})" in told[station], station


def test_bows_join_the_rows_that_are_equal():
    alone, placed = shuffled(positions=None), shuffled()
    assert "the same rows, moved" in shown(alone.svg) and "other rows" in shown(placed.svg)
    bows = [
        picture.svg.count('r="3.5"') for picture in (alone, placed, shuffled(positions=None, layer=lambda x: x * np.array([[1], [2], [3]])))
    ]
    assert bows == [6, 6, 3], "three at the left, and one for each row that comes back: in the only state, in one of two, in none"


def test_what_one_number_gains_the_other_loses():
    texts = shown(blending().svg)
    assert {"off by 0 + 4", "off by 1 + 3", "off by 2 + 2", "off by 3 + 1", "off by 4 + 0"} <= set(texts)
    assert "number a <b>hen</b>" in blending().steps[2] and "hen" not in blending(((2, 5), (6, 1), (3, 3))).steps[2]


def test_a_drawer_opens_by_its_weight():
    def opened(picture):
        return [float(wide) / 148 for wide in re.findall(r'<rect x="118"[^>]* width="([\d.]+)"', picture.svg)]

    for scores, temperature in (((0.27, 0, 0), 1.0), ((3, 1, 2), 1.0), ((0.27, 0, 0), 0.3)):
        exponentials = np.exp(np.array(scores) / temperature)
        assert np.allclose(opened(drawers(scores, (temperature,))), exponentials / exponentials.sum(), atol=1e-3)
    assert opened(drawers(None)) == [1.0]


def test_along_a_chain_a_word_fades():
    assert ["1", "1/2", "1/4", "1/8", "1/16"] == [text for text in dict.fromkeys(shown(chain().svg)) if text[0] == "1"]
    assert {"2/3", "4/9", "8/27", "16/81"} <= set(shown(chain(2 / 3).svg))


def test_below_the_hands_stand_their_sines_and_cosines():
    for speeds in ((np.pi / 2, np.pi / 4), (1.0, 0.3, 0.1)):
        angles = np.arange(4)[:, None] * speeds
        picture = pictures.clocks(speeds, ["fast", "middle", "slow"][: len(speeds)])
        assert {number(value) for value in [*np.sin(angles).ravel(), *np.cos(angles).ravel()]} <= set(shown(picture.svg))


@pytest.mark.parametrize("scale", [2.0, 4.0])
def test_several_heads_show_the_numbers_of_theirs(scale):
    answers = [scaled_dot_product_attention(*(X @ w for w in head)) for head in two_heads(scale)]
    joined = np.concatenate([output for output, _ in answers], axis=1)
    wanted = {number(value) for output, weights in answers for value in [*weights.ravel(), *output.ravel()]}
    assert wanted <= set(shown(heads(scale).svg))
    left_empty = {"0"}  # in the grids of all in one
    assert (wanted | {number(value) for value in (joined @ W_O).ravel()}) - left_empty <= set(shown(all_in_one(scale).svg))
    one, two = joined[3, :3], joined[3, 3:]
    both = {number(value) for value in [*(joined[3] @ W_O), one[2], two[2]]}
    assert both <= set(shown(joining((one, two)).svg))


@pytest.mark.parametrize("scale", [1.0, -2.0])
def test_a_mask_leaves_the_weights_of_the_beginnings(scale):
    scores = scale * np.array([0, 1.4, 1.4, 0])
    weights = np.exp(scores) / np.exp(scores).sum()
    texts = shown(masked(scale).svg)
    assert {number(weight) for weight in weights} <= set(texts) and texts.count("−∞") == 6
    assert masked(scale).svg.count("<path") == 6, "each of the hidden cells is hatched"


def test_a_word_becomes_the_sums_of_the_rows_that_it_picks():
    sums = {number(value) for matrix in two_heads(3.5)[1] for value in (X @ matrix).ravel()}
    assert sums <= set(shown(projections(3.5).svg)) and "3.50" in sums


@pytest.mark.parametrize("w_2", [(-2.0, 2), (-3.0, 4)])
def test_a_net_flips_what_no_number_flips(w_2):
    texts = shown(flipping(w_2).svg)
    assert [text.split(" = ")[-1] for text in texts if "·" in text] == [number(value) for value in (1, -1, 1 + w_2[0], -1 + w_2[1])]
    assert texts.count("✓") == 2 and texts.count("×") == 8, "of five numbers two flip one word each, and none flips both"


@pytest.mark.parametrize("word", [(2.0, 4, 4, 6), (1.0, 2, 3, 5)])
def test_a_norm_takes_rows_or_columns(word):
    table = np.array([word, (20, 40, 40, 60), (6, 4, 4, 2)])
    texts = shown(norming(word).svg)
    for axis in (0, 1):
        normed = (table - table.mean(axis=axis, keepdims=True)) / table.std(axis=axis, keepdims=True)
        assert {number(value) for value in normed.ravel()} <= set(texts)
    assert {f"÷ {number(scale * table[0].std())}" for scale in (1, 2)} <= set(texts)


def test_likeness_tells_its_means():
    assert "mean 1.000" in shown(likeness().svg) and {"mean .800", "mean .200"} <= set(shown(likeness(0.8).svg))
    assert "layers the cosine is .400" in likeness(0.8).steps[2]


def test_a_poked_word_moves_what_the_square_says():
    told = [re.findall(r">([^<]*: |[^<>]*)</span>|</b>([^<]*)<", step) for step in (poking(0).steps[1], poking(1).steps[1])]
    assert "a word moves its own output and those after it" in str(told[0]) and "cat moves only its own output" in str(told[1])
    assert shown(poking(0).svg).count("moves") == 4 + 16 + 10 and shown(poking(1).svg).count("moves") == 4 + 13 + 10
    assert {".40", ".60", "one scale for all"} <= set(shown(poking(0, 0.4).svg))


@pytest.mark.parametrize(("share", "end"), [(0.25, 1.0), (2.5, 2.5)])
def test_all_bars_have_one_scale(share, end):
    svg = poking(0, share).svg
    longs = [float(long) for long in re.findall(r'<rect x="190"[^>]* width="([\d.]+)"[^>]*class="f-ink"', svg)]
    assert np.allclose(longs[0], 150 * share / end, atol=0.01) and number(end) in shown(svg)


@pytest.mark.parametrize("at", [0, 2])
def test_a_vector_is_compared_with_every_row(at):
    logits = np.arange(24.0).reshape(4, 6)[:, at] % 5
    shares = np.exp(logits) / np.exp(logits).sum()
    assert {number(share) for share in shares[[0, 1, 3]]} <= set(shown(tying(at).svg))


def test_a_ray_is_as_thick_as_its_weight():
    def thickest(picture):
        return max(float(found) for found in re.findall(r'stroke-width="([\d.]+)"', picture.svg))

    assert thickest(translating(np.eye(3))) > 1.5 * thickest(translating(np.full((3, 3), 1 / 3)))


@each
def test_what_every_picture_keeps(make):
    picture = make()
    html = picture._repr_html_()
    assert html == make()._repr_html_() and "http" not in html and len(html.encode()) < 80_000
    assert picture.title and picture.description and picture.description.split()[0] in picture.svg
    for element in re.findall(r"<[a-z][^>]*>", picture.svg):
        names = re.findall(r"([\w-]+)=", re.sub(r'"[^"]*"', '""', element))
        assert len(names) == len(set(names)), f"an attribute twice: {element}"
    steps = [int(part) for part in re.findall(r'data-step="(\d+)"', picture.svg)]
    assert steps and max(steps) <= len(picture.steps)
    states = set(re.findall(r'data-state="(\w+:\w+)"', html))
    pressed = {wish for wishes in re.findall(r'data-press="([^"]+)"', html) for wish in wishes.split()}
    assert {part.split(":")[1] for part in pressed if part.startswith("step")} <= {str(n + 1) for n in range(len(picture.steps))}
    assert states <= pressed, "what is shown for a state can be chosen"
    assert {f"{group}:{value}" for group, value in picture.chosen.items()} <= pressed


def test_colours_can_be_read():
    def light(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        return sum(a * (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4) for a, p in zip((0.2126, 0.7152, 0.0722), parts))

    def contrast(one, other):
        low, high = sorted((light(one), light(other)))
        return (high + 0.05) / (low + 0.05)

    def thinned(colour, paper, strength):
        parts = (round(strength * int(colour[at : at + 2], 16) + (1 - strength) * int(paper[at : at + 2], 16)) for at in (1, 3, 5))
        return "#" + "".join(f"{part:02x}" for part in parts)

    for table in (LIGHT, DARK):
        for role in set(table) - {"paper", "soft", "line"}:
            assert contrast(table[role], table["paper"]) >= 4.5, role
            if role not in ("ink", "quiet"):
                assert contrast(table["ink"], thinned(table[role], table["paper"], 0.55)) >= 4.0, role
        assert min(contrast(table[role], table["soft"]) for role in ("ink", "quiet", "weight")) >= 4.5


PAGE = """<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8"><title>One picture</title>
<meta name="viewport" content="width=device-width"><body style="margin:8px;background:{ground}">{picture}</body></html>"""
STATE = "document.querySelector('figure.xp').picture"
SEEN = """[...document.querySelectorAll('figure.xp svg [data-step], figure.xp svg [data-state], figure.xp svg text')]
.filter((part) => part.getClientRects().length && getComputedStyle(part).display !== 'none').length"""


@pytest.mark.browser
@each
def test_steps_presses_and_room_in_a_browser(chromium, tmp_path, make):
    """By day on a desk, by night on a phone, at every step and in every state; by keyboard; printed; without scripts."""
    picture = make()
    pressed = sorted(set(re.findall(r'data-press="(\w+):(\w+)"', picture.svg)))
    audit = AUDIT.replace("figure.xf", "figure.xp").replace("contrast < 4.5 &&", "!svg && contrast < 4.5 &&")
    audit = audit.replace("const found = [];", 'const found = [], ignored = "xf-scroll";').replace("[role=status]", ".xp-steps[aria-live]")

    async def work(tab):
        problems = {}
        for width, theme, ground in ((1000, "light", "#fff"), (360, "dark", "#14181e")):
            path = tmp_path / f"{theme}.html"
            path.write_text(PAGE.format(theme=theme, ground=ground, picture=picture._repr_html_()), encoding="utf-8")
            await tab.screen(width, 900, dark=theme == "dark")
            await tab.visit(path.as_uri())
            for group, value in [pair for pair in pressed if pair[0] != "step"] or [("", "")]:
                if group:
                    await tab.evaluate(f"(() => {{ const p = {STATE}; p.chosen['{group}'] = '{value}'; p.show(); }})()")
                for step in range(1, len(picture.steps) + 1):
                    await tab.evaluate(f"{STATE}.go({step})")
                    if found := await tab.evaluate(audit):
                        problems[width, theme, group, value, step] = found
        await tab.evaluate(f"{STATE}.go(1)")
        few = await tab.evaluate(SEEN)
        await tab.evaluate("document.querySelector('.xp-next').focus()")
        for _ in range(len(picture.steps) - 1):
            await tab.keyboard.press("ArrowRight")
        reached, many = await tab.evaluate(f"{STATE}.read().step"), await tab.evaluate(SEEN)
        chosen = []
        for group, value in pressed:
            at = f"figure.xp [data-press='{group}:{value}']"
            if not await tab.evaluate(f'document.querySelector("{at}").getClientRects().length'):
                continue
            await tab.evaluate(f'document.querySelector("{at}").focus()')
            await tab.keyboard.press("Enter")
            chosen.append(str(await tab.evaluate(f"{STATE}.read()['{group}']")) == value)
        await tab.evaluate(f"{STATE}.go(1)")
        await tab.screen(800, 900, media="print")
        printed = await tab.evaluate(SEEN)
        assert tab.complaints == []
        return problems, few, reached, many, chosen, printed

    problems, few, reached, many, chosen, printed = browse(chromium, work)
    assert problems == {}
    assert reached == len(picture.steps) and all(chosen)
    if picture.name != "machine":  # it stands whole from the first step on, and only an outline moves
        assert few < many and printed > few


def test_what_arrives_says_from_where():
    drawing = pictures.Drawing(400, 100)
    for come in ((30, -4), "draw", "right", "up", ("turn", 90, 5, 6), ("ghost", 1, 2)):
        drawing.box(0, 0, 9, 9, fill="ink", step=2, come=come, late=1.5)
    drawing.box(0, 0, 9, 9, fill="ink", late=2)
    svg = drawing.svg("t", "d")
    assert re.findall(r'data-come="(\w+)"', svg) == ["move", "draw", "right", "up", "turn", "ghost", "fade"]
    assert "--late:1.5;--from:translate(30px,-4px)" in svg and svg.count('opacity="0"') == 1 and svg.count('pathLength="1"') == 1
    with pytest.raises(TypeError, match="^belongs: expected .* come or late, got slowly"):
        drawing.box(0, 0, 9, 9, slowly=True)


def test_the_likeliest_word_flies_into_its_slot_from_its_bar():
    svg = translating().svg
    assert svg.count('data-come="draw"') == 9, "a ray for each pair"
    assert len(set(re.findall(r"--late:2;--from:(translate\([^)]*\))", svg))) == 3, "each word has a way of its own"


@pytest.mark.browser
def test_play_runs_to_the_end_and_any_other_press_stops_it(chromium, tmp_path):
    """It never starts by itself, plays from the first step again, and moves nothing for a reader who wants no motion."""
    path = tmp_path / "play.html"
    path.write_text(PAGE.format(theme="light", ground="#fff", picture=translating()._repr_html_()), encoding="utf-8")
    button = "[...document.querySelectorAll('.xp-bar button')].find((one) => /Play|Pause/.test(one.textContent))"
    told = f"[{STATE}.read().step, {button}.textContent, document.getAnimations().length > 0]"
    beat = "new Promise((done) => setTimeout(done, 1700))"
    arrived = f"new Promise((done) => {{ const look = () => {STATE}.read().step === 4 ? done() : setTimeout(look, 20); look(); }})"

    async def work(tab):
        seen = []
        for still in (False, True):
            await tab.screen(1000, 900, still=still)
            await tab.visit(path.as_uri())
            await tab.evaluate(beat)
            for press in ("0", f"{button}.click()", "document.querySelector('.xp-bar button').click()"):  # nothing, Play, Back
                await tab.evaluate(press)
                seen.append(await tab.evaluate(told))
        await tab.evaluate(beat)
        seen.append(await tab.evaluate(told))  # stopped
        await tab.evaluate(f"{STATE}.go(9)")
        await tab.evaluate(f"{button}.click()")
        seen.append(await tab.evaluate(told))
        await tab.evaluate(arrived)
        seen.append(await tab.evaluate(told))
        await tab.screen(1000, 900)
        await tab.visit(path.as_uri())
        await tab.evaluate(f"{STATE}.go(2)")
        await tab.evaluate(f"{button}.click()")
        await tab.evaluate(arrived)
        seen.append(await tab.evaluate(told))  # the last step moves, too
        path.write_text(PAGE.format(theme="light", ground="#fff", picture=translating().at(3)._repr_html_()), encoding="utf-8")
        await tab.visit(path.as_uri())
        await tab.evaluate(f"{button}.click()")
        seen.append(await tab.evaluate(told))  # it opened further on: told from the beginning
        assert tab.complaints == []
        return seen

    rests, plays = [1, "▶ Play", False], [2, "Pause", True]
    still = [2, "Pause", False]
    over = [[1, "Pause", False], [4, "▶ Play", False], [4, "▶ Play", True], [1, "Pause", True]]
    assert browse(chromium, work) == [rests, plays, rests, rests, still, rests, rests, *over]
