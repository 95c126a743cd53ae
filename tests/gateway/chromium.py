"""A real Chromium, driven over the DevTools pipe with the standard library alone."""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

LIMIT_S = 30


class Chromium:
    def __init__(self, binary="/usr/bin/chromium"):
        self.profile = tempfile.mkdtemp(prefix="cpch-")
        out_r, out_w = os.pipe()  # we write commands, Chromium reads them as its file 3
        in_r, in_w = os.pipe()    # Chromium writes to its file 4
        script = f'exec 3<&{out_r} 4>&{in_w}; exec "$@"'
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", script, "chromium", binary, "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--remote-debugging-pipe", "--disable-popup-blocking", "--user-data-dir=" + self.profile, "about:blank"],
            pass_fds=(out_r, in_w), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self.profile},
        )  # fmt: skip
        os.close(out_r)
        os.close(in_w)
        self.commands, self.answers = out_w, in_r
        self.buffer, self.number, self.events = b"", 0, []

    def close(self):
        os.close(self.commands)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(self.answers, 65536) if ready else b""
            if not piece:
                raise AssertionError("Chromium does not answer")
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + LIMIT_S
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def new_page(self):
        context = self.call("Target.createBrowserContext")["browserContextId"]
        return self.page_in(context)

    def page_in(self, context):
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, context, target, session)


class Page:
    def __init__(self, browser, context, target, session):
        self.browser, self.context, self.target, self.session = browser, context, target, session
        self.call("Page.enable")
        self.call("Runtime.enable")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def go(self, url):
        """Opens `url` and waits until its last document is complete; gives its address."""
        self.call("Page.navigate", url=url)
        return self.settle()

    def settle(self):
        deadline, last, since = time.monotonic() + LIMIT_S, None, 0.0
        while time.monotonic() < deadline:
            try:
                now = self.run("document.readyState + ' ' + location.href")
            except AssertionError:  # the document is just being replaced
                now = None
            if now != last:
                last, since = now, time.monotonic()
            elif now and now.startswith("complete ") and time.monotonic() - since > 0.3:
                return now.split(" ", 1)[1]
            time.sleep(0.05)
        raise AssertionError("the page does not settle: %s" % last)

    def run(self, expression):
        """The value of a JavaScript expression; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise AssertionError(json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def cookies(self):
        return self.call("Network.getAllCookies")["cookies"]
