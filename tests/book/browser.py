"""A headless Chromium, driven with Playwright. It can resolve no host name."""

import asyncio
import atexit
from functools import cache

from playwright.async_api import async_playwright

FLAGS = ["--disable-gpu", "--disable-quic", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"]
NOWHERE = {"server": "127.0.0.1:9"}  # Playwright sends loopback addresses through a proxy, too
LOCAL = ("file:", "data:", "blob:", "about:", "chrome:", "http://127.0.0.1:")
PATIENCE = 180  # seconds for whatever is waited for


class Tab:
    """Playwright's page; what it asked for and what it complained of is kept, from all addresses that it visits."""

    def __init__(self, page, protocol=None):
        self.page, self.protocol = page, protocol  # the protocol is for what Playwright has no method for
        self.requests, self.complaints = [], []
        page.set_default_timeout(1000 * PATIENCE)
        page.on("request", self._asked)
        page.on("requestfailed", self._failed)
        page.on("console", self._told)
        page.on("pageerror", lambda error: self.complaints.append(f"exception: {error.stack or f'{error.name}: {error.message}'}"))

    def __getattr__(self, name):
        return getattr(self.page, name)

    def _asked(self, request):
        self.requests.append(request)
        if not request.url.startswith(LOCAL):
            self.complaints.append(f"remote request: {request.url}")

    def _failed(self, request):
        if request.failure != "net::ERR_ABORTED":  # the page itself called it off, or was left
            self.complaints.append(f"failed request: {request.failure} {request.url}")

    def _told(self, message):
        if message.type in ("error", "assert"):
            self.complaints.append(f"console: {message.text} {message.location['url']}")

    async def visit(self, address):
        """Load a page and let its scripts and fonts settle."""
        await self.page.goto(address)
        await asyncio.sleep(0.15)
        await self.evaluate("document.fonts.ready.then(() => 1)")

    async def evaluate(self, script, *given):
        return await asyncio.wait_for(self.page.evaluate(script, *given), PATIENCE)

    async def screen(self, width, height, dark=False, media="screen", still=False):
        """Set the window's size, a phone's if narrow; the reader's preferences, light or dark and no motion; the medium, "print" for paper."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        await self.protocol.send("Emulation.setDeviceMetricsOverride", size)
        # Not by emulate_media: after the next navigation, the connection that set the size would undo what another one set.
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        motion = {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}
        await self.protocol.send("Emulation.setEmulatedMedia", {"media": media, "features": [scheme, motion]})


@cache
def started(chromium):
    """One browser for all tests of a process, since its start takes longer than most of them, and the loop that it lives in."""
    loop = asyncio.new_event_loop()
    playwright = loop.run_until_complete(async_playwright().start())
    browser = loop.run_until_complete(playwright.chromium.launch(executable_path=chromium, args=FLAGS))

    def end():
        loop.run_until_complete(browser.close())
        loop.run_until_complete(playwright.stop())
        loop.close()

    atexit.register(end)
    return loop, browser


def browse(chromium, work, *, this_machine=False):
    """What ``work(tab)`` gives with a fresh profile; ``this_machine`` lets it reach a server here, and nothing else."""
    loop, browser = started(chromium)

    async def run():
        async with await browser.new_context(no_viewport=True, proxy=None if this_machine else NOWHERE) as context:
            page = await context.new_page()
            return await work(Tab(page, await context.new_cdp_session(page)))

    return loop.run_until_complete(run())
