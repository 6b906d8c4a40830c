"""The run of all benchmarks."""

import sys

import pytest

from benchmarks import run_all


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

    @pytest.mark.errors
    def test_an_unknown_name(self, capsys):
        with pytest.raises(SystemExit):
            run_all.main(["speed"])
        assert "expected names of good, bad, got speed" in capsys.readouterr().err
