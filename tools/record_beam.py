"""Record what the shipped model says after every beginning that a beam of 1 to 4 can meet, for `explorables.beam`.

Run ``python tools/record_beam.py``; it writes xformer_course/explorables/assets/beam.json.
"""

import json
from pathlib import Path

import torch

from xformer_lib import load_pretrained
from xformer_lib.decoding import beam_search, next_logits
from xformer_lib.decoding.limits import evaluation_mode

PATH = Path(__file__).resolve().parents[1] / "xformer_course" / "explorables" / "assets" / "beam.json"
SENTENCES = ("We need a car.", "They sat down.")
SIZES, LIMIT, SHOWN = (1, 2, 3, 4), 8, 6


def likeliest(translator, source, said: tuple[int, ...]) -> list[tuple[int, float]]:
    """The SHOWN likeliest next tokens and their log p; the model computes in 32 bits, softmax in 64."""
    with evaluation_mode(translator.model) as model:
        tokens = torch.tensor([[model.config.bos_id, *said]])
        log_probs = next_logits(model, tokens, model.encode(source), source)[0].double().log_softmax(dim=-1)
    top = log_probs.topk(SHOWN)
    return list(zip(top.indices.tolist(), top.values.tolist(), strict=True))


def record(translator, text: str) -> dict:
    """Next tokens after each beginning that a beam keeps, however late it stops; and what the library finds."""
    model, tokenizer = translator.model, translator.tokenizer
    source = torch.tensor([[*tokenizer.encode(text), tokenizer.eos_id]])
    known = {}
    for size in SIZES:
        kept = [((), 0.0)]
        for _ in range(LIMIT):
            known |= {said: likeliest(translator, source, said) for said, _ in kept if said not in known}
            longer = [((*said, token), p + q) for said, p in kept for token, q in known[said]]
            longer.sort(key=lambda row: -row[1])
            kept = [row for row in longer[:size] if row[0][-1] != tokenizer.eos_id]
    found = []
    for size in SIZES:
        best = beam_search(model, source, beam_size=size, length_penalty=0.0, max_len=LIMIT)[0][0]
        found.append([size, tokenizer.decode(best.ids), round(best.log_prob, 4)])
    names = {said: " ".join(tokenizer.pieces(said)) for said in known}
    rows = {names[said]: [[tokenizer.pieces([token])[0], round(p, 6)] for token, p in row] for said, row in known.items()}
    return {"source": text, "limit": LIMIT, "next": rows, "found": found}


def main() -> None:
    translator = load_pretrained("en-fr")
    text = json.dumps([record(translator, text) for text in SENTENCES], ensure_ascii=False, separators=(",", ":"))
    PATH.write_text(text.replace('},{"source"', '},\n{"source"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
