"""What a reader does with keyboard and pointer, sent to the page as the browser's own events."""

from tests.explorables.stage import FIGURE

CODES = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Enter": 13, " ": 32, "Home": 36, "End": 35}


async def keys(tab, *names):
    """Press and release each key where the focus is."""
    for name in names:
        for kind in ("rawKeyDown", "keyUp"):
            await tab.send("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=CODES[name])


async def focus(tab, selector):
    """Focus the first element of the figure that fits."""
    assert await tab.evaluate(
        f"(() => {{ const e = {FIGURE}.querySelector({selector!r}); e.focus(); return e === document.activeElement; }})()"
    )


async def middle(tab, selector):
    """The middle of the first element that fits, in the window's pixels."""
    return await tab.evaluate(
        f"(() => {{ const e = {FIGURE}.querySelector({selector!r}); e.scrollIntoView({{block: 'center'}});"
        "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
    )


async def drag(tab, start, *through):
    """Press at a place, move through others, let go at the last."""
    for kind, (x, y) in (("mousePressed", start), *(("mouseMoved", spot) for spot in through), ("mouseReleased", (through or [start])[-1])):
        await tab.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=int(kind != "mouseReleased"), clickCount=1)


async def read(tab):
    return await tab.evaluate(f"{FIGURE}.explorable.read()")


async def said(tab):
    """The sentence of the live region."""
    return await tab.evaluate(f"{FIGURE}.querySelector('.xf-say').textContent")
