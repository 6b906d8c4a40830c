"""The grammar of the English-French fragment: phrases whose French words know their English words.

Written by hand: page w3 shows how phrases are built and joined, ``xformer_lib.data.fragment`` turns them
into finished sentences, and this module holds the rules in between. The words stand in ``lexicon.json``.

A phrase is written in a compact notation, each French word with the numbers of the English words it translates:

>>> cat = phrase("yellow cat", "chat/1 jaune/0")
>>> phrase("hello", "bonjour/0").then(cat).french
(('bonjour', (0,)), ('chat', (2,)), ('jaune', (1,)))
"""

import json
import unicodedata
from importlib.resources import files
from typing import NamedTuple

import numpy as np

__all__ = ["LEXICON", "Agreement", "Phrase", "be", "clause", "elides", "noun_phrase", "phrase", "predicate_noun", "random_phrase"]

LEXICON = json.loads(files("xformer_lib.data").joinpath("lexicon.json").read_text(encoding="utf-8"))


def elides(word: str) -> bool:
    """Does the word before this one lose its vowel? Yes at a vowel and at a mute h."""
    first = unicodedata.normalize("NFD", word)[0].lower()
    return first in "aeiou" or word == "y" or (first == "h" and word not in LEXICON["aspirated"])


class Agreement(NamedTuple):
    """What verbs and adjectives must know about a subject."""

    person: int = 2  # je, tu, il or elle, nous, ils
    feminine: bool = False
    kind: str = "person"

    @property
    def form(self) -> int:
        """Masculine, feminine, masculine plural, feminine plural: 0 to 3."""
        return self.feminine + 2 * (self.person > 2)


_THIRD_PERSON = Agreement()


class Phrase(NamedTuple):
    """English words, and French words that each know which English words they translate."""

    english: tuple[str, ...]
    french: tuple[tuple[str, tuple[int, ...]], ...]
    agreement: Agreement = _THIRD_PERSON

    def then(self, other: "Phrase") -> "Phrase":
        """Return both phrases in a row; the links of the second one move along."""
        shift = len(self.english)
        moved = tuple((text, tuple(shift + link for link in links)) for text, links in other.french)
        return Phrase(self.english + other.english, self.french + moved, self.agreement)


def phrase(english: str, french: str, agreement: Agreement = _THIRD_PERSON) -> Phrase:
    """Return a phrase from a compact notation: ``phrase("yellow cat", "chat/1 jaune/0")``."""
    words = [word.partition("/") for word in french.split()]
    linked = tuple((text, tuple(int(link) for link in links.split(",") if link)) for text, _, links in words)
    return Phrase(tuple(english.split()), linked, agreement)


def _determiner(word: str, agreement: Agreement, following: str, has_adjective: bool) -> str:
    """Return the French determiner that agrees with the noun and suits the word after it."""
    if agreement.person > 2:
        return "de" if word == "some" and has_adjective else LEXICON["plural"][word]
    forms = LEXICON["singular"]["no" if word == "not a" else word]
    return forms[agreement.feminine + 2 * elides(following)]


def _before_noun(word: str, agreement: Agreement, noun: str, big: str) -> str:
    """Return an adjective in front of its noun: un vieil homme, de vieux hommes, une vieille femme."""
    forms = LEXICON["before"][big if word == "big" else word]
    return forms[4 if agreement.form == 0 and elides(noun) else agreement.form]


def noun_phrase(determiner: str, before: str, after: str, noun: str, plural: bool) -> Phrase:
    """Determiner, adjectives and noun, in each language's order, every form in agreement."""
    many, one_french, many_french, gender, kind, big = LEXICON["nouns"][noun]
    agreement = Agreement(4 if plural else 2, gender == "f", kind)
    head = many_french if plural else one_french
    french_before = _before_noun(before, agreement, head, big) if before else ""
    french_after = LEXICON["after"][after][agreement.form] if after else ""
    french_determiner = _determiner(determiner, agreement, french_before or head, bool(before))
    english = [word for word in (before, after, many if plural else noun) if word]
    article = "a" if determiner == "not a" else determiner
    if article == "a" and english[0][0] in "aeiou":
        article = "an"
    last = len(english)
    french = f"{french_determiner}/0 "
    french += f"{french_before}/1 " if before else ""
    french += f"{head}/{last} " + (f"{french_after}/{last - 1}" if after else "")
    return phrase(" ".join([article, *english]), french, agreement)


def be(subject: Phrase, negated: bool) -> Phrase:
    """*She is* or *she is not*: elle est, elle n'est pas."""
    english, french = LEXICON["be"][subject.agreement.person]
    if negated:
        return subject.then(phrase(f"{english} not", f"ne/1 {french}/0 pas/1"))
    return subject.then(phrase(english, f"{french}/0"))


def predicate_noun(word: str, agreement: Agreement) -> Phrase:
    """*an engineer*, *engineers* → ingénieur, ingénieure, ingénieurs, ingénieures."""
    many, *french = LEXICON["professions"][word]
    if agreement.person > 2:
        return phrase(many, f"{french[agreement.feminine]}s/0")
    return phrase(f"{'an' if word[0] in 'aeiou' else 'a'} {word}", f"{french[agreement.feminine]}/1")


def clause(subject: Phrase, verb: str, negated: bool, pronoun: str = "") -> Phrase:
    """Subject and verb. *do not* becomes ne … pas; a pronoun object moves in front of the verb."""
    third, particle, *forms = LEXICON["verbs"][verb]
    person = subject.agreement.person
    at = 2 if negated else 0  # where the English verb stands
    french = f"{forms[person]}/{at}" + (f",{at + 1}" if particle else "")
    if pronoun:
        french = f"{LEXICON['clitics'][pronoun]}/{at + 1 + bool(particle)} {french}"
    if negated:
        helper = "does not" if person == 2 else "do not"
        return subject.then(phrase(f"{helper} {verb} {particle} {pronoun}", f"ne/1 {french} pas/1"))
    return subject.then(phrase(f"{third if person == 2 else verb} {particle} {pronoun}", french))


def _pick(rng: np.random.Generator, options):
    """Return one of the options, by a draw that no version of NumPy changes."""
    return list(options)[int(rng.random() * len(options))]


def _chance(rng: np.random.Generator, probability: float) -> bool:
    return bool(rng.random() < probability)


def _random_noun_phrase(rng, nouns, determiners, adjectives: float) -> Phrase:
    """Return a noun phrase of words that go together: no yellow king, no tired key."""
    noun, plural = _pick(rng, nouns), _chance(rng, 0.4)
    before, after = LEXICON["fits"][LEXICON["nouns"][noun][4]]
    before = [word for word in before if [noun, word] not in LEXICON["unfit"]]
    usable = LEXICON["plural"] if plural else {**LEXICON["singular"], "not a": ()}
    if noun in ("man", "woman"):  # ma femme is "my wife"
        determiners = [word for word in determiners if word not in _POSSESSIVE]
    return noun_phrase(
        _pick(rng, [word for word in determiners if word in usable]),
        _pick(rng, before) if _chance(rng, adjectives) else "",
        _pick(rng, after) if _chance(rng, adjectives) else "",
        noun,
        plural,
    )


_POSSESSIVE = ["my", "your", "his", "her", "our", "their"]
_DEFINITE = ["the", "this", "these", *_POSSESSIVE]
_KINDS = {kind: [noun for noun, entry in LEXICON["nouns"].items() if entry[4] == kind] for kind in ("person", "animal", "thing", "place")}


def _subject(rng, *kinds: str, adjectives: float = 0.25) -> Phrase:
    """Return a pronoun half of the time when persons may act; *I*, *you*, *we*, *they* are masculine."""
    if "person" in kinds and _chance(rng, 0.5):
        english = _pick(rng, LEXICON["subjects"])
        french, person = LEXICON["subjects"][english]
        return phrase(english, f"{french}/0", Agreement(person, english == "she"))
    nouns = [noun for kind in kinds for noun in _KINDS[kind]]
    return _random_noun_phrase(rng, nouns, _DEFINITE, adjectives)


def _greeting(rng) -> Phrase:
    friends = _random_noun_phrase(rng, ["friend", "king", "child", "boy", "girl"], ["my", "our"], 0.3)
    return phrase("hello", "bonjour/0").then(friends)


def _bare(rng) -> Phrase:
    nouns = list(LEXICON["nouns"])
    return _random_noun_phrase(rng, nouns, [*_DEFINITE, "a", "some", "two", "three"], 0.7)


def _description(rng) -> Phrase:
    """The cats are not tired → Les chats ne sont pas fatigués."""
    subject = _subject(rng, _pick(rng, ["person", "animal", "thing"]), adjectives=0.0)
    word = _pick(rng, [*LEXICON["fits"][subject.agreement.kind][1], "small", "old", "beautiful"])
    forms = {**LEXICON["after"], **LEXICON["before"]}[word]
    return be(subject, _chance(rng, 0.3)).then(phrase(word, f"{forms[subject.agreement.form]}/0"))


def _profession(rng) -> Phrase:
    """I am an engineer → Je suis ingénieur: French has no article here."""
    subject, word = _subject(rng, "person"), _pick(rng, LEXICON["professions"])
    return be(subject, _chance(rng, 0.3)).then(predicate_noun(word, subject.agreement))


_HUMAN = ("draw", "have", "speak")  # what animals do not do here


def _transitive(rng) -> Phrase:
    """I do not have a cat → Je n'ai pas de chat: after pas, un and des become de."""
    verb = _pick(rng, ["see", "love", "want", "have", "find", "draw", "look", "wait", "listen"])
    negated, determiners = _chance(rng, 0.3), list(_DEFINITE)
    if verb not in ("love", "listen"):
        determiners += ["not a", "any"] if negated else ["a", "some", "two", "three"]
    nouns = _KINDS["person"] if verb == "listen" else [*LEXICON["nouns"]]
    return _acting(rng, verb, negated).then(_random_noun_phrase(rng, nouns, determiners, 0.3))


def _acting(rng, verb: str, negated: bool, pronoun: str = "") -> Phrase:
    subject = _subject(rng, *(["person"] if verb in _HUMAN else ["person", "animal"]))
    return clause(subject, verb, negated, pronoun)


def _with_pronoun(rng) -> Phrase:
    """I do not see him → Je ne le vois pas."""
    verb = _pick(rng, ["see", "love", "find", "draw", "look", "wait", "listen"])
    subject = _subject(rng, *(["person"] if verb in _HUMAN else ["person", "animal"]))
    same = LEXICON["same person"].get(subject.english[0], [])
    pronoun = _pick(rng, [word for word in LEXICON["clitics"] if word not in same])
    return clause(subject, verb, _chance(rng, 0.3), pronoun)


def _with_preposition(rng) -> Phrase:
    """I go to the garden → Je vais au jardin; from the hotel → de l'hôtel."""
    places, people = _KINDS["place"], _KINDS["person"] + _KINDS["animal"]
    verb, english, french, nouns = _pick(
        rng,
        [
            ("go", "to", "à", places),
            ("come", "from", "de", places),
            ("speak", "to", "à", people),
            ("speak", "about", "de", people + _KINDS["thing"]),
        ],
    )
    start = _acting(rng, verb, _chance(rng, 0.3)).then(phrase(english, f"{french}/0"))
    return start.then(_random_noun_phrase(rng, nouns, _DEFINITE, 0.3))


def _existence(rng) -> Phrase:
    """There is no cat in the house → Il n'y a pas de chat dans la maison."""
    what = _random_noun_phrase(rng, _KINDS["person"] + _KINDS["animal"] + _KINDS["thing"], ["a", "some", "two", "three", "no"], 0.3)
    there = "there are" if what.agreement.person > 2 else "there is"
    french = "il/0 ne/2 y/0 a/1 pas/2" if what.english[0] == "no" else "il/0 y/0 a/1"
    english, (preposition, nouns) = _pick(rng, LEXICON["places to be"].items())
    place = _random_noun_phrase(rng, nouns, _DEFINITE, 0.15)
    return phrase(there, french).then(what).then(phrase(english, f"{preposition}/0")).then(place)


_RULES = (
    [_greeting]
    + [_bare] * 3
    + [_description] * 4
    + [_profession] * 3
    + [_transitive] * 6
    + [_with_pronoun] * 4
    + [_with_preposition] * 4
    + [_existence] * 3
)


def random_phrase(rng: np.random.Generator) -> Phrase:
    """Return the words of one sentence, drawn from the rules by weight."""
    return _pick(rng, _RULES)(rng)
