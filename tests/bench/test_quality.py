"""The trials of quality for time: what each changes, the optimiser of one of them, means of weights, and a call that goes on."""

import json

import pytest
import torch

from benchmarks import quality
from xformer_lib.nn import Transformer, TransformerConfig

SMALL = TransformerConfig(vocab_size=23, d_model=12, num_heads=2, d_ff=28, num_encoder_layers=1, num_decoder_layers=1, max_len=11)


def flat(config):
    return {**vars(config), **vars(config.model), "model": None}


@pytest.mark.parametrize("name", quality.TRIALS)
def test_a_trial_differs_in_what_its_name_says(name):
    base, other = (flat(quality.config_of(which, 3, 1000)) for which in ("base", name))
    named = {key.removeprefix("model.") for key in quality.TRIALS[name]} - {"muon", "steps"}
    longer = quality.TRIALS[name].get("steps", 1)
    also = {"max_steps", "warmup_steps"} if "max_tokens" in named or longer > 1 else set()  # as many tokens, in more steps or fewer
    assert {key for key in base if base[key] != other[key]} - also == named
    assert base["max_steps"] * base["max_tokens"] * longer == other["max_steps"] * other["max_tokens"]


@pytest.mark.parametrize("shape", [(3, 13, 13), (2, 29, 7), (2, 7, 29)])
def test_the_polynomial_evens_out_singular_values(shape):
    torch.manual_seed(1)
    made = quality.orthogonal(torch.randn(shape, dtype=torch.float64) * 50)
    assert made.shape == shape and 0.6 < torch.linalg.svdvals(made).min() < torch.linalg.svdvals(made).max() < 1.3


def test_muon_turns_every_weight_and_takes_matrices_by_their_directions():
    torch.manual_seed(2)
    model = Transformer(SMALL)
    optimizer = quality.Muon(model, 0.01, 0.02)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    model(torch.randint(3, 23, (2, 5)), torch.randint(3, 23, (2, 7))).square().mean().backward()
    optimizer.param_groups[0]["lr"] = 0.005
    optimizer.step()
    for name, weight in model.named_parameters():
        change = weight.detach() - before[name]
        if weight.ndim == 2 and "embedding" not in name:
            values = torch.linalg.svdvals(change)[: min(weight.shape) // 2]  # the larger half: all of them in five turns
            wanted = 0.005 * 2 * 0.2 * max(weight.shape) ** 0.5
            assert ((values > 0.5 * wanted) & (values < 1.3 * wanted)).all(), name
        elif weight.grad.abs().max() > 1e-6:  # a bias of the keys has none
            assert 0 < change.abs().max() <= 0.0051, name
    optimizer.zero_grad()
    assert all(weight.grad is None for weight in model.parameters())


def test_means_leave_the_weights_as_they_were():
    model = Transformer(SMALL)
    means, weight = quality.Means(model), model.encoder.layers[0].feed_forward.w_1.weight
    first = weight.detach().clone()
    with torch.no_grad():
        weight.add_(1.0)
    means.add(10**6)
    own, seen = weight.detach().clone(), {which: weight.detach().clone() for which in means.each()}
    assert torch.equal(weight, own) and torch.equal(seen["weights"], own)
    for decay in quality.MEANS:
        torch.testing.assert_close(seen[str(decay)], first + (1 - decay))


def test_a_second_call_does_what_is_missing(tmp_path):
    path, call = tmp_path / "q.json", ["--smoke", "--json", str(tmp_path / "q.json"), "--only", "base"]
    quality.main(call)
    first = json.loads(path.read_text(encoding="utf-8"))
    quality.main([*call, "Muon"])
    both = json.loads(path.read_text(encoding="utf-8"))
    assert both["trials"][0] == first["trials"][0] and [done["name"] for done in both["trials"]] == ["base", "Muon"]
    for done in both["trials"]:
        assert [look["step"] for look in done["looks"]] == [2, 4, 5] and done["looks"][-1]["cpu_seconds"] > 0
        assert set(done["looks"][0]) == {"step", "tokens", "cpu_seconds", "weights", *map(str, quality.MEANS)}
    with pytest.raises(SystemExit):  # trials of another length are no comparison
        quality.main(["--json", str(path), "--steps", "7"])
