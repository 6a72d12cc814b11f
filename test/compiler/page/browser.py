"""Drives Chromium without a window by its DevTools protocol, over a pipe.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")


class PageError(Exception):
    """The page or the browser did what it must not do."""


def find():
    """The path of a browser; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One browser with one page. Collects what the page reports as errors."""

    def __init__(self, width=1280, height=800, dark=False):
        self.errors = []
        self._last = 0
        self._bytes = b""
        self._profile = tempfile.mkdtemp(prefix="sinter-page-")
        inRead, inWrite = os.pipe()
        outRead, outWrite = os.pipe()
        # The browser reads commands from 3 and writes answers to 4. The shell
        # moves the pipes there, whatever their numbers are.
        command = [find(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={self._profile}",
                   f"--window-size={width},{height}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{inRead} 4>&{outWrite}', "browser", *command],
            pass_fds=(inRead, outWrite), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self._profile})
        os.close(inRead)
        os.close(outWrite)
        self._in, self._out = inWrite, outRead
        self._session = None
        target = next(each for each in self._send("Target.getTargets")["targetInfos"]
                      if each["type"] == "page")
        self._session = self._send("Target.attachToTarget", targetId=target["targetId"],
                                   flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._send(f"{domain}.enable")
        self.resize(width, height)
        self._send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._in)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _read(self, deadline):
        """The next message; None when the time is over."""
        while b"\0" not in self._bytes:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._out], [], [], left)[0]:
                return None
            got = os.read(self._out, 1 << 20)
            if not got:
                raise PageError("the browser ended")
            self._bytes += got
        text, self._bytes = self._bytes.split(b"\0", 1)
        message = json.loads(text)
        self._note(message)
        return message

    def _note(self, message):
        """Keeps errors, and requests that leave the file."""
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.errors.append(str([arg.get("value", arg.get("description")) for arg in params["args"]]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:", "about:", "http://127.0.0.1:")):
                self.errors.append(f"the page asked for {url}")

    def _send(self, method, limit=60, **params):
        self._last += 1
        number = self._last
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._in, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + limit
        while (answer := self._read(deadline)) is not None:
            if answer.get("id") == number:
                if "error" in answer:
                    raise PageError(f"{method}: {answer['error']}")
                return answer["result"]
        raise PageError(f"{method}: no answer in {limit} s")

    def resize(self, width, height):
        """Changes the size of the window, in CSS pixels."""
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                   deviceScaleFactor=1, mobile=False)

    def open(self, url, ready="window.app !== undefined", limit=60):
        # The page before is still there for a moment.
        self.run("window.isLeft = true")
        self._send("Page.navigate", url=url)
        self.wait(f"!window.isLeft && {ready}", limit)

    def wait(self, condition, limit=60):
        deadline = time.monotonic() + limit
        while not self.run(f"!!({condition})"):
            if time.monotonic() > deadline:
                raise PageError(f"never: {condition}; errors: {self.errors}")
            time.sleep(0.05)

    def run(self, expression):
        """The value of a JavaScript expression."""
        result = self._send("Runtime.evaluate", expression=expression, returnByValue=True,
                            awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise PageError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def click(self, x, y, count=1):
        for kind in ("mousePressed", "mouseReleased"):
            self._send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                       clickCount=count)

    def press(self, key, text=None):
        self._send("Input.dispatchKeyEvent", type="keyDown", key=key, **({"text": text} if text else {}))
        self._send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        self._send("Input.insertText", text=text)

    def screenshot(self, path):
        # Two frames, so that what a script has just changed is drawn.
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._send("Page.captureScreenshot", format="png")["data"]))
