"""The trials of quality for time: what each changes, and a call that goes on."""

import json

import pytest

from benchmarks import quality


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
