"""The step in a room of fixed size writes the library's words; without a GPU nothing is captured."""

from benchmarks import captured


def test_the_room_writes_the_words_of_the_library():
    rows = captured.measure("cpu", smoke=True)["rows"]
    assert [(row["at_once"], row["way"]) for row in rows] == [(1, "library"), (1, "room"), (4, "library"), (4, "room")]
    assert all(row["equal_to_library"] == 1 and row["ms_per_word"] > 0 for row in rows)
