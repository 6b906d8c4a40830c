"""Keys that are kept, and decoding step by step: what the engine says is what the definition says, word for word."""

import dataclasses
import itertools

import pytest
import torch
from torch import nn

from tests.ci import combinations
from tests.engine.test_modules import EXCHANGED, PADDED
from tests.test_decoding import CONFIG as TALKING
from tests.test_decoding import build as talker
from tests.test_decoding import sources
from tests.whole_models import CHOICES, CONFIG, SIX, B, S, T, build, by_path, ids
from xformer_lib.decoding import beam_search, greedy
from xformer_lib.decoding.translator import store_column_major
from xformer_lib.engine.cache import KeyValueCache
from xformer_lib.engine.decode import (
    PARTS,
    CachedSteps,
    ModelCacheSteps,
    PackedSteps,
    PlainSteps,
    later_mask,
    parts_of,
    stacked,
    start_decoding,
)
from xformer_lib.engine.modules import accelerate
from xformer_lib.engine.quantized import Int8Linear, joined, quantize_int8
from xformer_lib.inspection import record_attention
from xformer_lib.nn import GroupedQueryAttention, LanguageModel, MultiHeadAttention, Transformer
from xformer_lib.nn.layers import Residual
from xformer_lib.nn.masks import padding_mask
from xformer_lib.nn.positions import AlibiPositions
from xformer_lib.nn.recurrent import GRUTranslator

H, D, E, I, J, M = 3, 11, 13, 5, 7, 17

# ---------------------------------------------------------------- one layer's cache


@by_path
def test_growing_cache_gives_the_uncached_output(path):
    layer = MultiHeadAttention(M, H, d_head=D, d_value=E).double()
    x = torch.randn(B, I, M).double()
    causal = torch.ones(I, I, dtype=torch.bool).tril()
    whole, _ = layer(x, x, x, mask=causal)
    fast, cache = accelerate(layer, path=path), KeyValueCache(grows=True)
    steps = [fast(x[:, i : i + 1], x[:, i : i + 1], x[:, i : i + 1], cache=cache)[0] for i in range(I)]
    torch.testing.assert_close(torch.cat(steps, dim=1), whole, atol=1e-13, rtol=0)


def test_the_cache_copies_when_its_room_is_full_and_only_then():
    """50 steps: rooms of 16, 34 and 70 places; what was kept stays, to the bit, through each move."""
    cache, kept, rooms = KeyValueCache(grows=True), [], []
    for _ in range(50):
        k, v = torch.randn(B, H, 1, D), torch.randn(B, H, 1, E)
        kept.append((k, v))
        found = cache.update(k, v)
        rooms.append(cache.rooms[0].data_ptr())
        for x, own, parts in zip(found, (cache.k, cache.v), zip(*kept, strict=True), strict=True):
            assert torch.equal(x, torch.cat(parts, dim=2)) and torch.equal(own, x)
    assert cache.length == 50 and [x.shape[2] for x in cache.rooms] == [70, 70]
    assert len(dict.fromkeys(rooms)) == 3


def test_what_is_cut_is_written_over():
    cache, kept = KeyValueCache(grows=True), torch.randn(B, H, 7, D)
    cache.cut(0)  # nothing is there yet
    cache.update(kept, kept)
    cache.cut(3)
    assert cache.length == 3 and torch.equal(cache.k, kept[:, :, :3])
    new = torch.randn(B, H, 2, D)
    k, v = cache.update(new, new)
    assert torch.equal(k, torch.cat([kept[:, :, :3], new], dim=2)) and torch.equal(k, v) and cache.length == 5


@by_path
def test_fixed_cache_projects_the_memory_once(path):
    layer = accelerate(MultiHeadAttention(M, H, d_head=D, d_value=E).double(), path=path)
    query, memory = torch.randn(B, I, M).double(), torch.randn(B, J, M).double()
    cache = KeyValueCache(grows=False)
    first, _ = layer(query, memory, memory, cache=cache)
    second, _ = layer(query, torch.zeros_like(memory), torch.zeros_like(memory), cache=cache)
    torch.testing.assert_close(first, second, atol=0, rtol=0)
    cache.keep(torch.tensor([1]))
    kept, _ = layer(query[1:2], memory[1:2], memory[1:2], cache=cache)
    torch.testing.assert_close(kept, first[1:2], atol=1e-14, rtol=0)


@pytest.mark.parametrize("num_kv_heads", [1, 2, 3, 6])
def test_the_cache_holds_the_fewer_heads(num_kv_heads):
    layer = accelerate(GroupedQueryAttention(M, 6, d_head=D, d_value=E, num_kv_heads=num_kv_heads))
    cache = KeyValueCache(grows=True)
    for _ in range(J):
        x = torch.randn(B, 1, M)
        layer(x, x, x, cache=cache)
    assert cache.k.numel() == B * num_kv_heads * J * D and cache.v.numel() == B * num_kv_heads * J * E


@pytest.mark.errors
def test_a_mask_beside_a_cache_counts_the_keys_that_are_kept():
    layer, cache, x = accelerate(MultiHeadAttention(M, H, d_head=D)), KeyValueCache(grows=True), torch.randn(B, I, M)
    layer(x, x, x, cache=cache)
    with pytest.raises(ValueError, match=r"broadcasts to \(b, h, i, j\) = \(3, 3, 2, 7\), got \(2, 5\); rows are queries"):
        layer(x[:, :2], x[:, :2], x[:, :2], mask=torch.ones(2, 5, dtype=torch.bool), cache=cache)


# ---------------------------------------------------------------- steps


def test_words_behind_others_read_all_before_them():
    assert later_mask(torch.zeros(B, 2, dtype=torch.int64), 1).tolist() == [[True, True, False], [True, True, True]]
    assert later_mask(torch.zeros(B, 1, dtype=torch.int64), 4) is None  # the newest word reads all


@combinations(choice=CHOICES, path=("explicit", "fused"), num_kv_heads=(None, 1))
def test_cached_steps_equal_the_whole(choice, num_kv_heads, path):
    """Several words, then one at a time, then several: each step's vectors and logits are those of the plain model."""
    model, target = build(num_kv_heads=num_kv_heads, **choice), ids(T, 1)
    whole = model(PADDED, target)
    for cuts in ((0, 2, 3, 4, T), (0, 1, 4, T)):
        steps = CachedSteps(accelerate(model, path=path), PADDED)
        parts = [steps.states(target[:, start:end]) for start, end in itertools.pairwise(cuts)]
        torch.testing.assert_close(model.embedding.logits(torch.cat(parts, dim=1)), whole, atol=1e-12, rtol=0)
        steps = CachedSteps(accelerate(model, path=path), PADDED)
        for end in cuts[1:]:
            torch.testing.assert_close(steps.next_logits(target[:, :end]), whole[:, end - 1], atol=1e-12, rtol=0)
    torch.testing.assert_close(steps.memory, model.encode(PADDED), atol=1e-12, rtol=0)


@combinations(norm=("pre", "post"), positions=("sinusoidal", "learned", "none", "rotary"), columns=(True, False))
def test_packed_steps_equal_the_whole(norm, positions, columns):
    """Words of any number at once, taken back and said again, rows that change places, words of padding."""
    model, target, source = build(norm=norm, positions=positions), ids(T, 1), PADDED
    model = store_column_major(model) if columns else model
    whole, padded = model(source, target), target.clone()
    padded[0, :2], padded[2, 1] = CONFIG.pad_id, CONFIG.pad_id
    at_once = model.embedding.logits(start_decoding(model, source).states(padded))
    torch.testing.assert_close(at_once, model(source, padded), atol=1e-12, rtol=0)
    for cuts in ((0, 2, 3, 4, T), (0, 1, 4, T)):
        steps = start_decoding(model, source)
        assert type(steps) is PackedSteps
        parts = [steps.states(target[:, start:end]) for start, end in itertools.pairwise(cuts)]
        found = model.embedding.logits(torch.cat(parts, dim=1))
        torch.testing.assert_close(found, whole, atol=1e-12, rtol=0)
    steps, rows = start_decoding(model, source), torch.tensor([2, 1, 2])
    steps.next_logits(target[:, :4])
    steps.keep(rows)
    torch.testing.assert_close(steps.logits_from(target[rows], 4), whole[rows, 4:], atol=1e-12, rtol=0)
    torch.testing.assert_close(steps.logits_from(target[rows], T - 1), whole[rows, T - 1 :], atol=1e-12, rtol=0)


# given at once or word by word, and then one word and another: in front, at the end, between words, or a row without any
PREFIXES = {
    "in front": [[1, 7, 8, 9], [0, 0, 1, 7], [0, 1, 9, 5]],
    "at the end": [[1, 7, 8, 9], [1, 7, 0, 0], [1, 9, 5, 0]],
    "between": [[1, 0, 8, 9], [1, 7, 0, 9], [0, 1, 0, 9]],
    "alone": [[0, 0, 0, 0], [1, 7, 8, 9], [0, 0, 0, 1]],
}


@combinations(prefix=PREFIXES, positions=SIX, at_once=(4, 2, 1))
def test_padding_in_a_beginning_stays_hidden(positions, prefix, at_once):
    """Kept keys of padding are read by no later word, whatever leaves or is taken back meanwhile."""
    model, source = build(positions=positions), ids(S)
    tokens = torch.tensor([[*row, *later] for row, later in zip(PREFIXES[prefix], ([11, 12], [0, 13], [14, 15]))])
    steps, plain = start_decoding(model, source), PlainSteps(model, source)
    with torch.no_grad():
        for length in (*range(at_once, 5, at_once), 5, 6):
            words = tokens[:, :length]
            torch.testing.assert_close(steps.next_logits(words), plain.next_logits(words), atol=1e-12, rtol=0)
        steps.next_logits(tokens[:, [0, 1, 2, 3, 4, 5, 5]])
        torch.testing.assert_close(steps.logits_from(tokens, 5), plain.logits_from(tokens, 5), atol=1e-12, rtol=0)
        rows = torch.tensor([2, 1, 1])
        steps.keep(rows), plain.keep(rows)
        words = torch.cat([tokens[rows], tokens[:, 3:4]], dim=1)
        torch.testing.assert_close(steps.next_logits(words), plain.next_logits(words), atol=1e-12, rtol=0)


def test_a_source_of_padding_alone_reads_nothing():
    model, target, source = build(), ids(T, 1), PADDED.clone()
    source[1] = CONFIG.pad_id
    steps, whole = start_decoding(model, source), model(source, target)
    assert type(steps) is CachedSteps
    for end in range(1, T + 1):
        torch.testing.assert_close(steps.next_logits(target[:, :end]), whole[:, end - 1], atol=1e-12, rtol=0)


def test_a_model_in_training_keeps_its_dropout():
    """With every number of the embedding dropped, all words are one word."""
    model, target = build().train(), ids(T, 1)
    model.dropout.p = 1.0
    steps = start_decoding(model, PADDED)
    assert type(steps) is CachedSteps
    for end in range(1, T + 1):
        found = steps.next_logits(target[:, :end])
        torch.testing.assert_close(found, found[:1].expand_as(found), atol=1e-12, rtol=0)


def test_matrices_that_lie_side_by_side_are_not_copied():
    model = build()
    one, other = model.decoder.layers[0].self_attention, model.decoder.layers[1].self_attention
    matrices = [one.w_q.weight, one.w_k.weight, one.w_v.weight]
    apart = stacked(*matrices)
    store_column_major(model)
    for given in (matrices, matrices[1:], matrices[:1]):
        found = stacked(*given)
        assert torch.equal(found, torch.cat(given)) and found.data_ptr() == given[0].data_ptr()
    assert torch.equal(stacked(*matrices), apart) and apart.data_ptr() not in {each.data_ptr() for each in matrices}
    for given in ([matrices[0], matrices[2]], matrices[::-1], [matrices[0], other.w_k.weight]):
        found = stacked(*given)
        assert torch.equal(found, torch.cat(given)) and found.data_ptr() != given[0].data_ptr()


def test_a_change_of_weights_is_heard_by_the_next_sentence():
    model, source = talker(3).eval(), sources()
    before = greedy(store_column_major(model), source)
    with torch.no_grad():
        model.decoder.layers[0].self_attention.w_v.weight.mul_(-3)
    assert greedy(model, source) == greedy(model, source, engine="plain") != before


def test_joined_layers_in_int8_say_the_same():
    torch.manual_seed(1)
    layers, x = [Int8Linear(torch.randn(n, 7), torch.randn(n)) for n in (3, 5, 2)], torch.randn(11, 7)
    assert torch.equal(joined(*layers)(x), torch.cat([layer(x) for layer in layers], dim=-1))
    bare = [Int8Linear(layer.weight.float()) for layer in layers]
    assert joined(*bare).bias is None and len(layers[0].weight) == 3


@pytest.mark.parametrize("positions", SIX)
@pytest.mark.parametrize("engine", ["fast", "plain"])
def test_rows_that_leave_or_repeat_take_all_that_is_kept_along(engine, positions):
    """Other rows in another order, with their padding: the next step equals the whole."""
    model, source, target, rows = build(positions=positions), ids(S), ids(T, 1), torch.tensor([2, 0, 2, 1])
    source[0, 2:], source[2, 5:] = CONFIG.pad_id, CONFIG.pad_id
    whole, steps = model(source, target), start_decoding(model, source, engine=engine)
    steps.keep(torch.tensor([0, 1, 2]))  # before the first step, too
    steps.next_logits(target[:, :2])
    steps.keep(rows)
    torch.testing.assert_close(steps.next_logits(target[rows, :3]), whole[rows, 2], atol=1e-12, rtol=0)
    steps.keep(torch.tensor([3]))
    torch.testing.assert_close(steps.next_logits(target[1:2]), whole[1:2, -1], atol=1e-12, rtol=0)
    assert len(steps.memory) == 1
    if engine == "fast":
        assert isinstance(steps, CachedSteps) and torch.equal(steps.mask, padding_mask(source[1:2], CONFIG.pad_id))


def test_steps_that_begin_are_empty_and_the_callers_own():
    model, source = build(), ids(S)
    steps, other = start_decoding(model, source), start_decoding(model, source)
    assert steps.length == 0 and len(steps.caches) == CONFIG.num_decoder_layers
    steps.next_logits(ids(T, 1))
    assert (steps.length, other.length) == (T, 0) and other.caches[0][0].k is None
    assert steps.caches[0][0].length == T and steps.caches[0][1].k.shape[2] == S


@pytest.mark.errors
def test_words_beyond_the_models_length_are_refused_step_by_step():
    steps = start_decoding(build(), ids(S))
    steps.next_logits(ids(23, 1))
    with pytest.raises(ValueError, match="target_in: expected at most max_len=23 tokens, got 24; split"):
        steps.next_logits(ids(24, 1))


@pytest.mark.errors
@pytest.mark.parametrize(
    "call",
    [
        lambda e: start_decoding(build(), ids(S), engine=e),
        lambda e: greedy(build(), ids(S), engine=e),
        lambda e: beam_search(build(), ids(S), engine=e),
    ],
)
@pytest.mark.parametrize("engine, got", [("slow", "'slow'"), (True, "True"), (None, "None")])
def test_an_engine_that_there_is_not(call, engine, got):
    with pytest.raises(ValueError, match=f'engine: expected "fast", "captured", "cached" or "plain", got {got}; "plain" is the definition'):
        call(engine)


# ---------------------------------------------------------------- the same words


def same_words(model, source, max_len=None):
    """Both engines' sentences, greedy and by beam, which must be equal; the greedy ones."""
    said = greedy(model, source, max_len=max_len)
    assert said == greedy(model, source, max_len=max_len, engine="plain")
    beams = [beam_search(model, source, beam_size=3, max_len=max_len, engine=engine) for engine in ("fast", "plain")]
    assert [[one.ids for one in row] for row in beams[0]] == [[one.ids for one in row] for row in beams[1]]
    for one, other in zip(itertools.chain(*beams[0]), itertools.chain(*beams[1]), strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-10)
    return said


@combinations(norm=("pre", "post"), positions=SIX, num_kv_heads=(None, 1))
def test_both_engines_say_the_same(norm, positions, num_kv_heads):
    """For every scheme, with sentences that leave the batch at different steps, at <eos> or at their limit."""
    heads = 1 if num_kv_heads is None else 11  # rotary turns pairs: heads of width 22 or 2
    config = dataclasses.replace(TALKING, norm=norm, positions=positions, num_heads=heads, num_kv_heads=num_kv_heads, max_offset=3)
    lengths, words, source = set(), set(), sources((5, 2, 1, 3))
    for seed in (1, 2, 3):
        said = same_words(talker(seed, config=config, ends=3.0), source, max_len=None if seed == 1 else 11)
        lengths |= set(map(len, said))
        words |= {word for ids in said for word in ids}
    assert len(lengths) > 3 and len(words) > 2  # they leave at different steps, and say different things


@pytest.mark.parametrize("path", ["auto", "explicit", "fused"])
def test_an_accelerated_model_says_the_same(path):
    model = talker(3)
    fast = accelerate(model, path=path)
    assert type(start_decoding(fast.eval(), sources())) is (PackedSteps if path == "auto" else CachedSteps)
    assert same_words(fast, sources()) == same_words(model, sources())


# ---------------------------------------------------------------- what the cache does not know


def scale_of_heads(part, args, output):
    return 3 * output[0], output[1]


HOOKED = {
    "after cross-attention": lambda model: model.decoder.layers[1].cross_attention.register_forward_hook(scale_of_heads),
    "before w_v": lambda model: model.decoder.layers[0].self_attention.w_v.register_forward_pre_hook(
        lambda part, args: (args[0].flip(-1),)
    ),
    "after an embedding": lambda model: model.embedding.register_forward_hook(lambda part, args, output: output.roll(1, dims=-1)),
    "after the stack": lambda model: model.decoder.register_forward_hook(lambda part, args, output: output.flip(-1)),
    "after a layer": lambda model: model.decoder.layers[2].register_forward_hook(lambda part, args, output: output.flip(-1)),
    "after the encoder": lambda model: model.encoder.register_forward_hook(lambda part, args, output: output.flip(1)),
}


@pytest.mark.parametrize("name", HOOKED)
@pytest.mark.parametrize("fast", [False, True])
def test_a_hook_is_heard_while_decoding(name, fast):
    """The definition is taken, and the words are those of the definition under the hook, and not those without."""
    model = talker(3).eval()
    if fast:
        model = accelerate(model)
    whole = greedy(model, sources())
    hook = HOOKED[name](model)
    assert type(start_decoding(model, sources())) is PlainSteps
    assert same_words(model, sources()) != whole
    hook.remove()
    assert type(start_decoding(model, sources())) is PackedSteps and greedy(model, sources()) == whole


@pytest.mark.parametrize("name", EXCHANGED)
def test_an_exchanged_part_acts_while_decoding(name):
    torch.manual_seed(5)
    model, source = EXCHANGED[name](build(positions="alibi")).double().eval(), PADDED
    assert type(start_decoding(model, source)) is PlainSteps and type(start_decoding(accelerate(model), source)) is PlainSteps
    said = same_words(model, source)
    assert said == greedy(accelerate(model), source)


def test_a_subclassed_model_speaks_for_itself():
    class Always(Transformer):
        def decode(self, target_in, memory, source):
            return nn.functional.one_hot(torch.full_like(target_in, 7), self.config.vocab_size).double()

    torch.manual_seed(0)
    model = Always(CONFIG).double().eval()
    assert type(start_decoding(model, ids(S))) is PlainSteps
    assert greedy(model, ids(S), max_len=5) == [[7] * 5] * B


def test_recorded_weights_are_those_of_the_last_step():
    model, source, found = talker(1).eval(), sources(), []
    for engine in ("fast", "plain"):
        with record_attention(model) as maps:
            greedy(model, source, max_len=5, engine=engine)
        found.append(maps)
    assert found[0].keys() == found[1].keys() and len(found[0]) == 8
    for name, weights in found[0].items():
        torch.testing.assert_close(weights, found[1][name], atol=1e-12, rtol=0)


def test_models_that_keep_something_of_their_own():
    torch.manual_seed(1)
    model = GRUTranslator(dataclasses.replace(CONFIG, num_encoder_layers=1, num_decoder_layers=1, positions="none")).double().eval()
    assert type(start_decoding(model, PADDED)) is ModelCacheSteps and type(start_decoding(model, PADDED, engine="plain")) is PlainSteps
    same_words(model, PADDED)
    assert greedy(accelerate(model), PADDED) == greedy(model, PADDED)


def test_a_model_in_int8_is_cached_too():
    torch.manual_seed(1)
    small = quantize_int8(Transformer(CONFIG))
    assert type(start_decoding(small, PADDED)) is PackedSteps
    assert type(start_decoding(quantize_int8(accelerate(Transformer(CONFIG))), PADDED)) is PackedSteps
    assert not hasattr(LanguageModel, "new_cache")


def exchange(layer, path, other):
    """Put another part at a place in a layer."""
    *parents, name = path.split(".")
    setattr(layer.get_submodule(".".join(parents)), name, other)


ODD = {  # parts of known classes that are built otherwise
    "other heads in cross-attention": ("cross_attention", lambda: MultiHeadAttention(CONFIG.d_model, 1)),
    "other heads in self-attention": ("self_attention", lambda: MultiHeadAttention(CONFIG.d_model, 1)),
    "one post-norm residual": ("residuals.2", lambda: Residual(CONFIG.d_model, norm="post")),
    "no offset in w_q": ("self_attention.w_q", lambda: nn.Linear(CONFIG.d_model, CONFIG.d_model, bias=False)),
    "no offset in w_k": ("cross_attention.w_k", lambda: nn.Linear(CONFIG.d_model, CONFIG.d_model, bias=False)),
    "no feed-forward net": ("feed_forward", nn.Identity),
    "no w_o": ("self_attention.w_o", nn.Identity),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("int8", [False, True])
def test_known_parts_with_other_settings_act_while_decoding(name, int8):
    """The packed way supposes that a layer is built alike throughout: here one is not, and the words stay those of the definition."""
    place, made = ODD[name]
    model, target = build(), ids(T, 1)
    for bias in (layer.w_v.bias for layer in model.modules() if isinstance(layer, MultiHeadAttention)):
        nn.init.normal_(bias)
    exchange(model.decoder.layers[0], place, made().double())
    model = quantize_int8(model.eval()) if int8 else model.eval()
    steps = start_decoding(model, PADDED)
    assert type(steps) is not PackedSteps
    for end in range(1, T + 1):
        wanted = model.decode(target[:, :end], model.encode(PADDED), PADDED)[:, -1]
        torch.testing.assert_close(steps.next_logits(target[:, :end]), wanted, atol=1e-12, rtol=0)


def test_a_forward_of_one_layer_alone_and_positions_left_out_act_while_decoding():
    for change in (
        lambda model: setattr(model.decoder.layers[0].feed_forward, "forward", torch.zeros_like),
        lambda model: setattr(model, "positions", nn.Identity()),
    ):
        model = talker(3).eval()
        change(model)
        assert type(start_decoding(model, sources())) is PlainSteps
        same_words(model, sources())


def test_one_layer_that_trains_is_heard():
    model = talker(3, config=dataclasses.replace(TALKING, dropout=0.3)).eval()
    model.decoder.layers[1].residuals[0].dropout.train()
    steps = start_decoding(model, sources())
    assert type(steps) is CachedSteps
    first = steps.next_logits(torch.ones(len(sources()), 1, dtype=torch.int64))
    steps.logits_from(torch.ones(len(sources()), 1, dtype=torch.int64), 0)
    assert not torch.equal(first, steps.logits_from(torch.ones(len(sources()), 1, dtype=torch.int64), 0)[:, 0])


def test_a_shared_layer_is_known():
    model = talker(2).eval()
    model.encoder.layers[1] = model.encoder.layers[0]
    assert type(start_decoding(model, sources())) is PackedSteps
    same_words(model, sources())


def test_to_ask_whether_a_model_is_known_draws_nothing():
    PARTS.clear()
    torch.manual_seed(7)
    state = torch.get_rng_state()
    assert set(parts_of(CONFIG)) == {name for name, _ in build().named_modules()}
    torch.manual_seed(7)
    PARTS.clear()
    parts_of(CONFIG)
    assert torch.equal(torch.get_rng_state(), state)


def test_words_that_were_never_read_are_read_now():
    model, target = build().eval(), ids(T, 1)
    whole = model(PADDED, target)
    for steps in (start_decoding(model, PADDED), CachedSteps(model, PADDED)):
        torch.testing.assert_close(steps.logits_from(target, 4), whole[:, 4:], atol=1e-12, rtol=0)
        steps.logits_from(target[:, :2], 0)
        torch.testing.assert_close(steps.logits_from(target, 4), whole[:, 4:], atol=1e-12, rtol=0)


class Halved(AlibiPositions):
    """A scheme of a reader's own."""

    def forward(self, q, k, v, *, mask=None, dropout=0.0):
        return super().forward(q / 2, k, v, mask=mask, dropout=dropout)


def test_the_packed_way_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match="take CachedSteps, or start_decoding"):
        PackedSteps(build(positions="relative"), PADDED)
    layer = accelerate(MultiHeadAttention(M, 1, positions=Halved()).double())
    x = torch.randn(B, I, M).double()
    with pytest.raises(ValueError, match="cache: expected none with positions whose forward is their own"):
        layer(x, x, x, cache=KeyValueCache(grows=True))


def test_in_16_bits_the_sums_of_the_layers_stay_wide():
    """Under autocast the residual stream is float32 in the definition and in the packed way alike."""
    model, seen = talker(3).float().eval(), []
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        steps = start_decoding(model, sources())
        steps.packed[-1].norms[0] = lambda x: seen.append(x.dtype) or torch.layer_norm(x, x.shape[-1:])
        steps.next_logits(torch.ones(len(sources()), 1, dtype=torch.int64))
        steps.next_logits(torch.ones(len(sources()), 2, dtype=torch.int64))
    assert seen and set(seen) == {torch.float32}
