"""The cached step as one graph: keys in a room of fixed size, so that a GPU can capture a word's calls once and replay them.

    python -m benchmarks.captured [--device cuda] [--json FILE]

Greedy words of the shipped model, 24 for each of 1, 64 and 512 sentences, without looking for an end: the library's own steps, the same in
a room, and the room captured. Nothing is waited for between two words of a captured graph. Each row: milliseconds per word, the median of
rounds in which all take turns, their range, and whether the words are those of the library. Without a GPU nothing is captured.
"""

import argparse
import statistics
import time
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.contenders.ours import shipped_model
from benchmarks.device import wait
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.engine import start_decoding
from xformer_lib.engine.decode import CachedSteps
from xformer_lib.engine.modules import accelerate
from xformer_lib.nn.masks import padding_mask
from xformer_lib.training import pick_device

WORDS, READ = 24, 16


class Room:
    """What `engine.KeyValueCache` is to attention, in a room of fixed size; ``place`` (1,) says where the next word stands."""

    ready = False

    def __init__(self, like: Tensor, places: int, place: Tensor):
        self.length, self.place = places - 1, place  # a query meets the whole room; the mask hides what is not yet written
        self.k, self.v = (like.new_zeros(*like.shape[:2], places, like.shape[3]) for _ in "kv")
        self.grows = True

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return self.k.index_copy_(2, self.place, k), self.v.index_copy_(2, self.place, v)


class RoomSteps(CachedSteps):
    """Greedy words of a model with sinusoidal positions; every array stays where it is from word to word."""

    def __init__(self, model, source: Tensor, words: int):
        super().__init__(accelerate(model, path="explicit"), source)
        self.mask = padding_mask(source, model.config.pad_id)
        self.place = torch.zeros(1, dtype=torch.long, device=source.device)
        self.places = torch.arange(words, device=source.device)
        self.token = source.new_full((len(source), 1), model.config.bos_id)
        self.said = source.new_zeros(len(source), words)
        self.graph = None
        for layer, (_, read) in zip(self.layers, self.caches):
            attention = layer.cross_attention
            read.update(
                attention.split(attention.w_k(self.memory), attention.d_head),
                attention.split(attention.w_v(self.memory), attention.d_value),
            )
        self.caches = [(Room(read.k, words, self.place), read) for _, read in self.caches]

    def one_word(self) -> None:
        """Write the next word behind the others, and stand behind it."""
        model = self.model
        mask = (self.places <= self.place).expand(len(self.token), 1, -1)
        x = model.embedding(self.token) + model.positions.table[self.place]
        for number in range(len(self.layers)):
            x = self.run_layer(number, x, mask)
        self.token.copy_(model.embedding.logits(model.decoder.norm(x))[:, 0].argmax(dim=-1, keepdim=True))
        self.said.index_copy_(1, self.place, self.token)
        self.place += 1

    def capture(self) -> None:
        """Have the GPU keep the calls of one word; they run a few times before, on another stream, as PyTorch asks for."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.one_word()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.one_word()

    def write(self) -> Tensor:
        """Return the words (b t), as many as there is room for."""
        self.place.zero_()
        self.token.fill_(self.model.config.bos_id)
        for _ in self.places:
            if self.graph is None:
                self.one_word()
            else:
                self.graph.replay()
        return self.said.clone()


def by_library(model, source: Tensor, words: int) -> Tensor:
    """The same words by the library's steps."""
    steps = start_decoding(model, source)
    said = source.new_full((len(source), 1), model.config.bos_id)
    for _ in range(words):
        said = torch.cat([said, steps.next_logits(said).argmax(dim=-1, keepdim=True)], dim=1)
    return said[:, 1:]


@torch.inference_mode()
def measure(device: str, smoke: bool) -> dict:
    """A row for each number of sentences and each way."""
    model = shipped_model()[0].to(device)
    rows = []
    for batch in (1, 4) if smoke else (1, 64, 512):
        generator = torch.Generator().manual_seed(batch)
        source = torch.randint(4, model.config.vocab_size, (batch, READ), generator=generator).to(device)
        room = RoomSteps(model, source, WORDS)
        ways = {"library": lambda source=source: by_library(model, source, WORDS), "room": room.write}
        if device.startswith("cuda"):
            captured = RoomSteps(model, source, WORDS)
            captured.capture()
            ways["captured"] = captured.write
        expected = ways["library"]()
        times: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(2 if smoke else 9):
            for name in sorted(ways, reverse=turn % 2 == 1):
                wait(device)
                began = time.perf_counter()
                said = ways[name]()
                wait(device)
                times[name].append(1e3 * (time.perf_counter() - began) / WORDS)
                if turn == 0:
                    same = (said == expected).all(dim=1).double().mean().item()
                    rows.append({"at_once": batch, "way": name, "equal_to_library": round(same, 4)})
        for row in rows[-len(ways) :]:
            found = times[row["way"]]
            row["ms_per_word"] = round(statistics.median(found), 3)
            row["ms_range"] = [round(min(found), 3), round(max(found), 3)]
            print(row, flush=True)
    return {"rows": rows}


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--json", help="write the record here")
    options = parser.parse_args(arguments)
    device = pick_device(options.device)
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else cpu_name()
    record = {"command": "python -m benchmarks.captured", "commit": git_commit(), "device": name, **measure(device, options.smoke)}
    if options.json:
        Path(options.json).write_text(json_text(record), encoding="utf-8")
    return record


if __name__ == "__main__":
    main()
