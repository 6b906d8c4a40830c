"""Pictures: drawn once, in Python, as SVG, from the numbers that a page computes; they answer when touched.

`chain` shows what is handed along and what is read at once, `drawers` a lookup, `projections` the three roles of a word,
`attention_by_hand` how one query is answered, `blocks` the formula as matrices, `added` what becomes of the answer, `cross_reading` how
one sentence reads another, `reading` what a word of a sentence reads, `heads`, `joining` and `all_in_one` how several heads read,
`blending` why one does not do, `shuffled` what becomes of words that change places, `clocks` how sines and cosines number the places,
`lanes` what a layer does to its words, `flipping` what its net is for, `norming` its LayerNorm, `likeness` its plus, `poking` which words
a change reaches, `masked` what a mask leaves, `machine` the whole encoder–decoder, `merging` how tokens are found, `tying` its matrix of
words, `translating` how a translator reads and writes (`translation`, with the numbers of a trained one), `caching` what a cache keeps,
`then_and_now` what has changed in a layer. To draw another sentence, call one of them with other words and arrays. A new picture is a
function that fills a `Drawing` and returns a `Picture`; one script runs them all.
"""

from xformer_course.pictures.attention import attention_by_hand
from xformer_course.pictures.blending import blending
from xformer_course.pictures.blocks import blocks
from xformer_course.pictures.caching import caching
from xformer_course.pictures.chain import chain
from xformer_course.pictures.clocks import clocks
from xformer_course.pictures.crossing import added, cross_reading
from xformer_course.pictures.drawers import drawers
from xformer_course.pictures.drawing import Drawing
from xformer_course.pictures.flipping import flipping
from xformer_course.pictures.heads import all_in_one, heads, joining
from xformer_course.pictures.lanes import lanes
from xformer_course.pictures.likeness import likeness
from xformer_course.pictures.machine import machine
from xformer_course.pictures.masking import masked
from xformer_course.pictures.merging import merging
from xformer_course.pictures.modern import then_and_now
from xformer_course.pictures.norming import norming
from xformer_course.pictures.picture import Picture
from xformer_course.pictures.poking import poking
from xformer_course.pictures.projecting import projections
from xformer_course.pictures.rays import reading
from xformer_course.pictures.shuffled import shuffled
from xformer_course.pictures.translating import translating, translation
from xformer_course.pictures.tying import tying

__all__ = [
    "Drawing",
    "Picture",
    "added",
    "all_in_one",
    "attention_by_hand",
    "blending",
    "blocks",
    "caching",
    "chain",
    "clocks",
    "cross_reading",
    "drawers",
    "flipping",
    "heads",
    "joining",
    "lanes",
    "likeness",
    "machine",
    "masked",
    "merging",
    "norming",
    "poking",
    "projections",
    "reading",
    "shuffled",
    "then_and_now",
    "translating",
    "translation",
    "tying",
]
