"""Data that cannot be trained on: one line at once, instead of a loop without an end or a division by zero."""

import re
from dataclasses import replace

import pytest

from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.training import TrainConfig, loop, validation_loss

PAIRS = [("le chat dort", "the cat sleeps well"), ("le gros chat jaune", "the big yellow cat"), ("un jardin", "a garden")]
CORPUS = {"train": PAIRS * 3, "val": PAIRS}
MODEL = TransformerConfig(vocab_size=263, d_model=10, num_heads=2, d_ff=13, num_encoder_layers=1, num_decoder_layers=1, max_len=83)
CONFIG = TrainConfig("own", MODEL, max_steps=3, max_tokens=211, warmup_steps=1, validate_every=2, seed=2)


def fails(folder, config=CONFIG, corpus=CORPUS, **options):
    """What `train` says, without one step and without a file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "train_step", None)
        patch.setattr(loop, "continue_run", None)  # or a test would run for ever
        with pytest.raises(ValueError) as error:
            loop.train(config, folder / "run", corpus=corpus, device="cpu", progress=False, **options)
    assert not (folder / "run").exists() and "\n" not in str(error.value)
    return str(error.value)


def test_sizes_are_those_of_the_pairs(tmp_path):
    """The control: one more, and it trains."""
    assert loop.train(CONFIG, tmp_path, corpus=CORPUS, device="cpu", progress=False).step == 3


@pytest.mark.parametrize("split, other", [("train", "val"), ("val", "train")])
@pytest.mark.parametrize("max_len", [1, 2, 5])
def test_every_pair_is_too_long(tmp_path, split, other, max_len):
    """The message names a length, and with that length it trains."""
    corpus = {split: [PAIRS[0], PAIRS[1]], other: [("a", "b"), *PAIRS] if max_len > 1 else PAIRS}
    said = fails(tmp_path, replace(CONFIG, model=replace(MODEL, max_len=max_len)), corpus)
    match = re.fullmatch(rf"max_len: expected at least (\d+), for the shortest pair of the (train|val) set, got {max_len}; raise it", said)
    assert match and (max_len == 1 or match[2] == split)
    enough = replace(CONFIG, model=replace(MODEL, max_len=int(match[1])))
    corpus = {**corpus, {"train": "val", "val": "train"}[match[2]]: corpus[match[2]]}
    assert loop.train(enough, tmp_path / "enough", corpus=corpus, device="cpu", progress=False).step == 3
    one_less = replace(CONFIG, model=replace(MODEL, max_len=int(match[1]) - 1))
    assert "max_len: expected at least " + match[1] in fails(tmp_path, one_less, corpus)


@pytest.mark.parametrize("split", ["train", "val"])
@pytest.mark.parametrize("how", ["empty", "absent"])
def test_a_set_without_pairs(tmp_path, split, how):
    corpus = {name: pairs for name, pairs in CORPUS.items() if name != split}
    if how == "empty":
        corpus[split] = []
    assert fails(tmp_path, corpus=corpus) == f"corpus: expected pairs for train and val, got none for {split}; give it some"


def test_no_sets_at_all(tmp_path):
    """An empty corpus is not the corpus that the settings name."""
    assert fails(tmp_path, replace(CONFIG, corpus="fragment"), {}).startswith("corpus: expected pairs for train and val, got none")


@pytest.mark.parametrize("split", ["train", "val"])
def test_a_pair_over_the_budget(tmp_path, split):
    """Found in both sets before the first step, not at the first validation; the number named is enough."""
    corpus = {**CORPUS, split: [*PAIRS, ("le chat " * 10, "the cat")]}
    said = fails(tmp_path, replace(CONFIG, max_tokens=30), corpus)
    match = re.fullmatch(
        rf"max_tokens: expected at least (\d+), for the longest pair of the {split} set, got 30; raise it, or lower "
        "max_len, which leaves longer pairs out",
        said,
    )
    assert match and int(match[1]) > 30
    enough = replace(CONFIG, max_tokens=int(match[1]))
    assert loop.train(enough, tmp_path / "enough", corpus=corpus, device="cpu", progress=False).step == 3
    lower = replace(CONFIG, max_tokens=30, model=replace(MODEL, max_len=30))
    assert loop.train(lower, tmp_path / "lower", corpus=corpus, device="cpu", progress=False).step == 3


@pytest.mark.parametrize("split", ["train", "val"])
def test_resume_asks_the_same(tmp_path, split):
    loop.train(CONFIG, tmp_path, corpus=CORPUS, device="cpu", progress=False)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=f"^corpus: expected pairs for train and val, got none for {split}; give it some$"):
        loop.resume(tmp_path, corpus={**CORPUS, split: []}, device="cpu", progress=False)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_loss_of_no_pairs():
    with pytest.raises(ValueError, match="^data: expected at least one pair, got none; a mean needs something to be taken over$"):
        validation_loss(Transformer(MODEL), [], max_tokens=97, device="cpu")


def test_special_ids_that_the_tokenizer_does_not_write(tmp_path):
    """The tokenizer keeps words at 7, 8 and 9: such a model would take them for padding, start and end."""
    said = fails(tmp_path, replace(CONFIG, model=replace(MODEL, pad_id=7, bos_id=8, eos_id=9)))
    assert said == "pad_id, bos_id, eos_id: expected (0, 1, 2), those of the tokenizer, got (7, 8, 9); leave them out"


def test_a_model_too_large_for_the_machine_is_refused_before_it_is_built(tmp_path, monkeypatch):
    """The system would end the process without a word."""
    monkeypatch.setattr(loop, "Adam", None, raising=False)
    said = fails(tmp_path, replace(CONFIG, model=replace(MODEL, d_model=1_000_000)))
    assert re.fullmatch(
        r"model: expected one that this machine's [\d,.]+ GB hold, got [\d,]+ parameters, which with gradients and "
        r"Adam's means take [\d,]+ GB; make d_model, d_ff, vocab_size or the number of layers smaller",
        said,
    )


def test_a_model_that_just_fits_is_not(tmp_path, monkeypatch):
    from xformer_lib.training import memory
    from xformer_lib.training.planning import parameter_count

    needed = 16 * parameter_count(replace(MODEL, vocab_size=263))
    monkeypatch.setattr(memory, "memory", lambda: needed)
    assert loop.train(CONFIG, tmp_path, corpus=CORPUS, device="cpu", progress=False).step == 3
    monkeypatch.setattr(memory, "memory", lambda: needed - 1)
    assert fails(tmp_path / "again").startswith("model: expected one that this machine's ")


def test_a_model_is_counted_without_building_its_layers():
    from xformer_lib.training import memory
    from xformer_lib.training.planning import parameter_count

    config = replace(MODEL, num_encoder_layers=5, num_decoder_layers=3)
    assert memory.parameters(config) == parameter_count(config)
    assert memory.parameters(replace(MODEL, num_encoder_layers=10**9)) > 10**9


def test_a_machine_that_does_not_say_what_it_has(tmp_path, monkeypatch):
    from xformer_lib.training import memory

    monkeypatch.delattr(memory.os, "sysconf")
    assert memory.memory() is None
    assert loop.train(CONFIG, tmp_path, corpus=CORPUS, device="cpu", progress=False).step == 3


@pytest.mark.parametrize(
    "pairs, got",
    [
        (["a line", "another"], "got 'a line' at place 0"),
        ("file.tsv", "got str"),
        ({"a": "b"}, "got dict"),
        ((pair for pair in PAIRS), "got generator"),
        ([("one",)], r"got \('one',\) at place 0"),
        ([(*PAIRS[0], "three")], "at place 0"),
        ([PAIRS[0], ("a", " ")], "an empty text at place 1"),
        ([PAIRS[0], None], "got None at place 1"),
        (None, "got NoneType"),
    ],
)
def test_what_is_no_list_of_pairs_is_refused(tmp_path, pairs, got):
    """Lines of text, read letter by letter, used to train on the first two letters of each."""
    assert re.search(
        rf"^corpus\['train'\]: expected a list of pairs \(source, target\), .*{got}", fails(tmp_path, corpus={**CORPUS, "train": pairs})
    )


def test_a_list_is_no_corpus(tmp_path):
    assert fails(tmp_path, corpus=PAIRS).startswith('corpus: expected {"train": pairs, "val": pairs}, got list')
