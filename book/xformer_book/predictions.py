"""Predictions that are answered: ``book/predictions.yml`` says what may be said, the page asks before it shows the answer.

The question and its folded answer stay what they are in the notebook. Here the fold gets the choices, and ``static/predict.js``
makes buttons or a field of them. Without a script the answer is a fold as before.
"""

import json
import re
import zlib
from functools import cache
from html import escape
from pathlib import Path

import yaml

FILE = Path(__file__).resolve().parents[1] / "predictions.yml"
FOLD = "<details><summary>Answer</summary>"
PREDICT = re.compile(r"\*\*Predict\.\*\* (?P<question>.*?)" + re.escape(FOLD), re.S)
KINDS = ({"question", "choices", "right"}, {"question", "number"}, {"question", "text"})


@cache
def predictions():
    """Every entry by the name of its page; a KeyError-free file is the build's business, so it is checked here."""
    pages = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    for name, entries in pages.items():
        for entry in entries:
            if set(entry) not in KINDS:
                raise ValueError(f"predictions.yml, {name}: expected choices with right, number, or text, got {sorted(entry)}")
            if "choices" in entry and entry["right"] not in entry["choices"]:
                raise ValueError(f"predictions.yml, {name}: expected one of {entry['choices']} to be right, got {entry['right']!r}")
    return pages


def key(entry):
    """A name that stays as long as the question and its answers do: what a reader said of another one is not shown."""
    return f"{zlib.crc32(json.dumps(entry, sort_keys=True).encode()):08x}"


def asked(entry):
    """What the page needs to ask and to judge."""
    made = {"key": key(entry)}
    if "choices" in entry:
        made |= {"choices": entry["choices"], "right": [entry["right"]]}
    elif "number" in entry:
        made |= {"right": [str(entry["number"])], "near": True}
    else:
        made["right"] = entry["text"]
    return made


def with_questions(name, texts, complain):
    """The Markdown of a page's cells, each answer that can be judged with its choices."""
    entries = predictions().get(name, [])
    found = [0] * len(entries)

    def ask(match):
        hits = [number for number, entry in enumerate(entries) if match["question"].startswith(entry["question"])]
        for number in hits:
            found[number] += 1
        if len(hits) != 1:
            return match[0]
        data = escape(json.dumps(asked(entries[hits[0]]), ensure_ascii=False), quote=True)
        return match[0].removesuffix(FOLD) + f'<details data-ask="{data}"><summary>Answer</summary>'

    made = [PREDICT.sub(ask, text) for text in texts]
    for entry, times in zip(entries, found, strict=True):
        if times != 1:
            complain(f"predictions.yml: expected one Predict that begins with {entry['question']!r}, found {times}")
    return made
