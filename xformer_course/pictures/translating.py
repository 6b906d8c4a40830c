"""Read once, write word by word: how a translator uses its encoder and its decoder, and how it is trained."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture, by_state
from xformer_lib.shapes import Float

if TYPE_CHECKING:
    from xformer_lib.decoding import Translator

__all__ = ["translating", "translation"]

TOP, ROW = 92.0, 44.0
READ, STRIP, SLOT = 50.0, 118.0, 336.0  # where the source, the memory and the target stand
SHOWN = 5  # numbers of each vector of the memory


def translating(
    source: Sequence[str],
    target: Sequence[str],
    weights: Float[np.ndarray, "t s"],
    memory: Float[np.ndarray, "s m"],
    best: Sequence[Sequence[tuple[str, float]]],
) -> Picture:
    """Draw a translation: the encoder reads all words once, the decoder writes one after the other and reads the memory for each.

    A switch shows training instead: the whole target stands there, and all its words are predicted at once.

    Args:
        source: the words that are read, five or so.
        target: the words that are written; the last is the end.
        weights: the cross-attention of each written word over the source.
        memory: what the encoder returned.
        best: for each written word, its likeliest beginnings with their probabilities.

    >>> best = [[("Je", 0.9)], [("suis", 0.8)]]
    >>> picture = translating(["I", "am"], ["Je", "suis"], np.eye(2), np.ones((2, 8)), best)
    >>> len(picture.steps), picture.chosen
    (3, {'mode': '0'})
    """
    rows = max(len(source), len(target) + 1)
    drawing = Drawing(400, int(TOP + ROW * rows + 122))
    write, train = {"state": "mode:0"}, {"state": "mode:1", "rest": True}
    for place, label in enumerate(("translating", "training")):
        with drawing.group(press=f"mode:{place} step:1", label=f"Show {label}"):
            drawing.word(56 + 118 * place, 18, label, width=108)
        drawing.word(56 + 118 * place, 18, label, width=108, role="ink", state=f"mode:{place}", rest=place == 1)
    for x, name in ((READ, "source"), (STRIP + 32, "memory Z")):
        drawing.text(x, 58, name, size=14, role="quiet")
    drawing.text(SLOT, 58, "target", size=14, role="quiet", **write)

    spread = np.abs(memory[:, :SHOWN]).max() or 1.0
    for place, word in enumerate(source):
        y = TOP + ROW * place
        drawing.word(READ, y, word, width=90)
        with drawing.group(step=1):
            drawing.arrow((READ + 46, y), (STRIP - 2, y))
            with drawing.group(come=(READ - STRIP, 0)):
                for column, value in enumerate(memory[place, :SHOWN]):
                    drawing.box(
                        STRIP + 13 * column, y - 11, 12, 22, fill="ink", stroke="line", strength=float(abs(value) / spread),
                        thick=1, radius=1,
                    )  # fmt: skip
    below = TOP + ROW * rows
    drawing.text(4, below + 2, "the encoder has run once", anchor="start", size=14, role="quiet")

    with drawing.group(**write):
        drawing.word(SLOT, TOP, "<bos>", width=112)
        for place, word in enumerate(target):
            y, now = TOP + ROW * (place + 1), place + 2
            drawing.box(SLOT - 56, y - 14, 112, 28, stroke="line", thick=1, radius=14)
            last = {"until": now + 1} if place + 1 < len(target) else {}
            with drawing.group(step=now, **last):
                for column, weight in enumerate(weights[place]):  # from the memory to the last word so far
                    start, end = (STRIP + 13 * SHOWN + 2, TOP + ROW * column), (SLOT - 58, y - ROW)
                    bend = (start[0] + end[0]) / 2
                    drawing.path(
                        f"M{start[0]:.1f} {start[1]:.1f}C{bend:.1f} {start[1]:.1f} {bend:.1f} {end[1]:.1f} {end[0]:.1f} {end[1]:.1f}",
                        stroke="weight", thick=max(0.75, 13 * weight), strength=0.3 + 0.7 * float(weight), come="draw",
                    )  # fmt: skip
                most = int(np.argmax(weights[place]))
                beside = 18 if most > place else -17  # below a ray that rises, above any other
                where = STRIP + 13 * SHOWN + 22, TOP + ROW * most + beside
                drawing.text(*where, number(weights[place, most]), role="weight", bold=True, size=14, late=1)
                drawing.text(SLOT, below + 2, f"decoder: run {place + 1}", size=14, role="quiet")
                drawing.text(4, below + 28, "most likely next:", anchor="start", size=14, late=1)
                for line, (piece, share) in enumerate(best[place][:3]):
                    z = below + 50 + 22 * line
                    drawing.text(118, z, piece, anchor="end", size=14, bold=line == 0, late=1)
                    long, role = max(1.5, 190 * share), "ink" if line == 0 else "line"
                    drawing.box(126, z - 8, long, 16, fill=role, radius=2, come="right", late=1)
                    shown = number(share) if share >= 0.005 else "under .01"
                    drawing.text(132 + 190 * share, z, shown, anchor="start", size=14, late=2)
                drawing.arrow((SLOT + 36, y - ROW + 15), (SLOT + 36, y - 15), role="accent", thick=2, late=3)
                with drawing.group(come=(96 - SLOT, below + 50 - y), late=2):  # the likeliest goes into the next slot
                    drawing.word(SLOT, y, word, width=112, role="accent")
            if last:
                drawing.word(SLOT, y, word, width=112, step=now + 1)

    with drawing.group(**train):
        _training(drawing, target, below)
    count = len(target)
    read = [source[int(np.argmax(row))] for row in weights]
    writing = [
        "The encoder reads all words at once and turns each into a vector. Together they are the <b>memory</b>. "
        f"{SHOWN} of the {memory.shape[1]} numbers of each are drawn, darker where they are larger."
    ]
    for place, (before, word) in enumerate(zip(["<bos>", *target], target)):
        writing.append(
            f"From <b>{_plain(before)}</b>, the last word so far, the decoder reads the memory, most of all <b>{_plain(read[place])}</b>. "
            f"It writes <b>{_plain(word)}</b>" + (", the end sign, and stops." if place + 1 == count else ", which is read from then on.")
        )
    training = [
        "In training the translation is known. The decoder is given all of it, and each position must predict the next word.",
        "What must come out is what goes in, moved by one position: follow a dashed line.",
        "No position may see the answer, so each reads only itself and what stands before it. That is the triangle.",
        f"All {count} predictions come from <b>one</b> run of the decoder. The loss is the mean over them.",
    ]
    training += training[-1:] * (len(writing) - len(training))
    description = f"The words {' '.join(source)} become vectors; the decoder writes {' '.join(target)}, and reads for them " + ", ".join(
        read
    )
    return Picture(
        name="translating",
        title="Read once, write word by word",
        description=description,
        drawing=drawing,
        steps=by_state("mode", [writing, training]),
        chosen={"mode": "0"},
    )


def translation(translator: "Translator", text: str) -> Picture:
    """Draw how a trained translator reads and writes a sentence of a few words: `translating` with its numbers.

    A ray is as thick as the mean over all heads of cross-attention. A model writes tokens, not words: the likeliest beginnings
    of a word are those of its first token, with … behind them where more must follow.
    """
    import torch

    from xformer_lib.decoding import next_logits
    from xformer_lib.inspection import word_maps

    maps = translator.attention(text)
    words = word_maps(maps)
    target, source = words.labels("cross")
    model, tokenizer = translator.model, translator.tokenizer
    ids = torch.tensor([[*tokenizer.encode(text), tokenizer.eos_id]])
    said, best = [tokenizer.bos_id], []
    with torch.inference_mode():
        memory = model.encode(ids)
        while len(said) <= len(maps.written):
            shares = next_logits(model, torch.tensor([said]), memory, ids)[0].softmax(dim=-1)
            likely = shares.topk(3)
            best.append(list(zip(tokenizer.pieces(likely.indices.tolist()), likely.values.tolist())))
            said.append(int(shares.argmax()))
    begins = [place for place, token in enumerate(maps.written) if _begins(place, token)]
    reads = [place for place, token in enumerate(maps.source) if _begins(place, token)]
    shown = [[(_said(token, word), share) for token, share in best[place]] for place, word in zip(begins, target)]
    return translating(source, target, words.cross.mean(axis=(0, 1)), memory[0, reads].numpy(), shown)


def _begins(place: int, token: str) -> bool:
    return place == 0 or token.startswith("▁") or token == "<eos>"


def _said(token: str, word: str) -> str:
    bare = token.removeprefix("▁")
    return f"{bare}…" if bare != word and word.startswith(bare) else bare


def _training(drawing: Drawing, target: Sequence[str], below: float) -> None:
    """Draw what the decoder is given, what it must say, and who may read whom."""
    given = ["<bos>", *target[:-1]]
    drawing.text(244, 58, "goes in", size=14, role="quiet")
    drawing.text(342, 58, "must come out", size=14, role="quiet")
    for place, (word, following) in enumerate(zip(given, target)):
        y = TOP + ROW * place
        drawing.word(244, y, word, width=92)
        drawing.arrow((292, y), (304, y), role="ink")
        drawing.word(352, y, following, width=92, role="accent")
        if place:  # the same word, one position later
            drawing.path(f"M340 {y - ROW + 15:.1f}Q320 {y - 22:.1f} 256 {y - 15:.1f}", stroke="line", thick=1.5, dash="4 4", step=2)
            drawing.box(198, y - 14, 92, 28, stroke="accent", thick=3, radius=14, step=2, come=("ghost", 108, -ROW))
    size = 24  # of a cell of the triangle
    left, top = 244.0, below - 4
    with drawing.group(step=3):
        drawing.text(left - 8, top + 24, "may read:", anchor="end", size=14, role="quiet")
        for i in range(len(given)):
            for j in range(len(given)):
                where = left + size * j, top + size * i, size - 2, size - 2
                if j > i:
                    drawing.hatched(*where)
                else:
                    drawing.box(*where, fill="weight", stroke="weight", strength=0.3, thick=1, radius=2, late=i)


def _plain(word: str) -> str:
    return word.replace("<", "&lt;").replace(">", "&gt;")
