#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens a report (--report=FILE.html) in a headless Chromium, for tests and for the pictures of these pages.

usage: report_page.py REPORT.html [--size=1400x1000] [--dark] [--do=SCRIPT]... [--shot=FILE.png] [--of=SELECTOR]
                      [--full] [--picture=FILE.svg]

Runs each SCRIPT in the page (a JavaScript expression, or a promise of one) and prints what it gives as JSON, saves a
screenshot, and the picture of memory that the button of the page saves. Fails if the page reports an error, logs one,
or asks for anything but itself. `keys:Tab ArrowRight ...` in place of a SCRIPT presses keys, and
`click:X,Y` and `move:X,Y` use the pointer.

docs/images: see docs/seeing.md.
"""
import argparse, base64, json, os, pathlib, shutil, subprocess, sys, tempfile

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
KEY_TEXT = {"Enter": "\r", "Space": " "}


def find_browser():
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


class Browser:
    """The DevTools protocol over a pair of pipes: messages in JSON that end with a zero."""

    def __init__(self, size=(1400, 1000)):
        self.profile = tempfile.TemporaryDirectory()
        to_browser, self.send_end = os.pipe()
        self.receive_end, from_browser = os.pipe()
        command = [find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "--no-first-run",
                   "--disable-background-networking", f"--window-size={size[0]},{size[1]}", "about:blank"]

        self.process = subprocess.Popen(["sh", "-c", 'exec "$@" 3<&%d 4>&%d' % (to_browser, from_browser), "sh",
                                         *command],
                                        pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session = b"", 0, None
        self.requests, self.problems, self.loaded = [], [], False
        target = self.call("Target.createTarget", url="about:blank", width=size[0], height=size[1])["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(*size)

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.receive_end, 1 << 20)
            if not part:
                sys.exit("the browser has ended")
            self.buffer += part
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def note(self, event):
        """Remembers what the page asks for, and what goes wrong in it."""
        method, given = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.problems.append(given["entry"]["text"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, **given):
        self.number += 1
        message = {"id": self.number, "method": method, "params": given}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.send_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.note(answer)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def set_look(self, look):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": look}])

    def open(self, path):
        self.loaded = False
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        while not self.loaded:
            self.note(self.receive())
        self.settle()

    def evaluate(self, script):
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            sys.exit(f"{script}: {found['exceptionDetails'].get('exception', {}).get('description')}")
        return found["result"].get("value")

    def settle(self):
        """Waits until what was changed is drawn."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, key):
        text = KEY_TEXT.get(key, key if len(key) == 1 else "")
        name = " " if key == "Space" else key
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        given = {"key": name, "windowsVirtualKeyCode": codes.get(key, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", **given, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **given)
        self.settle()

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def click(self, x, y):
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def shoot(self, path, selector=None, full=False):
        given = {"format": "png"}
        if selector:
            box = self.evaluate(f"(() => {{ const box = document.querySelector({json.dumps(selector)})"
                                ".getBoundingClientRect(); return [box.x + scrollX, box.y + scrollY, box.width, "
                                "box.height]; })()")
            given["clip"] = dict(zip(("x", "y", "width", "height"), box), scale=1)
            given["captureBeyondViewport"] = True
        elif full:
            given["clip"] = {"x": 0, "y": 0, "scale": 1, "width": self.evaluate("document.documentElement.scrollWidth"),
                             "height": self.evaluate("document.documentElement.scrollHeight")}
            given["captureBeyondViewport"] = True
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", **given)["data"]))

    def check(self):
        """What a report may not do."""
        foreign = [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))]
        shown = self.evaluate("document.getElementById('error').textContent")
        return [f"asked for {url}" for url in foreign] + self.problems + ([shown] if shown else [])

    def close(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait()
        self.profile.cleanup()


def carry_out(browser, action):
    kind, _, rest = action.partition(":")
    if kind == "keys":
        for key in rest.split():
            browser.press(key)
    elif kind in ("click", "move"):
        getattr(browser, kind)(*map(float, rest.split(",")))
    else:
        print(json.dumps(browser.evaluate(action)))
        browser.settle()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report")
    parser.add_argument("--size", default="1400x1000")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--do", action="append", default=[])
    parser.add_argument("--shot")
    parser.add_argument("--of")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--picture")
    options = parser.parse_args()
    if not find_browser():
        sys.exit(f"none of {', '.join(BROWSERS)} is installed")
    browser = Browser(tuple(map(int, options.size.split("x"))))
    browser.set_look("dark" if options.dark else "light")
    browser.open(options.report)
    for action in options.do:
        carry_out(browser, action)
    if options.shot:
        browser.shoot(options.shot, options.of, options.full)
    if options.picture:
        with open(options.picture, "w") as file:
            file.write(browser.evaluate("rematReport.makePicture()"))
    problems = browser.check()
    browser.close()
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
