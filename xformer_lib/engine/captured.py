"""One word as one graph: arrays that stay where they are, so that a GPU captures the calls of a word once and replays them.

A word of a small model is a hundred calls, and a GPU does each of them in less time than Python needs to make it. A
`torch.cuda.CUDAGraph` makes them all by one. It asks that each call finds its arrays at the same addresses every time, and that
none waits for the device: hence a `Room`, whose sizes never change, and in it a number, ``place``, that says where the next word
stands.
"""

import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xformer_lib.engine.modules import accelerate
from xformer_lib.nn._trees import second_tree
from xformer_lib.nn.checks import check_length
from xformer_lib.nn.positions import AlibiPositions, RelativePositions, RotaryPositions, clock_angles
from xformer_lib.nn.transformer import Transformer
from xformer_lib.shapes import Float, Int

__all__: list[str] = []  # for the library itself

WARM_UP = 2  # words that are computed as they are, before the calls of one are captured
LOOK_EVERY = 4  # words between two looks at which sentences have ended: a look waits for the device
KEPT_BYTES = 2**30  # of rooms that nobody is in, of one model; the newest is kept in any case


# ---------------------------------------------------------------- sizes


def next_power(count: int, least: int) -> int:
    """Return the smallest power of two that is neither below ``count`` nor below ``least``."""
    return max(least, 1 << (count - 1).bit_length())


def room_size(config: Any, batch_size: int, src_len: int, places: int) -> tuple[int, int, int]:
    """Return sizes of a room that hold these: few, so that a graph serves again. Up to 64 sentences are 1, 4, 16 or 64."""
    batch_size = next_power(batch_size, 1)
    if batch_size in (2, 8, 32):
        batch_size *= 2
    return batch_size, min(next_power(src_len, 16), config.max_len), min(next_power(places, 32), config.max_len)


# ---------------------------------------------------------------- the graph


def run_aside(work: Callable[[], None], device: torch.device) -> None:
    """Make the calls on another stream, as PyTorch asks for before it captures them."""
    with torch.cuda.device(device):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            work()
        torch.cuda.current_stream().wait_stream(side)


def captured_graph(work: Callable[[], None], device: torch.device) -> Any:
    """Return the calls as a graph, whose ``replay()`` makes them; nothing is computed here."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.device(device), torch.cuda.graph(graph, stream=torch.cuda.Stream(device), capture_error_mode="thread_local"):
        work()
    return graph


class Replayed:
    """A function whose calls are the same each time; from the third time on they are one."""

    def __init__(self, work: Callable[[], None], device: torch.device):
        self.work, self.device, self.times = work, device, 0
        self.graph: Any = None

    def __call__(self) -> None:
        self.times += 1
        if self.times <= WARM_UP:
            run_aside(self.work, self.device)
            return
        if self.graph is None:
            self.graph = captured_graph(self.work, self.device)
        self.graph.replay()


# ---------------------------------------------------------------- the room


def as_numbers(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Return what a mask (b j) adds to scores (b g i j): 0, or where it hides the least number there is.

    A row that is hidden altogether then has equal weights, which are numbers, where -∞ would leave none.
    """
    return (~mask).to(dtype).mul_(torch.finfo(dtype).min)[:, None, None]


class Room:
    """Arrays for ``batch_size`` sentences that have read up to ``src_len`` words each and say up to ``places``.

    ``size`` has these three, and whether calls are captured; ``state``: the model's `addresses`. Letters as in `nn`, with l layers,
    g heads of keys and values, and 2 for keys and values.
    """

    def __init__(self, model: Transformer, size: tuple[int, int, int, bool], state: list[tuple]):
        self.size, self.state = size, state
        (batch_size, src_len, places, capture), config, like = size, model.config, model.embedding.weight
        self.model: Any = second_tree(accelerate(model))  # the caller's must not live as long as its room does
        self.layers = self.model.decoder.layers
        heads, d_head = config.num_kv_heads or config.num_heads, config.d_model // config.num_heads
        with torch.inference_mode(False), torch.no_grad():  # so that they may be written to in any mode
            self.said = like.new_zeros(config.num_decoder_layers, 2, batch_size, heads, places, d_head)  # l 2 b g t d
            self.given = like.new_zeros(config.num_decoder_layers, 2, batch_size, heads, src_len, d_head)  # l 2 b g s d
            self.is_word = torch.zeros(batch_size, places, dtype=torch.bool, device=like.device)  # said, and no padding
            self.hidden = like.new_zeros(batch_size, 1, 1, src_len)  # of the source, as numbers
            self.token = torch.full((batch_size, 1), config.pad_id, device=like.device)
            self.place = torch.zeros(1, dtype=torch.long, device=like.device)
            self.logits = like.new_zeros(batch_size, config.vocab_size)
            self.tables = self.tables_of_places(places, d_head)
        self.word: Callable[[], None] = Replayed(self.one_word, like.device) if capture else self.one_word

    @property
    def bytes(self) -> int:
        """Memory that the largest arrays take."""
        return sum(x.numel() * x.element_size() for x in (self.said, self.given, self.logits))

    def tables_of_places(self, places: int, d_head: int) -> tuple[Tensor, ...]:
        """Return what the scheme of positions needs to know of each place, with a row for each."""
        scheme, like = self.layers[0].self_attention.positions, self.said
        i = torch.arange(places, device=like.device)
        if isinstance(scheme, RotaryPositions):  # (i d): the cosine, and the sine with the sign that it has for this number of a pair
            angles = clock_angles(i.to(torch.promote_types(like.dtype, torch.float32)), d_head)
            sines = torch.stack([-angles.sin(), angles.sin()], dim=-1).flatten(1)
            return angles.cos().repeat_interleave(2, dim=1).to(like.dtype), sines.to(like.dtype)
        if isinstance(scheme, AlibiPositions):  # (i h j)
            bias, _ = scheme.terms(like.new_zeros(1, self.model.config.num_heads, places, 1), places)
            return (bias.transpose(0, 1).contiguous(),)
        if isinstance(scheme, RelativePositions):  # (i j): rows of its own two tables
            return ((i - i[:, None]).clamp(-scheme.max_offset, scheme.max_offset) + scheme.max_offset,)
        return ()

    # ------------------------------------------------------------ between words

    def read(self, memory: Float[Tensor, "n s m"], source: Int[Tensor, "n s"]) -> None:
        """Begin with new sentences, no more and no longer than the room holds."""
        (n, s), pad_id = source.shape, self.model.config.pad_id
        real = torch.zeros(len(self.token), self.given.shape[4], dtype=torch.bool, device=source.device)
        real[:n, :s] = source != pad_id
        self.hidden.copy_(as_numbers(real, self.hidden.dtype))
        self.forget()
        for (keys, values), layer in zip(self.given, self.layers):
            attention = layer.cross_attention
            keys[:n, :, :s] = attention.split(attention.w_k(memory), attention.d_head)
            values[:n, :, :s] = attention.split(attention.w_v(memory), attention.d_value)
        self.given[:, 1].mul_(real[:, None, :, None])  # zeros for a sentence of padding alone
        self.begin_at(0, self.is_word[:n, :0])

    def forget(self) -> None:
        """Leave nothing of earlier sentences: what is hidden must be a number all the same, and theirs may have overflowed."""
        self.said.zero_()
        self.given.zero_()

    def begin_at(self, length: int, is_word: Tensor) -> None:
        """Stand behind ``length`` words, which these were; rows without a sentence hold padding."""
        self.place.fill_(length)
        self.token.fill_(self.model.config.pad_id)
        self.is_word.zero_()
        self.is_word[: len(is_word), :length] = is_word

    def take_over(self, other: "Room", rows: Int[Tensor, "n"], length: int) -> None:
        """Go on with these rows of a room that has said ``length`` words; it may be this one."""
        n = len(rows)
        if other is not self:
            self.forget()
        self.given[:, :, :n] = other.given.index_select(2, rows)
        self.hidden[:n] = other.hidden.index_select(0, rows)
        self.reorder(rows, length, other)

    def reorder(self, rows: Int[Tensor, "n"], length: int, other: "Room | None" = None) -> None:
        """Do that with words alone, for rows that have read the same; as many calls as it takes for one layer."""
        old, n = other or self, len(rows)
        self.said[:, :, :n, :, :length] = old.said[..., :length, :].index_select(2, rows)
        self.begin_at(length, old.is_word[:, :length].index_select(0, rows))

    # ------------------------------------------------------------ one word

    def one_word(self) -> None:
        """Compute ``logits`` of the word after ``token``, and stand behind that; no call here may wait for the device."""
        model, place = self.model, self.place
        self.is_word.index_copy_(1, place, self.token != model.config.pad_id)
        tables = [table.index_select(0, place) for table in self.tables]
        hidden = as_numbers(self.is_word, self.said.dtype)
        if isinstance(self.layers[0].self_attention.positions, AlibiPositions):
            hidden = hidden + tables[0].view(1, self.said.shape[3], -1, self.said.shape[4])
        has_words = self.is_word.any(dim=1).to(self.said.dtype)[:, None, None]

        x = model.embedding(self.token)
        if model.config.positions in ("sinusoidal", "learned"):
            x = x + model.positions.table.index_select(0, place).to(x.dtype)
        for number in range(len(self.layers)):
            x = self.run_layer(number, x, hidden, has_words, tables)
        self.logits.copy_(model.embedding.logits(model.decoder.norm(x))[:, 0])
        place += 1

    def run_layer(
        self, number: int, x: Float[Tensor, "b 1 m"], hidden: Tensor, has_words: Tensor, tables: list[Tensor]
    ) -> Float[Tensor, "b 1 m"]:
        """Run one layer, as `DecoderLayer` has it."""
        layer, (keys, values), given = self.layers[number], self.said[number], self.given[number]

        def self_attention(x):
            own = layer.self_attention
            q, k, v = own.w_q(x), own.w_k(x), own.w_v(x)
            k, v = (own.split(new, own.d_head) for new in (k, v))
            if isinstance(own.positions, RotaryPositions):
                q, k = turn(q.view(len(q), 1, -1, own.d_head), *tables), turn(k, *tables)
            keys.index_copy_(2, self.place, k)
            values.index_copy_(2, self.place, v)
            if isinstance(own.positions, RelativePositions):  # for a single query: other keys and values
                offsets = tables[0][0]
                mixed = read(q, keys + own.positions.key_table[offsets], values + own.positions.value_table[offsets], hidden)
            else:
                mixed = read(q, keys, values, hidden)
            return own.w_o(mixed * has_words)

        def cross_attention(x):
            return layer.cross_attention.w_o(read(layer.cross_attention.w_q(x), given[0], given[1], self.hidden))

        x = layer.residuals[0](x, self_attention)
        x = layer.residuals[1](x, cross_attention)
        return layer.residuals[2](x, layer.feed_forward)


def turn(x: Float[Tensor, "b *n d"], cosines: Float[Tensor, "1 d"], sines: Float[Tensor, "1 d"]) -> Tensor:
    """Compute `nn.positions.apply_rotary` at one place: each number times its cosine, and the other of its pair times the sine."""
    return torch.addcmul(x * cosines, x.unflatten(-1, (-1, 2)).flip(-1).flatten(-2), sines)


def read(q: Tensor, keys: Float[Tensor, "b g j d"], values: Float[Tensor, "b g j d"], hidden: Tensor) -> Float[Tensor, "b 1 hd"]:
    """Return what one query of each head (h d numbers a row) reads; the heads that share keys are the rows of one product."""
    q = q.reshape(len(q), keys.shape[1], -1, keys.shape[3])
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=hidden).flatten(1)[:, None]


# ---------------------------------------------------------------- rooms that are kept


def addresses(model: Transformer) -> list[tuple]:
    """Return where a graph would look for the model's numbers, and in which precision it multiplies them.

    Numbers that change in place, as a step of training or ``load_state_dict`` changes them, are heard; others need another graph.
    """
    parts = [part for whole in (model.embedding, model.positions, model.decoder) for part in whole.modules()]
    tensors = [x for part in parts for x in (*part._parameters.values(), *part._buffers.values()) if x is not None]
    return [(torch.get_float32_matmul_precision(),), *((x.data_ptr(), x.dtype, x.stride()) for x in tensors)]


class Rooms:
    """Rooms of one model that nobody is in, the oldest first."""

    def __init__(self):
        self.free: list[Room] = []
        self.lock = threading.RLock()  # steps may be forgotten, and their room come back, in the middle of a line

    def take(self, model: Transformer, size: tuple[int, int, int, bool], state: list[tuple]) -> Room:
        """Return a room of that size: one that is free, or a new one."""
        with self.lock:
            self.free = [room for room in self.free if room.state == state]
            for room in self.free:
                if room.size == size:
                    self.free.remove(room)
                    return room
        return Room(model, size, state)

    def give_back(self, room: Room) -> None:
        with self.lock:
            self.free.append(room)
            while len(self.free) > 1 and sum(one.bytes for one in self.free) > KEPT_BYTES:
                del self.free[0]


ROOMS: weakref.WeakKeyDictionary[nn.Module, Rooms] = weakref.WeakKeyDictionary()  # they go when the model goes


# ---------------------------------------------------------------- the steps


def can_stay(model: Transformer, device: torch.device) -> bool:
    """Return whether a room does what a known model does: no dropout, no gradient wanted, no precision of the moment, no int8."""
    plain = model.embedding.weight.is_floating_point() and not any(part.training for part in model.modules())
    return plain and not torch.is_grad_enabled() and not torch.is_autocast_enabled(device.type)


class CapturedSteps:
    """What `CachedSteps` does for one new word, in a room of fixed size; on a GPU a word is one graph from the third on.

    ``capture=False``: the same calls, each made by Python; so it is on a CPU in any case. Sentences that leave, and words that the room
    has no place for, are a move to another room. Rooms, and the graphs in them, serve later sentences of the model, and go with it.
    """

    look_every = LOOK_EVERY

    def __init__(self, model: Transformer, source: Int[Tensor, "b s"], *, capture: bool | None = None):
        self.model, self.length = model, 0
        self.capture = source.is_cuda if capture is None else capture
        self.src_len, self.state = source.shape[1], addresses(model)
        self.rooms = ROOMS.setdefault(model, Rooms())
        self.enter(self.size(len(source), 1))
        with torch.no_grad():
            self.memory = self.room.model.encode(source)
            self.room.read(self.memory, source)

    def size(self, batch_size: int, places: int) -> tuple[int, int, int, bool]:
        """Return the size of room that so many sentences of so many words need."""
        return *room_size(self.model.config, batch_size, self.src_len, places), self.capture

    def enter(self, size: tuple[int, int, int, bool]) -> None:
        """Take a room; it is given back when these steps move on or are forgotten."""
        self.room = self.rooms.take(self.model, size, self.state)
        self.leave = weakref.finalize(self, self.rooms.give_back, self.room)
        self.leave.atexit = False

    @torch.no_grad()
    def next_logits(self, tokens: Int[Tensor, "b t"]) -> Float[Tensor, "b v"]:
        """Return logits of the word after ``tokens``; of those, what is new is said word by word."""
        new = tokens[:, self.length :]
        check_length("target_in", new, self.model.config, self.length)
        if self.length + new.shape[1] > self.room.said.shape[4]:
            self.move(torch.arange(len(tokens), device=tokens.device), self.length + new.shape[1])
        for word in new.split(1, dim=1):
            self.room.token[: len(word)] = word
            self.room.word()
            self.length += 1
        return self.room.logits[: len(tokens)].clone()

    @torch.no_grad()
    def keep(self, rows: Int[Tensor, "r"]) -> None:
        """Keep these rows, in this order; one may come several times."""
        self.memory = self.memory[rows]
        self.move(rows, max(1, self.length))

    @torch.no_grad()
    def reorder(self, rows: Int[Tensor, "b"]) -> None:
        """Do what `keep` does for rows of the same sentences: what these have read stays where it is."""
        self.room.reorder(rows, self.length)

    def move(self, rows: Int[Tensor, "r"], places: int) -> None:
        """Go on with these rows in a room that has ``places`` and no more rows than it needs."""
        old, leave, size = self.room, self.leave, self.size(len(rows), places)
        if size != old.size:
            self.enter(size)
        self.room.take_over(old, rows, self.length)
        if self.room is not old:
            leave()
