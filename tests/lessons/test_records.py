"""What a page reads of ``results/``: in a clone and, by the installed copy, without one."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from xformer_course import records

ROOT = Path(__file__).resolve().parents[2]
RUNS = [
    {"part": "vision", "setting": "small", "seed": 0, "found": 3},
    {"part": "series", "setting": "small", "seed": 0, "found": 5},
    {"part": "vision", "setting": "large", "seed": 0, "found": 7},
    {"part": "vision", "setting": "small", "seed": 1, "found": 11},
]


def test_a_record_is_read_and_sorted_by_setting(tmp_path, monkeypatch):
    (tmp_path / "some.json").write_text(json.dumps({"runs": RUNS}), encoding="utf-8")
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    assert records.recorded("some.json") == {"runs": RUNS}
    assert records.by_setting("some.json", "vision") == {"small": [3, 11], "large": [7]}
    assert records.by_setting("some.json", "sound") == {}
    with pytest.raises(FileNotFoundError, match="^name: expected a record in .*, got none.json; only the book's own runs"):
        records.recorded("none.json")


@pytest.mark.parametrize("place", ["results", "xformer_course/results"])
def test_the_records_are_found_beside_the_course_or_inside_it(place, tmp_path):
    """As in a clone, and as in a wheel."""
    shutil.copytree(ROOT / "xformer_course", tmp_path / "xformer_course", ignore=shutil.ignore_patterns("explorables", "__pycache__"))
    (tmp_path / place).mkdir()
    (tmp_path / place / "some.json").write_text('{"runs": 13}', encoding="utf-8")
    program = "import sys; sys.path.insert(0, '.'); from xformer_course.records import recorded; print(recorded('some.json'))"
    said = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said == "{'runs': 13}\n"


def test_a_page_reads_what_was_recorded_and_runs_it_where_it_is_asked_to(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    monkeypatch.setenv("XFORMER_LIVE", "record")
    assert records.run_or_read("some_page", "three", lambda: (1, 2, 3)) == [1, 2, 3]
    assert records.run_or_read("some_page", "five", lambda: 5) == 5
    stored = json.loads((tmp_path / "pages/some_page.json").read_text(encoding="utf-8"))
    assert (
        stored["found"] == {"three": [1, 2, 3], "five": 5}
        and "chapters/some_page.ipynb" in stored["command"]
        and len(stored["commit"]) == 12
    )
    monkeypatch.delenv("XFORMER_LIVE")
    assert records.run_or_read("some_page", "five", lambda: 7) == 5
    assert records.run_or_read("some_page", "five", lambda: 7, live=True) == 7
    assert records.run_or_read("some_page", "a reader's own", lambda: 7) == 7
    monkeypatch.setenv("XFORMER_LIVE", "1")
    assert records.run_or_read("some_page", "five", lambda: 7) == 7
    assert json.loads((tmp_path / "pages/some_page.json").read_text(encoding="utf-8")) == stored
