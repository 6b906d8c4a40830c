"""Nothing that somebody counts on changes on its way through a translator: quantities, addresses, lines, long texts."""

import random
import re
import unicodedata

import pytest

from tests.carried import ADDRESSES, IN_SENTENCES, QUANTITIES
from xformer_lib import load_pretrained
from xformer_lib.cli import main
from xformer_lib.data.typed import SIGNS, Item, read_words, take_out, text_lines
from xformer_lib.pretrained import FOLDER
from xformer_lib.translation import Plan, Sentence, cut, visible

WAYS = ("en-fr", "fr-en")
ways = pytest.mark.parametrize("way", WAYS)
AMOUNTS = [(sentences, item) for sentences, items in QUANTITIES.items() for item in items.split("|")]


def digits(text):
    return sorted(letter for letter in text if unicodedata.category(letter) in ("Nd", "No"))


@ways
def test_no_quantity_changes(way):
    """Each travels as one item, so the model cannot change it; and what comes out has it, and no other digit."""
    side, words = WAYS.index(way), read_words(FOLDER / way)
    texts = [sentences[side].format(item) for sentences, item in AMOUNTS]
    for text, (_, item) in zip(texts, AMOUNTS):
        assert [part for part in take_out(text, words) if isinstance(part, Item)] == [Item(item, "number")]
    for text, (_, item), found in zip(texts, AMOUNTS, load_pretrained(way).translations(texts)):
        assert item in found.text and digits(found.text) == digits(text), (text, found)
        assert not any("at the end" in note for note in found.notes)


@ways
def test_addresses_come_back_unchanged_and_noted(way):
    side, words = WAYS.index(way), read_words(FOLDER / way)
    texts = [IN_SENTENCES[side].format(item) for item in ADDRESSES]
    for item, text, found in zip(ADDRESSES, texts, load_pretrained(way).translations(texts)):
        kind = "script" if item.startswith("почта") else "address"
        assert [part for part in take_out(text, words) if isinstance(part, Item)] == [Item(item, kind)]
        assert item in found.text and found.notes[0] == f"carried through unchanged: {item}", (text, found)


@pytest.mark.parametrize(
    "text",
    [
        "I came.He left.she is here", "and/or he/she, yes/no", "e.g. this, i.e. that, p.ex. so", "Mr.Smith", "it`s 'here'",
        "x < y > z", "2 d'entre eux", "5 s'appellent Tom", "No way. No.", "I may go, they march",
        'he said "2 here"', "hELLO", "5 to here", "2, here",
    ],
)  # fmt: skip
def test_plain_words_are_left_to_the_model(text):
    words = read_words(FOLDER / "en-fr") | {"mr", "smith", "entre", "eux", "appellent", "hello"}
    assert {part.kind for part in take_out(text, words) if isinstance(part, Item)} <= {"number", "mark"}
    assert all(part.text in ("2", "5") for part in take_out(text, words) if isinstance(part, Item) and part.kind == "number")


MARKED = [
    ("My brother (who is ill) is here.", "Mon frère (qui est malade) est ici."),
    ("I like it (a lot).", "Je l'aime (beaucoup)."),
    ("(I am tired.)", "(Je suis fatigué.)"),
    ("Choose tea and/or coffee.", "Choisis le thé et/ou le café."),
    ("He is tall [and strong].", "Il est grand [et fort]."),
    ("This is **very** important.", "C'est **très** important."),
    ("Click [here](https://a.org) to start.", "Cliquez [ici](https://a.org) pour commencer."),
    ("Cats + dogs = love", "Chats + chiens = amour"),
    ("Jack & Tom are here.", "Jack & Tom sont ici."),
]
MARKS = r"[()\[\]/*+=&]"
LEADS = ("- ", "* ", "• ", "1. ", "2) ", "(3) ", "a) ", "## ", "> ", "> - ", "  – ", "- [ ] ", "- [x] ", "4/ ")


@ways
def test_what_begins_a_line_of_a_list_is_not_read(way):
    text, translator = ("We are here.", "Nous sommes là.")[WAYS.index(way)], load_pretrained(way)
    said = translator.translate(text)
    assert translator.translate("\n".join(lead + text for lead in LEADS)) == "\n".join(lead + said for lead in LEADS)


@ways
def test_marks_come_back_around_words(way):
    """The model knows neither brackets nor /, &, *, +: they stay, in their order, each with words on the side where it had some."""
    texts = [pair[WAYS.index(way)] for pair in MARKED]
    for text, found in zip(texts, load_pretrained(way).translations(texts)):
        assert re.findall(MARKS, found.text) == re.findall(MARKS, text) and not re.search(r"[(\[] ?[)\]]", found.text), (text, found)
        assert not any("at the end" in note for note in found.notes)


@pytest.mark.parametrize(
    "text, read",
    [
        ("My cat (so big) sat.", ["My cat ① so big ② sat."]),
        ("(So it is.)", ["So it is."]),
        ("So (5 dogs) sat", ["So ①② dogs ③ sat"]),
        ("either/or **very** [so](a.org) ok", ["either ① or ② very ③ ④ so ⑤ ok"]),
        ("a_b & c", ["① ② c"]),
        ("Cats + dogs = {love}", ["Cats ① dogs ② ③"]),
        ("so *<b>%total%</b> is", ["so ①②③④ is"]),
        ("So is *</b> %</i> it", ["So is ①② ③④ it"]),
        ("x <y &</ z", ["x ① y ② z"]),
    ],
)
def test_marks_are_not_read(text, read):
    plan = cut(text, fits=lambda text: True, signs=True)
    assert [one.text for one in plan.sentences] == read and plan.join(read) == text
    assert plan.without_loss(["x"]).join([one.text for one in plan.without_loss(["x"]).sentences]) == text
    assert cut(text, fits=lambda text: True, signs=False).join(
        [one.text for one in cut(text, fits=lambda text: True, signs=False).sentences]
    )


@pytest.mark.parametrize(
    "text, answers",  # and what is lost of each
    [
        ("I like it (a lot) now.", {"a ① b ② c": "", "a ②": "(", "a ② b ①": "()", "a ① ② b": "()", "① b ② c": "()", "a ① b ②.": "()"}),
        ("A ~ B", {"a ① b.": "", "a ①": "~", "① b": "~", "a b": "~"}),
        ("3 cats & 2 dogs", {"① a ② ③ b": "", "① a ② ③.": "&", "① ③ a ② b": "&", "a ② ③ b": "3"}),
        ("home → school → work", {"a ① b ② c": "", "a ① ② b": "→→", "a ① b ②": "→→", "a ① b": "→"}),
        ("tea • milk 😀 now", {"a ① b c ②": "", "a b ① ②": "•", "a ① b": ""}),
    ],
)
def test_a_mark_that_moved_is_lost(text, answers):
    (sentence,) = cut(text, fits=lambda text: True, signs=True).sentences
    assert {answer: "".join(sentence.lost(answer)) for answer in answers} == answers


def test_around_a_mark_that_is_lost_each_part_is_read():
    parted = cut("I like it (a lot) now.", fits=lambda text: True, signs=True).without_loss(["①"])
    assert parted.join(["J'aime", "Beaucoup", "Maintenant."]) == "J'aime (beaucoup) maintenant."


@pytest.mark.parametrize("text", ["My iPhone fell", "Elizabeth II slept", "A macOS and an eBay", "a pH of 7"])
def test_names_with_capitals_inside_and_numbers_of_kings(text):
    words = read_words(FOLDER / "en-fr")
    found = [part.text for part in take_out(text, words) if isinstance(part, Item)]
    assert found == [word for word in text.split() if word in ("iPhone", "Elizabeth", "II", "macOS", "eBay", "pH", "7")]
    assert all(one in load_pretrained("en-fr").translate(text) for one in found)
    assert take_out("World War II ended", words) == ["World War II ended"]  # a phrase that the model has learned


def test_no_model_reads_a_digit():
    rng = random.Random(5)
    letters = "0123456789½²ab é-_.,:/'\"@#$%&*+=()[]{}<>|~`\\° "
    for _ in range(2000):
        text = "a " + "".join(rng.choice(letters) for _ in range(rng.randint(1, 30)))
        for one in cut(text, fits=lambda text: True, signs=True, words=frozenset(["ab", "a"])).sentences:
            assert digits(one.text.translate(dict.fromkeys(map(ord, SIGNS)))) == [], text


def test_a_sentence_whose_number_got_lost_is_read_around_it():
    plan = cut("Add 3 cups 😀 of tea.", fits=lambda text: True, signs=True)
    assert plan.without_loss(["① ②"]) is plan is plan.without_loss(["rien ①"])  # an emoji may stand at the end
    parted = plan.without_loss(["Une tasse ②."])
    assert [one.text for one in parted.sentences] == ["Add", "cups", "of tea."]
    assert parted.join(["Ajoutez", "tasses", "de thé."]) == "Ajoutez 3 tasses 😀 de thé."
    assert parted.notes[-1] == "read in parts, for the model lost the place of a number or mark: 3"
    edges = cut("See (page 5, 6 ... here).", fits=lambda text: True, signs=True).without_loss(["x"])
    assert [one.text for one in edges.sentences] == ["See", "page", "here"]
    assert edges.join(["Voir", "Page", "Ici"]) == "Voir (page 5, 6 ... ici)."
    loud = Sentence("add ① cups.", (Item("3", "number"),), shouted=True)
    assert Plan((loud,)).without_loss(["x"]).join(["ajoutez", "tasses."]) == "AJOUTEZ 3 TASSES."


# ---------------------------------------------------------------- long texts


@pytest.mark.parametrize("signs", [True, False])
def test_more_items_than_there_are_private_letters(signs):
    emoji = [chr(code) for code in range(0x1F300, 0x1F600)]
    typed = [emoji[n % len(emoji)] for n in range(7000)]
    plan = cut(f"{' a '.join(typed)} \ue000 and \uf8ff", fits=lambda text: len(text) < 60, signs=signs)
    said = plan.join([one.text for one in plan.sentences])
    assert [letter for letter in said if letter in emoji] == typed and said.endswith("\uf8ff") and said.count("\ue000") == 1
    assert "and 748 more" in plan.notes[0] or "and 750 more" in plan.notes[0]


LONG = (
    "x" * 20000,
    "word " * 4000,
    "a@" * 20000,
    "a 😀 " * 5000,
    "a" + " " * 20000 + "b",
    "5 a " * 5000,
    "a, " * 7000,
    "http://a(" * 2000,
    "(5, " * 6000,
    "(a " * 6000,
    "a/b " * 5000,
    "so/so " * 5000,
    "[a](b.org) " * 2000,
    "*" * 20000,
    "a&" * 9000,
    "a." * 9000,
    "a_" * 9000,
    "--" * 9000,
    '5" ' * 6000,
    "'5 " * 6000,
    "- " * 9000,
)


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:5])
def test_the_work_grows_with_the_text_and_no_faster(text):
    """Counted, not timed: the letters that are read to find what fits."""
    for limit in (60, 240, 1000):
        read: list[int] = []

        def fits(some, read=read, limit=limit):
            read.append(len(some))
            return len(some) < limit

        plan = cut(text, fits=fits, signs=True)
        assert sum(read) <= 40 * len(text) and max(read, default=0) <= 2 * max(limit, 256)
        assert all(len(one.text) < limit for one in plan.sentences)


# ---------------------------------------------------------------- lines, and what cannot be seen

BREAKS = ["\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]


def test_a_break_inside_a_line_adds_none(tmp_path):
    file, out = tmp_path / "in.txt", tmp_path / "out.txt"
    file.write_bytes("".join(f"I am tired.{end}You are late.\nHello{end}\n{end}\nThe end.\r\n" for end in BREAKS).encode())
    assert main(["translate", "--input", str(file), "--output", str(out), "--quiet"]) == 0
    text = out.read_bytes().decode()
    assert text.count("\n") == 4 * len(BREAKS) == len(text.splitlines()) == len(out.read_text(encoding="utf-8").splitlines())
    translator = load_pretrained("en-fr")
    for end in BREAKS:
        typed = f"I am tired.{end}You are late."
        said = translator.translate(typed)
        assert end in said and "\n" not in said and len(said.splitlines()) == len(typed.splitlines())


def test_lines_of_any_system():
    assert text_lines("a\nb\n") == text_lines("a\r\nb") == text_lines("a\rb\r") == ["a", "b"] and text_lines("a\rb\n\n") == ["a b", ""]


@pytest.mark.parametrize(
    "said, shown",
    [
        ("Je\u200b suis\ufeff là\u2060.", "Je suis là."),
        ("so\u00adft \u202ahi\u202c \x00\x7f!", "soft hi !"),
        ("deux\nlignes\r\u2028ici\tlà", "deux lignes ici là"),
        ("a\u200db\ufe0f \u200c", "ab "),
        ("❤\ufe0f 👩\u200d👧 می\u200cخواهم क्\u200dष", "❤\ufe0f 👩\u200d👧 می\u200cخواهم क्\u200dष"),
        ("5\u202f€ « ici\u00a0»", "5\u202f€ « ici\u00a0»"),
    ],
)
def test_a_model_writes_what_can_be_seen(said, shown, monkeypatch):
    assert visible(said) == shown
    monkeypatch.setattr("xformer_lib.decoding.translator.decode_sentences", lambda *given, **options: [(said, True)])
    assert load_pretrained("en-fr").translate("Here.") == shown
