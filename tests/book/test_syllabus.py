"""The syllabus: its minutes are those of the catalogue and of the pages, its commands are commands, and it is short."""

import re

from tests.book.conftest import ROOT
from xformer_course.exercises import registry
from xformer_lib.cli import build_parser

TEXT = (ROOT / "chapters" / "back" / "syllabus.md").read_text(encoding="utf-8")
EXERCISES = {exercise.id: exercise for chapter in registry.chapters() for exercise in chapter.exercises}
ID = r"\*{0,2}\d+\.\d+\*{0,2}"


def rows(heading):
    """The table below a heading: its rows as lists of cells."""
    part = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in part.splitlines() if re.match(r"\| \d+ \|", line)]


def listed(cell):
    """The ids of a cell, its sum, and those in bold."""
    [(ids, minutes)] = re.findall(rf"^((?:{ID}, )*{ID}) \((\d+) minutes\)$", cell)
    return ids.replace("*", "").split(", "), int(minutes), re.findall(r"\*\*(\d+\.\d+)\*\*", ids)


def test_the_twelve_weeks_add_up():
    table = rows("Week by week")
    assert [row[0].strip("| ") for row in table] == [str(week) for week in range(1, 13)] and {len(row) for row in table} == {4}
    every, bold, total = [], [], 0
    for row in table:
        ids, minutes, handed_in = listed(row[2])
        assert sum(EXERCISES[id].minutes for id in ids) == minutes, row
        assert 40 <= minutes <= 60 and len(handed_in) == 3
        every, bold, total = every + ids, bold + handed_in, total + minutes
    assert len(set(every)) == len(every)
    assert f"Together these are {total} minutes of exercises, ten hours" in TEXT and round(total / 60) == 10
    assert f"Each of the {len(bold)} in bold" in TEXT


def test_what_is_set_stands_on_a_page_that_was_read():
    """An exercise of a week is from a page of its lectures; the first half of chapter 9 has those of week 6."""
    for row in rows("Week by week"):
        pages = {name.split("_")[0].lstrip("0") for name in re.findall(r"\]\(\.\./(\w+)\.ipynb", row[1])} | set(
            re.findall(r"chapter (\d+)", row[1])
        )
        for id in listed(row[2])[0]:
            page = EXERCISES[id].page or registry.chapter(EXERCISES[id].chapter).slug
            assert page.split("_")[0].lstrip("0") in pages, id


def test_its_commands_are_commands():
    commands = re.findall(r"^xformer ([^#\n]*)", TEXT, re.M) + re.findall(r"`xformer ([^`]*)`", TEXT)
    assert {command.split()[0] for command in commands} == {"grade", "key", "train"}
    for command in commands:
        build_parser().parse_args(command.split())
    assert re.search(r"^slides:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
