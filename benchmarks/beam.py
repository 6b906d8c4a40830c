"""What does a beam bring? The shipped model on held-out sentences, greedy and with five beams under three length penalties.

    python benchmarks/beam.py          → results/beam-tatoeba.json

One reference each: the first French sentence that the corpus has for the English one. log p is that of the sentence returned, its
end included, under the model; it says nothing of whether the sentence is good.
"""

import argparse
import hashlib
from pathlib import Path

import sacrebleu
import torch

from xformer_lib import load_pretrained
from xformer_lib._json import json_text
from xformer_lib.cli.provenance import cpu_name, git_commit
from xformer_lib.data.batching import pad_rows
from xformer_lib.data.corpora import load_corpus
from xformer_lib.decoding import beam_search, translate
from xformer_lib.decoding.sentences import encode_sentences
from xformer_lib.evaluation import bleu, bleu_counts

ROOT = Path(__file__).parent.parent
WEIGHTS = ROOT / "xformer_lib" / "pretrained" / "en-fr" / "model.safetensors"
SENTENCES = 400
SYSTEMS = {"greedy": (1, 0.0), "beam 5, α = 0": (5, 0.0), "beam 5, α = 0.6": (5, 0.6), "beam 5, α = 1": (5, 1.0)}


def held_out(count: int) -> tuple[list[str], list[str]]:
    """So many English sentences of the test part, evenly spread, each with its first French one."""
    first = {}
    for english, french in load_corpus("tatoeba", "test"):
        first.setdefault(english, french)
    every = list(first)
    sources = [every[n * len(every) // count] for n in range(count)]
    return sources, [first[english] for english in sources]


def best_of_each(translator, texts: list[str], beam_size: int, length_penalty: float) -> list[tuple[str, float]]:
    """The best hypothesis of each sentence and its log p, in batches of like length."""
    model, tokenizer = translator.model, translator.tokenizer
    rows = encode_sentences(model, tokenizer, texts)
    order, found = sorted(range(len(rows)), key=lambda n: len(rows[n])), {}
    for start in range(0, len(order), 32):
        batch = order[start : start + 32]
        source = torch.from_numpy(pad_rows([rows[n] for n in batch], model.config.pad_id))
        beams = beam_search(model, source, beam_size=beam_size, length_penalty=length_penalty)
        found |= {n: (tokenizer.decode(best[0].ids), best[0].log_prob) for n, best in zip(batch, beams)}
    return [found[n] for n in range(len(rows))]


def against(first: dict, second: dict) -> dict:
    """How many translations differ from those of the first system, and how many are less likely."""
    log_probs = zip(first["log_probs"], second["log_probs"])
    return {
        "changed": sum(a != b for a, b in zip(first["translations"], second["translations"])),
        "less_likely": sum(b < a - 1e-3 for a, b in log_probs),
    }


def main(out: Path, count: int) -> None:
    translator = load_pretrained("en-fr")
    sources, references = held_out(count)
    systems = []
    for name, (beam_size, length_penalty) in SYSTEMS.items():
        translations, log_probs = zip(*best_of_each(translator, sources, beam_size, length_penalty))
        said, wanted = bleu_counts(list(translations), references).sum(axis=0)[:2].tolist()
        systems.append(
            {
                "name": name,
                "beam_size": beam_size,
                "length_penalty": length_penalty,
                "bleu": vars(bleu(list(translations), references)),
                "length_ratio": said / wanted,
                "log_probs": [round(value, 4) for value in log_probs],
                "translations": list(translations),
            }
        )
        systems[-1] |= against(systems[0], systems[-1])
        print(
            f"{name:16} BLEU {systems[-1]['bleu']['value']:.2f}  length ratio {said / wanted:.3f}  "
            f"log p {sum(log_probs) / count:.3f}  changed {systems[-1]['changed']}",
            flush=True,
        )
    assert systems[0]["translations"] == translate(translator.model, translator.tokenizer, sources), "one beam is greedy decoding"
    record = {
        "command": "python benchmarks/beam.py",
        "commit": git_commit(),
        "device": cpu_name(),
        "threads": torch.get_num_threads(),
        "versions": {"torch": torch.__version__, "sacrebleu": sacrebleu.__version__},
        "weights_sha256": hashlib.sha256(WEIGHTS.read_bytes()).hexdigest(),
        "corpus": "tatoeba",
        "split": "test",
        "sources": sources,
        "references": references,
        "systems": systems,
    }
    out.write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "beam-tatoeba.json")
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    options = parser.parse_args()
    main(options.out, options.sentences)
