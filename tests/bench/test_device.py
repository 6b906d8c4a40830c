"""The numbers of any device, and the run of all benchmarks."""

import json
import sys

import pytest

from benchmarks import device, run_all


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "device.json"
    return device.main(["--device", "cpu", "--smoke", "--json", str(path)]), json.loads(path.read_text(encoding="utf-8"))


class TestDevice:
    def test_a_record_says_where_it_comes_from(self, smoke):
        record, stored = smoke
        assert stored == json.loads(json.dumps(record))
        assert all(stored[name] for name in ("command", "commit", "device", "threads", "torch"))

    def test_it_learns_and_is_held_against_the_peak(self, smoke):
        """Below 1 on a quiet machine; on a busy one the peak may have been measured at the worse moment."""
        rows = smoke[0]["training"]
        expected = [(precision, width) for precision in device.precisions("cpu") for width in (32, 48)]
        assert [(row["precision"], row["width"]) for row in rows] == expected
        for row in rows:
            assert row["last_loss"] < row["first_loss"]
            assert row["fraction_of_peak"] > 0 and row["memory_mb"] > 1 and row["tokens_per_second"] > 1
        assert set(smoke[0]["peaks"]) == {row["precision"] for row in rows}

    def test_the_widths_are_those_asked_for(self, monkeypatch):
        asked = []
        monkeypatch.setattr(device, "training_row", lambda kind, precision, width, *rest: asked.append(width) or {"width": width})
        command = device.main(["--device", "cpu", "--smoke", "--widths", "40", "72"])["command"]
        assert asked == [40, 72] * len(device.precisions("cpu")) and command.endswith("--widths 40 72")


class TestRunAll:
    @pytest.fixture(autouse=True)
    def tiny(self, monkeypatch):
        """One benchmark that writes its file, and one that fails."""
        monkeypatch.setattr(run_all, "BENCHMARKS", {"good": ((), (), "bench-good.json", 1), "bad": ((), (), "bench-bad.json", 1)})
        script = (
            "import sys, pathlib; name = sys.argv[1]; pathlib.Path(sys.argv[-1]).write_text('{}') if 'bad' not in name else sys.exit(3)"
        )
        real, self.seen = run_all.subprocess.run, []

        def run(command, cwd, env):
            assert env["OMP_NUM_THREADS"]
            self.seen.append(command[2].removeprefix("benchmarks."))
            return real([sys.executable, "-c", script, *command[2:]], cwd=cwd)

        monkeypatch.setattr(run_all.subprocess, "run", run)

    def test_the_short_ones_and_a_failure(self, tmp_path):
        assert run_all.main(["--out", str(tmp_path)]) == 1
        assert self.seen == ["good", "bad"]
        assert [path.name for path in tmp_path.iterdir()] == ["bench-good.json"]

    def test_an_unknown_name(self, capsys):
        with pytest.raises(SystemExit):
            run_all.main(["speed"])
        assert "expected names of good, bad, got speed" in capsys.readouterr().err
