"""A workload's origin as a browser would meet it: one-time link, pages, and a Jupyter kernel over its WebSocket.

Python does not resolve names below localhost: connections go to 127.0.0.1 and carry the Host header.
"""

import http.client
import json
import re
import sys
import time
import urllib.parse
import uuid

TIMEOUT_SECONDS = 30
NAVIGATION = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "none"}


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read().decode(errors="replace")

    def __str__(self):
        return f"{self.status} {self.body[:200]}"


class Origin:
    """Requests to one host, with cookies kept as a browser would."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port = parts.netloc, parts.port or 80
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.cookies = {}

    def request(self, method, path, body=None, headers=None, cookies=True):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        sent = {"Host": self.host, **(headers or {})}
        if cookies and self.cookies:
            sent["Cookie"] = self.cookie_line()
        if method not in ("GET", "HEAD"):
            sent.setdefault("Origin", self.origin)
            sent.setdefault("Sec-Fetch-Site", "same-origin")
            if "_xsrf" in self.cookies:
                sent["X-XSRFToken"] = self.cookies["_xsrf"]
        try:
            connection.request(method, path, body=body, headers=sent)
            answer = Answer(connection.getresponse())
        finally:
            connection.close()
        for line in answer.headers.get_all("Set-Cookie") or []:
            name, value = line.split(";", 1)[0].split("=", 1)
            if value and "max-age=0" not in line.lower():
                self.cookies[name.strip()] = value.strip()
            else:
                self.cookies.pop(name.strip(), None)
        return answer

    def cookie_line(self):
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def navigate(self, path, cookies=True):
        return self.request("GET", path, headers=NAVIGATION, cookies=cookies)

    def redeem(self, link):
        """Opens a one-time link as a person does: the page first, then its button. Gives the two answers."""
        parts = urllib.parse.urlsplit(link)
        page = self.navigate(f"{parts.path}?{parts.query}")
        form = urllib.parse.urlencode(urllib.parse.parse_qsl(parts.query))
        pressed = self.request("POST", parts.path, body=form, headers={**NAVIGATION, "Content-Type": "application/x-www-form-urlencoded",
                                                                       "Sec-Fetch-Site": "same-origin"})
        return page, pressed

    # ---- Jupyter ---------------------------------------------------------------------------------------------------

    def websocket(self, path, cookies=True, origin=None):
        """An open WebSocket; raises websocket.WebSocketBadStatusException when it is refused."""
        import websocket  # from the environment: see use_environment
        return websocket.create_connection(f"ws://127.0.0.1:{self.port}{path}", host=self.host, origin=origin or self.origin,
                                           suppress_origin=False, cookie=self.cookie_line() if cookies else None, timeout=TIMEOUT_SECONDS)

    def start_kernel(self):
        if "_xsrf" not in self.cookies:
            self.navigate("/lab")   # Jupyter gives its token with the page
        answer = self.request("POST", "/api/kernels", body=json.dumps({"name": "python3"}), headers={"Content-Type": "application/json"})
        if answer.status != 201:
            raise RuntimeError(f"starting a kernel: {answer}")
        return json.loads(answer.body)["id"]

    def execute(self, kernel, code):
        """Runs `code` in the kernel over its WebSocket and gives what it printed."""
        session = uuid.uuid4().hex
        channel = self.websocket(f"/api/kernels/{kernel}/channels?session_id={session}")
        try:
            message = uuid.uuid4().hex
            header = {"msg_id": message, "msg_type": "execute_request", "username": "", "session": session, "version": "5.3",
                      "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
            content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False}
            channel.send(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content,
                                     "channel": "shell", "buffers": []}))
            return self._printed(channel, message)
        finally:
            channel.close()

    @staticmethod
    def _printed(channel, message):
        printed, replied, idle = "", False, False
        while not (replied and idle):
            got = json.loads(channel.recv())
            if got.get("parent_header", {}).get("msg_id") != message:
                continue
            kind, content = got["header"]["msg_type"], got["content"]
            if kind == "stream":
                printed += content["text"]
            elif kind == "error":
                trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(content["traceback"][-3:]))
                raise RuntimeError(f"the cell failed: {trace}")
            elif kind == "execute_reply":
                replied = True
            elif kind == "status" and content["execution_state"] == "idle":
                idle = True
        return printed


def use_environment(environment):
    """Makes the WebSocket client of the Python environment importable."""
    sys.path.append(f"{environment}/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages")
