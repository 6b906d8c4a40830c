"""Pictures: drawn once, in Python, as SVG, from the numbers that a page computes; they answer when touched.

`attention_by_hand` shows how one query is answered, `reading` what a word of a sentence reads, `lanes` what a layer does to its words,
`machine` the whole encoder–decoder, `translating` how a translator reads and writes
(`translation`, with the numbers of a trained one). To draw another sentence, call one of them with other words and arrays. A new picture
is a function that fills a `Drawing` and returns a `Picture`; one script runs them all.
"""

from xformer_course.pictures.attention import attention_by_hand
from xformer_course.pictures.drawing import Drawing
from xformer_course.pictures.lanes import lanes
from xformer_course.pictures.machine import machine
from xformer_course.pictures.picture import Picture
from xformer_course.pictures.rays import reading
from xformer_course.pictures.translating import translating, translation

__all__ = ["Drawing", "Picture", "attention_by_hand", "lanes", "machine", "reading", "translating", "translation"]
