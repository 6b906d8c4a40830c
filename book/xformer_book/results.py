"""Every recorded run, from the JSON files below ``results/`` and nothing else: where it comes from, and its numbers."""

import json
import re
import statistics
from pathlib import Path

from .project import ROOT, repository

FOLDER = ROOT / "results"
ORIGIN = ("command", "seed", "commit", "device", "threads", "minutes")
MISSING = "not recorded"
GROUPS = {  # heading: (files, what they are, headings of figures that are worth a column of their own)
    "Translators": (
        r"(multi30k|tatoeba|everyday|beam)-.*",
        "Runs of hours, the shipped model among them; [chapter 11](../11_training.ipynb) and "
        "[page 12e](../12e_how_good_is_it.ipynb) read them.",
        {"test set": "corpus", "decoding": "decoding", "BLEU": "bleu.value", "chrF": "chrf.value", "exact, %": "exact_match"},
    ),
    "The ladder": (
        r"ladder(-long)?/(?!trial).*",
        "Recurrent models, the Transformer, and the Transformer less one part, all with the same budget of steps, two of them with "
        "three times as many; "
        "[page 12c](../12c_what_each_part_is_worth.ipynb).",
        {"system": "system", "parameters": "parameters", "BLEU": "bleu.value", "chrF": "chrf.value"},
    ),
    "Learning rates tried for the ladder": (
        r"ladder/trial.*",
        "Short runs by which each family of the ladder got its rate.",
        {"family": "family", "rate": "rate", "validation loss": "history.-1.validation_loss"},
    ),
    "Times, side by side": (
        r"bench-.*",
        "Times of one machine, to be compared inside one record only; chapters [8](../08_layers.ipynb), [12](../12_translation.ipynb), "
        "[13](../13_efficiency.ipynb) and page [14a](../14a_planning_a_run.ipynb).",
        {},
    ),
    "Studies": (
        r"(captions|extrapolation|grouped-query|int8|quality|scaling|variants).*",
        "One question each, with several seeds where chance plays a part; pages [9a](../09a_longer_than_trained.ipynb), "
        "[12e](../12e_how_good_is_it.ipynb), [13](../13_efficiency.ipynb), [14a](../14a_planning_a_run.ipynb), "
        "[15a](../15a_one_body_other_tasks.ipynb) and [15c](../15c_pixels_and_sounds.ipynb).",
        {},
    ),
    "Corpora": (r"data-.*", "Counts that [chapter 10](../10_data.ipynb) shows.", {}),
    "Other records": (r".*", "Everything else.", {}),
}


def load(folder=FOLDER):
    """Every record by its path below the folder; of a file that holds several, each with its name behind a ``#``."""
    found = {}
    for path in sorted(Path(folder).rglob("*.json")):
        name, record = path.relative_to(folder).as_posix(), json.loads(path.read_text(encoding="utf-8"))
        found |= {name: record} if "command" in record else {f"{name}#{key}": one for key, one in record.items()}
    return found


def shown(name):
    """What the page calls a record."""
    return name.replace(".json#", "/").removesuffix(".json")


# ---------------------------------------------------------------- Markdown


def cell(value):
    """A value in a table: six digits, no bar, nothing that Markdown would read."""
    if value is None:
        return "–"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    if isinstance(value, str) and "--" in value and "`" not in value:  # a command, to be copied as it is; as a word it would get dashes
        return "`" + " ".join(text.split()).replace("|", r"\|") + "`"
    return re.sub(r"([\\*_<>\[\]$|`])", r"\\\1", " ".join(text.split()))


def table(headings, rows):
    return "\n".join(f"| {' | '.join(line)} |" for line in (headings, ["---"] * len(headings), *rows))


def code(text):
    return f"`{text}`" if text not in (None, MISSING) else MISSING


# ---------------------------------------------------------------- one record


def pick(record, path):
    """``bleu.value`` or ``history.-1.loss`` of a record, or None."""
    for step in path.split("."):
        if isinstance(record, list):
            record = record[int(step)] if record else None
        else:
            record = record.get(step) if isinstance(record, dict) else None
    return record


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def short(values):
    """A list of plain values in one cell: all of them, or how many and from where to where."""
    if len(values) <= 8 and all(len(str(value)) < 40 for value in values):
        return ", ".join(cell(value) for value in values) or "none"
    if all(map(is_number, values)):
        return f"{len(values)} numbers, {cell(min(values))} to {cell(max(values))}, median {cell(float(statistics.median(values)))}"
    return f"{len(values)} entries"


def leaves(value, path=""):
    """``(path, text)`` of what fits into a cell, and ``(path, rows)`` of every list of objects."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        yield path, value
    elif isinstance(value, list):
        flat = all(not isinstance(one, (list, dict)) for one in value)
        yield path, short(value) if flat else f"{len(value)} entries"
    else:
        yield path, cell(value)


def rows_table(rows, path):
    """A list of objects as a table; the lists of objects within them follow, each as a table of its own."""
    flat, later = [], []
    for number, row in enumerate(rows):
        found = dict(leaves(row))
        flat.append({key: text for key, text in found.items() if isinstance(text, str)})
        later += [(f"{path}.{number}.{key}", inner) for key, inner in found.items() if not isinstance(inner, str)]
    columns = list(dict.fromkeys(key for row in flat for key in row))
    yield f"**{cell(path)}**\n\n" + table([cell(c) for c in columns], [[row.get(c, "–") for c in columns] for row in flat])
    for inner_path, inner in later:
        yield from rows_table(inner, inner_path)


def figures(record):
    """Everything in a record but its origin, as Markdown tables."""
    found = list(leaves({key: value for key, value in record.items() if key not in ORIGIN}))
    plain = [[cell(path), text] for path, text in found if isinstance(text, str)]
    parts = [table(["figure", "value"], plain)] if plain else []
    for path, rows in found:
        if not isinstance(rows, str):
            parts += rows_table(rows, path)
    return "\n\n".join(parts)


def count(record):
    """How many numbers a record holds."""
    if isinstance(record, (dict, list)):
        return sum(map(count, record.values() if isinstance(record, dict) else record))
    return int(is_number(record))


# ---------------------------------------------------------------- the page


def origin(name, record):
    """A row on where a record comes from."""
    seed = record.get("seed", record.get("seeds"))
    seed = MISSING if seed is None else ", ".join(map(str, seed)) if isinstance(seed, list) else str(seed)
    minutes = record.get("minutes", record["seconds"] / 60 if "seconds" in record else None)
    spent = f"{minutes:.1f}" if minutes is not None else f"{record['cpu_minutes']} (processor)" if "cpu_minutes" in record else MISSING
    device = cell(record.get("device", MISSING)) + (
        f", {record['threads']} thread{'s' * (record['threads'] != 1)}" if "threads" in record else ""
    )
    link = f"[{shown(name)}]({repository()}/results/{name})"
    return [link, seed, code(str(record.get("commit", MISSING))[:12]), device, spent, code(record.get("command", MISSING))]


def group(heading, words, records, columns):
    lines = [
        f"## {heading}",
        "",
        words,
        "",
        '<div class="records">',
        "",
        table(["record", "seed", "commit", "device", "minutes", "command"], [origin(name, record) for name, record in records.items()]),
        "",
        "</div>",
        "",
    ]
    if columns:
        rows = [[shown(name), *(cell(pick(record, path)) for path in columns.values())] for name, record in records.items()]
        lines += [table(["record", *columns], rows), ""]
    for name, record in records.items():
        lines += [f"<details><summary>{shown(name)}: {count(record):,} numbers</summary>", "", figures(record), "", "</details>", ""]
    return "\n".join(lines)


def every_record(folder=FOLDER):
    """All groups; a record that no group asks for stands under the last."""
    left, parts = load(folder), []
    total, numbers = len(left), sum(map(count, left.values()))
    for heading, (pattern, words, columns) in GROUPS.items():
        mine = {name: record for name, record in left.items() if re.fullmatch(pattern, shown(name))}
        left = {name: record for name, record in left.items() if name not in mine}
        if mine:
            parts.append(group(heading, words, mine, columns))
    return "\n".join([f"{total} records, {numbers:,} numbers.", "", *parts])
