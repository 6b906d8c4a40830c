"""What do int8 weights change? The shipped model on held-out sentences of two corpora, in float32 and in int8.

    python benchmarks/int8.py          → results/int8.json

Greedy decoding in batches of 64. BLEU and chrF of both, the paired bootstrap between them, how many translations differ, bytes of the
weights; and the time of both, taken in turn over twenty everyday sentences, one at a time and all at once. Times are those of the processor
on one thread; only the ratios travel, and only to processors with int8 instructions.
"""

import argparse
import hashlib
import statistics
import time
from functools import partial
from pathlib import Path

import torch

from xformer_lib import load_pretrained
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.data.corpora import load_corpus
from xformer_lib.decoding import translate
from xformer_lib.engine.quantized import quantize_int8
from xformer_lib.evaluation import bleu, chrf, paired_bootstrap

ROOT = Path(__file__).parent.parent
WEIGHTS = ROOT / "xformer_lib" / "pretrained" / "en-fr" / "model.safetensors"
EVERYDAY = Path(__file__).with_name("everyday.txt")
SYSTEMS = ("float32", "int8")


def tensors_sha256(path: Path) -> str:
    """Of the tensors in a safetensors file, whatever its header says beside them."""
    data = path.read_bytes()
    return hashlib.sha256(data[8 + int.from_bytes(data[:8], "little") :]).hexdigest()


def weight_bytes(model: torch.nn.Module) -> int:
    """Bytes of all parameters and buffers that a checkpoint would hold."""
    return sum(x.numel() * x.element_size() for x in model.state_dict().values())


def scores(models: dict, tokenizer, corpus: str, limit: int | None) -> dict:
    """Both systems on the test part of a corpus."""
    pairs = load_corpus(corpus, "test")[:limit]
    sources, references = map(list, zip(*pairs, strict=True))
    said = {name: translate(model, tokenizer, sources) for name, model in models.items()}
    gap = paired_bootstrap(*(said[name] for name in SYSTEMS), references)
    changed = sum(a != b for a, b in zip(*(said[name] for name in SYSTEMS), strict=True))
    found = {
        name: {
            "bleu": vars(bleu(lines, references)),
            "chrf": vars(chrf(lines, references)),
            "translations_sha256": hashlib.sha256("\n".join(lines).encode()).hexdigest(),
        }
        for name, lines in said.items()
    }
    return {
        "corpus": corpus,
        "split": "test",
        "sentences": len(pairs),
        "changed": changed,
        **found,
        "paired_bootstrap": vars(gap),
        "int8_translations": said["int8"],
    }


def speed(models: dict, tokenizer, rounds: int) -> list[dict]:
    """Processor milliseconds a sentence, both systems once a round."""
    texts, rows = EVERYDAY.read_text(encoding="utf-8").splitlines(), []
    for batch_size in (1, len(texts)):
        times = {name: [] for name in models}
        for _ in range(rounds + 1):
            for name, model in models.items():
                start = time.process_time()
                translate(model, tokenizer, texts, batch_size=batch_size)
                times[name].append(1e3 * (time.process_time() - start) / len(texts))
        ratios = sorted(a / b for a, b in zip(*(times[name][1:] for name in SYSTEMS), strict=True))
        rows.append(
            {
                "batch": batch_size,
                **{f"{name}_ms": round(statistics.median(times[name][1:]), 2) for name in SYSTEMS},
                "float32_over_int8": round(statistics.median(ratios), 2),
                "lowest": round(ratios[0], 2),
                "highest": round(ratios[-1], 2),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, help="sentences of each corpus (default: all)")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "int8.json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    start, translator = time.perf_counter(), load_pretrained("en-fr")
    models = {"float32": translator.model, "int8": quantize_int8(translator.model)}
    timed = partial(speed, models, translator.tokenizer, options.rounds)
    record = {
        "command": "python benchmarks/int8.py",
        "commit": git_commit(),
        "device": cpu_name(),
        "threads": 1,
        "torch": torch.__version__,
        "tensors_sha256": tensors_sha256(WEIGHTS),
        "bytes": {name: weight_bytes(model) for name, model in models.items()},
        "speed": timed(),
        "scores": [scores(models, translator.tokenizer, corpus, options.limit) for corpus in ("tatoeba", "multi30k")],
    }
    record["minutes"] = round((time.perf_counter() - start) / 60, 1)
    for one in record["speed"]:
        print(f"batch {one['batch']:2}: int8 is {one['float32_over_int8']:.2f} times as fast ({one['lowest']} to {one['highest']})")
    for one in record["scores"]:
        gap = one["paired_bootstrap"]
        print(
            f"{one['corpus']}: BLEU {gap['first']:.2f} → {gap['second']:.2f}, gap {gap['low']:+.2f} to {gap['high']:+.2f}, "
            f"p {gap['p_value']:.2f}; {one['changed']} of {one['sentences']} translations differ"
        )
    options.out.write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
