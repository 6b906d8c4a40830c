"""The step in a room of fixed size says what the definition says, word for word; a graph is captured once, and kept no longer than needed.

A GPU is not asked for. In its place stands `Recorded`, which keeps the calls of PyTorch with the very tensors that they were given,
makes them again on the same memory, and refuses what a capture refuses: a call that would have to wait for the device.
"""

import copy
import dataclasses
import gc
import weakref
from functools import partial

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.ci import combinations
from tests.engine.test_cache_and_decode import PADDED, PREFIXES
from tests.test_decoding import CONFIG as TALKING
from tests.test_decoding import build as talker
from tests.test_decoding import sources
from tests.whole_models import CHOICES, CONFIG, SIX, S, T, build, ids
from xformer_lib.decoding import Translator, beam_search, greedy
from xformer_lib.engine import captured, decode, quantize_int8, start_decoding
from xformer_lib.engine.captured import LOOK_EVERY, ROOMS, WARM_UP, CapturedSteps, room_size
from xformer_lib.engine.decode import CachedSteps, PackedSteps, PlainSteps
from xformer_lib.speculation import speculative

WAITS = {"aten::item", "aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::is_nonzero", "aten::equal"}


def waits(function, args) -> bool:
    """Return whether a call asks the device for a number: directly, or for how many a mask picks out."""
    name = function.name().split(".")[0]
    picked = args[1] if name in ("aten::index", "aten::index_put_") else ()
    return name in WAITS or any(index is not None and index.dtype == torch.bool for index in picked)


class WithoutWaiting(TorchDispatchMode):
    """A block in which no call may ask the device for a number."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if waits(function, args):
            raise RuntimeError(f"{function}: a graph waits for nobody")
        return function(*args, **(kwargs or {}))


class Recorded(WithoutWaiting):
    """What a `torch.cuda.CUDAGraph` is to a GPU: the calls of ``work``, with the tensors that they had."""

    made, replays = 0, 0

    def __init__(self, work, device):
        super().__init__()
        self.calls, room = [], work.__self__
        before = {name: value.clone() for name, value in vars(room).items() if isinstance(value, torch.Tensor)}
        with self:
            work()
        for name, value in before.items():  # nothing is computed while it is captured
            getattr(room, name).copy_(value)
        type(self).made += 1

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = super().__torch_dispatch__(function, types, args, kwargs)
        self.calls.append((function, args, kwargs or {}, out))
        return out

    def replay(self):
        type(self).replays += 1
        for function, args, kwargs, out in self.calls:
            found = function(*args, **kwargs)
            for old, new in zip(*(x if isinstance(x, tuple) else (x,) for x in (out, found)), strict=True):
                if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


@pytest.fixture
def graphs(monkeypatch):
    """From now on a room's calls are recorded on a CPU, too; the class that counts."""

    class Counted(Recorded):
        pass

    monkeypatch.setattr(captured, "run_aside", lambda work, device: work())
    monkeypatch.setattr(captured, "captured_graph", Counted)
    monkeypatch.setattr(decode, "CapturedSteps", partial(CapturedSteps, capture=True))
    return Counted


def heads_of(num_kv_heads):
    """Rotary turns pairs: heads of width 22 or 2."""
    return {"num_heads": 1 if num_kv_heads is None else 11, "num_kv_heads": num_kv_heads}


# ---------------------------------------------------------------- the same numbers


@combinations(choice=CHOICES, num_kv_heads=(None, 1), capture=(False, True))
def test_a_room_gives_the_logits_of_the_definition(choice, num_kv_heads, capture, graphs):
    """One word or several, rows that repeat and leave, padding in front, between and behind."""
    model, target = build(num_kv_heads=num_kv_heads, **choice), ids(T, 1)
    with torch.no_grad():
        whole, steps, rows = model(PADDED, target), CapturedSteps(model, PADDED, capture=capture), torch.tensor([2, 1, 2, 0, 1])
        for end in (1, 2, 4):
            torch.testing.assert_close(steps.next_logits(target[:, :end]), whole[:, end - 1], atol=1e-12, rtol=0)
        torch.testing.assert_close(steps.memory, model.encode(PADDED), atol=1e-12, rtol=0)
        steps.keep(rows)
        torch.testing.assert_close(steps.next_logits(target[rows]), whole[rows, 4], atol=1e-12, rtol=0)
        for prefix in PREFIXES.values():
            tokens = torch.tensor([[*row, *later] for row, later in zip(prefix, ([11, 12], [0, 13], [14, 15]))])
            steps, plain = CapturedSteps(model, ids(S), capture=capture), PlainSteps(model, ids(S))
            for length in range(1, 7):
                torch.testing.assert_close(steps.next_logits(tokens[:, :length]), plain.next_logits(tokens[:, :length]), atol=1e-12, rtol=0)


@pytest.mark.parametrize("capture", [False, True])
def test_a_sentence_of_padding_reads_nothing_and_a_long_one_moves_on(capture, graphs):
    """Rooms of 32 and 64 words; another room brings everything along."""
    model = build(max_len=80)
    source = PADDED.clone()
    source[1] = CONFIG.pad_id
    target = torch.randint(3, CONFIG.vocab_size, (3, 40), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        steps, whole = CapturedSteps(model, source, capture=capture), model(source, target)
        for end in range(1, 41):
            torch.testing.assert_close(steps.next_logits(target[:, :end]), whole[:, end - 1], atol=1e-12, rtol=0)
            assert steps.room.said.shape[4] == (32 if end <= 32 else 64)


@combinations(norm=("pre", "post"), positions=SIX, num_kv_heads=(None, 1), batch_size=(1, 7, 64), beam_size=(1, 4), graph=(False, True))
def test_the_same_words(norm, positions, num_kv_heads, batch_size, beam_size, graph, monkeypatch, request):
    """Sentences of many lengths that end at different words, at <eos> or at their limit."""
    if graph:
        request.getfixturevalue("graphs")
    config = dataclasses.replace(TALKING, norm=norm, positions=positions, max_offset=3, **heads_of(num_kv_heads))
    model, source = talker(3, config=config, ends=3.0).eval(), sources([1 + 5 * n % 13 for n in range(batch_size)])
    if beam_size == 1:
        said, wanted = (greedy(model, source, max_len=14, engine=engine) for engine in ("captured", "plain"))
    else:
        said, wanted = (
            [[one.ids for one in best] for best in beam_search(model, source, max_len=14, beam_size=beam_size, engine=engine)]
            for engine in ("captured", "plain")
        )
    assert said == wanted


@pytest.mark.parametrize("positions", SIX)
def test_the_same_words_in_bfloat16(positions):
    """It is as far from the exact logits as the plain model in bfloat16 is; nearly all words are that model's, and where two are nearer to
    each other than such numbers can tell, either may come."""
    config = dataclasses.replace(TALKING, positions=positions, max_offset=3, **heads_of(None))
    exact, model = talker(3, config=config, ends=3.0).eval(), talker(3, config=config, ends=3.0).eval().bfloat16()
    source = sources([1 + 5 * n % 13 for n in range(64)])
    said, wanted = (greedy(model, source, max_len=10, engine=engine) for engine in ("captured", "plain"))
    assert sum(one == other for one, other in zip(said, wanted)) >= 57
    tokens, errors = torch.randint(3, 31, (64, 6), generator=torch.Generator().manual_seed(1)), []
    with torch.no_grad():
        for steps in (CapturedSteps(model, source), PlainSteps(model, source)):
            for end in range(1, 6):  # word by word
                steps.next_logits(tokens[:, :end])
            errors.append((steps.next_logits(tokens) - exact(source, tokens)[:, -1]).abs().mean().item())
    assert errors[0] < 1.2 * errors[1]


def test_a_translator_and_a_draft_say_the_same(graphs):
    from xformer_lib import load_pretrained

    shipped = load_pretrained("en-fr")
    texts = ["Where is the station?", "A man in a blue shirt is standing on a ladder.", "Two dogs."]
    for beam_size in (1, 4):
        wanted = shipped.translate(texts, beam_size=beam_size)
        assert Translator(shipped.model, shipped.tokenizer, engine="captured").translate(texts, beam_size=beam_size) == wanted
    assert graphs.made and graphs.replays > graphs.made
    model, source = talker(3).eval(), sources((5,))
    assert speculative(model, source, lambda words, count: [7] * count).ids == greedy(model, source, engine="captured")[0]


# ---------------------------------------------------------------- who takes it


def test_who_takes_it():
    """By itself on a GPU alone, and nowhere where a word would be another's."""
    model, source = talker(3).eval(), sources()
    single, whole = talker(3).float().eval(), quantize_int8(talker(3).float())
    with torch.inference_mode():
        assert type(start_decoding(model, source)) is type(start_decoding(model, source, engine="cached")) is PackedSteps
        assert type(start_decoding(model, source, engine="captured")) is CapturedSteps
        assert type(start_decoding(model, source, engine="plain")) is PlainSteps
        assert isinstance(start_decoding(whole, source, engine="captured"), CachedSteps)
        with torch.autocast("cpu"):
            assert type(start_decoding(single, source, engine="captured")) is PackedSteps
        assert type(start_decoding(model.train(), source, engine="captured")) is CachedSteps
        hook = model.eval().decoder.register_forward_hook(lambda *_: None)
        assert type(start_decoding(model, source, engine="captured")) is PlainSteps
        hook.remove()
    assert type(start_decoding(model, source, engine="captured")) is PackedSteps  # gradients are wanted


def test_a_model_in_training_speaks_without_its_dropout():
    model, source = talker(3).train(), sources()
    assert greedy(model, source, engine="captured") == greedy(model, source, engine="plain") and model.training


@pytest.mark.errors
def test_words_beyond_the_models_length_are_refused():
    with torch.no_grad():
        steps = CapturedSteps(build(), ids(S))
        steps.next_logits(ids(23, 1))
        with pytest.raises(ValueError, match="target_in: expected at most max_len=23 tokens, got 24; split"):
            steps.next_logits(ids(24, 1))


def test_few_sizes():
    found = {room_size(CONFIG, batch_size, 7, 3)[0] for batch_size in range(1, 513)}
    assert found == {1, 4, 16, 64, 128, 256, 512}
    sizes = {room_size(dataclasses.replace(CONFIG, max_len=200), 1, n, n)[1:] for n in range(1, 201)}
    assert sizes == {(16, 32), (32, 32), (64, 64), (128, 128), (200, 200)}


# ---------------------------------------------------------------- the graph


def test_a_graph_is_captured_once_and_replayed(graphs):
    """The first words of a room are its warm-up; later sentences need none."""
    model, source = build(), ids(S)
    with torch.inference_mode():
        steps, tokens = CapturedSteps(model, source, capture=True), ids(20, 1)
        for length in range(1, 21):
            steps.next_logits(tokens[:, :length])
        assert (graphs.made, graphs.replays) == (1, 20 - WARM_UP)
        room = steps.room
        del steps
        source = ids(S, 5)
        steps = CapturedSteps(model, source, capture=True)
        assert steps.room is room
        torch.testing.assert_close(steps.next_logits(tokens[:, :9]), model(source, tokens[:, :9])[:, -1], atol=1e-12, rtol=0)
        assert (graphs.made, graphs.replays) == (1, 29 - WARM_UP)


def test_a_change_of_weights_is_heard_by_the_next_sentence(graphs):
    """In place, as training changes them; and in other memory, which makes another graph."""
    model, source = talker(3).eval(), sources()
    before = greedy(model, source, engine="captured")
    with torch.no_grad():
        model.decoder.layers[0].self_attention.w_v.weight.mul_(-3)
    made = graphs.made
    changed = greedy(model, source, engine="captured")
    assert changed == greedy(model, source, engine="plain") != before and graphs.made == made
    model.load_state_dict(copy.deepcopy(talker(1).state_dict()))
    assert greedy(model, source, engine="captured") == greedy(model, source, engine="plain") != changed
    made = graphs.made
    model.float()
    assert greedy(model, source, engine="captured") == greedy(model, source, engine="plain") and graphs.made > made
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        made = graphs.made
        greedy(model, source, engine="captured")
        assert graphs.made > made
    finally:
        torch.set_float32_matmul_precision(before)


def test_a_sentence_that_overflowed_leaves_nothing_behind(graphs):
    """In a room of its own size, and in one into which the next sentence moves."""
    model, target, rows = build(max_len=80), torch.full((3, 33), 5), torch.tensor([1])
    with torch.inference_mode():
        for _ in range(2):
            steps = CapturedSteps(model, PADDED, capture=True)
            found = [steps.next_logits(target)]
            steps.keep(rows)
            found.append(steps.next_logits(torch.cat([target, target[:, :1]], dim=1)[rows]))
            torch.testing.assert_close(found[0], model(PADDED, target)[:, -1], atol=1e-12, rtol=0)
            torch.testing.assert_close(found[1][0], model(PADDED, torch.full((3, 34), 5))[1, -1], atol=1e-12, rtol=0)
            del steps
            for room in ROOMS[model].free:
                room.said.fill_(torch.nan), room.given.fill_(torch.nan)
        assert len(ROOMS[model].free) == 3


def test_two_sentences_at_a_time_have_a_room_each(graphs):
    model, target = build(), ids(T, 1)
    other = ids(S, 5)
    with torch.inference_mode():
        one, two = CapturedSteps(model, PADDED, capture=True), CapturedSteps(model, other, capture=True)
        for end in range(1, T + 1):
            for steps, source in ((one, PADDED), (two, other)):
                wanted = model(source, target[:, :end])[:, -1]
                torch.testing.assert_close(steps.next_logits(target[:, :end]), wanted, atol=1e-12, rtol=0)
        assert one.room is not two.room and graphs.made == 2


def test_rooms_go_with_their_model_and_not_all_are_kept(graphs, monkeypatch):
    model, source = talker(3).eval(), sources()
    greedy(model, source, engine="captured")
    rooms = [weakref.ref(room) for room in ROOMS[model].free]
    assert rooms
    monkeypatch.setattr(captured, "KEPT_BYTES", 0)
    greedy(model, source[:1], engine="captured")
    assert len(ROOMS[model].free) == 1
    twin = copy.deepcopy(model)
    assert twin not in ROOMS
    rooms += [weakref.ref(room) for room in ROOMS[model].free]
    del model
    gc.collect()
    assert not any(room() for room in rooms)


def test_nothing_waits_between_two_looks(graphs):
    """Neither a word, nor rows that change places; and a search looks every few words."""
    model, source = talker(3).eval(), sources()
    with torch.inference_mode():
        steps, tokens = CapturedSteps(model, source, capture=True), torch.full((len(source), 1), 1)
        with WithoutWaiting():
            for _ in range(WARM_UP + 3):
                logits = steps.next_logits(tokens)
                tokens = torch.cat([tokens, logits.argmax(dim=-1, keepdim=True)], dim=1)
                steps.reorder(torch.arange(len(source)))

    class Looks(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.count += waits(function, args)
            return function(*args, **(kwargs or {}))

    counts = {}
    for engine in ("captured", "cached"):
        with Looks() as looks:
            words = max(map(len, greedy(model, source, max_len=30, engine=engine)))
        counts[engine] = looks.count
    assert words == 30 and counts["cached"] - counts["captured"] >= 30 - 30 // LOOK_EVERY - 1
