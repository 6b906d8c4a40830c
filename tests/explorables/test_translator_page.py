"""The translator's page under a reader's hands: damage, servers, keys, other words, small screens."""

import functools
import http.server
import itertools
import threading

import pytest
import torch

from tests.book.browser import browse
from tests.ci import in_ci
from tests.explorables import live_model as live
from tests.explorables.gestures import focus, keys, press, read, said
from tests.explorables.stage import FIGURE
from tests.explorables.test_every import AUDIT
from xformer_course.explorables import translator
from xformer_lib import load_pretrained
from xformer_lib.decoding import next_logits

pytestmark = pytest.mark.browser
DONE = f"!{FIGURE}.querySelector('[aria-busy=true]')"
ALERT = f"{FIGURE}.querySelector('[role=alert]').innerText"


def visit(chromium, address, work, **reach):
    async def there(tab):
        await tab.screen(1000, 900)
        await tab.visit(address)
        return await work(tab), tab.complaints

    return browse(chromium, there, **reach)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return live.write_book(tmp_path_factory.mktemp("book"))


def test_damage_gives_a_sentence_and_another_try(chromium, tmp_path):
    """One byte changed, half a file, no file: each is named, and the second click asks for that part alone."""
    page = live.write_book(tmp_path)
    parts = {n: tmp_path / "_static" / "translator" / "en-fr" / f"part-{n:02d}.js" for n in (2, 5, 11)}
    whole = {n: path.read_bytes() for n, path in parts.items()}
    middle = len(whole[2]) // 2
    letter = next(at for at in range(middle, 2 * middle) if whole[2][at : at + 2].isalnum() and whole[2][at - 3 : at].isalnum())
    parts[2].write_bytes(whole[2][:letter] + (b"q" if whole[2][letter] != ord("q") else b"r") + whole[2][letter + 1 :])
    parts[5].write_bytes(whole[5][: len(whole[5]) // 3])
    parts[11].unlink()

    async def work(tab):
        await live.click_and_wait(tab)
        alerts = [await tab.evaluate(ALERT)]
        for n in parts:
            parts[n].write_bytes(whole[n])
            tab.requests.clear()
            await live.click_and_wait(tab, "Try again")
            alerts.append(await tab.evaluate(ALERT))
            asked = {request.url[-10:] for request in tab.requests}
            assert f"part-{n:02d}.js" in asked and f"part-{n - 1:02d}.js" not in asked
        return alerts, await read(tab)

    (alerts, end), _ = visit(chromium, page.as_uri(), work)
    assert "Part 3 of 16 is damaged" in alerts[0] and "Try again" in alerts[0]
    assert "part-05.js could not be loaded from this book (cut off)" in alerts[1]
    assert "part-11.js could not be loaded from this book (absent)" in alerts[2]
    assert (alerts[3], end["translation"]) == ("", "Je suis ingénieur.")


def test_a_server_that_names_another_charset(chromium, page):
    """Servers call scripts UTF-8, which wins over the charset of an element; the model arrives whole all the same."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def guess_type(self, path):
            return "text/javascript; charset=utf-8" if str(path).endswith(".js") else "text/html; charset=utf-8"

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=page.parent)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        first, problems = visit(chromium, f"{address}/{page.name}", live.click_and_wait, this_machine=True)
        server.shutdown()
    assert first["translation"] == "Je suis ingénieur."
    assert [problem for problem in problems if address not in problem] == []


def test_a_notebook_without_the_book(chromium, tmp_path):
    """Where no files lie beside the page, one sentence says so, and nothing is asked for."""
    page = live.write_book(tmp_path, files=False)

    async def work(tab):
        await live.click_and_wait(tab)
        alerts = [await tab.evaluate(ALERT)]
        await press(tab, "French → English")
        await live.click_and_wait(tab, way=1)
        return [*alerts, await tab.evaluate(ALERT)]

    alerts, problems = visit(chromium, page.as_uri(), work)
    for name, alert in zip(("en-fr", "fr-en"), alerts, strict=True):
        assert "come with the built book" in alert and f'load_pretrained("{name}").translate(' in alert and "Try again" not in alert
    assert problems == []


async def write(tab, text):
    """Type a text into the field and press Enter."""
    await tab.locator("figure.xf textarea").fill(text)
    await keys(tab, "Enter")
    await tab.wait_for_function(DONE)
    return await read(tab)


async def audits(tab):
    """The rules that every explorable keeps, for the figure as it stands: wide and narrow, by day and by night, or two of the four."""
    problems = {}
    for width, theme in in_ci(itertools.product((1000, 360), ("light", "dark")), [(1000, "light"), (360, "dark")]):
        await tab.screen(width, 900, dark=theme == "dark")
        await tab.evaluate(
            f"document.documentElement.dataset.theme = '{theme}', document.body.style.background = '{'#fff' if theme == 'light' else '#14181e'}', 0"
        )
        await tab.evaluate("new Promise((done) => setTimeout(done, 100))")
        if found := await tab.evaluate(AUDIT):
            problems[width, theme] = found
    await tab.screen(1000, 900)
    return problems


def test_a_reader_at_the_keyboard(chromium, page):
    """Type, step, take another word, look at a head, walk over the map; empty and overlong texts get a sentence."""
    seen = {}

    async def work(tab):
        seen["closed"] = await audits(tab)
        seen["empty"] = (await write(tab, " "))["trouble"]
        seen["typed"] = await write(tab, "You are late.")
        await tab.get_by_role("button", name="step forward →", exact=True).press("Enter")
        seen["step"] = await said(tab), await tab.evaluate("document.activeElement.textContent")
        other = seen["typed"]["topFive"][1]["piece"]
        await press(tab, "← step back")
        await press(tab, f"take {other}")
        await tab.wait_for_function(DONE)
        seen["other"] = await read(tab)
        await press(tab, "the model's own words")
        await tab.wait_for_function(DONE)
        seen["own"] = (await read(tab))["translation"]
        await press(tab, "a beam of 4")
        await tab.wait_for_function(DONE)
        await press(tab, "show translation 2")
        seen["second"] = await read(tab)
        await press(tab, "decoder")
        await press(tab, "layer 3, head 1")
        seen["decoder"] = await read(tab)
        await focus(tab, "[role=grid]")
        await keys(tab, "ArrowDown", "ArrowDown", "ArrowRight")
        seen["cell"] = await said(tab)
        seen["cells"] = await tab.evaluate(
            f"[...{FIGURE}.querySelectorAll('.xf-heat tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
        )
        seen["open"] = await audits(tab)
        seen["long"] = await write(tab, "pneumo" * 200)

    _, problems = visit(chromium, page.as_uri(), work)
    assert problems == []
    assert (seen["closed"], seen["open"]) == ({}, {})
    assert seen["empty"].startswith("Type a text first")
    assert seen["long"]["trouble"] == "" and len(seen["long"]["source"]) <= 256
    assert seen["long"]["notes"][0] == "too long for the model, so read in parts: 1 sentence"
    assert seen["step"][0].startswith("Step 2 of ") and seen["step"][1] == "step forward →"
    check_choice(seen)
    check_map(seen)


async def take(tab, text):
    """Type a piece into the field beneath the five, press Enter; what is read then, and what is said."""
    await focus(tab, "input[size]")
    await tab.keyboard.insert_text(text)
    await keys(tab, "Enter")
    await tab.wait_for_function(DONE)
    focused = await tab.evaluate(f"document.activeElement === {FIGURE}.querySelector('input[size]')")
    return await read(tab), [await said(tab), focused, await tab.evaluate(ALERT)]


def test_a_readers_own_words(chromium, page):
    """*rive*, which is none of the five, is taken as the Python tokenizer cuts it; so are many pieces and unknown text."""
    seen, tokenizer = {}, load_pretrained("en-fr").tokenizer

    async def work(tab):
        await live.click_and_wait(tab)
        await write(tab, "He sat on the bank of the river.")
        for _ in range(5):
            await press(tab, "step forward →")
        seen["before"] = await read(tab)
        seen["nothing"] = await take(tab, "")
        seen["rive"] = await take(tab, "rive")
        seen["row"] = await tab.evaluate(
            f"[...{FIGURE}.querySelectorAll('.xf-five tbody tr')].map((r) => [r.cells[0].textContent, r.cells[3].textContent])"
        )
        seen["several"] = await take(tab, "rive du Zorblat 日")
        seen["inside"] = await take(tab, "+rive")
        seen["end"] = await take(tab, "<eos>")
        seen["much"] = await take(tab, "日本" * 12)
        seen["open"] = await audits(tab)

    _, problems = visit(chromium, page.as_uri(), work)
    assert (problems, seen["open"]) == ([], {})
    begun = tokenizer.encode("Il s'assit à la")
    at, words = len(begun), {name: seen[name][0]["written"] for name in ("rive", "several", "inside", "end")}
    assert seen["before"]["at"] == at and seen["before"]["written"][:at] == begun
    assert tokenizer.pieces([seen["before"]["written"][at]]) == ["▁banque"]
    assert "▁rive" not in [one["piece"] for one in seen["before"]["topFive"]]
    assert seen["nothing"][1][2].startswith("Type a French piece or word first")
    rive = tokenizer.encode("Il s'assit à la rive")[at:]
    assert words["rive"][: at + len(rive)] == begun + rive
    assert seen["rive"][0]["translation"] == "Il s'assit à la rive de la rivière."
    assert seen["rive"][1] == [
        f"You took {' '.join(tokenizer.pieces(rive))} at step 6; the model goes on: Il s'assit à la rive de la rivière.",
        True,
        "",
    ]
    assert seen["row"][5] == [tokenizer.pieces(rive)[0], "written"] and len(seen["row"]) == 6
    several = tokenizer.encode("Il s'assit à la rive du Zorblat 日")
    assert words["several"][: len(several)] == several and seen["several"][0]["chosen"] == list(range(at, len(several)))
    assert words["inside"][: at + 1] == [*begun, *tokenizer.encode("rive")] != tokenizer.encode("Il s'assit à la rive")
    assert words["end"] == [*begun, 2]
    count = len(tokenizer.encode(" " + "日本" * 12))
    assert "room for" in seen["much"][1][2] and f"yours are {count};" in seen["much"][1][2]


async def choose(tab, number):
    """Look at another sentence; what is read then."""
    await focus(tab, ".xf-look select")
    await tab.locator("figure.xf .xf-look select").select_option(index=number)
    await tab.wait_for_function(DONE)
    return await read(tab)


WHOLE = {  # typed into the field; greedily, and the short ones with a beam of four
    "en-fr": (
        "I missed my train 😅. The next one leaves at 9:30.",
        "...",
        "😀",
        "…",
        "Siobhan paid $3,499.99 to Dr. Okonkwo; see https://a.org/b?c=d.",
        "I AM TIRED. “Really?”",
        "Dear Tom,\n\nI don’t know — ask her!\n  Yes \n",
        "say Привет мир, please 👩‍👩‍👧",
        "garden",
        "'a' \\ \"b\" " * 6,
        "I was here " * 90,
        "Add ½ cup of sugar. It is -5 °C at 9:30.",
    ),
    "fr-en": (
        "J'ai raté mon train 😅. Tu peux m'attendre ?",
        "«\u202fÇa coûte 1,50\u202f€\u202f»",
        "L’été est là. LA GARE EST OÙ ?",
        "J'ai 3 chats. 20-25 ans !",
    ),
}
TYPED = {way: in_ci(texts, texts[::2]) for way, texts in WHOLE.items()}


def test_any_text_is_translated_as_by_python(chromium, page):
    """Sentence after sentence, put together again, with the same notes; what has no sentence comes back."""
    found, expected, shown = {}, {}, {}

    async def work(tab):
        for way, texts in TYPED.items():
            await press(tab, "English → French" if way == "en-fr" else "French → English")
            await live.click_and_wait(tab, way=list(TYPED).index(way))
            for method in ("greedy", "a beam of 4"):
                await press(tab, method)
                await tab.wait_for_function(DONE)
                for text in texts if method == "greedy" else [one for one in texts if len(one) < 60]:
                    seen = await write(tab, text)
                    found[way, method, text] = seen["whole"], seen["notes"], seen["trouble"]
                    shown[way, method, text] = (
                        await tab.locator("figure.xf .xf-said strong").text_content(),
                        await tab.locator("figure.xf .xf-note").all_text_contents(),
                        "",
                    )
            await press(tab, "greedy")
        seen = await write(tab, "...")
        seen["open"] = await audits(tab)
        return seen

    marks, problems = visit(chromium, page.as_uri(), work)
    for way, method, text in found:
        one = load_pretrained(way).translations([text], beam_size=4 if method == "a beam of 4" else 1)[0]
        expected[way, method, text] = one.text, list(one.notes), ""
    assert problems == [] and found == expected == shown
    assert any("no end within the limit" in note for _, notes, _ in found.values() for note in notes)
    assert any("read in parts: 1 sentence" in note for _, notes, _ in found.values() for note in notes)
    assert marks["open"] == {} and marks["sentences"] == [] and "written" not in marks


def test_a_text_is_looked_at_sentence_by_sentence(chromium, page):
    """Words that the reader took stay in their sentence, and the whole text has them; so has the beam's second translation."""
    text, seen = "You are late. Wait for me 😅!", {}

    async def work(tab):
        await live.click_and_wait(tab)
        seen["first"] = await write(tab, text)
        seen["open"] = await audits(tab)
        seen["second"] = await choose(tab, 1)
        await press(tab, f"take {seen['second']['topFive'][1]['piece']}")
        await tab.wait_for_function(DONE)
        seen["taken"] = await read(tab)
        seen["back"] = await choose(tab, 0)
        seen["again"] = await choose(tab, 1)
        seen["focus"] = await tab.evaluate("document.activeElement.tagName")
        await press(tab, "the model's own words")
        await tab.wait_for_function(DONE)
        seen["own"] = await read(tab)
        await press(tab, "a beam of 4")
        await tab.wait_for_function(DONE)
        await press(tab, "show translation 2")
        seen["beam"] = await read(tab)
        seen["kept"] = await choose(tab, 0)
        seen["anew"] = await write(tab, text)
        await press(tab, "translate it back")
        await tab.wait_for_function(f"!!{FIGURE}.querySelector('.xf-said') && {DONE}")
        seen["return"] = await read(tab)

    _, problems = visit(chromium, page.as_uri(), work)
    translator = load_pretrained("en-fr")
    greedily, beam = translator.translate(text), translator.translate(text, beam_size=4)
    assert (problems, seen["open"], seen["focus"]) == ([], {}, "SELECT")
    assert seen["first"]["sentences"] == ["You are late.", "Wait for me ①!"] and seen["first"]["whole"] == greedily
    assert [seen[name]["sentence"] for name in ("first", "second", "taken", "back", "again", "own", "beam")] == [0, 1, 1, 0, 1, 1, 1]
    parts = [seen["first"]["translation"], seen["second"]["translation"]]
    assert " ".join(parts) == greedily == seen["second"]["whole"] == seen["own"]["whole"] and "😅" in parts[1]
    assert seen["taken"]["prefix"] == [seen["second"]["topFive"][1]["id"]] and seen["taken"]["translation"] != parts[1]
    assert seen["taken"]["whole"] == f"{parts[0]} {seen['taken']['translation']}" == seen["back"]["whole"] == seen["again"]["whole"]
    assert seen["back"]["translation"] == parts[0] and seen["again"]["prefix"] == seen["taken"]["prefix"]
    assert seen["anew"]["whole"] == beam != seen["beam"]["whole"] == seen["kept"]["whole"]
    assert seen["beam"]["whole"].endswith(seen["beam"]["translation"]) and seen["beam"]["hypotheses"][1]["ids"] == seen["beam"]["written"]
    assert (seen["return"]["way"], seen["return"]["text"]) == ("fr-en", beam)
    assert seen["return"]["whole"] == load_pretrained("fr-en").translate(beam, beam_size=4)


def test_keys_of_the_field(chromium, page):
    """Enter translates; with Shift it begins a line, and lines that were pasted stay; a long text is not cut."""
    long = "I am here. " * 80

    async def work(tab):
        await live.click_and_wait(tab)
        await write(tab, "You are late.")
        await keys(tab, "Shift+Enter")
        await tab.keyboard.insert_text("I am an engineer.\nWait!")
        before = await read(tab)
        await keys(tab, "Enter")
        await tab.wait_for_function(DONE)
        after = await read(tab)
        await tab.locator("figure.xf textarea").fill(long)
        return before, after, await tab.locator("figure.xf textarea").input_value()

    (before, after, field), problems = visit(chromium, page.as_uri(), work)
    assert problems == [] and before["text"] == "You are late." and field == long
    assert after["text"] == "You are late.\nI am an engineer.\nWait!"
    assert after["whole"] == load_pretrained("en-fr").translate(after["text"]) and after["whole"].count("\n") == 2


def test_what_is_shown_says_whose_translation_it_is(chromium, page):
    """Source and translation stand together; a press while the model works is not lost; nothing to translate leaves nothing."""
    shown, seen = f"{FIGURE}.querySelector('.xf-said')?.textContent", {}
    busy = (
        f"[{FIGURE}.querySelector('.xf-working').textContent, getComputedStyle({FIGURE}.querySelector('.xf-said').parentElement).opacity]"
    )

    async def work(tab):
        await live.click_and_wait(tab)
        field = tab.locator("figure.xf textarea")
        await field.fill("Hello world.")
        await press(tab, "Translate")
        seen["busy"] = await tab.evaluate(
            f"(() => {{ const f = {FIGURE}; f.querySelector('textarea').value = 'The cat is in the garden. ' + 'I am here. '.repeat(9);"
            f" f.querySelector('[type=submit]').click(); const said = {busy}; f.querySelector('textarea').value = 'You are late.'; f.querySelector('[type=submit]').click(); return said; }})()"
        )
        await tab.wait_for_function(DONE)
        await press(tab, "English → French")  # which it is already
        seen["last"] = await tab.evaluate(shown), await tab.evaluate(busy)
        await field.focus()
        await tab.keyboard.insert_text("!")
        examples = tab.locator("figure.xf select").first
        seen["list"] = [await examples.input_value()]
        await examples.select_option(index=1)
        await tab.wait_for_function(DONE)
        seen["list"] += [await field.input_value(), await tab.evaluate(shown)]
        await write(tab, "I don\u2019t know. ")
        seen["phone"] = await tab.evaluate(shown)
        await write(tab, " ")
        seen["none"] = await tab.evaluate(shown), (await tab.evaluate(ALERT))[:17]

    _, problems = visit(chromium, page.as_uri(), work)
    assert problems == []
    assert seen["busy"] == ["translating…", "0.5"]
    assert seen["last"] == ("You are late. → Vous êtes en retard.", ["", "1"])
    assert seen["list"] == ["", "I am an engineer.", "I am an engineer. → Je suis ingénieur."]
    assert seen["phone"].endswith(" → Je ne sais pas.")
    assert seen["none"] == (None, "Type a text first")


def test_there_and_back(chromium, page):
    """Another direction has its own model, languages and list; what was typed stays; what was written becomes the other's source."""
    shown, seen = f"{FIGURE}.querySelector('.xf-said').textContent", {}
    tongues = f"(() => {{ const f = {FIGURE}; return ['textarea', 'select', '.xf-said strong', 'input[size]'].map((one) => f.querySelector(one).lang); }})()"

    async def work(tab):
        await press(tab, "French → English")
        field = tab.locator("figure.xf textarea")
        seen["example"] = await field.input_value(), await tab.evaluate(f"{FIGURE}.querySelector('form label').textContent")
        await field.fill("Bonjour le monde !")
        await press(tab, "English → French")
        await press(tab, "French → English")
        seen["kept"] = await field.input_value()
        await field.fill("Vous êtes en retard.")
        await live.click_and_wait(tab, way=1)
        seen["there"] = await tab.evaluate(shown), await tab.evaluate(tongues)
        seen["open"] = await audits(tab)
        await press(tab, "translate it back")
        await tab.wait_for_function(DONE)
        seen["back"] = await tab.evaluate(shown), await tab.evaluate(tongues), await field.input_value()
        await press(tab, "translate it back")
        await tab.wait_for_function(DONE)
        seen["again"] = (await read(tab))["way"], await tab.evaluate(shown)

    _, problems = visit(chromium, page.as_uri(), work)
    assert (problems, seen["open"]) == ([], {})
    assert seen["example"] == ("Où est la gare ?", "French text") and seen["kept"] == "Bonjour le monde !"
    assert seen["there"] == ("Vous êtes en retard. → You're late.", ["fr", "fr", "en", "en"])
    assert seen["back"] == ("You're late. → Vous êtes en retard.", ["en", "en", "fr", "fr"], "You're late.")
    assert seen["again"] == ("fr-en", seen["there"][0])


def test_two_models_asked_for_at_once(chromium, page):
    """They come one after the other, and the last direction is shown."""

    async def work(tab):
        for way, name in enumerate(("English → French", "French → English")):
            await press(tab, name)
            await press(tab, f"Load the model ({translator().data['ways'][way]['megabytes']:.1f} MB) and translate")
        await tab.wait_for_function(f"!!{FIGURE}.querySelector('.xf-said')")
        french = await read(tab)
        await press(tab, "English → French")
        await press(tab, "Translate")
        await tab.wait_for_function(DONE)
        return french, await read(tab)

    (french, english), problems = visit(chromium, page.as_uri(), work)
    assert problems == []
    assert (french["translation"], english["translation"]) == ("Where's the station?", "Je suis ingénieur.")


def check_choice(seen):
    """The second likeliest first word, and what PyTorch says after it."""
    model, tokenizer = (lambda one: (one.model.eval(), one.tokenizer))(load_pretrained("en-fr"))
    source = torch.tensor([tokenizer.encode("You are late.") + [2]])
    with torch.inference_mode():
        memory, tokens = model.encode(source), torch.tensor([[1]])
        ranks = next_logits(model, tokens, memory, source)[0].topk(2).indices
        written = [int(ranks[1])]
        while written[-1] != 2:
            tokens = torch.tensor([[1, *written]])
            written.append(int(next_logits(model, tokens, memory, source).argmax()))
    assert seen["typed"]["topFive"][0]["id"] == seen["typed"]["written"][0] == ranks[0]
    assert seen["other"]["written"] == written != seen["typed"]["written"]
    assert seen["own"] == seen["typed"]["translation"] == load_pretrained("en-fr").translate("You are late.")


def check_map(seen):
    """Rows by what is written, columns by what was read; a dash for what was not read yet."""
    shown, tokenizer = seen["decoder"], load_pretrained("en-fr").tokenizer
    assert shown["written"] == shown["hypotheses"][1]["ids"] == seen["second"]["written"]
    names = [[piece.strip("▁") for piece in tokenizer.pieces(ids)] for ids in (shown["written"], [1, *shown["written"][:-1]])]
    assert shown["names"] == names
    count = len(names[0])
    for i, (row, cells) in enumerate(zip(shown["matrix"], seen["cells"], strict=True)):
        assert cells == [names[0][i], *(f"{weight:.2f}" for weight in row), *"–" * (count - i - 1)]
        assert sum(row) == pytest.approx(1, abs=1e-5) and len(row) == i + 1
    assert seen["cell"] == f"Query {names[0][2]}, key {names[1][1]}: weight {shown['matrix'][2][1]:.2f}."
