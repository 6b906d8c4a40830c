"""Training pairs as people type them: in small letters, without a last mark, two at once, with names and numbers no corpus holds.

What a translator carries through unchanged (`data.typed`) reaches the model as one of the signs ``①`` to ``⑤``. So that the model
learns to put them in the right place, some of the names and numbers that both sides share become such signs here.
"""

import random
import re

from xformer_lib.data.typed import NUMBER, SIGNS, simplify

__all__ = ["augment"]

Pair = tuple[str, str]

# Given names from many places, some of them rare in any corpus.
NAMES = """
Aaliyah Abdul Adaeze Agnieszka Ahmed Aiko Alejandro Alice Amina Anders Andrzej Anika Antonio Aoife Arjun Arthur Astrid Ayesha
Beatriz Benjamin Bilal Birgit Bogdan Boris Brigitte Camille Carlos Carmen Cécile Charlotte Chidi Chloe Claire Conor Dagmar
Daniel Deepa Dimitri Dolores Dorothy Edward Eleanor Elif Emeka Emma Enrique Erik Esther Fatima Felix Fernando Fiona Francesca
Frederick Gabriel Gareth Giovanni Grace Greta Guillermo Hannah Harald Harriet Hassan Helga Henry Hiroshi Hussein Ibrahim Ingrid
Irene Isabella Ivan Jamal James Jasmine Javier Jens Joanna Johannes Joseph Joshua Juan Julia Jürgen Kamala Karim Katarzyna Keiko
Kevin Khadija Kofi Kwame Lars Latifa Laura Leila Leonard Ling Linh Lorenzo Lucas Lucía Ludwig Maggie Mahmoud Malcolm Margaret
Mariam Marko Martha Matthew Mehmet Mercedes Michael Miguel Mikhail Mohammed Muriel Nadia Natasha Ngozi Niamh Nicolas Nikolai
Noah Nora Olga Oliver Omar Oscar Padma Pablo Patricia Paul Pedro Peter Petra Philip Pierre Priya Rachel Rafael Rajesh Ramón
Rebecca Roberto Rosa Rosemary Ruth Saïd Samuel Sandra Sebastian Sergei Siobhan Sofia Soren Stefan Stella Svetlana Tamara Tariq
Teresa Theodore Thomas Tomasz Ulrich Ursula Valentina Vanessa Victor Vikram Walter Wanda Wei Wilhelm Winston Xavier Yasmin
Yolanda Yuki Yusuf Zainab Zbigniew Zoe
""".split()
STARTS = """
Ba Be Bo Bra Ca Che Da De Dra Fe Fo Ga Gre Ha Ho Ja Ju Ka Ke Kra La Le Lu Ma Me Mo Na Ne No Pa Pe Ra Re Ro Sa Se Sha Ta Te Tra
Va Wa Za
""".split()
ENDS = """
bel bin da dan der do don ga gan ka kin la lan len lo lia man mi mon na nar ni nko no ra ran ri rik ro sa sen son ta tin to vic
wa win zak
""".split()
ENGLISH = "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty".split()
FRENCH = "deux trois quatre cinq six sept huit neuf dix onze douze quinze vingt trente quarante cinquante".split()
COUNTS = [*zip(ENGLISH, FRENCH), *zip(FRENCH, ENGLISH)]  # what a corpus spells out and people type in digits
VOWELS = "aeiouyhàâéèêëîïôöûüAEIOUYHÀÂÉÈÊËÎÏÔÖÛÜ"  # before which a French word loses its e; h with them, since it may be silent
NAME = re.compile(r"\b[A-ZÀ-Ý][a-zß-ÿ]{2,}\b")
LAST_MARK = re.compile(r"\s*[.!?]$")
BESIDE = re.compile(r"\b(?:[dD]e|[qQ]ue|[lL][ea]|[jJ]e|[nN]e|[sS]i)\s+$|'$")  # French words that change before a vowel


def augment(pairs: list[Pair], *, copies: int, seed: int = 0) -> list[Pair]:
    """Return the pairs and ``copies`` varied versions of each; equal seeds give equal lists.

    Args:
        pairs: (source, target) sentences; they are made plain (`data.typed.simplify`).
        copies: varied versions per pair; 0 returns the pairs as they are.
        seed: of the draws.
    """
    if not copies:
        return pairs
    rng, pairs = random.Random(seed), [(simplify(source), simplify(target)) for source, target in pairs]
    varied = [_vary(pair, pairs, rng) for _ in range(copies) for pair in pairs]
    return [*pairs, *varied]


def _vary(pair: Pair, pairs: list[Pair], rng: random.Random) -> Pair:
    if rng.random() < 0.001:
        name = _new_name(rng)
        return name, name
    if rng.random() < 0.12:
        pair = _joined(pair, pairs[rng.randrange(len(pairs))], rng)
    pair = _with_signs(_renamed(pair, rng), rng)
    while rng.random() < 0.17:
        pair = _with_a_sign(pair, rng)
    if rng.random() < 0.2:
        pair = _without_last_mark(pair)
    elif rng.random() < 0.04:
        mark = rng.choice(["!", "!!", "??", "...", "?!"])
        pair = _marked(pair, mark)
    source, target = _numbered(pair)
    if rng.random() < 0.2:
        source = source.lower()
        if rng.random() < 0.2:
            source = source.replace("'", "")
    return source, target


def _joined(one: Pair, other: Pair, rng: random.Random) -> Pair:
    """Return two short pairs as one; a third of them without a mark in between."""
    if max(len(text) for text in (*one, *other)) > 80:
        return one
    if rng.random() < 0.33:
        one = _without_last_mark(one)
    return f"{one[0]} {other[0]}", f"{one[1]} {other[1]}"


def _renamed(pair: Pair, rng: random.Random) -> Pair:
    """Give some of the names that both sides share another name, or a sign in its place."""
    source, target = pair
    for name in sorted({*NAME.findall(source)} & {*NAME.findall(target)}):
        if rng.random() < 0.4:
            once = all(len(re.findall(rf"\b{name}\b", text)) == 1 for text in (source, target))  # a sign stands in one place
            new = _free_sign(source + target) if once and rng.random() < 0.35 else _new_name(rng)
            changes = any(BESIDE.search(text[: found.start()]) for text in pair for found in re.finditer(rf"\b{name}\b", text))
            if new and not (changes and (new[0] in VOWELS) != (name[0] in VOWELS)):
                source, target = (re.sub(rf"\b{name}\b", new, text) for text in (source, target))
    return source, target


def _with_signs(pair: Pair, rng: random.Random) -> Pair:
    """Put signs in the place of most of the numbers that both sides share, in digits or in words."""
    source, target = pair
    for one, other in COUNTS:
        if one not in source or other not in target:
            continue
        places = [re.findall(rf"\b{word}\b", text) for word, text in ((one, source), (other, target))]
        sign = _free_sign(source + target)
        if sign and all(len(found) == 1 for found in places) and rng.random() < 0.4:
            source, target = re.sub(rf"\b{one}\b", sign, source), re.sub(rf"\b{other}\b", sign, target)
    for number in dict.fromkeys(found.group() for found in NUMBER.finditer(source)):
        whole = re.compile(rf"(?<![\d.,:]){re.escape(number)}(?![\d:]|[.,]\d)")
        sign = _free_sign(source + target)
        if sign and len(whole.findall(source)) == len(whole.findall(target)) == 1 and rng.random() < 0.9:
            source, target = (whole.sub(sign, text) for text in (source, target))
    return source, target


def _with_a_sign(pair: Pair, rng: random.Random) -> Pair:
    """Put a sign at the same place of both sides: behind the end, before the last mark, in front, or behind the only comma."""
    sign, place = _free_sign(pair[0] + pair[1]), rng.random()
    if not sign:
        return pair
    if place < 0.25 and all(text.count(", ") == 1 for text in pair):
        source, target = (text.replace(", ", f", {sign} ") for text in pair)
    elif place < 0.35:
        source, target = (f"{sign} {text}" for text in pair)
    elif place < 0.55:
        source, target = (LAST_MARK.sub(lambda mark: f" {sign}{mark.group()}", text) for text in pair)
        if sign not in source or sign not in target:
            return pair
    else:
        source, target = (f"{text} {sign}" for text in pair)
    return source, target


def _without_last_mark(pair: Pair) -> Pair:
    source, target = (LAST_MARK.sub("", text) for text in pair)
    return (source, target) if source and target else pair


def _marked(pair: Pair, mark: str) -> Pair:
    """Replace the last mark of both sides; French keeps the space that it has in front of ! and ?."""
    source, target = (LAST_MARK.sub("", text) for text in pair)
    space = " " if mark[0] in "!?" and pair[1].endswith((" !", " ?")) else ""
    return source + mark, target + space + mark


def _numbered(pair: Pair) -> Pair:
    """Number the signs by their order in the source, ① first, as they come from `data.typed`."""
    order = dict.fromkeys(letter for letter in pair[0] if letter in SIGNS)
    table = str.maketrans(dict(zip(order, SIGNS)))
    return pair[0].translate(table), pair[1].translate(table)


def _free_sign(text: str) -> str:
    """Return the first sign that the text does not hold, or nothing."""
    return next((sign for sign in SIGNS if sign not in text), "")


def _new_name(rng: random.Random) -> str:
    return (
        rng.choice(NAMES)
        if rng.random() < 0.5
        else rng.choice(STARTS) + rng.choice(ENDS) + (rng.choice(ENDS) if rng.random() < 0.4 else "")
    )
