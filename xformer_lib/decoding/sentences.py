"""Many sentences at once: checked, sorted into batches, and put back in their order; page w5 explains it."""

import torch

from xformer_lib._checks import check_whole, shown
from xformer_lib._progress import progress_bar
from xformer_lib.data.batching import pad_rows
from xformer_lib.data.corpora import normalise
from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.decoding._checks import check_beam, check_translator, checked_tokenizer
from xformer_lib.decoding.beam import beam_search
from xformer_lib.decoding.greedy_search import greedy
from xformer_lib.decoding.limits import length_limits
from xformer_lib.nn.protocols import TranslationModel

__all__ = ["translate"]


def translate(
    model: TranslationModel, tokenizer: Tokenizer, texts: list[str], **options
) -> list[str]:
    """Translate sentences in batches of like length; their order is kept.

    Options: ``beam_size`` (1 is greedy decoding), ``length_penalty``, ``batch_size``,
    ``engine``, and ``progress``, which shows a bar on standard error.
    """
    return [text for text, _ in decode_sentences(model, tokenizer, texts, **options)]


def decode_sentences(
    model: TranslationModel,
    tokenizer: Tokenizer,
    texts: list[str],
    *,
    beam_size: int = 1,
    length_penalty: float = 1.0,
    batch_size: int = 64,
    engine: str = "fast",
    progress: bool = False,
) -> list[tuple[str, bool]]:
    """For each sentence its translation, and whether that came to an end of its own."""
    check_whole("batch_size", batch_size, least=1, advice="64 is usual")
    check_beam(beam_size, length_penalty)
    check_translator(model)
    checked_tokenizer(tokenizer)
    encoded = encode_sentences(model, tokenizer, texts)
    results: dict[int, tuple[str, bool]] = {}
    order = sorted(range(len(texts)), key=lambda n: len(encoded[n]))
    with progress_bar(len(texts), unit=" sentences", shown=progress) as bar:
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            ids = pad_rows([encoded[n] for n in rows], model.config.pad_id)
            source = torch.from_numpy(ids).to(model.embedding.weight.device)
            if beam_size == 1:
                found = greedy(model, source, engine=engine)
            else:
                beams = beam_search(
                    model,
                    source,
                    beam_size=beam_size,
                    length_penalty=length_penalty,
                    engine=engine,
                )
                found = [best[0].ids for best in beams]
            limits = length_limits(model, source, None).tolist()
            for row, said, limit in zip(rows, found, limits):
                results[row] = tokenizer.decode(said), len(said) < limit
            bar.update(len(rows))
    return [results[n] for n in range(len(texts))]


def encode_sentences(
    model: TranslationModel, tokenizer: Tokenizer, texts: list[str]
) -> list[list[int]]:
    """Source ids ending in <eos>, of sentences made plain as those of training were;
    an empty or overlong one is an error."""
    check_texts(texts)
    limit, encoded = model.config.max_len, []
    plain = [normalise(text) for text in texts]
    for number, ids in enumerate(tokenizer.encode_batch(plain), start=1):
        text = texts[number - 1]
        if not text.strip():
            raise ValueError(
                "text: expected a sentence, got an empty one "
                f"(number {number}); leave it out"
            )
        if len(ids) + 1 > limit:
            raise ValueError(
                f"text: expected at most {limit - 1} tokens, got "
                f"{len(ids)} in sentence {number}, {text[:30]!r}…; "
                "split it into shorter sentences"
            )
        encoded.append([*ids, model.config.eos_id])
    return encoded


def check_texts(texts: object) -> None:
    """Raise TypeError for anything but a list of strings."""
    if isinstance(texts, str):
        raise TypeError(
            "texts: expected a list of sentences, got one string; write [text]"
        )
    if not isinstance(texts, list | tuple) or not all(
        isinstance(t, str) for t in texts
    ):
        raise TypeError(
            f"texts: expected a list of sentences, got {shown(texts)}; "
            "make it a list, and each sentence a str"
        )
