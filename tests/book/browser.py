"""A headless Chromium, spoken to through its developer protocol. It can resolve no host name."""

import asyncio
import json
import subprocess
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path

from tornado.websocket import websocket_connect

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --mute-audio --disable-dev-shm-usage "
    "--remote-debugging-port=0 --proxy-server=127.0.0.1:9 --proxy-bypass-list=<-loopback>"
).split()
CUT_OFF = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
LOCAL = ("file:", "data:", "blob:", "about:", "chrome:", "http://127.0.0.1:")


class Tab:
    """One page of the browser: send commands, keep the events."""

    def __init__(self, socket):
        self.socket = socket
        self.events = []
        self.number = 0

    async def send(self, method, **parameters):
        self.number += 1
        await self.socket.write_message(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = await self.next()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]

    async def next(self, seconds=180):
        text = await asyncio.wait_for(self.socket.read_message(), seconds)
        if text is None:
            raise RuntimeError("the browser closed the connection")
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    async def visit(self, address):
        """Load a page, let its scripts settle, and return the events it caused."""
        self.events.clear()
        await self.send("Page.navigate", url=address)
        return await self.arrived()

    async def follow(self, script):
        """Run a script that leads to another page, such as a click on a link, and wait for that page."""
        self.events.clear()
        await self.send("Runtime.evaluate", expression=f"setTimeout(() => {{ {script} }}, 0); 1")
        return await self.arrived()

    async def arrived(self):
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            await self.next()
        await asyncio.sleep(0.15)
        await self.evaluate("document.fonts.ready.then(() => 1)")
        return list(self.events)

    async def evaluate(self, script):
        answer = await self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        return answer["result"].get("value")

    async def screen(self, width, height, dark=False, media=""):
        """Set the window's size, the reader's preference for light or dark, and the medium: "print" for paper."""
        await self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.send("Emulation.setEmulatedMedia", media=media, features=[scheme])


@asynccontextmanager
async def open_tab(chromium, *, this_machine=False):
    """A tab of a fresh browser that is ended with the block; ``this_machine`` lets it reach a server here, and nothing else."""
    flags = [flag for flag in FLAGS if not (this_machine and flag.startswith("--proxy"))]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [chromium, *flags, CUT_OFF, f"--user-data-dir={profile}", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            browser = await websocket_connect(_address(Path(profile), process), connect_timeout=120, max_message_size=2**27)
            tab = Tab(browser)
            made = await tab.send("Target.createTarget", url="about:blank")
            port = _address(Path(profile), process).rsplit("/devtools", 1)[0]
            page = await websocket_connect(f"{port}/devtools/page/{made['targetId']}", connect_timeout=120, max_message_size=2**27)
            tab = Tab(page)
            for domain in ("Page", "Runtime", "Log", "Network"):
                await tab.send(f"{domain}.enable")
            yield tab
        finally:
            process.terminate()
            process.wait(timeout=60)


def _address(profile, process):
    """The browser's address, from the file it writes when it is ready."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        file = profile / "DevToolsActivePort"
        if file.exists() and len(lines := file.read_text().splitlines()) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(0.05)
    raise RuntimeError(f"{process.args[0]} did not start")


def complaints(events):
    """Console errors, uncaught exceptions, failed and remote requests among the events of a page."""
    found = []
    for event in events:
        method, values = event["method"], event["params"]
        if method == "Runtime.exceptionThrown":
            detail = values["exceptionDetails"]
            found.append(f"exception: {detail.get('exception', {}).get('description', detail['text'])}")
        elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "assert"):
            found.append(f"console: {[argument.get('value') for argument in values['args']]}")
        elif method == "Log.entryAdded" and values["entry"]["level"] == "error":
            found.append(f"log: {values['entry']['text']} {values['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent" and not values["request"]["url"].startswith(LOCAL):
            found.append(f"remote request: {values['request']['url']}")
        elif method == "Network.loadingFailed" and not values.get("canceled"):
            found.append(f"failed request: {values['errorText']}")
    return found
