"""One definition of a word for every script: what a split compares, what may stay apart, and where the mistakes are."""

import unicodedata

import pytest

from xformer_lib.data._words import find_words
from xformer_lib.data.pairs import split_pairs
from xformer_lib.data.splits import linked_groups, sentence_keys
from xformer_lib.evaluation import WordError, cut_words, word_errors

SCRIPTS = {  # a sentence's words, and another word that differs from the last in marks alone
    "Hindi": (["मैं", "पानी", "की"], "का"),
    "Bengali": (["আমি", "জল", "কি"], "কী"),
    "Tamil": (["நான்", "தண்ணீர்", "கீ"], "கா"),
    "Thai": (["ฉัน", "ดื่ม", "ที่"], "ทู่"),
    "Burmese": (["ကျွန်တော်", "ရေ", "မြို့"], "မြို"),
    "Khmer": (["ខ្ញុំ", "ទឹក", "កី"], "កា"),
    "Sinhala": (["මම", "වතුර", "කි"], "කු"),
    "Tibetan": (["ང", "ཆུ", "ཀི"], "ཀུ"),
    "Arabic": (["أَنَا", "أَشْرَبُ", "كَتَبَ"], "كُتِبَ"),
    "Hebrew": (["אֲנִי", "שׁוֹתֶה", "סֵפֶר"], "סַפָּר"),
    "Persian": (["من", "آب", "می\u200cخواهم"], "می\u200cخواهَم"),
    "Vietnamese": (["tôi", "uống", "nước"], "nược"),
    "French": (["l", "été", "à"], "â"),
    "Korean": (["나는", "물을", "각"], "갂"),
    "Japanese": (["わたし", "がくせい", "ぱ"], "ば"),
    "Greek": (["εγώ", "πίνω", "ᾧ"], "ὧ"),
    "Cyrillic": (["я", "й", "за\u0301мок"], "замо\u0301к"),
}
both_forms = pytest.mark.parametrize("form", ["NFC", "NFD"])


@both_forms
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_word_is_letters_with_their_marks(script, form):
    words, other = SCRIPTS[script]
    said, wanted = (unicodedata.normalize(form, text) for text in (f"{' '.join(words)}, 12!", f"{' '.join([*words[:-1], other])}, 12!"))
    assert find_words(said) == [unicodedata.normalize(form, word) for word in (*words, "12")]
    composed = [unicodedata.normalize("NFC", word.lower()) for word in (*words, other)]
    assert cut_words(said) == [*composed[:-1], ",", "12", "!"]
    assert word_errors(said, wanted) == [WordError("wrong", *composed[-2:])]
    assert word_errors(said, unicodedata.normalize("NFD", said)) == []
    assert sentence_keys((said, said)) == sentence_keys(tuple(unicodedata.normalize(one, said.upper()) for one in ("NFC", "NFD")))
    assert not set(sentence_keys((said, said))) & set(sentence_keys((wanted, wanted)))


def test_words_that_differ_in_marks_do_not_hang_together():
    vowels = [chr(code) for code in (*range(0x93E, 0x94D), 0x901, 0x902, 0x903)]
    pairs = [(f"क{one}क{other}", f"क{other}{one}") for one in vowels for other in vowels if one < other][:100]
    assert len(set(linked_groups(pairs))) == 100 and len(split_pairs(pairs)["train"]) == 90


@pytest.mark.parametrize("sides", [("?!", "..."), ("😀", "😅"), ("❤\ufe0f", "👍🏽"), ("→", "←"), ("\u0301", "\u0302"), ("", "—")])
def test_sides_without_a_letter_are_different_sentences(sides):
    one, other = (sentence_keys((side, "Oui.")) for side in sides)
    assert one[0] != other[0] and sentence_keys((f" {sides[1]} ", ""))[0] == other[0]
    assert len(set(linked_groups([(side, f"réponse {n}") for n, side in enumerate(sides)]))) == 2
