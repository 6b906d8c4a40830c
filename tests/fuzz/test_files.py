"""Every byte of the files of a run: a changed file is refused in one line, or it says something else and that is what is loaded.

Nothing is sampled where the file is small. The bytes reach the loader through `Path.read_bytes` and `Path.read_text`, held in
memory, since a hundred thousand files on a disk would take minutes.
"""

import dataclasses
import json
import os
import pickle
import random
import re
from pathlib import Path

import nbformat
import pytest
import torch
from safetensors.torch import save

from xformer_lib.data.pairs import load_pairs
from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.training import loop
from xformer_lib.training.checkpoint import load_model, load_setup, load_tensors, save_setup, save_tensors
from xformer_lib.training.config import TrainConfig, config_to_json

ROOT = Path(__file__).parents[2]
WORDS = ["le", "chat", "dort", "ici", "gros", "jaune", "jardin"]
PAIRS = [
    (" ".join(WORDS[(n * k + 3) % 7] for k in range(2 + n % 4)), " ".join(WORDS[(n * k + 5) % 7] for k in range(2 + n % 3)))
    for n in range(41)
]
CORPUS = {"train": PAIRS[:31], "val": PAIRS[31:]}
MODEL = TransformerConfig(
    vocab_size=271, d_model=4, num_heads=2, d_ff=3, num_encoder_layers=1, num_decoder_layers=1, dropout=0.25, max_len=19
)
CONFIG = TrainConfig("own", MODEL, max_steps=5, max_tokens=47, warmup_steps=1, validate_every=2, seed=2)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run of the smallest kind, and the bytes of its four files."""
    folder = tmp_path_factory.mktemp("run")
    loop.train(CONFIG, folder, corpus=CORPUS, device="cpu", progress=False)
    return folder, {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def held(monkeypatch):
    """Puts bytes where a file is, for readers of `Path` alone."""
    contents, read = {}, Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: contents[path] if path in contents else read(path))
    monkeypatch.setattr(Path, "read_text", lambda path, encoding=None, errors=None: path.read_bytes().decode(encoding))
    return contents


def one_line(error, path):
    """Does the message name the file, say what to do, and nothing more?"""
    text = str(error.value if hasattr(error, "value") else error)
    return str(path) in text and "; " in text and len(text.splitlines()) == 1


def changes(data, values):
    """The data with each byte in turn exchanged, cut after each byte, and with something behind it."""
    for place, byte in enumerate(data):
        for value in values(byte):
            yield data[:place] + bytes([value]) + data[place + 1 :]
    for length in range(len(data)):
        yield data[:length]
    for more in (b"\x00", b"\n", b"}", b" " * 8, data):
        yield data + more


def all_refused(held, path, load, damaged):
    """Count the files, each of which must be a ValueError in one line."""
    count = 0
    for data in damaged:
        held[path] = data
        with pytest.raises(ValueError) as error:
            load()
        assert one_line(error, path), str(error.value)
        count += 1
    return count


def every_other(byte):
    return [value for value in range(256) if value != byte]


def three_others(byte):
    return byte ^ 1, byte ^ 0x80, byte ^ 0xFF


def test_all_255_other_values_of_every_byte_of_a_small_file(held, tmp_path, record_property):
    path = tmp_path / "x.safetensors"
    tensors = {"a": torch.arange(7, dtype=torch.float32), "b": torch.tensor([[True, False, True]])}
    save_tensors(path, tensors, {"step": 3, "history": [{"loss": 1 / 3}]})
    data = path.read_bytes()
    count = all_refused(held, path, lambda: load_tensors(path), changes(data, every_other))
    held[path] = data
    assert load_tensors(path)[1] == {"step": 3, "history": [{"loss": 1 / 3}]}
    record_property("cases", count)
    print(f"{count:,} changed files refused")
    assert count > 256 * len(data) > 50_000


@pytest.mark.parametrize("name", ["checkpoint.safetensors", "model.safetensors"])
def test_every_byte_of_a_checkpoint_and_of_a_model(run, held, name, record_property):
    """Three other values for each byte of header, weights, optimiser and generator; every length."""
    folder, files = run
    count = all_refused(
        held,
        folder / name,
        lambda: load_tensors(folder / name),
        every_nth(changes(files[name], three_others), 1 if len(files[name]) < 20_000 else 4),
    )
    record_property("cases", count)
    print(f"{count:,} changed files refused, of {len(files[name]):,} bytes")
    assert count > len(files[name]) > 5_000


def every_nth(things, n):
    return (thing for number, thing in enumerate(things) if number % n == 0)


def test_every_byte_of_a_tokenizer(run, held, record_property):
    folder, files = run
    path = folder / "tokenizer.json"
    count = all_refused(held, path, lambda: Tokenizer.load(path), changes(files["tokenizer.json"], three_others))
    record_property("cases", count)
    assert count > 4 * len(files["tokenizer.json"]) > 10_000


def test_every_byte_of_the_settings(run, held, record_property):
    """Settings are meant to be read and edited. What loads says just what the file says, and fits the weights."""
    folder, files = run
    path, good, loaded = folder / "config.json", files["config.json"], 0
    values = lambda byte: [value for value in (byte ^ 1, byte ^ 0x80, ord("9"), ord("-"), ord('"')) if value != byte]
    damaged = list(changes(good, values))
    held[path] = good
    load_model(folder)
    for data in damaged:
        held[path] = data
        try:
            config, _ = load_setup(folder)
            model, _ = load_model(folder)
        except ValueError as error:
            assert "; " in str(error) and len(str(error).splitlines()) == 1
        else:
            loaded += 1
            said = json.loads(data.decode("utf-8"))
            assert said.pop("run") == json.loads(good)["run"] and said == json.loads(json.dumps(config_to_json(config)))
            same = ("d_model", "num_heads", "d_ff", "vocab_size", "norm", "positions", "pad_id", "bos_id", "eos_id")
            assert all(getattr(model.config, name) == getattr(MODEL, name) for name in same if name != "vocab_size")
    record_property("cases", len(damaged))
    print(f"{len(damaged):,} changed files, {loaded:,} of them other settings")
    assert len(damaged) > 4 * len(good) and 20 < loaded < 0.2 * len(damaged)


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("num_heads", 1, "was trained with num_heads=2, config.json says 1"),
        ("norm", "post", "was trained with norm=pre, config.json says post|do not fit the model"),
        ("positions", "rotary", "was trained with positions=sinusoidal, config.json says rotary"),
        ("d_model", 8, "was trained with d_model=4, config.json says 8|do not fit the model"),
        ("num_heads", 97, "was trained with num_heads=2, config.json says 97|d_model must be divisible by num_heads: got d_model=4"),
        ("d_ff", 3.0, "d_ff: expected int, got 3.0"),
        ("dropout", True, "dropout: expected .*, got True"),
        ("dropout", float("nan"), "dropout: expected .*, got nan"),
        ("pad_id", "0", "pad_id: expected int, got '0'"),
        ("colour", "red", "colour: expected one of vocab_size, d_model, "),
    ],
)
def test_settings_that_do_not_belong_to_the_weights(run, held, name, value, message):
    """Shapes alone would let some of these through, and the model would write nonsense without a word."""
    folder, files = run
    settings = json.loads(files["config.json"])
    settings["model"][name] = value
    held[folder / "config.json"] = json.dumps(settings).encode()
    for load in (lambda: load_model(folder), lambda: resume(folder)):
        with pytest.raises(ValueError, match=message) as error:
            load()
        assert "\n" not in str(error.value)


def resume(folder):
    return loop.resume(folder, corpus=CORPUS, device="cpu", progress=False)


def test_settings_without_a_name(run, held):
    folder, files = run
    for settings in ({}, {"model": {}}, {"corpus": "own"}, [], None, 3, {**json.loads(files["config.json"]), "model": None}):
        held[folder / "config.json"] = json.dumps(settings).encode()
        with pytest.raises(ValueError) as error:
            load_setup(folder)
        assert one_line(error, folder / "config.json")


# ---------------------------------------------------------------- files in the wrong place


@pytest.fixture(scope="module")
def other_run(tmp_path_factory):
    """The same sizes, other words: every shape fits."""
    folder = tmp_path_factory.mktemp("other")
    corpus = {part: [(french.upper(), english.upper()) for english, french in pairs] for part, pairs in CORPUS.items()}
    loop.train(dataclasses.replace(CONFIG, seed=3), folder, corpus=corpus, device="cpu", progress=False)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_of_two_runs_are_not_mixed(run, other_run, held):
    folder, files = run
    assert json.loads(files["config.json"])["model"] == json.loads(other_run["config.json"])["model"]  # or shapes decide
    for name in ("tokenizer.json", "model.safetensors"):
        held.clear()
        held[folder / name] = other_run[name]
        with pytest.raises(ValueError, match="was trained with another tokenizer than tokenizer.json; restore both") as error:
            load_model(folder)
        assert one_line(error, folder)
    held[folder / "checkpoint.safetensors"], held[folder / "model.safetensors"] = other_run["checkpoint.safetensors"], b""
    with pytest.raises(ValueError, match="was trained with another tokenizer than tokenizer.json; restore both"):
        resume(folder)


@pytest.mark.parametrize("place", ["config.json", "tokenizer.json", "checkpoint.safetensors", "model.safetensors"])
def test_files_that_change_places(run, held, place):
    """Each file of the folder in the place of each other one."""
    folder, files = run
    for name in files:
        held[folder / place] = files[name]
        load = (lambda: resume(folder)) if place.startswith("checkpoint") else (lambda: load_model(folder))
        if name == place:
            load()
            continue
        with pytest.raises(ValueError) as error:
            load()
        assert one_line(error, folder)


def test_a_file_with_the_right_checksum_and_too_little_in_it(run, held, tmp_path):
    """Made by hand: whole as a file, and still no checkpoint. Model, optimiser and generator stay as they were."""
    folder, _ = run
    tensors, state = load_tensors(folder / "checkpoint.safetensors")
    path = tmp_path / "x.safetensors"
    lacking = [
        ({name: tensor for name, tensor in tensors.items() if name != lost}, state)
        for lost in ("rng.cpu", "model.embedding.weight", "optimizer.exp_avg.embedding.weight")
    ]
    lacking += [(tensors, {name: value for name, value in state.items() if name != lost}) for lost in ("step", "history")]
    lacking += [({**tensors, "optimizer.exp_avg.embedding.weight": torch.zeros(2, 3)}, state)]
    for some_tensors, some_state in lacking:
        save_tensors(path, some_tensors, some_state)
        held[folder / "checkpoint.safetensors"] = path.read_bytes()
        generator = torch.get_rng_state()
        with pytest.raises(ValueError) as error:
            resume(folder)
        assert one_line(error, folder), str(error.value)
        torch.set_rng_state(generator)


# ---------------------------------------------------------------- nothing is ever unpickled


class Malicious:
    """Unpickled, it leaves a file behind."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def test_a_pickle_is_never_opened(run, held, tmp_path):
    """As a plain pickle and as what torch.save writes, in the place of each file: refused, and its code does not run."""
    folder, files = run
    marker, saved = tmp_path / "it ran", tmp_path / "saved.pt"
    torch.save({"model": Malicious(marker)}, saved)
    for payload in (pickle.dumps(Malicious(marker)), pickle.dumps({"model": Malicious(marker)}, protocol=0), saved.read_bytes()):
        for name in files:
            held.clear()
            held[folder / name] = payload
            load = {"checkpoint.safetensors": resume, "pairs.tsv": load_pairs}.get(name, load_model)
            with pytest.raises(ValueError) as error:
                load(folder)
            assert one_line(error, folder) and not marker.exists()
    pickle.loads(pickle.dumps(Malicious(marker)))
    assert marker.exists()  # the payload is a real one


UNPICKLES = re.compile(
    r"torch\.load|\bpickle\b|\bc?[Pp]ickler\b|allow_pickle|np\.load\(|numpy\.load\(|\bjoblib\b|\bdill\b|\bshelve\b"
    r"|\bmarshal\b|read_pickle|weights_only"
)


TENSORS_ALONE = re.compile(r"torch\.load\([^\n]*?, weights_only=True\)")  # runs nothing that is in the file


def test_no_line_of_the_course_can_unpickle():
    """The library, the tools, the benchmarks and every code cell of every chapter; a chapter may load tensors and nothing else."""
    paths = [path for folder in ("xformer_lib", "tools", "benchmarks", "book") for path in sorted((ROOT / folder).rglob("*.py"))]
    sources = {str(path): path.read_text(encoding="utf-8") for path in paths if "vendor" not in path.parts}
    for path in sorted((ROOT / "chapters").rglob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        sources[str(path)] = TENSORS_ALONE.sub("", "\n".join(cell.source for cell in cells if cell.cell_type == "code"))
    assert len(sources) > 100
    assert {path: UNPICKLES.findall(source) for path, source in sources.items() if UNPICKLES.search(source)} == {}
    assert UNPICKLES.search("model = torch.load(path)") and UNPICKLES.search("import pickle")


# ---------------------------------------------------------------- the shipped model


def test_a_flipped_bit_in_the_shipped_model(held):
    """Ten places drawn once, in fifteen megabytes."""
    folder = ROOT / "xformer_lib" / "pretrained" / "en-fr"
    path, draw = folder / "model.safetensors", random.Random(7)
    data = path.read_bytes()
    for place in draw.sample(range(len(data)), 10):
        held[path] = data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :]
        with pytest.raises(ValueError) as error:
            load_tensors(path)
        assert one_line(error, path)


def test_a_foreign_file_without_a_checksum(run, held):
    folder, _ = run
    weights, state = load_tensors(folder / "model.safetensors")
    held[folder / "model.safetensors"] = save(weights, metadata={"state": json.dumps(state)})
    with pytest.raises(ValueError) as error:
        load_model(folder)
    assert one_line(error, folder)


def test_a_run_saved_again_is_the_same_run(run, tmp_path):
    """The control: what is not changed loads, and what is saved again is the same to the byte."""
    folder, files = run
    config, tokenizer = load_setup(folder)
    save_setup(tmp_path, config, tokenizer, run=json.loads(files["config.json"])["run"])
    save_tensors(tmp_path / "model.safetensors", *load_tensors(folder / "model.safetensors"))
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        assert (tmp_path / name).read_bytes() == files[name]
    assert isinstance(load_model(tmp_path)[0], Transformer)
