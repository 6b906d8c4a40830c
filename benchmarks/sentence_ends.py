"""Who cuts typed text at the ends of its sentences? Ours beside two kept libraries.

    pip install pysbd==0.3.4 sentencex==1.0.32
    python benchmarks/sentence_ends.py          → results/sentence-ends.json

Thirty lines of our own, in English and French: each is right if it comes out in the sentences written here. The time is that of the
processor, a line, the mean of twenty rounds.
"""

import time
from importlib.metadata import version
from pathlib import Path

import pysbd
import sentencex

from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.data._sentences import split_sentences

OUT = Path(__file__).parent.parent / "results" / "sentence-ends.json"
ENGLISH = """
I am tired. | He is happy! | Where is she?
Dr. Smith and J. Doe came at 9 a.m. today. | They left.
We left at 9 a.m. | They came later.
I don't know... | Really.
He said "Stop!" and left. | Why?
Mr. Brown lives in the U.S. now.
It costs $3.50. | That is cheap.
See fig. 3 for more. | It is clear.
What?! | You sold it?
he is here. | she is there.
Version 2.0 is out. | Get it at example.com.
Is it e.g. a cat? | Yes.
Hello! | how are you?
She was born on Jan. 5. | I was there.
"Come in." | He came in.
No. 5 is alive.
We have apples, pears, etc. | They are fresh.
I live at 5 Main St. | It is small.
OK. | Thx.
Wait... | what?
"""
FRENCH = """
M. Dupont est là. | Mme Curie aussi.
Il est 9 h. du matin.
Quoi ?! | Tu pars ?
Bonjour ! | Ça va ?
Il a dit « Non. » et il est parti.
Voir p. 5. | C'est clair.
Il pleut... | Encore.
J.-P. Sartre est né en 1905. | Il est mort en 1980.
C'est la fin. | oui.
Le 1er janv. 2020 il est né.
"""
CASES = [(code, line.split(" | ")) for code, lines in (("en", ENGLISH), ("fr", FRENCH)) for line in lines.strip().splitlines()]
SEGMENTERS = {code: pysbd.Segmenter(language=code, clean=False) for code in ("en", "fr")}
WAYS = {
    "ours": lambda code, line: [sentence for sentence, _ in split_sentences(line)],
    f"pysbd {version('pysbd')}": lambda code, line: [sentence.strip() for sentence in SEGMENTERS[code].segment(line)],
    f"sentencex {version('sentencex')}": lambda code, line: [sentence.strip() for sentence in sentencex.segment(code, line)],
}


def main(rounds: int = 20) -> None:
    record = {
        "command": "python benchmarks/sentence_ends.py",
        "commit": git_commit(),
        "device": cpu_name(),
        "lines": len(CASES),
        "ways": {},
    }
    for name, cut in WAYS.items():
        found = [cut(code, " ".join(wanted)) for code, wanted in CASES]
        start = time.process_time()
        for _ in range(rounds):
            for code, wanted in CASES:
                cut(code, " ".join(wanted))
        microseconds = 1e6 * (time.process_time() - start) / rounds / len(CASES)
        wrong = [sentences for sentences, (_, wanted) in zip(found, CASES) if sentences != wanted]
        record["ways"][name] = {"right": len(CASES) - len(wrong), "microseconds_a_line": round(microseconds, 1), "wrong": wrong}
        print(f"{name}: {len(CASES) - len(wrong)} of {len(CASES)} right, {microseconds:.0f} microseconds a line")
    OUT.write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
