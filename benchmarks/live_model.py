"""How quick is the shipped model in a reader's browser, and how close to PyTorch?

    PYTHONPATH=. python benchmarks/live_model.py          → results/live-model.json

A headless Chromium without a network opens the figure of page 12d from a folder and presses its button, five times, each time in a fresh
browser: from the click to the first translation. Then, in the last of them, the twenty everyday sentences: the encoder for a sentence,
greedy decoding for a token written, a beam of 4 for a token of its best translation; and the largest difference to PyTorch in any logit of
the greedy translations. Each time is given twice: on the clock, and as the processor time of the page's thread, which other programs on the
machine change less. Nothing is passed or failed by them.
"""

import argparse
import base64
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from tests.book.browser import browse
from tests.explorables import live_model as live
from xformer_lib import load_pretrained
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit

ROOT = Path(__file__).parent.parent
SENTENCES = (ROOT / "benchmarks" / "everyday.txt").read_text(encoding="utf-8").splitlines()
BYTES = "const bytes = (x) => btoa(new Uint8Array(x.buffer, x.byteOffset, x.byteLength).reduce((s, b) => s + String.fromCharCode(b), ''));"
PHASES = {
    "encode": "window.kept = value.map((text) => engine.model.encode([...engine.tokenizer.encode(text), 2])); return value.length;",
    "greedy": "window.paths = window.kept.map((one) => engine.search.finish(engine.search.greedy(engine.model, one)));"
    " return window.paths.flatMap((one) => one.ids).length;",
    "beam4": "return window.kept.flatMap((one) => engine.search.finish(engine.search.beam(engine.model, one))[0].ids).length;",
}
FOUND = (
    BYTES
    + " return window.paths.map(({ ids, states }, n) => ({ ids, source: window.kept[n].source, "
    + "logits: states.map((one) => bytes(one.logits)) }));"
)


async def busy(tab) -> float:
    """Milliseconds of processor time that the page's thread has used."""
    metrics = (await tab.protocol.send("Performance.getMetrics"))["metrics"]
    return 1000 * next(one["value"] for one in metrics if one["name"] == "TaskDuration")


async def timed(tab, work) -> tuple[object, dict]:
    """What ``work`` gives, and its milliseconds by clock and by processor."""
    before, began = await busy(tab), time.perf_counter()
    answer = await work
    return answer, {"clock": 1000 * (time.perf_counter() - began), "processor": await busy(tab) - before}


def visit(chromium: str, page: Path, then=None) -> tuple[dict, object]:
    """Milliseconds from the click to the first translation, and what ``then`` makes of the page."""

    async def work(tab):
        await tab.screen(1000, 900)
        await tab.protocol.send("Performance.enable", {"timeDomain": "threadTicks"})
        await tab.visit(page.as_uri())
        read, taken = await timed(tab, live.click_and_wait(tab))
        return {**taken, "clock": read["times"]["first"]}, await then(tab) if then else None

    return browse(chromium, work)


async def sentences(tab) -> tuple[dict, list[dict]]:
    """Milliseconds of each phase, a sentence or a token; three sentences before them, unmeasured, let the browser compile."""
    times = {}
    for texts in (SENTENCES[:3], SENTENCES):
        for name, script in PHASES.items():
            count, taken = await timed(tab, live.ask(tab, script, texts))
            times[name] = {domain: round(value / count, 1) for domain, value in taken.items()}
    return times, await live.ask(tab, FOUND, 0)


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
        loaded = sum(path.stat().st_size for path in (Path(folder) / "_static" / "translator" / "en-fr").iterdir())
        visits = [visit(chromium, page, sentences if n == repeats - 1 else None) for n in range(repeats)]
    times, found = visits[-1][1]
    firsts = {domain: sorted(round(first[domain]) for first, _ in visits) for domain in ("clock", "processor")}
    return {
        "bytes_loaded": loaded,
        "click_to_translation_ms": {
            domain: {"median": statistics.median(all_), "lowest": all_[0], "highest": all_[-1]} for domain, all_ in firsts.items()
        },
        "sentences": len(SENTENCES),
        "encoder_ms_a_sentence": times["encode"],
        "greedy_ms_a_token": times["greedy"],
        "beam4_ms_a_token": times["beam4"],
        "load_average": round(os.getloadavg()[0], 1),
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
    options.out.write_text(json_text(record), encoding="utf-8")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
