"""Checkpoints: whole or not at all, read back to the bit. `fuzz/test_files.py` breaks each of their bytes."""

import dataclasses
import errno
import hashlib
import json
import os
import re
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.ci import posix
from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.training.checkpoint import (
    load_checkpoint,
    load_model,
    load_setup,
    load_tensors,
    model_fingerprint,
    save_checkpoint,
    save_model,
    save_setup,
    save_tensors,
    write_atomically,
)
from xformer_lib.training.config import TrainConfig, config_to_json

MODEL = TransformerConfig(
    vocab_size=263,
    d_model=22,
    num_heads=2,
    d_ff=29,
    num_encoder_layers=1,
    num_decoder_layers=2,
    dropout=0.1,
    positions="learned",
    max_len=13,
)
CONFIG = TrainConfig(corpus="fragment", model=MODEL, max_steps=37, warmup_steps=5, peak_rate=3e-3, seed=11)
STATE = {
    "step": 3,
    "epoch": 1,
    "batch": 2,
    "tokens": 101,
    "seconds": 0.7,
    "history": [{"step": 3, "train_loss": 5.1234567890123456, "validation_loss": 1 / 3}],
}


def trained(seed=0, steps=3):
    """A model and its optimiser after a few steps with dropout, which also moves the random generator."""
    torch.manual_seed(seed)
    model = Transformer(MODEL)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98), eps=1e-9, fused=True)
    for _ in range(steps):
        step(model, optimizer)
    return model, optimizer


def step(model, optimizer):
    source, target = torch.randint(3, 263, (3, 7)), torch.randint(3, 263, (3, 5))
    model(source, target).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(["The big yellow cat", "Le gros chat jaune"] * 2, vocab_size=263)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The bytes of a sound checkpoint."""
    folder = tmp_path_factory.mktemp("good")
    save_checkpoint(folder, *trained(), STATE)
    return (folder / "checkpoint.safetensors").read_bytes()


def test_everything_comes_back_to_the_bit(tmp_path):
    model, optimizer = trained()
    save_checkpoint(tmp_path, model, optimizer, STATE)
    generator = torch.get_rng_state()
    other, its_optimizer = trained(seed=5, steps=2)
    assert load_checkpoint(tmp_path, other, its_optimizer, device="cpu") == STATE
    assert torch.equal(torch.get_rng_state(), generator)
    for name, value in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], value) and other.state_dict()[name].dtype == value.dtype
    names = [name for name, _ in model.named_parameters()]
    assert len(names) > 40
    for mine, yours in zip(model.parameters(), other.parameters()):
        assert set(optimizer.state[mine]) == set(its_optimizer.state[yours]) == {"step", "exp_avg", "exp_avg_sq"}
        for key, value in optimizer.state[mine].items():
            assert torch.equal(its_optimizer.state[yours][key], value) and value.abs().sum() > 0


def test_a_refused_checkpoint_changes_nothing(tmp_path):
    def refuse(state):
        raise ValueError("of another run")

    save_checkpoint(tmp_path, *trained(), STATE)
    other, its_optimizer = trained(seed=5, steps=2)
    names = [name for name, _ in other.named_parameters()]
    before = {name: value.clone() for name, value in other.state_dict().items()}
    generator, means = torch.get_rng_state(), [dict(its_optimizer.state[one]) for one in other.parameters()]
    with pytest.raises(ValueError, match="of another run"):
        load_checkpoint(tmp_path, other, its_optimizer, device="cpu", check=refuse)
    assert names and all(torch.equal(value, before[name]) for name, value in other.state_dict().items())
    assert torch.equal(torch.get_rng_state(), generator)
    assert all(its_optimizer.state[one] == mean for one, mean in zip(other.parameters(), means))


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.bool))
def test_tensors_of_every_kind(tmp_path, dtype):
    tensors = {
        "a": torch.arange(14).view(2, 7).to(dtype),
        "one": torch.tensor(3).to(dtype),
        "turned": torch.arange(15).view(3, 5).to(dtype).T,
        "none": torch.zeros(0, 3).to(dtype),
    }
    save_tensors(tmp_path / "x.safetensors", tensors, {"note": "é", "n": [1, 2.5, None]})
    back, state = load_tensors(tmp_path / "x.safetensors")
    assert state == {"note": "é", "n": [1, 2.5, None]} and set(back) == set(tensors)
    for name, tensor in tensors.items():
        assert torch.equal(back[name], tensor) and back[name].dtype == dtype


def is_one_helpful_line(error, path):
    """Does the message name the file and say in one line what to do?"""
    text = str(error.value)
    return text.startswith("checkpoint: ") and str(path) in text and "; " in text and "\n" not in text


def header_length(data):
    return struct.unpack("<Q", data[:8])[0]


def a_run(folder, tokenizer):
    """A folder as a run leaves it."""
    model, optimizer = trained()
    state = {**STATE, "made_for": model_fingerprint(MODEL, tokenizer)}
    save_setup(folder, CONFIG, tokenizer)
    save_model(folder, model, state)
    save_checkpoint(folder, model, optimizer, state)


def test_settings_that_may_change(tmp_path, tokenizer):
    """Dropout is free, and so is how long to train."""
    a_run(tmp_path, tokenizer)
    free = dataclasses.replace(MODEL, dropout=0.5, attention_dropout=0.3)
    save_setup(tmp_path, dataclasses.replace(CONFIG, model=free, max_steps=97), tokenizer)
    assert load_model(tmp_path)[0].config == free


def test_a_setting_that_came_later_refuses_no_older_file(tmp_path, tokenizer):
    a_run(tmp_path, tokenizer)
    weights, state = load_tensors(tmp_path / "model.safetensors")
    del state["made_for"]["model"]["num_kv_heads"]
    save_tensors(tmp_path / "model.safetensors", weights, {**state, "gone": 1})
    load_model(tmp_path)


@pytest.mark.parametrize("lost", ("rng.cpu", "optimizer.exp_avg.embedding.weight"))
@pytest.mark.parametrize("how", ("gone", "of another shape"))
def test_nothing_changes_before_everything_fits(tmp_path, tokenizer, lost, how):
    a_run(tmp_path, tokenizer)
    path = tmp_path / "checkpoint.safetensors"
    tensors, state = load_tensors(path)
    tensors[lost] = torch.zeros(3, dtype=tensors[lost].dtype)
    if how == "gone":
        del tensors[lost]
    save_tensors(path, tensors, state)
    model, optimizer = trained(seed=5)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    generator = torch.get_rng_state()
    with pytest.raises(ValueError, match=f"lacks {lost} of shape") as error:
        load_checkpoint(tmp_path, model, optimizer, device="cpu")
    assert is_one_helpful_line(error, path) and torch.equal(torch.get_rng_state(), generator)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("name, value", [("clip", float("inf")), ("peak_rate", float("inf")), ("clip", float("nan")), ("corpus", None)])
def test_what_could_not_be_read_again_is_refused_at_once(name, value):
    with pytest.raises(ValueError, match=f"^{name}: expected a (finite number above 0|name), got {value}; .*") as error:
        dataclasses.replace(CONFIG, **{name: value})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "change, said",
    [
        ({"max_steps": 22.5}, "max_steps: expected int, got 22.5"),
        ({"max_steps": 3e7}, "max_steps: expected int"),
        ({"max_steps": "400"}, "max_steps: expected int, got '400'"),
        ({"seed": True}, "seed: expected int, got True"),
        ({"clip": float("inf")}, "clip: expected float | int, got inf"),
        ({"corpus": 3}, "corpus: expected str, got 3"),
        ({"colour": 3}, "colour: expected one of corpus, model, "),
        ({"model": {"d_model": 22.0}}, "d_model: expected int"),
        ({"model": 7}, "cannot be read"),
        ({"max_steps": 3.5}, "max_steps: expected int, got 3.5"),
        ({"max_steps": 0}, "max_steps: expected a whole number, 1 or more, got 0; see TrainConfig"),
        ({"peak_rate": 0.0}, "peak_rate: expected a finite number above 0, got 0.0; 1e-3 is usual"),
        ({"clip": 0.0}, "clip: expected a finite number above 0, got 0.0; 1.0 is usual"),
    ],
)
def test_a_setting_of_a_wrong_kind_is_one_line(tmp_path, tokenizer, change, said):
    save_setup(tmp_path, CONFIG, tokenizer)
    (tmp_path / "config.json").write_text(json.dumps({**config_to_json(CONFIG), **change}))
    with pytest.raises(ValueError) as error:
        load_setup(tmp_path)
    assert said in str(error.value) and "config.json cannot be read" in str(error.value)
    assert "\n" not in str(error.value) and "; restore it or train again" in str(error.value)


def test_a_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        load_tensors(tmp_path / "checkpoint.safetensors")
    assert is_one_helpful_line(error, tmp_path) and "train first" in str(error.value)
    with pytest.raises(FileNotFoundError, match="run: no .*config.json; name the folder that xformer train wrote to"):
        load_setup(tmp_path)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A file of three tensors, small enough to damage at every place."""
    path = tmp_path_factory.mktemp("small") / "x.safetensors"
    save_tensors(path, {"a": torch.arange(5), "b": torch.ones(3, dtype=torch.float16)}, {"step": 7, "loss": 1 / 3})
    return path.read_bytes()


def test_the_checksum_is_that_of_the_file_with_zeros_in_its_place(small):
    digest = json.loads(json.loads(small[8 : 8 + header_length(small)])["__metadata__"]["state"])["sha256"]
    assert small.count(digest.encode()) == 1
    assert hashlib.sha256(small.replace(digest.encode(), b"0" * 64)).hexdigest() == digest


def test_a_state_may_hold_what_looks_like_a_checksum(tmp_path):
    state = {"note": '"sha256": "' + "ab" * 32 + '"', "inner": {"sha256": "f" * 64}}
    save_tensors(tmp_path / "x.safetensors", {"a": torch.zeros(2)}, state)
    assert load_tensors(tmp_path / "x.safetensors")[1] == state


def test_the_bytes_are_on_the_disk_before_the_name(tmp_path, monkeypatch):
    """Written, flushed, synced, and only then moved."""
    order = []
    monkeypatch.setattr(os, "fsync", lambda number, sync=os.fsync: (order.append("sync"), sync(number)))
    monkeypatch.setattr(os, "replace", lambda a, b, move=os.replace: (order.append(a.read_bytes()), move(a, b)))
    write_atomically(tmp_path / "x", b"abc")
    assert order == ["sync", b"abc"]
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def stay_where_they_are(monkeypatch, number):
    """A disk that has become one for reading only: nothing is opened for writing, and nothing is removed either."""

    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    real = open
    monkeypatch.setattr(
        "builtins.open",
        lambda path, mode="r", *rest, **options: real(path, mode, *rest, **options) if set(mode) <= set("rbt") else refuse(),
    )
    monkeypatch.setattr(os, "unlink", refuse)
    monkeypatch.setattr(type(Path()), "unlink", refuse)


WRITERS = {
    "write_atomically": lambda path: write_atomically(path, b"abc"),
    "save_tensors": lambda path: save_tensors(path, {"a": torch.zeros(3)}, {}),
    "tokenizer": lambda path: Tokenizer.train(["le chat"] * 2, vocab_size=263).save(path),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_the_first_message_is_the_one_that_is_seen(tmp_path, monkeypatch, writer):
    """On a disk for reading only, cleaning up fails, too; and below a file there is nothing to clean up."""
    path = tmp_path / "x.json"
    with monkeypatch.context() as patch:
        stay_where_they_are(patch, errno.EROFS)
        with pytest.raises(OSError, match=r"x.json: could not be written \(Read-only file system\); what stood there is untouched"):
            WRITERS[writer](path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"file/x.json: could not be written \((Not a directory|File exists)\); what stood"):
        WRITERS[writer](tmp_path / "file" / "x.json")


@posix
@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_keeps_its_mode_and_a_new_one_gets_the_usual(tmp_path, writer):
    """Whoever closed a file to others, or opened it to a group, finds it so after the next validation."""
    before = os.umask(0o027)
    try:
        WRITERS[writer](tmp_path / "new")
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640
        for mode in (0o600, 0o664, 0o755):
            (tmp_path / "new").chmod(mode)
            WRITERS[writer](tmp_path / "new")
            assert (tmp_path / "new").stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)


@posix
@pytest.mark.parametrize("writer", WRITERS)
def test_a_link_stays_a_link(tmp_path, writer):
    """What it points to is replaced, or made: a checkpoint may live on another disk."""
    (tmp_path / "elsewhere").mkdir()
    WRITERS[writer](tmp_path / "plain")
    for number, target in enumerate(("elsewhere/there", "elsewhere/not yet there")):
        link = tmp_path / f"link {number}"
        link.symlink_to(target)
        if not number:
            (tmp_path / target).write_bytes(b"old")
            (tmp_path / target).chmod(0o604)
        WRITERS[writer](link)
        assert link.is_symlink() and os.readlink(link) == target
        assert (tmp_path / target).read_bytes() == (tmp_path / "plain").read_bytes()
    assert (tmp_path / "elsewhere/there").stat().st_mode & 0o777 == 0o604
    assert {path.name for path in (tmp_path / "elsewhere").iterdir()} == {"there", "not yet there"}


@pytest.mark.parametrize("depth", [50, 5_000, 200_000])
def test_settings_nested_without_end(tmp_path, tokenizer, depth):
    save_setup(tmp_path, CONFIG, tokenizer)
    for text in ("[" * depth, "[" * depth + "]" * depth, '{"model": ' * depth + "1" + "}" * depth):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(ValueError, match="^run: .*config.json cannot be read .*; restore it or train again$") as error:
            load_setup(tmp_path)
        assert "\n" not in str(error.value) and len(str(error.value)) < 400


def test_a_checkpoint_nested_without_end(tmp_path):
    """With the right checksum, by somebody's own hand."""
    path = tmp_path / "x.safetensors"
    deep = []
    for _ in range(400):
        deep = [deep]
    save_tensors(path, {"a": torch.zeros(3)}, {"deep": deep})
    shallow = json.dumps(deep)[:400] + json.dumps(deep)[-400:]
    data = path.read_bytes().replace(shallow.encode(), b"[" * 100_000 + b"]" * 100_000)
    data = struct.pack("<Q", header_length(path.read_bytes()) + 200_000 - len(shallow)) + data[8:]
    zeros = re.sub(rb'(sha256\\": \\")[0-9a-f]{64}', rb"\g<1>" + b"0" * 64, data, count=1)
    path.write_bytes(zeros.replace(b"0" * 64, hashlib.sha256(zeros).hexdigest().encode(), 1))
    with pytest.raises(ValueError) as error:
        load_tensors(path)
    assert is_one_helpful_line(error, path) and "checksum" not in str(error.value)


@pytest.mark.parametrize("name", ["label_smoothing", "clip", "peak_rate", "decay"])
@pytest.mark.parametrize("value", [True, False, "0.1", None])
def test_what_is_no_number_is_refused_at_once(name, value):
    """A finished run could not be read again: True is no number to `config_from_json`."""
    with pytest.raises(ValueError, match=f"^{name}: expected .*, got {value}; .* is usual$"):
        dataclasses.replace(CONFIG, **{name: value})


def test_a_seed_that_torch_has_no_room_for():
    dataclasses.replace(CONFIG, seed=2**63 - 1)
    with pytest.raises(ValueError, match=r"seed: expected less than 2\*\*63, got 9223372036854775808; 1 is usual"):
        dataclasses.replace(CONFIG, seed=2**63)


def test_numbers_of_numpy_are_written_as_pythons(tmp_path, tokenizer):
    config = dataclasses.replace(
        CONFIG, seed=np.int64(7), peak_rate=np.float32(0.5), model=dataclasses.replace(CONFIG.model, d_model=np.int32(CONFIG.model.d_model))
    )
    save_setup(tmp_path, config, tokenizer)
    assert load_setup(tmp_path)[0] == config
    save_tensors(tmp_path / "x.safetensors", {}, {"made_for": model_fingerprint(config.model, tokenizer)})
    assert load_tensors(tmp_path / "x.safetensors")[1]["made_for"] == model_fingerprint(CONFIG.model, tokenizer)


def test_weights_in_two_places(tmp_path):
    """A matrix tied to another, and one that is a part of it."""
    whole = torch.randn(5, 3)
    save_tensors(tmp_path / "x.safetensors", {"a": whole, "b": whole, "c": whole[2:], "d": torch.empty(0)}, {})
    found = load_tensors(tmp_path / "x.safetensors")[0]
    assert all(torch.equal(found[name], there) for name, there in (("a", whole), ("b", whole), ("c", whole[2:])))
