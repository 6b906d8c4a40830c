"""Ctrl-C, SIGTERM and numbers that overflow: the run stops where it can be taken up again, and says how."""

import signal
import time

import pytest
import torch

from xformer_lib.nn.transformer import TransformerConfig
from xformer_lib.training import TrainConfig, loop, processes, validation
from xformer_lib.training import step as training_step
from xformer_lib.training.checkpoint import load_tensors
from xformer_lib.training.signals import Stopped, stop_signals

WORDS = ["le", "chat", "dort", "ici", "gros", "jaune", "jardin"]
PAIRS = [
    (" ".join(WORDS[(n * k + 3) % 7] for k in range(2 + n % 4)), " ".join(WORDS[(n * k + 5) % 7] for k in range(2 + n % 3)))
    for n in range(41)
]
CORPUS = {"train": PAIRS[:31], "val": PAIRS[31:]}
CONFIG = TrainConfig(
    "own",
    TransformerConfig(
        vocab_size=271, d_model=10, num_heads=2, d_ff=13, num_encoder_layers=1, num_decoder_layers=1, dropout=0.2, max_len=19
    ),
    max_steps=17,
    max_tokens=47,
    warmup_steps=3,
    peak_rate=1e-2,
    validate_every=7,
    seed=2,
)


def begin(folder, config=CONFIG):
    return loop.train(config, folder, corpus=CORPUS, device="cpu", progress=False)


def go_on(folder):
    return loop.resume(folder, corpus=CORPUS, device="cpu", progress=False)


def result(folder):
    """Tensors of checkpoint and best model, and the state but for the clocks."""
    tensors, state = load_tensors(folder / "checkpoint.safetensors")
    best, _ = load_tensors(folder / "model.safetensors")
    history = [{**line, "seconds": None} for line in state["history"]]
    return {**tensors, **{f"best.{name}": value for name, value in best.items()}}, {
        **state,
        "seconds": None,
        "cpu_seconds": None,
        "history": history,
        "run": None,
    }


def assert_same(one, other):
    assert one[1] == other[1]
    assert one[0].keys() == other[0].keys()
    assert [name for name, value in one[0].items() if not torch.equal(value, other[0][name])] == []


def signal_in_step(monkeypatch, step, *numbers):
    """Send the signals to ourselves in the middle of a step (from 1)."""
    gradients = training_step.add_gradients

    def add_gradients(run, batch, tokens):
        if run.step + 1 == step:
            for number in numbers:
                signal.raise_signal(number)
        return gradients(run, batch, tokens)

    monkeypatch.setattr(training_step, "add_gradients", add_gradients)


@pytest.fixture(autouse=True)
def usual_signals():
    """Whatever started the tests may ignore Ctrl-C; these need Python's own handler."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    begin(folder)
    return result(folder)


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM))
@pytest.mark.parametrize("step", (1, 7, 11, 16))
def test_stopped_and_resumed_equals_unbroken(tmp_path, monkeypatch, whole, number, step):
    """Also before the first validation, at one, and between two: weights, best weights and history."""
    with monkeypatch.context() as patch:
        signal_in_step(patch, step, number)
        with pytest.raises(Stopped) as stop:
            begin(tmp_path)
    assert str(stop.value) == (f"stopped after step {step} of 17, all is saved; go on with: xformer train --resume {tmp_path}")
    state = load_tensors(tmp_path / "checkpoint.safetensors")[1]
    assert state["step"] == step and (state["loss_tokens"] > 0) == (step != 7)
    assert go_on(tmp_path).step == 17
    assert_same(result(tmp_path), whole)


def test_in_the_last_step_there_is_nothing_to_stop(tmp_path, monkeypatch, whole):
    signal_in_step(monkeypatch, 17, signal.SIGINT)
    assert begin(tmp_path).step == 17
    assert_same(result(tmp_path), whole)


def test_a_second_ctrl_c_stops_at_once(tmp_path, monkeypatch):
    signal_in_step(monkeypatch, 9, signal.SIGINT, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as stop:
        begin(tmp_path)
    assert not isinstance(stop.value, Stopped)
    assert load_tensors(tmp_path / "checkpoint.safetensors")[1]["step"] == 7


def test_a_launcher_may_send_the_signal_twice():
    """With patience, what comes right after the first is the first; later it is the second."""
    with stop_signals(patience=0.2) as asked:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        assert len(asked) == 2
        time.sleep(0.25)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_the_handlers_from_before_come_back():
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with stop_signals():
        assert signal.getsignal(signal.SIGINT) is not handlers[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_a_signal_that_was_ignored_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as the shell does for a job in the background of a script
    with stop_signals() as asked:
        signal.raise_signal(signal.SIGINT)
    assert asked == [] and signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def poison(monkeypatch, step, where):
    """Let the loss, or the gradient alone, stop being a number in one step."""
    original = processes.translation_loss

    def translation_loss(model, source, target_in, target_out, **options):
        loss, tokens = original(model, source, target_in, target_out, **options)
        if model.training and poisoned[0].step + 1 == step:
            if where == "gradient":
                weight = model.embedding.weight
                loss = loss + (weight - weight.detach()).abs().sqrt().sum() * 0 + 0 * loss  # 0 · ∞ on the way back
            else:
                loss = loss * float(where)
        return loss, tokens

    poisoned, train_step = [], loop.train_step
    monkeypatch.setattr(processes, "translation_loss", translation_loss)
    monkeypatch.setattr(loop, "train_step", lambda run, batch: (poisoned.append(run), train_step(run, batch))[1])
    return poisoned


@pytest.mark.parametrize("where, name, value", [("nan", "loss", "nan"), ("inf", "loss", "inf"), ("gradient", "gradient", "nan")])
def test_a_number_that_overflows_stops_the_run(tmp_path, monkeypatch, where, name, value):
    """Step, pass and batch are named; weights, checkpoint and best model stay what they were."""
    runs = poison(monkeypatch, 12, where)
    before = {}

    def remember(folder, *rest, save=loop.files.save_model):  # the last file of a validation
        save(folder, *rest)
        before.update({path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".lock"})

    monkeypatch.setattr(loop.files, "save_model", remember)
    with pytest.raises(FloatingPointError) as error:
        begin(tmp_path)
    run = runs[0]
    assert str(error.value) == (
        f"{name}: expected a finite number, got {value} in step 12 (epoch {run.epoch}, batch {run.batch}, both from 0); "
        "train again with a lower peak_rate, a longer warm-up or precision=float32; "
        f"what {tmp_path} holds is whole"
    )
    assert run.step == 11 and all(weight.isfinite().all() for weight in run.model.parameters())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert load_tensors(tmp_path / "checkpoint.safetensors")[1]["step"] == 7


def test_a_validation_that_overflows_is_not_written(tmp_path, monkeypatch):
    original = validation.summed_loss
    monkeypatch.setattr(validation, "summed_loss", lambda *given: (float("inf"), original(*given)[1]))
    with pytest.raises(FloatingPointError, match="^validation loss: expected a finite number, got inf in step 7 "):
        begin(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "pairs.tsv", "tokenizer.json"]
