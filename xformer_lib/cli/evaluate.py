"""``xformer evaluate``: score a trained model with sacreBLEU and chrF."""

from argparse import Namespace
from typing import Any

from xformer_lib._json import json_text
from xformer_lib.cli.files import STANDARD, check_output, write_text
from xformer_lib.cli.models import check_search, chosen_model, name_model
from xformer_lib.cli.provenance import evaluation_record

__all__ = ["run"]

SAMPLES = 12


def run(options: Namespace) -> int:
    """Print the scores of a model, write its record where ``--json`` asks for one, and return the exit status."""
    check_search(options)
    check_output("--json", options.json)

    from xformer_lib.data.corpora import load_corpus
    from xformer_lib.data.pairs import load_pairs
    from xformer_lib.decoding import translate
    from xformer_lib.evaluation import bleu, chrf, exact_match
    from xformer_lib.training.checkpoint import load_model, load_setup
    from xformer_lib.training.precision import pick_device

    folder, device = chosen_model(options.model), pick_device(options.device)
    model, tokenizer = load_model(folder, device=device)
    origin = evaluation_record(folder, device) if options.json else {}
    corpus = options.corpus or load_setup(folder)[0].corpus
    own = None if options.corpus else load_pairs(folder)
    pairs = load_corpus(corpus, options.split) if own is None else own.get(options.split)
    if not pairs:
        raise ValueError(f"--split: expected train, val or test, and one with pairs in {folder}, got {options.split!r}; take val")

    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    search = {"beam_size": options.beam_size, "length_penalty": options.length_penalty}
    hypotheses = translate(model, tokenizer, sources, progress=not options.quiet, **search)
    scores: dict[str, Any] = {
        "bleu": vars(bleu(hypotheses, references)),
        "chrf": vars(chrf(hypotheses, references)),
        "exact_match": exact_match(hypotheses, references),
    }
    greedy = options.beam_size == 1
    how = "greedy" if greedy else f"beam {options.beam_size}, length penalty {options.length_penalty:g}"
    lines = [
        f"{folder} on {corpus} {options.split}, {len(pairs)} sentences, {how}:",
        f"  BLEU  {scores['bleu']['value']:.2f}  {scores['bleu']['signature']}",
        f"  chrF  {scores['chrf']['value']:.2f}  {scores['chrf']['signature']}",
        f"  exact {scores['exact_match']:.1f} %",
    ]
    if options.json != STANDARD:  # where the record stands alone
        print("\n".join(lines), flush=True)
    if options.json:
        chosen = range(0, len(pairs), max(1, len(pairs) // SAMPLES))[:SAMPLES]
        samples = [dict(source=sources[n], hypothesis=hypotheses[n], reference=references[n]) for n in chosen]
        decoding = {"decoding": "greedy"} if greedy else {"decoding": "beam", **search}
        record = {"corpus": corpus, "split": options.split, **decoding, **scores, **origin, "samples": samples, "hypotheses": hypotheses}
        write_text(options.json, json_text(record))
    name_model(options, folder)
    return 0
