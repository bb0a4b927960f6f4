"""Headless Chromium, driven through chromedriver's W3C WebDriver protocol: plain JSON over HTTP."""

import base64
import contextlib
import json
import re
import shutil
import urllib.error
import urllib.request

from .processes import Child

READY = re.compile(r"started successfully on port (\d+)")
PORT_IS_TAKEN = re.compile(r"port not available")


class Browser:
    """One window. Records every network request and console message."""

    def __init__(self, port, profile):
        self._base = f"http://127.0.0.1:{port}"
        capabilities = {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "goog:chromeOptions": {
                "binary": shutil.which("chromium"),
                "args": [
                    "--headless=new",
                    # The tests run as root in containers, and load only our own pages.
                    "--no-sandbox",
                    "--disable-dev-shm-usage",
                    "--disable-gpu",
                    "--hide-scrollbars",
                    "--lang=en-GB",
                    f"--user-data-dir={profile}",
                ],
            },
        }
        answer = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self._session = f"/session/{answer['sessionId']}"
        self._requests = []
        self._console = []

    def _ask(self, method, path, body=None):
        request = urllib.request.Request(
            self._base + path,
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())["value"]
        except urllib.error.HTTPError as failure:
            raise AssertionError(f"{method} {path}: {failure.read().decode()[:2000]}") from None

    def _command(self, path, body=None):
        return self._ask("POST", self._session + path, body or {})

    def devtools(self, method, **parameters):
        """Runs a command of the Chrome DevTools Protocol."""
        return self._command("/goog/cdp/execute", {"cmd": method, "params": parameters})

    def open(self, address):
        self._command("/url", {"url": address})

    def run(self, script, *arguments):
        """Runs a function body and returns its result; elements cannot be passed."""
        return self._command("/execute/sync", {"script": script, "args": list(arguments)})

    def look(self, width, height, dark=False, reduced_motion=True):
        """Sets the window size in CSS pixels and the user's preferences."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.devtools(
            "Emulation.setEmulatedMedia",
            features=[
                {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                {
                    "name": "prefers-reduced-motion",
                    "value": "reduce" if reduced_motion else "no-preference",
                },
            ],
        )

    def press(self, key):
        """Presses a key by name, such as `Tab` or `Enter`."""
        codes = {"Tab": 9, "Enter": 13}
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.devtools(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=codes[key],
                **text,
            )

    def screenshot(self, path, whole=True):
        """The whole page as a PNG, or its visible part."""
        picture = self.devtools("Page.captureScreenshot", captureBeyondViewport=whole)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(picture["data"]))

    def _read_logs(self):
        for entry in self._command("/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                # The browser requests parts of its own first tab at any time.
                if not url.startswith("chrome://"):
                    self._requests.append(url)
        self._console += self._command("/se/log", {"type": "browser"})

    @property
    def requests(self):
        """Every URL requested so far."""
        self._read_logs()
        return list(self._requests)

    @property
    def complaints(self):
        """The console's warnings and errors, including blocked content."""
        self._read_logs()
        return [
            entry["message"] for entry in self._console if entry["level"] in ("WARNING", "SEVERE")
        ]

    def close(self):
        self._ask("DELETE", self._session)


@contextlib.contextmanager
def running_browser(folder):
    """Starts chromedriver on a free port, and a browser with its own profile."""
    assert shutil.which("chromium"), "chromium is missing; run scripts/setup"
    with running_driver() as port:
        browser = Browser(port, folder / "profile")
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def running_driver(attempts=10):
    """Starts chromedriver; returns its port.

    The system chooses chromedriver's IPv6 port, and chromedriver then needs the same port for IPv4.
    If that one is taken, it ends, and the next one gets another port.
    """
    path = shutil.which("chromedriver")
    assert path, "chromedriver is missing; run scripts/setup"
    for _ in range(attempts):
        with Child([path, "--port=0"]) as driver:
            port = driver.wait_for("stdout", port_of)
            if port:
                yield port
                return
            driver.wait_for_exit()
    raise AssertionError(f"chromedriver found no free port in {attempts} attempts")


def port_of(line):
    """The port of a driver that has started, 0 if the port was taken, else None."""
    if PORT_IS_TAKEN.search(line):
        return 0
    started = READY.search(line)
    return int(started[1]) if started else None
