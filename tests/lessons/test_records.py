"""What a page reads of ``results/``, and what it gets where the folder is not there."""

import json

from xformer_course.records import by_setting, recorded

RUNS = [
    {"part": "vision", "setting": "small", "seed": 0, "found": 3},
    {"part": "series", "setting": "small", "seed": 0, "found": 5},
    {"part": "vision", "setting": "large", "seed": 0, "found": 7},
    {"part": "vision", "setting": "small", "seed": 1, "found": 11},
]


def test_a_record_is_read_as_it_lies_beside_the_chapters(tmp_path, monkeypatch):
    for folder in ("results", "chapters"):
        (tmp_path / folder).mkdir()
    (tmp_path / "results/some.json").write_text(json.dumps({"runs": RUNS}), encoding="utf-8")
    monkeypatch.chdir(tmp_path / "chapters")
    assert recorded("some.json") == {"runs": RUNS}
    assert by_setting("some.json", "vision") == {"small": [3, 11], "large": [7]}
    assert by_setting("some.json", "sound") == {}


def test_without_the_file_a_sentence_is_said_and_nothing_is_found(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert not recorded("none.json") and recorded("none.json")["rows"] == []
    assert by_setting("none.json", "vision") == {}
    assert capsys.readouterr().out == "results/none.json is not on this machine.\n" * 3
