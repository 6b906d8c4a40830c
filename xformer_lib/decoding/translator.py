"""Text in, text out: a model, its tokenizer, and texts of any kind; page w5 explains it."""

from collections.abc import Set
from typing import TypeVar

import torch
from torch import nn

from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.data.typed import SIGNS
from xformer_lib.decoding._checks import check_translator, checked_tokenizer
from xformer_lib.decoding.limits import evaluation_mode
from xformer_lib.decoding.sentences import check_texts, decode_sentences, translate
from xformer_lib.engine.decode import check_engine
from xformer_lib.engine.modules import accelerate
from xformer_lib.nn._trees import full_copy
from xformer_lib.nn.multi_head import MultiHeadAttention
from xformer_lib.nn.protocols import SomeModule, TranslationModel
from xformer_lib.translation import Sentence, Translation, cut, listed, visible

__all__ = ["Translator"]


Text = TypeVar("Text", str, list[str])  # a sentence, or several


class Translator:
    """A trained model and its tokenizer: text in, text out.

    ``model`` is copied, so that what becomes of the caller's changes nothing here.
    ``words``: `data.typed.known_words` of its training; other capitalised ones are names.
    """

    def __init__(
        self,
        model: TranslationModel,
        tokenizer: Tokenizer | None = None,
        *,
        engine: str = "fast",
        words: Set[str] = frozenset(),
    ):
        check_engine(engine)
        check_translator(model)
        self.tokenizer = checked_tokenizer(tokenizer)
        model = full_copy(model)
        self.model = (
            model if engine == "plain" else accelerate(store_column_major(model))
        )
        self.engine, self.words = engine, words

    def translate(
        self,
        text: Text,
        *,
        beam_size: int = 1,
        length_penalty: float = 1.0,
        progress: bool = False,
    ) -> Text:
        """Return a text for a text, a list for a list, in its order.

        A text may hold several sentences and lines, and what is no sentence comes back as
        it is. ``progress`` shows a bar on standard error.
        """
        found = self.translations(
            [text] if isinstance(text, str) else text,
            beam_size=beam_size,
            length_penalty=length_penalty,
            progress=progress,
        )
        return found[0].text if isinstance(text, str) else [one.text for one in found]

    def translations(self, texts: list[str], **options) -> list[Translation]:
        """Return each translation with its notes: what was carried through unchanged,
        read in parts, or cut off. The options are those of `translate`."""
        return translate_texts(
            self.model,
            self.tokenizer,
            texts,
            words=self.words,
            engine=self.engine,
            **options,
        )

    def attention(self, text: str):
        """Return `inspection.AttentionMaps` of a sentence and its greedy translation."""
        from xformer_lib.inspection import attention_maps

        said = translate(self.model, self.tokenizer, [text], engine=self.engine)[0]
        with evaluation_mode(self.model) as model:
            return attention_maps(model, self.tokenizer, text, said)


def translate_texts(
    model: TranslationModel,
    tokenizer: Tokenizer,
    texts: list[str],
    *,
    words: Set[str] = frozenset(),
    **options,
) -> list[Translation]:
    """Translate texts of any kind and length; ``words`` and signs as in
    `translation.cut`."""
    check_texts(texts)
    limit = model.config.max_len - 8  # <eos>, and pieces of a sign

    def fits(text):
        return len(text.encode()) < limit or len(tokenizer.encode(text)) < limit

    signs = len(tokenizer.encode(f" {SIGNS[0]}")) == 1  # one piece: learned in training
    plans = [cut(text, fits=fits, signs=signs, words=words) for text in texts]
    said: dict[Sentence, tuple[str, bool]] = {}

    def answers(plan):
        return [said[one][0] for one in plan.sentences]

    for again in (False, True):  # the second time with what lost a number in the first
        plans = [plan.without_loss(answers(plan)) for plan in plans] if again else plans
        wanted = [one for plan in plans for one in plan.sentences]
        new = [one for one in dict.fromkeys(wanted) if one not in said]
        if new:
            read = [one.text for one in new]
            found = decode_sentences(model, tokenizer, read, **options)
            said |= zip(new, [(visible(text), ended) for text, ended in found])
        options |= {"progress": False}
    results = []
    for plan in plans:
        endless = [one.text for one in plan.sentences if not said[one][1]]
        more = f" and of {len(endless) - 1} more" if len(endless) > 1 else ""
        notes = [
            f"no end within the limit, so it may be cut off: the translation of "
            f"{text[:40]!r}{more}"
            for text in endless[:1]
        ]
        late = [
            item
            for one, text in zip(plan.sentences, answers(plan))
            for item in one.misplaced(text)
        ]
        if late:
            notes.append(f"at the end, for the model lost their place: {listed(late)}")
        results.append(Translation(plan.join(answers(plan)), (*plan.notes, *notes)))
    return results


def store_column_major(model: SomeModule) -> SomeModule:
    """Store each matrix column by column, as products with few rows like it, and the
    matrices of one attention side by side, for `engine.decode.PackedSteps`."""
    beside = [
        (part.w_q, part.w_k, part.w_v)
        for part in model.modules()
        if isinstance(part, MultiHeadAttention)
    ]
    groups = [
        [matrix.weight for matrix in three]
        for three in beside
        if all(isinstance(matrix, nn.Linear) for matrix in three)
    ]
    grouped = {weight for group in groups for weight in group}
    alone = [
        [one] for one in model.parameters() if one.ndim == 2 and one not in grouped
    ]
    for group in groups + alone:
        block = torch.cat([weight.data.t() for weight in group], dim=1)
        for weight, columns in zip(
            group, block.split([len(one) for one in group], dim=1)
        ):
            weight.data = columns.t()
    return model
