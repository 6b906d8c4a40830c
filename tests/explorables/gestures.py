"""What a reader does with keyboard and pointer."""

from playwright.async_api import expect

from tests.explorables.stage import FIGURE


async def keys(tab, *names):
    """Press and release each key where the focus is."""
    for name in names:
        await tab.keyboard.press(name)


async def press(tab, name):
    """Click the button that is called so."""
    await tab.get_by_role("button", name=name, exact=True).click()


async def focus(tab, selector):
    """Focus the first element of the figure that fits."""
    place = tab.locator(f"figure.xf {selector}").first
    await place.focus()
    await expect(place).to_be_focused()


async def middle(tab, selector):
    """The middle of the first element that fits, in the window's pixels."""
    place = tab.locator(f"figure.xf {selector}").first
    await place.scroll_into_view_if_needed()
    box = await place.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


async def drag(tab, start, *through):
    """Press at a place, move through others, let go at the last."""
    await tab.mouse.move(*start)
    await tab.mouse.down()
    for spot in through:
        await tab.mouse.move(*spot)
    await tab.mouse.up()


async def read(tab):
    return await tab.evaluate(f"{FIGURE}.explorable.read()")


async def said(tab):
    """The sentence of the live region."""
    return await tab.evaluate(f"{FIGURE}.querySelector('.xf-say').textContent")
