"""The work around a model: what people type becomes plain sentences, and nothing of it is lost."""

import pytest

from xformer_lib.data._sentences import split_sentences
from xformer_lib.data.augment import augment
from xformer_lib.data.typed import SIGNS, Item, known_words, put_back, simplify, take_out
from xformer_lib.translation import cut


def sentences(text, **options):
    """What the model reads of a text."""
    return [one.text for one in cut(text, **{"fits": lambda text: len(text) < 60, "signs": True} | options).sentences]


def echoed(text, **options):
    """The text as it comes back from a model that says what it reads."""
    plan = cut(text, **{"fits": lambda text: len(text) < 60, "signs": True} | options)
    return plan.join([one.text for one in plan.sentences])


@pytest.mark.parametrize(
    "typed, plain",
    [
        ("I don’t know…", "I don't know..."),
        ("I´m “here”", 'I\'m "here"'),
        ("«oui»", '"oui"'),
        ("The ﬁrst ﬂoor", "The first floor"),
        ("Ｗｈｅｒｅ？", "Where?"),
        ("well–known — or − so", "well-known - or - so"),
        ("a\u00a0b\u202fc\u3000d\te", "a b c d e"),
        ("e\u0301te\u0301", "été"),
        ("œuvre", "œuvre"),
        ("5 m²", "5 m²"),  # which is not 5 m2
    ],
)
def test_twins_of_plain_letters_and_marks_become_plain(typed, plain):
    assert simplify(typed) == plain


@pytest.mark.parametrize(
    "typed, kinds",
    [
        ("I am 😀 now", {"😀": "symbol"}),
        ("family 👩‍👩‍👧 :-)", {"👩‍👩‍👧": "symbol", ":-)": "symbol"}),
        ("say Привет мир, please", {"Привет мир": "script"}),
        ("see https://a.org/b?c=d. Or www.e.org!", {"https://a.org/b?c=d": "address", "www.e.org": "address"}),
        ("write to jo.do+x@mail.example.com", {"jo.do+x@mail.example.com": "address"}),
        ("@tom says #hello", {"@tom": "address", "#hello": "address"}),
        ("at 9:30, for $3,499.99, 50% and 25°C", {"9:30": "number", "$3,499.99": "number", "50%": "number", "25°C": "number"}),
        ("call +33 6 12 34 or 555-0199", {"+33 6 12 34": "number", "555-0199": "number"}),
        ("3 cats, the 21st, a 20-year-old, the 1990s, A380", dict.fromkeys(("3", "21st", "20-year-old", "1990s", "A380"), "number")),
        ("so\u00adft hy\u200bphen", {}),
        ("\ufeffHello", {}),
    ],
)
def test_what_no_letter_of_the_model_is_gets_lifted_out(typed, kinds):
    assert {part.text: part.kind for part in take_out(typed) if isinstance(part, Item)} == kinds
    assert "".join(part if isinstance(part, str) else part.text for part in take_out(typed)) == simplify(typed).translate(
        dict.fromkeys(map(ord, "\u00ad\u200b\ufeff"))
    )


def test_capitalised_words_that_were_never_read_are_names():
    words = known_words(["tom likes Boston and cats, tom likes Boston and Cats and", "and"])
    assert words == {"tom", "likes", "Boston", "and", "cats"}
    found = [part for part in take_out("Tom and Siobhan O'Hara-Smith likes Boston, Dr. Tom", words) if isinstance(part, Item)]
    assert [one.text for one in found] == ["Siobhan", "O'Hara-Smith", "Dr", "Tom"] and {one.kind for one in found} == {"name"}
    assert take_out("Siobhan") == ["Siobhan"]  # without a list none is


@pytest.mark.parametrize(
    "answer, expected",
    [("① et ②.", "9:30 et 😀."), ("② puis ①", "😀 puis 9:30"), ("rien", "rien 9:30 😀"), ("① ① ②", "9:30  😀"), ("① ② ③", "9:30 😀 ")],
)
def test_items_come_back_once_each_whatever_the_model_does_with_the_signs(answer, expected):
    assert put_back(answer, [Item("9:30", "number"), Item("😀", "symbol")]) == expected


@pytest.mark.parametrize(
    "line, cut_at",
    [
        ("I am tired. He is happy! ok? yes", ["I am tired.", "He is happy!", "ok?", "yes"]),
        ("Dr. Smith and J. Doe came at 9 a.m. today.", ["Dr. Smith and J. Doe came at 9 a.m. today."]),
        ("We left at 9 a.m. They came later.", ["We left at 9 a.m.", "They came later."]),
        ("I... don't know. really", ["I... don't know.", "really"]),
        ('"Stop!" he said. "Why?" Nobody knew.', ['"Stop!" he said.', '"Why?"', "Nobody knew."]),
        ("M. Dupont est là. Mme Curie aussi.", ["M. Dupont est là.", "Mme Curie aussi."]),
        ("Wait - I forgot it", ["Wait", "I forgot it"]),
        ("- Yes, a well-known one", ["- Yes, a well-known one"]),
        ("", []),
    ],
)
def test_sentences_are_cut_at_their_ends(line, cut_at):
    found = split_sentences(line)
    assert [one for one, _ in found] == cut_at and "".join(map("".join, found)) == line


@pytest.mark.parametrize("signs", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "...",
        "-",
        "😀",
        "37.",
        "Привет",
        "Dear Sir,\n\nI am here 😀. At 9:30!\r\n  yes  \n",
        "a 😀 b ☀ c ❤ d ⭐ e ☕ f ✈ g",
        "https://a.org 😀",
        "word " * 40,
        "x" * 200,
    ],
)
def test_nothing_that_was_typed_disappears(text, signs):
    """Apart from spaces at a line's end, which a cut may move, what is echoed is what was typed."""
    plain = lambda text: "".join(text.replace("\r\n", "\n").lower().split(" "))
    assert plain(echoed(text, signs=signs)) == plain(text)


def test_what_the_model_reads():
    assert sentences("I am happy 😀 because it rains. At 9:30 😀!") == ["I am happy ① because it rains.", "At ① ②!"]
    assert sentences("I am happy 😀 because it rains.", signs=False) == ["I am happy", "Because it rains."]
    assert sentences("I AM TIRED. OK") == ["i am tired.", "OK"] and echoed("I AM TIRED. OK") == "I AM TIRED. OK"
    assert sentences("i am tired and i know", signs=False) == ["I am tired and I know"]
    assert [len(one) < 60 for one in sentences("a long sentence, which goes on and on, " * 4)].count(False) == 0
    assert all(sum(letter in SIGNS for letter in one) <= 5 for one in sentences("at 10 11 12 13 14 15 16 17 18 19 it rains"))


@pytest.mark.parametrize("line", ["…", "«»", "— 5 —", "😀…"])
def test_a_line_without_words_stays_as_it_was_typed(line):
    assert echoed(f"yes\n{line}\nno") == f"yes\n{line}\nno"


def test_what_the_model_loses_the_place_of_goes_to_the_end():
    (sentence,) = cut("I was here at 9:30 on 12/5.", fits=lambda text: True, signs=True).sentences
    assert sentence.misplaced("① ici") == ["12/5"] and sentence.finish("① ici") == "9:30 ici 12/5"


def test_what_is_said():
    assert cut("ok 😀 www.a.org at 9:30", fits=lambda text: True, signs=True).notes == ("carried through unchanged: 😀, www.a.org",)
    assert cut("word " * 40, fits=lambda text: len(text) < 60, signs=True).notes == (
        "too long for the model, so read in parts: 1 sentence",
    )
    assert cut("plain", fits=lambda text: True, signs=True).notes == ()
    words = frozenset(["the", "cat", "sleeps", "Tom"])
    assert cut("The cat zleeps, tom sleeps. Zleeps", fits=lambda text: True, signs=True, words=words).notes == (
        "hardly ever read in training: zleeps",
    )


def test_varied_training_pairs_keep_their_signs_and_their_seed():
    pairs = [("Tom has 25 dogs, and he's tired.", "Tom a 25 chiens, et il est fatigué."), ("I see ten cats.", "Je vois dix chats.")] * 200
    varied = augment(pairs, copies=2, seed=3)
    assert varied == augment(pairs, copies=2, seed=3) != augment(pairs, copies=2, seed=4)
    assert len(varied) == 3 * len(pairs) and varied[: len(pairs)] == pairs and augment(pairs, copies=0) == pairs
    new = varied[len(pairs) :]
    for source, target in new:
        used = [letter for letter in source if letter in SIGNS]
        assert used == list(SIGNS[: len(used)]) and sorted(used) == sorted(letter for letter in target if letter in SIGNS)
    assert any(source.islower() and not target.islower() for source, target in new)
    assert any("①" in source and "25" not in source for source, _ in new) and any(
        "Tom" not in source and "dogs" in source for source, _ in new
    )
