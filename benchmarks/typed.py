"""What becomes of sixty texts as people type them? `xformer translate` with the shipped model, and with that of an earlier commit.

    git worktree add --detach ../before 2e5a9ae
    python benchmarks/typed.py --before ../before             → results/typed.json

The verdicts stand here, given by hand by one who reads both languages. An s is for a sensible answer (a person would understand what was
meant, and nothing of it is lost), a w for a wrong one. In "said" are the lines on standard error beside the model's name.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from xformer_lib._json import json_text
from xformer_lib.cli.provenance import git_commit

ROOT = Path(__file__).parent.parent
OUT = ROOT / "results" / "typed.json"
TEXTS = {
    "twins of plain letters and marks": [
        "She said “no” and left.",
        "It‘s too late…",
        "We don´t know him.",
        "Ｉ ａｍ ｈｕｎｇｒｙ．",
        "The oﬀice is diﬀerent now.",
        "Wait — I forgot my keys.",
        "I'm read\u00ady to go.",
        "Open\u200b the window.",
        "\ufeffThe train is late.",
        "That’s my sister′s book.",
        "« I love you », she said.",
        "He\u00a0lives\u202fhere.",
    ],
    "capitals, small letters, no last mark": [
        "IT IS COLD TODAY.",
        "DON'T TOUCH THAT!",
        "WHERE ARE MY SHOES?",
        "it is raining again",
        "can you help me",
        "my brother lives in paris",
        "i love you",
        "what time is it",
        "yes",
        "no thanks",
        "good morning",
        "hello",
        "Where is the nearest hospital",
        "the dog is sleeping, isn't it",
        "I'd like a table for two",
        "Thank you so much!!!",
    ],
    "carried through": [
        "Happy birthday 🎂🎉",
        "I love pizza 🍕 and coffee ☕.",
        "👍",
        "See you tomorrow :)",
        "Visit https://example.com/help?a=1 for more.",
        "Write to anna.smith@mail.org today.",
        "My friend calls me 太郎.",
        "Привет, how are you?",
        "#happy to be here @maria",
    ],
    "marks and numbers alone": ["?", "!!!", "-- --", "1234"],
    "numbers": [
        "The meeting is at 14:45.",
        "It costs $25.",
        "I paid 12.50 € for it.",
        "She is 37 years old.",
        "I have 2 dogs and 13 cats.",
        "The war ended in 1945.",
        "About 80% of them agreed.",
        "He runs 10 km every day.",
        "Call me at 555-0199.",
    ],
    "names": ["Good night, Mary.", "Mary", "Priyanka and Okonkwo are my neighbors.", "I met Siobhan in Reykjavik."],
    "several sentences": [
        "I am cold. She is hot. They are hungry. We should leave now. Mary is waiting.",
        "Hi Tom,\n\nI will be late tomorrow.\nPlease wait for me.\n\nThanks",
        "Mr. Brown is here. Do you know Dr. Jones?",
        "What?! You sold the car?",
    ],
    "beyond it": ["xyzzy", "Cat"],
}
# one letter a text, in the order above
VERDICTS = {
    "before": "wwwwwwwwwwwswwwwwwwwwwwsswsswwwwwwwwwswwwwswssswwwswwwwwwwww",
    "after": "wssssssssswssssssssssssssssswssswssswsssssssssswsssssssswsww",
}

TRANSLATE = """
import contextlib, io, json, sys
from xformer_lib.cli import main
found = []
for text in json.load(sys.stdin):
    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        main(["translate", text])
    lines = [line for line in said.getvalue().splitlines() if "comes with the library" not in line]
    found.append([out.getvalue().removesuffix("\\n"), lines])
json.dump(found, sys.stdout)
"""


def translated(texts: list[str], checkout: Path) -> list[list]:
    """Each text's translation, and the lines said beside it, by the library of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", TRANSLATE],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        env=environment,
        cwd=checkout,
        check=True,
    )
    return json.loads(done.stdout)


def main(before: Path) -> None:
    texts = [(kind, text) for kind, some in TEXTS.items() for text in some]
    found = {"before": translated([text for _, text in texts], before), "after": translated([text for _, text in texts], ROOT)}
    rows = [
        {"kind": kind, "text": text}
        | {when: {"translation": said[n][0], "said": said[n][1], "verdict": VERDICTS[when][n : n + 1]} for when, said in found.items()}
        for n, (kind, text) in enumerate(texts)
    ]
    for row in rows:
        print(
            repr(row["text"]),
            *(f"   {row[when]['verdict']} {row[when]['translation']!r} {row[when]['said'] or ''}" for when in found),
            sep="\n",
        )
    record = {
        "command": "python benchmarks/typed.py --before FOLDER",
        "commit": git_commit(),
        "commit_before": git_commit(before / "xformer_lib"),
    }
    record["sensible"] = {when: VERDICTS[when].count("s") for when in found} | {"of": len(rows)}
    OUT.write_text(json_text({**record, "texts": rows}), encoding="utf-8")
    print(record["sensible"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, required=True, help="a checkout of the earlier commit")
    main(parser.parse_args().before.resolve())
