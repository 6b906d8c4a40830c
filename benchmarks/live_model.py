"""How quick is the shipped model in a reader's browser, and how close to PyTorch?

    PYTHONPATH=. python benchmarks/live_model.py          → results/live-model.json

A headless Chromium without a network opens the figure of page 12d from a folder and presses its button, five times, each time in a fresh
browser: milliseconds from the click to the first translation. Then, in the last of them, the twenty everyday sentences: milliseconds of the
encoder a sentence, of greedy decoding a token written, of a beam of 4 a token of its best translation; and the largest difference to PyTorch
in any logit of the greedy translations. Times are those of one processor; nothing is passed or failed by them.
"""

import argparse
import asyncio
import base64
import json
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import torch

from tests.book.browser import open_tab
from tests.explorables import live_model as live
from xformer_lib import load_pretrained
from xformer_lib.cli import cpu_name, git_commit

ROOT = Path(__file__).parent.parent
SENTENCES = (ROOT / "benchmarks" / "everyday.txt").read_text(encoding="utf-8").splitlines()
MEASURE = """
const { tokenizer, model, search } = engine, clock = () => performance.now();
const bytes = (x) => new Uint8Array(x.buffer, x.byteOffset, x.byteLength).reduce((s, b) => s + String.fromCharCode(b), "");
return value.map((text) => {
  const source = [...tokenizer.encode(text), 2], t0 = clock(), encoded = model.encode(source), t1 = clock();
  const { ids, states } = search.finish(search.greedy(model, encoded)), t2 = clock();
  const beam = search.finish(search.beam(model, encoded))[0], t3 = clock();
  return { source, ids, logits: states.map((one) => btoa(bytes(one.logits))),
    times: { encode: t1 - t0, greedy: t2 - t1, beam: t3 - t2 }, beamTokens: beam.ids.length };
});"""


async def visit(chromium: str, page: Path, then=None) -> tuple[float, object]:
    """Milliseconds from the click to the first translation, and what ``then`` makes of the page."""
    async with open_tab(chromium) as tab:
        await tab.screen(1000, 900)
        await tab.visit(page.as_uri())
        read = await live.click_and_wait(tab)
        return read["times"]["first"], await then(tab) if then else None


async def sentences(tab) -> list[dict]:
    """Each sentence once unmeasured, so that the browser has compiled the loops; then all of them measured."""
    await live.ask(tab, MEASURE, SENTENCES[:3])
    return [(await live.ask(tab, MEASURE, [one]))[0] for one in SENTENCES]


def logit_difference(found: list[dict]) -> float:
    """The largest difference to PyTorch in a logit; its words must be the same."""
    model = load_pretrained("en-fr").model.eval()
    worst = 0.0
    for one in found:
        with torch.inference_mode():
            logits = model(torch.tensor([one["source"]]), torch.tensor([[1, *one["ids"][:-1]]]))[0].numpy()
        ours = np.stack([np.frombuffer(base64.b64decode(row), dtype="<f4") for row in one["logits"]])
        if not (ours.argmax(-1) == logits[:, 2:].argmax(-1) + 2).all():
            raise RuntimeError(f"source {one['source']}: the browser and PyTorch choose different words")
        worst = max(worst, float(np.abs(ours[:, 2:] - logits[:, 2:]).max()))
    return worst


def measure(chromium: str, repeats: int) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        page = live.write_book(Path(folder))
        loaded = sum(path.stat().st_size for path in (Path(folder) / "_static" / "translator").iterdir())
        visits = [asyncio.run(visit(chromium, page, sentences if n == repeats - 1 else None)) for n in range(repeats)]
    firsts, found = sorted(first for first, _ in visits), visits[-1][1]
    tokens = {"greedy": sum(len(one["ids"]) for one in found), "beam": sum(one["beamTokens"] for one in found)}
    totals = {name: sum(one["times"][name] for one in found) for name in ("encode", "greedy", "beam")}
    return {
        "bytes_loaded": loaded,
        "click_to_translation_ms": {"median": round(statistics.median(firsts)), "lowest": round(firsts[0]), "highest": round(firsts[-1])},
        "sentences": len(SENTENCES),
        "encode_ms_a_sentence": round(totals["encode"] / len(SENTENCES), 1),
        "greedy_ms_a_token": round(totals["greedy"] / tokens["greedy"], 1),
        "beam4_ms_a_token": round(totals["beam"] / tokens["beam"], 1),
        "largest_logit_difference": float(f"{logit_difference(found):.1e}"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="fresh browsers (default 5)")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "live-model.json")
    options = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        raise SystemExit("chromium: expected a Chromium on the path, got none; install one, or leave this benchmark out")
    version = subprocess.run([chromium, "--version"], capture_output=True, text=True, check=True).stdout.split()
    record = {
        "command": "PYTHONPATH=. python benchmarks/live_model.py",
        "commit": git_commit(),
        "device": cpu_name(),
        "browser": " ".join(version[:2]),
        **measure(chromium, options.repeats),
    }
    options.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
