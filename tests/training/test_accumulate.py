"""A batch taken in parts is the same batch: loss, gradient and step do not depend on the number of parts."""

from dataclasses import replace

import pytest
import torch

from xformer_lib.data import Tokenizer, make_batch
from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.training import TrainConfig, step, validation
from xformer_lib.training.run import build_run

MODEL = TransformerConfig(
    vocab_size=271, d_model=14, num_heads=2, d_ff=13, num_encoder_layers=1, num_decoder_layers=2, dropout=0.0, max_len=19
)
CONFIG = TrainConfig("own", MODEL, max_steps=17, max_tokens=47, warmup_steps=3, peak_rate=1e-2, clip=0.7, seed=2)
# seven rows whose lengths differ, so that no two parts hold the same number of target tokens
ROWS = [([5 + n, 7, 11][: 1 + n % 3], [13 + k for k in range(1 + (3 * n) % 5)]) for n in range(7)]
CORPUS = {"train": [("le chat", "le chat")], "val": [("le chat", "le chat")]}


def double(config):
    return Transformer(config).double()


def begin(folder, tokenizer, parts):
    return build_run(replace(CONFIG, accumulate=parts), folder, tokenizer, CORPUS, "cpu", build=double)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(["le chat dort"] * 2, vocab_size=271)


def gradients(run):
    return [weight.grad.clone() for weight in run.model.parameters()]


@pytest.mark.parametrize("parts", (2, 3, 5, 7, 11))
def test_the_gradient_is_that_of_the_whole_batch(tmp_path, tokenizer, parts):
    """Parts of unequal size, parts of one row, and more parts than rows."""
    batch, found = make_batch(ROWS), []
    for count in (1, parts):
        run = begin(tmp_path, tokenizer, count)
        tokens = int((batch.target_out != 0).sum())
        found.append((step.add_gradients(run, batch, tokens), gradients(run)))
    (loss, whole), (its_loss, parted) = found
    assert abs(loss - its_loss) < 1e-12 * loss
    for one, other in zip(whole, parted, strict=True):
        assert (one - other).abs().max() <= 1e-12 * one.abs().max() + 1e-15


def test_no_part_is_computed_without_rows_or_twice(tmp_path, tokenizer, monkeypatch):
    batch, seen = make_batch(ROWS), []
    original = step.to_tensors
    monkeypatch.setattr(step, "to_tensors", lambda part, device: (seen.append(part), original(part, device))[1])
    run = begin(tmp_path, tokenizer, 3)
    step.train_step(run, batch)
    assert [len(part.source) for part in seen] == [3, 2, 2]
    rows = sorted(tuple(row) for part in seen for row in part.target_out.tolist())
    assert rows == sorted(tuple(row) for row in batch.target_out.tolist())


def test_steps_end_at_the_same_weights(tmp_path, tokenizer):
    """With clipping and Adam; the counters do not notice the parts either."""
    whole, parted = begin(tmp_path, tokenizer, 1), begin(tmp_path, tokenizer, 4)
    for n in (7, 2, 5):
        losses = [step.train_step(run, make_batch(ROWS[:n])) for run in (whole, parted)]
        assert losses[0][1] == losses[1][1] and abs(losses[0][0] - losses[1][0]) < 1e-9
    for one, other in zip(whole.model.parameters(), parted.model.parameters(), strict=True):
        assert (one - other).abs().max() < 1e-9
    assert (whole.step, whole.batch, whole.tokens, whole.loss_tokens) == (3, 3, parted.tokens, parted.loss_tokens)


def test_parts_are_counted_from_one():
    for name, value, least in (("max_steps", 3.5, 1), ("warmup_steps", "7", 1), ("validate_every", True, 1), ("seed", None, 0)):
        with pytest.raises(ValueError, match=f"{name}: expected a whole number, {least} or more, got {value!r}; "):
            replace(CONFIG, **{name: value})
    with pytest.raises(ValueError, match="accumulate: expected a whole number, 1 or more, got 0"):
        replace(CONFIG, accumulate=0)


def test_a_gpu_is_asked_for_its_loss_every_so_many_steps(tmp_path, tokenizer, monkeypatch):
    """A run whose device is not the processor's keeps the sum there, and ends with that of a run which is read in each step."""
    runs = [begin(tmp_path, tokenizer, 1) for _ in range(2)]
    original = step.to_tensors
    monkeypatch.setattr(step, "to_tensors", lambda part, device: original(part, "cpu"))
    monkeypatch.setattr(step, "READ_EVERY", 5)
    runs[1].device = "cuda"
    read = [[step.train_step(run, make_batch(ROWS))[0] for _ in range(12)] for run in runs]
    assert all(read[0]) and [n for n, loss in enumerate(read[1], start=1) if loss] == [5, 10]
    step.read_loss(runs[1])
    assert runs[1].loss_sum == pytest.approx(runs[0].loss_sum, rel=1e-12) == pytest.approx(sum(read[0]), rel=1e-12)


def test_numbers_that_overflow_on_a_gpu_are_noticed_before_anything_is_written(tmp_path, tokenizer):
    run = begin(tmp_path, tokenizer, 1)
    run.unread = torch.tensor([1.0, float("inf")])
    with pytest.raises(FloatingPointError, match="gradient: expected a finite number, got inf"):
        validation.validate(run)
    assert not run.history
