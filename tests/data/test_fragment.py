"""The fragment: correct French, exact alignments, parts that share no sentence."""

import re
from collections import Counter

import numpy as np
import pytest

from xformer_lib.data._grammar import LEXICON, Agreement, be, clause, noun_phrase, phrase
from xformer_lib.data.fragment import Example, _sentence, fragment_split, running_examples, sample_pairs, split_words

SPLITS = ("train", "val", "test")
EVERY = [example for split in SPLITS for example in fragment_split(split)]


def subject(english):
    french, person = LEXICON["subjects"][english]
    return phrase(english, f"{french}/0", Agreement(person, english == "she"))


def test_running_examples():
    assert [(example.source, example.target) for example in running_examples()] == [
        ("Hello world", "Bonjour le monde"),
        ("The big yellow cat", "Le gros chat jaune"),
        ("I am an engineer", "Je suis ingénieur"),
    ]
    assert running_examples()[1].alignment == ((0, 0), (1, 1), (2, 3), (3, 2))
    assert all(example in fragment_split("train") for example in running_examples())


NOUN_PHRASES = [
    (("the", "", "", "man", False), "L'homme"),
    (("the", "", "", "hedgehog", False), "Le hérisson"),
    (("the", "old", "", "man", False), "Le vieil homme"),
    (("the", "old", "", "man", True), "Les vieux hommes"),
    (("this", "", "", "hotel", False), "Cet hôtel"),
    (("this", "beautiful", "", "hotel", False), "Ce bel hôtel"),
    (("this", "new", "", "school", False), "Cette nouvelle école"),
    (("my", "", "", "school", False), "Mon école"),
    (("my", "old", "", "school", False), "Ma vieille école"),
    (("some", "", "yellow", "cat", True), "Des chats jaunes"),
    (("some", "big", "yellow", "cat", True), "De gros chats jaunes"),
    (("a", "big", "black", "cow", False), "Une grosse vache noire"),
    (("a", "big", "", "house", False), "Une grande maison"),
    (("three", "", "happy", "mouse", True), "Trois souris heureuses"),
    (("their", "", "", "horse", True), "Leurs chevaux"),
    (("two", "young", "French", "woman", True), "Deux jeunes femmes françaises"),
]


@pytest.mark.parametrize(("words", "french"), NOUN_PHRASES, ids=[french for _, french in NOUN_PHRASES])
def test_noun_phrases(words, french):
    assert _sentence(noun_phrase(*words)).target == french


CLAUSES = [
    ("I", "see", True, "him", "Je ne le vois pas"),
    ("I", "love", False, "her", "Je l'aime"),
    ("he", "wait", True, "me", "Il ne m'attend pas"),
    ("they", "look", False, "us", "Ils nous cherchent"),
    ("you", "have", True, "", "Tu n'as pas"),
    ("we", "listen", False, "them", "Nous les écoutons"),
    ("she", "draw", False, "you", "Elle te dessine"),
]


@pytest.mark.parametrize(("who", "verb", "negated", "pronoun", "french"), CLAUSES, ids=[row[-1] for row in CLAUSES])
def test_clauses(who, verb, negated, pronoun, french):
    assert _sentence(clause(subject(who), verb, negated, pronoun)).target == french


def test_english_side_of_clauses():
    assert _sentence(clause(subject("she"), "look", True, "them")).source == "She does not look for them"
    assert _sentence(clause(subject("she"), "look", False, "them")).source == "She looks for them"
    assert _sentence(clause(subject("they"), "wait", False, "me")).source == "They wait for me"


@pytest.mark.parametrize(
    ("who", "negated", "english", "french"),
    [
        ("I", False, "I am", "Je suis"),
        ("she", True, "She is not", "Elle n'est pas"),
        ("we", True, "We are not", "Nous ne sommes pas"),
        ("you", True, "You are not", "Tu n'es pas"),
    ],
)
def test_be(who, negated, english, french):
    example = _sentence(be(subject(who), negated))
    assert (example.source, example.target) == (english, french)


@pytest.mark.parametrize(
    ("preposition", "noun", "plural", "french"),
    [
        ("à", "garden", False, "Au jardin"),
        ("à", "school", False, "À l'école"),
        ("à", "hotel", True, "Aux hôtels"),
        ("de", "garden", False, "Du jardin"),
        ("de", "hedgehog", False, "Du hérisson"),
        ("de", "man", False, "De l'homme"),
        ("de", "house", True, "Des maisons"),
        ("de", "house", False, "De la maison"),
    ],
)
def test_prepositions(preposition, noun, plural, french):
    example = _sentence(phrase("of", f"{preposition}/0").then(noun_phrase("the", "", "", noun, plural)))
    assert example.target == french
    both = {source for source, target in example.alignment if target == 0}
    assert both == ({0, 1} if len(split_words(french)) == 2 else {0})


def test_no_vowel_meets_a_full_short_word():
    vowel = r"[aeiouyéèêâîôAEIOUÉÈÊÂÎÔ]"
    for example in EVERY:
        text = example.target.lower()
        assert not re.search(rf"\b(je|ne|de|le|la|me|te|ce|ma|ta|sa|beau|nouveau) ({vowel}|h(omme|ôtel|eureu))", text), text
        assert not re.search(r"\b(à les?|de les?) (?!(vois|voit))", text), text
        assert not re.search(r"' | '|  ", text), text
        assert not re.search(r"[ldnmt]'h[ée]ri", text), text


def test_links_point_at_words_and_everything_french_is_linked():
    unlinked = Counter()
    for example in EVERY:
        source, target = split_words(example.source.lower()), split_words(example.target.lower())
        assert all(0 <= i < len(source) and 0 <= j < len(target) for i, j in example.alignment)
        assert len(set(example.alignment)) == len(example.alignment)
        assert tuple(sorted(example.alignment)) == example.alignment
        unlinked.update(source[i] for i in set(range(len(source))) - {i for i, _ in example.alignment})
        missing = set(range(len(target))) - {j for _, j in example.alignment}
        assert not missing or example.target == "Bonjour le monde"
    assert set(unlinked) == {"do", "does", "a", "an"}


def test_links_agree_with_a_dictionary():
    """Words that have one translation only are linked to it wherever they occur."""
    known = {
        "not": {"ne", "n'", "pas"},
        "black": {"noir", "noire", "noirs", "noires"},
        "cats": {"chats"},
        "him": {"le", "l'"},
        "two": {"deux"},
        "behind": {"derrière"},
        "speaks": {"parle"},
    }
    for example in EVERY:
        source, target = split_words(example.source.lower()), split_words(example.target.lower())
        for i, j in example.alignment:
            assert target[j] in known.get(source[i], {target[j]}), example


def test_parts_have_their_sizes_and_share_nothing():
    parts = {split: fragment_split(split) for split in SPLITS}
    assert {split: len(part) for split, part in parts.items()} == {"train": 12_000, "val": 500, "test": 500}
    for side in ("source", "target"):
        seen = Counter(getattr(example, side) for part in parts.values() for example in part)
        assert max(seen.values()) == 1


def test_held_out_words_are_all_in_training():
    def words(examples):
        return {word for example in examples for word in example.source.lower().split() + split_words(example.target.lower())}

    assert words(fragment_split("val")) | words(fragment_split("test")) <= words(fragment_split("train"))


def test_split_is_a_fresh_list_and_always_the_same():
    first = fragment_split("val")
    first.clear()
    assert len(fragment_split("val")) == 500
    assert (
        fragment_split("val")[0]
        == sample_pairs(13_500, rng=np.random.default_rng(10))[
            [e.source for e in sample_pairs(13_500, rng=np.random.default_rng(10))].index(fragment_split("val")[0].source)
        ]
    )


def test_unknown_split_lists_the_valid_ones():
    with pytest.raises(ValueError, match="split: expected one of train, val, test, got 'dev'"):
        fragment_split("dev")


@pytest.mark.parametrize("n", [-1, 100_001])
def test_impossible_sample_sizes(n):
    with pytest.raises(ValueError, match=f"n: expected a number from 0 to 100000, got {n}"):
        sample_pairs(n, rng=np.random.default_rng(0))


@pytest.mark.parametrize("link", [(2, 0), (0, 2), (-1, 0)])
def test_a_link_to_no_word_is_refused(link):
    with pytest.raises(ValueError, match="alignment: expected places in 2 and 2 words"):
        Example("I sleep", "Je dors", alignment=((0, 0), link))
