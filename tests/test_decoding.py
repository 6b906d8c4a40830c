"""Greedy decoding: by both engines, alone and in a batch, limits, errors, order."""

import copy
import dataclasses
import types

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import prune

from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.decoding import Translator, beam, beam_search, greedy, greedy_search, next_logits, sentences, translate
from xformer_lib.decoding.greedy_search import likeliest
from xformer_lib.decoding.limits import evaluation_mode
from xformer_lib.decoding.translator import store_column_major
from xformer_lib.engine import decode as steps_of
from xformer_lib.engine.modules import accelerate
from xformer_lib.engine.quantized import quantize_int8
from xformer_lib.nn._trees import second_tree
from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.nn.variants import LanguageModel
from xformer_lib.speculation import ModelDraft, speculative
from xformer_lib.training.config import preset_for
from xformer_lib.translation import visible

V, MAX_LEN = 31, 37
LENGTHS = (11, 2, 5, 7, 3, 1, 13)
CONFIG = TransformerConfig(
    vocab_size=V,
    d_model=22,
    num_heads=2,
    d_ff=29,
    num_encoder_layers=2,
    num_decoder_layers=3,
    dropout=0.3,
    positions="learned",
    max_len=MAX_LEN,
)


def build(seed=1, *, config=CONFIG, ends=2.0):
    """A random model in float64 that says something else at each place, for each source, and sometimes ends."""
    torch.manual_seed(seed)
    model = Transformer(config).double()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2:
                parameter *= {"embedding.weight": 0.3, "positions.table": 8}.get(name, 2)
        model.embedding.weight[config.eos_id] *= ends
    return model


def sources(lengths=LENGTHS, seed=1):
    """Random sentences that end in <eos>, padded to the longest."""
    ids = torch.randint(3, V, (len(lengths), max(lengths)), generator=torch.Generator().manual_seed(seed))
    for row, length in zip(ids, lengths):
        row[length - 1], row[length:] = CONFIG.eos_id, CONFIG.pad_id
    return ids


class Answering:
    """Steps of either engine that really go on, and whose logits are replaced by ``answer(tokens)``; a log of the sizes."""

    def __init__(self, steps, answer, log):
        self.steps, self.answer, self.log, self.look_every = steps, answer, log, steps.look_every

    @property
    def memory(self):
        return self.steps.memory

    def next_logits(self, tokens):
        kept = [x for pair in getattr(self.steps, "caches", ()) for cache in pair for x in (cache.k, cache.v) if x is not None]
        kept += [x for x in (getattr(self.steps, name, None) for name in ("mask", "source")) if x is not None]
        self.log.append((len(tokens), len(self.memory), *map(len, kept)))
        logits = self.steps.next_logits(tokens)
        return logits if self.answer is None else self.answer(tokens)

    def keep(self, rows):
        self.steps.keep(rows)

    def reorder(self, rows):
        self.steps.reorder(rows)


def answering(monkeypatch, answer=None):
    """From now on decoding hears ``answer``, by whatever engine; gives the log of sizes."""
    log = []
    start = steps_of.start_decoding
    for search in (beam, greedy_search):
        monkeypatch.setattr(search, "start_decoding", lambda *args, **options: Answering(start(*args, **options), answer, log))
    return log


def never_ends(tokens):
    """The answer is always word 7."""
    return torch.nn.functional.one_hot(torch.full((len(tokens),), 7), V).double()


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(["The big yellow cat", "Le gros chat jaune", "I am an engineer"] * 2, vocab_size=263)


@pytest.fixture(scope="module")
def translator(tokenizer):
    return build(3, config=dataclasses.replace(CONFIG, vocab_size=tokenizer.vocab_size), ends=1.0)


CHOICES = [
    (seed, norm, positions, path)
    for seed in (1, 3)
    for norm in ("pre", "post")
    for positions in ("learned", "sinusoidal")
    for path in ("explicit", "fused")
]
by_engine = pytest.mark.parametrize("engine", ("fast", "plain"))


@pytest.mark.parametrize("seed, norm, positions, path", CHOICES)
def test_the_cache_changes_no_token(seed, norm, positions, path):
    config = dataclasses.replace(CONFIG, norm=norm, positions=positions)
    model, source = build(seed, config=config), sources()
    assert greedy(accelerate(model, path=path), source) == greedy(model, source) == greedy(model, source, engine="plain")


@by_engine
@pytest.mark.parametrize("seed", (1, 3))
def test_greedy_is_the_argmax_of_the_whole_model_at_each_step(seed, engine):
    """The definition: run everything again for each word of each sentence alone."""
    model = build(seed).eval()
    outputs = greedy(model, sources(), engine=engine)
    assert len({tuple(ids) for ids in outputs}) == len(LENGTHS) and max(len(set(ids)) for ids in outputs) > 5
    ended = 0
    for length, row, output in zip(LENGTHS, sources(), outputs):
        ids = []
        while len(ids) < min(2 * length + 10, MAX_LEN - 1):
            logits = model(row[None, :length], torch.tensor([[CONFIG.bos_id, *ids]]))[0, -1]
            word = int(logits[2:].argmax()) + 2  # <pad> and <bos> are no words
            if word == CONFIG.eos_id:
                ended += 1
                break
            ids.append(word)
        assert output == ids
    assert 0 < ended < len(LENGTHS)  # some rows stop at <eos>, some at their limit


@by_engine
def test_a_sentence_alone_is_the_same_as_in_a_batch(engine):
    model, source = build(3), sources()
    alone = [greedy(model, row[None, :length], engine=engine)[0] for row, length in zip(source, LENGTHS)]
    assert greedy(model, source, engine=engine) == alone


@by_engine
def test_each_row_has_its_own_limit(monkeypatch, engine):
    """Twice the source and ten, <eos> counted, and never more than the model can number."""
    answering(monkeypatch, never_ends)
    outputs = greedy(build(), sources(), engine=engine)
    assert [len(ids) for ids in outputs] == [32, 14, 20, 24, 16, 12, 36]
    assert all(set(ids) == {7} for ids in outputs)


@pytest.mark.parametrize("max_len", (0, -1, MAX_LEN))
def test_a_max_len_that_no_model_can_keep(max_len):
    with pytest.raises(ValueError, match=f"max_len: expected from 1 to 36 tokens, got {max_len}; "):
        greedy(build(), sources(), max_len=max_len)


@by_engine
def test_finished_rows_leave_the_batch(monkeypatch, engine):
    seen = answering(monkeypatch)
    outputs = greedy(build(), sources(), engine=engine)
    limits = [min(2 * length + 10, MAX_LEN - 1) for length in LENGTHS]
    steps = [min(len(ids) + 1, limit) for ids, limit in zip(outputs, limits)]  # <eos> takes a step, a limit none
    assert len(seen) == max(steps)
    present = steps
    for step, sizes in enumerate(seen, start=1):
        assert set(sizes) == {len(present)}
        going = [n for n in present if n > step]
        present = going if 4 * (len(present) - len(going)) >= len(present) else present
    assert seen[0][0] == len(LENGTHS) and seen[-1][0] < len(LENGTHS)
    assert len(seen[-1]) == (15 if engine == "fast" else 3)  # keys and values of six attentions, tokens, memory, mask or source


def test_the_cache_computes_one_place_a_step(monkeypatch):
    from xformer_lib.nn.transformer import TokenEmbedding

    model, widths, embed = build(), {}, TokenEmbedding.forward
    for engine in ("fast", "plain"):
        widths[engine] = []
        monkeypatch.setattr(
            TokenEmbedding, "forward", lambda self, ids, log=widths[engine]: (log.append(ids.shape[1]), embed(self, ids))[1]
        )
        greedy(model, sources(), engine=engine)
    assert widths["fast"] == [13] + [1] * (len(widths["fast"]) - 1)  # the sources, then single words
    assert widths["plain"] == [13, *range(1, len(widths["fast"]))]


def test_next_logits_and_steps_in_unequal_strides():
    """One word, then three at once, then one: the steps take what is new, and say what the definition says."""
    model, source = build().eval(), sources()
    tokens = torch.randint(3, V, (len(LENGTHS), 5), generator=torch.Generator().manual_seed(5))
    with torch.inference_mode():
        memory, steps = model.encode(source), steps_of.start_decoding(model, source)
        for length in (1, 4, 5):
            plain, cached = next_logits(model, tokens[:, :length], memory, source), steps.next_logits(tokens[:, :length])
            whole = model(source, tokens[:, :length])[:, -1]
            for found in (plain, cached):
                torch.testing.assert_close(found[:, 2:], whole[:, 2:], atol=1e-11, rtol=0)
            assert (plain[:, :2] == -torch.inf).all() and cached[:, :2].isfinite().all()
    assert plain.shape == cached.shape == (len(LENGTHS), V) and steps.length == 5


@by_engine
@pytest.mark.parametrize("training", (True, False))
def test_decoding_leaves_no_trace_in_the_model(training, engine):
    """No dropout while decoding (two runs agree), no gradients, and the mode returns, after an error too."""
    model, source = build().train(training), sources()
    assert greedy(model, source, engine=engine) == greedy(model, source, engine=engine)
    with pytest.raises(ValueError):
        greedy(model, source + V, engine=engine)
    assert model.training is training
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())


def test_decoding_leaves_a_part_as_it_was_found():
    """A frozen encoder in a model that trains stays in evaluation, and the reverse; what decodes does not train."""
    for training in (True, False):
        model = build().train(training)
        model.encoder.train(not training)
        before = [part.training for part in model.modules()]
        with evaluation_mode(model) as quiet:
            assert not any(part.training for part in quiet.modules())
            assert [part.training for part in model.modules()] == before
        assert [part.training for part in model.modules()] == before and len(set(before)) == 2
    with evaluation_mode(model.eval()) as quiet:
        assert quiet is model


@pytest.mark.parametrize("vocab_size", (1, V, 64, 97, 192, 1000, 8000))
def test_the_likeliest_word_is_that_of_argmax(vocab_size):
    """In blocks of 64, of 8, of 1; of several equal ones the first; with words that are forbidden."""
    rng = np.random.default_rng(vocab_size)
    for logits in (rng.normal(size=(7, vocab_size)), rng.integers(0, 3, size=(7, vocab_size)).astype(float)):
        logits[:, : vocab_size // 3] = -np.inf
        found = likeliest(torch.from_numpy(logits))
        assert found.shape == (7, 1) and found[:, 0].tolist() == logits.argmax(axis=1).tolist()


def test_storing_matrices_store_column_major_changes_no_number_and_no_word():
    model, source = build().float(), sources()
    before, said = {name: value.clone() for name, value in model.state_dict().items()}, greedy(model, source)
    assert store_column_major(store_column_major(model)) is model  # twice is once
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]) and value.shape == before[name].shape
        assert value.ndim != 2 or value.stride(0) == 1
    assert greedy(model, source) == said


@by_engine
@pytest.mark.parametrize("training", (True, False))
def test_a_translator_leaves_the_callers_model_as_it_was(translator, tokenizer, engine, training):
    """Not a number, a stride, a class or a flag changes, while it is built and while it speaks; and its words stay, whatever becomes of
    the model.
    """
    model = copy.deepcopy(translator).float().train(training)

    def seen():
        return [(name, type(part), part.training, part._forward_hooks, part._forward_pre_hooks) for name, part in model.named_modules()]

    parts, values = seen(), {name: (value, value.clone(), value.stride(), value.data_ptr()) for name, value in model.state_dict().items()}
    speaker = Translator(model, tokenizer, engine=engine)
    said = speaker.translate(TEXTS)
    assert said == [visible(text) for text in translate(model, tokenizer, TEXTS)] == Translator(model, tokenizer).translate(TEXTS)
    assert seen() == parts
    for name, value in model.state_dict().items():
        _, before, stride, place = values[name]
        assert torch.equal(value, before) and value.stride() == stride and value.data_ptr() == place
    if engine == "fast":
        assert all(value.stride(0) == 1 for value in speaker.model.state_dict().values() if value.ndim == 2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert speaker.translate(TEXTS) == said != translate(model, tokenizer, TEXTS)


TEXTS = ["The big yellow cat", "I", "I am", "Cat", "The cat", "Big big", "An engineer"]


@pytest.mark.parametrize("batch_size", (1, 2, 3, 7, 64))
def test_translate_keeps_the_order_for_every_batch_size(translator, tokenizer, batch_size):
    one_by_one = []
    for text in TEXTS:
        ids = torch.tensor([[*tokenizer.encode(text), CONFIG.eos_id]])
        one_by_one.append(tokenizer.decode(greedy(translator, ids)[0]))
    assert len(set(one_by_one)) == len(TEXTS)
    assert translate(translator, tokenizer, TEXTS, batch_size=batch_size) == one_by_one
    backwards = translate(translator, tokenizer, TEXTS[::-1], batch_size=batch_size, engine="plain")
    assert backwards == one_by_one[::-1]


def test_translating_nothing_is_nothing(translator, tokenizer):
    assert translate(translator, tokenizer, []) == []


def test_batches_hold_sentences_of_like_length(monkeypatch, translator, tokenizer):
    """Sorted by length before they are cut into batches: the least padding."""
    padding = []
    monkeypatch.setattr(
        sentences, "greedy", lambda model, source, engine: (padding.append(int((source == CONFIG.pad_id).sum())), [[7]] * len(source))[1]
    )
    translate(translator, tokenizer, ["I am I am I", "I", "I am I am I", "I"], batch_size=2)
    assert padding == [0, 0]


@pytest.mark.parametrize("text", ("", " ", "\n\t"))
def test_an_empty_sentence_is_named(translator, tokenizer, text):
    with pytest.raises(ValueError, match=r"^text: expected a sentence, got an empty one \(number 2\); leave it out$"):
        translate(translator, tokenizer, ["I am", text, "cat"])


def test_a_sentence_longer_than_the_model_allows_is_named(translator, tokenizer):
    unit = "I am an engineer"
    text = " ".join([unit] * 40)
    count = len(tokenizer.encode(text))
    message = f"^text: expected at most 36 tokens, got {count} in sentence 2, '{unit} I am an engin'…; split it into"
    with pytest.raises(ValueError, match=message):
        translate(translator, tokenizer, ["I am", text])


@pytest.mark.parametrize("batch_size", (0, -1, 2.5))
def test_a_batch_that_holds_nothing(translator, tokenizer, batch_size):
    with pytest.raises(ValueError, match=f"^batch_size: expected a whole number, 1 or more, got {batch_size}; 64 is usual$"):
        translate(translator, tokenizer, ["cat"], batch_size=batch_size)


def test_the_longest_sentence_that_fits(translator, tokenizer):
    """max_len - 1 tokens and <eos> fill the model; one more is too many."""
    fits = "x" * (MAX_LEN - 1)
    assert len(tokenizer.encode(fits)) == MAX_LEN - 1
    assert len(translate(translator, tokenizer, [fits])) == 1
    with pytest.raises(ValueError, match="expected at most 36 tokens, got 37 in sentence 1"):
        translate(translator, tokenizer, [fits + "x"])


def test_one_string_is_not_a_list_of_sentences(translator, tokenizer):
    with pytest.raises(TypeError, match=r"texts: expected a list of sentences, got one string; write \[text\]"):
        translate(translator, tokenizer, "I am an engineer")
    for wrong, kind in ((None, "None"), (iter(["cat"]), "list_iterator"), ({"cat"}, "set"), (["cat", None], "list"), (b"cat", "bytes")):
        with pytest.raises(TypeError, match=rf"^texts: expected a list of sentences, got {kind}; make it a list, and each sentence a str$"):
            translate(translator, tokenizer, wrong)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda model, tokenizer: Translator((model, tokenizer)),
            r"model: expected .*, got tuple; write Translator\(\*load_model\(folder\)\)",
        ),
        (lambda model, tokenizer: Translator(model), r"tokenizer: expected a Tokenizer, got None; load_model\(folder\) gives"),
        (lambda model, tokenizer: Translator(model, "en-fr"), "tokenizer: expected a Tokenizer, got 'en-fr'; load_model"),
        (lambda model, tokenizer: translate(model, None, ["cat"]), "tokenizer: expected a Tokenizer, got None"),
        (lambda model, tokenizer: accelerate((model, tokenizer)), "model: expected a torch.nn.Module, got tuple; of load_model's two"),
        (lambda model, tokenizer: accelerate(model.config), "model: expected a torch.nn.Module, got TransformerConfig"),
        (lambda model, tokenizer: quantize_int8(model.config), "model: expected a torch.nn.Module, got TransformerConfig"),
        (lambda model, tokenizer: preset_for("dates.tsv"), r"pairs: expected a list of pairs .*, got str; .*data.pairs.read_pairs"),
        (lambda model, tokenizer: preset_for(["a", "b"]), "pairs: expected a list of pairs .*, got 'a' at place 0; write"),
    ],
)
def test_what_is_handed_over_in_the_wrong_place(translator, tokenizer, call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call(translator, tokenizer)


class Adapted(nn.Module):
    """A linear layer with a small change beside it (LoRA)."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.down, self.up = inner, nn.Linear(22, 3).double(), nn.Linear(3, 22).double()

    def forward(self, x):
        return self.inner(x) + self.up(self.down(x))


def test_a_translator_takes_every_model_that_greedy_takes(tokenizer):
    model = build(2, config=dataclasses.replace(CONFIG, vocab_size=tokenizer.vocab_size)).eval()
    model.encoder.layers[0].self_attention.w_q = Adapted(model.encoder.layers[0].self_attention.w_q)
    fast, plain = (Translator(model, tokenizer, engine=engine) for engine in ("fast", "plain"))
    assert fast.translate(TEXTS) == plain.translate(TEXTS) == [visible(text) for text in translate(model, tokenizer, TEXTS)]


def test_what_cannot_be_is_said_first(tokenizer):
    with pytest.raises(ValueError, match='engine: expected "fast", "captured", "cached" or "plain", got \'quick\''):
        Translator(build(), tokenizer, engine="quick")
    with pytest.raises(ValueError, match="source: expected a torch.Tensor"):
        greedy(build(), [[4, 5, 2]])


def test_a_second_tree_takes_along_what_a_reader_hung_on_the_first():
    """Hooks, a method of one part alone, a part in two places; and what is hung on it later stays there."""
    model, heard = build().eval(), []
    layer, twice = model.decoder.layers[1], model.decoder.layers[0].feed_forward
    layer.feed_forward = twice
    twice.w_1.register_forward_hook(lambda part, args, out: heard.append(part))
    model.encoder.forward = types.MethodType(lambda self, x, *, mask: self.norm(x), model.encoder)
    source, target = sources(), sources((3,))[:1].expand(len(LENGTHS), -1)
    with torch.no_grad():
        expected = model(source, target)
        other = second_tree(model)
        assert torch.equal(other(source, target), expected)
    assert other.decoder.layers[0].feed_forward is other.decoder.layers[1].feed_forward is not twice
    assert heard == 2 * [twice.w_1] + 2 * [other.decoder.layers[0].feed_forward.w_1]
    assert other.encoder.forward.__self__ is other.encoder
    assert all(one is two for one, two in zip(model.parameters(), other.parameters(), strict=True))
    other.train().encoder.register_forward_hook(lambda *call: None)
    assert not any(part.training for part in model.modules()) and not model.encoder._forward_hooks


class Pair(Transformer):
    """What it has read is two things."""

    def encode(self, source):
        memory = super().encode(source)
        return memory, memory


class Bare(nn.Module):
    """It forgot its settings."""

    def __init__(self):
        super().__init__()
        self.model = build().eval()

    def encode(self, source):
        return self.model.encode(source)

    def decode(self, *given):
        return self.model.decode(*given)


CANNOT = {
    "no sentence": (lambda: build().eval(), lambda: sources()[:0], r"source: expected one sentence or more.*got \(0, 13\); an empty"),
    "no ids": (lambda: build().eval(), lambda: sources()[:, :0], r"source: expected one sentence or more.*got \(7, 0\); an empty"),
    "a tuple": (lambda: Pair(CONFIG).eval(), sources, "model.encode: expected one tensor, with a row for each sentence, got tuple; return"),
    "no config": (Bare, sources, "model: expected one with config, encode and decode, got Bare without config; take a Transformer"),
    "a layer": (lambda: nn.Linear(2, 3), sources, "got Linear without config and encode and decode; take"),
    "a language model": (lambda: LanguageModel(CONFIG), sources, "got LanguageModel without encode and decode; take a Transformer"),
    "parallel": (
        lambda: nn.DataParallel(build()),
        sources,
        "model: expected the model itself, got DataParallel around it; pass model.module",
    ),
}


@by_engine
@pytest.mark.parametrize("name", CANNOT)
def test_what_cannot_be_decoded_is_named_with_its_cure(name, engine, tokenizer):
    make, source, message = CANNOT[name]
    model, ids = make(), source()
    ways = [lambda: greedy(model, ids, engine=engine), lambda: beam_search(model, ids, engine=engine)]
    if name not in ("no sentence", "no ids", "a tuple"):
        ways += [lambda: Translator(model, tokenizer, engine=engine), lambda: translate(model, tokenizer, TEXTS, engine=engine)]
        ways += [lambda: speculative(model, ids[:1], lambda words, count: []), lambda: ModelDraft(model, ids[:1])]
    for way in ways:
        with pytest.raises(ValueError, match=message):
            way()


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@pytest.mark.parametrize("name", ["decoder.layers.1.feed_forward.w_1.weight", "embedding.weight", "encoder.norm.weight"])
def test_weights_that_are_no_numbers_are_named(tokenizer, name, value):
    """Greedy said nothing, a beam fell: by both engines, in a batch, with a draft, in text, the weight is named."""
    config = dataclasses.replace(CONFIG, vocab_size=tokenizer.vocab_size)
    model = build(config=config).float().eval()
    with torch.no_grad():
        dict(model.named_parameters())[name][3] = value
    source = torch.tensor([[5, 6, 7, 2], [9, 2, 0, 0], [3, 2, 0, 0]])
    calls = {
        "greedy": lambda: greedy(model, source),
        "plain": lambda: greedy(model, source, engine="plain"),
        "beam": lambda: beam_search(model, source, beam_size=3),
        "draft": lambda: speculative(model, source[:1], lambda words, count: [4] * count),
        "texts": lambda: translate(model, tokenizer, ["a cat", "the dog"], beam_size=2),
        "translator": lambda: Translator(model, tokenizer).translate("The cat sleeps."),
    }
    for call in calls.values():
        with pytest.raises(FloatingPointError, match=f"^model: expected finite weights, got nan or inf in {name}; .*"):
            call()


def test_numbers_that_overflow_from_finite_weights():
    model = build().float().eval()
    with torch.no_grad():
        model.decoder.norm.weight *= 1e38
        model.embedding.weight *= 1e10
    for size in (1, 2):
        with pytest.raises(FloatingPointError, match="logits: expected finite numbers.*float32"):
            beam_search(model, torch.tensor([[5, 6, 2]]), beam_size=size)
    with pytest.raises(FloatingPointError, match="logits: expected finite numbers.*float32"):
        greedy(model, torch.tensor([[5, 6, 2]]))


@pytest.mark.parametrize("temperature", [None, 1.0])
def test_a_language_model_whose_weights_are_no_numbers(temperature):
    model = LanguageModel(CONFIG)
    with torch.no_grad():
        next(model.body.parameters())[:] = torch.nan
    with pytest.raises(FloatingPointError, match="model: expected finite weights"):
        model.generate(torch.tensor([[5, 6]]), max_new_tokens=3, temperature=temperature)


@pytest.mark.parametrize("pruned", ["linear layers", "embedding"])
def test_a_pruned_model(tokenizer, pruned):
    """torch.nn.utils.prune leaves a weight that is computed from another, and a hook; a copy must not stumble over it."""
    config = dataclasses.replace(CONFIG, vocab_size=tokenizer.vocab_size)

    def model():
        built = build(config=config).float().eval()
        for part in [built.embedding] if pruned == "embedding" else [part for part in built.modules() if isinstance(part, nn.Linear)]:
            prune.l1_unstructured(part, "weight", 0.3)
        return built

    expected = translate(model(), tokenizer, ["A cat"], engine="plain")
    for engine in ("fast", "plain"):
        assert Translator(model(), tokenizer, engine=engine, words={"A"}).translate("A cat").strip() == expected[0].strip()
    assert len(translate(quantize_int8(model()), tokenizer, ["A cat"])) == 1
    before = model()
    Translator(before, tokenizer).translate("A cat")
    assert all(torch.equal(one, other) for one, other in zip(before.parameters(), model().parameters()))
