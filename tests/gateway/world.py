"""A real gateway with small real upstreams, for the attack tests and the browser test.

Needs the path of gateway_harness in CUBEPLANE_GATEWAY_HARNESS. Everything lives in one temporary folder and on loopback.
"""

import base64
import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import socketserver
import subprocess
import tempfile
import threading
import time

INSTANCE = "t1"
COOKIE = "__Host-cubeplane-" + INSTANCE


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Headers(list):
    """Header fields in order, as (lower-case name, value)."""

    def get(self, name, default=None):
        return next((v for k, v in self if k == name.lower()), default)

    def all(self, name):
        return [v for k, v in self if k == name.lower()]


def read_head(stream):
    """First line and headers of a message, or (None, None) at the end."""
    first = stream.readline(65537).decode("latin-1").rstrip("\r\n")
    if not first:
        return None, None
    headers = Headers()
    while True:
        line = stream.readline(65537).decode("latin-1").rstrip("\r\n")
        if not line:
            return first, headers
        name, _, value = line.partition(":")
        headers.append((name.strip().lower(), value.strip()))


def read_body(stream, headers):
    if "chunked" in (headers.get("transfer-encoding") or ""):
        body = b""
        while True:
            size = int(stream.readline().split(b";")[0], 16)
            body += stream.read(size)
            stream.readline()
            if size == 0:
                return body
    length = headers.get("content-length")
    return stream.read(int(length)) if length else b""


class Response:
    def __init__(self, first, headers, body):
        self.status = int(first.split()[1]) if first else 0
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """The reason code of a refusal by the gateway, or None."""
        try:
            return self.json["details"]["code"]
        except (ValueError, KeyError, TypeError):
            return None


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128


class Site:
    """An HTTP server on a Unix socket. `answer(site, method, target, headers, body)` gives (status, headers, body)."""

    def __init__(self, path, answer=None, name="", secret=None):
        self.path, self.name, self.secret = path, name, secret
        self.answer = answer or Site.echo
        self.seen = []  # (method, target, headers, body)
        site = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                while site.serve_one(self.rfile, self.wfile):
                    pass

        if os.path.exists(path):
            os.unlink(path)
        self.server = UnixServer(path, Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def serve_one(self, rfile, wfile):
        try:
            first, headers = read_head(rfile)
            if first is None:
                return False
            method, target, _ = first.split(" ", 2)
            body = read_body(rfile, headers)
            # What the door does: nobody without the workload's secret gets in.
            if self.secret is not None and headers.get("x-cubeplane-door") != self.secret:
                self.send(wfile, 403, [], b'{"door":"closed"}')
                return True
            self.seen.append((method, target, headers, body))
            if (headers.get("upgrade") or "").lower() == "websocket":
                self.websocket(headers, rfile, wfile)
                return False
            status, extra, body = self.answer(self, method, target, headers, body)
            self.send(wfile, status, extra, body if method != "HEAD" else b"")
            return True
        except OSError:
            return False

    @staticmethod
    def send(wfile, status, headers, body):
        if isinstance(body, str):
            body = body.encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n"
        head += "".join(f"{k}: {v}\r\n" for k, v in headers)
        wfile.write(head.encode() + b"\r\n" + body)
        wfile.flush()

    @staticmethod
    def echo(site, method, target, headers, body):
        said = {"site": site.name, "method": method, "target": target, "headers": list(headers), "body": body.decode("latin-1")}
        return 200, [("Content-Type", "application/json")], json.dumps(said)

    def websocket(self, headers, rfile, wfile):
        """Accepts, says its name in one text frame, then echoes bytes until the end."""
        key = headers.get("sec-websocket-key") or ""
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        wfile.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept.encode() + b"\r\n\r\n"
        )
        name = self.name.encode()
        wfile.write(bytes([0x81, len(name)]) + name)
        wfile.flush()
        while True:
            data = rfile.read1(4096)
            if not data:
                return
            wfile.write(data)
            wfile.flush()


class World:
    def __init__(self, platform_answer=None):
        self.harness_path = os.environ["CUBEPLANE_GATEWAY_HARNESS"]
        self.folder = tempfile.mkdtemp(prefix="cpgw-")
        os.chmod(self.folder, 0o700)
        self.port = free_port()
        self.sites, self.routes = {}, {}
        self.platform_path = self.folder + "/platform.sock"
        self.platform = Site(self.platform_path, platform_answer, "platform")
        self.harness = None

    # -- the gateway's process
    def command(self):
        return [self.harness_path, self.folder + "/run", self.folder + "/state", str(self.port), self.platform_path, INSTANCE]

    def start(self, expect_ok=True):
        self.log = open(self.folder + "/harness.log", "ab")
        self.harness = subprocess.Popen(
            self.command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        answer = json.loads(self.harness.stdout.readline())
        if expect_ok and not answer["ok"]:
            raise AssertionError(answer)
        return answer

    def tell(self, op, **arguments):
        self.harness.stdin.write(json.dumps({"op": op, **arguments}) + "\n")
        self.harness.stdin.flush()
        return json.loads(self.harness.stdout.readline())

    def stop(self, op="stop"):
        answer = self.tell(op)
        self.harness.wait(30)
        self.close_pipes()
        return answer

    def kill(self):
        self.harness.kill()
        self.harness.wait(30)
        self.close_pipes()

    def close_pipes(self):
        self.harness.stdin.close()
        self.harness.stdout.close()
        self.log.close()
        self.harness = None

    def close(self):
        if self.harness is None:
            self.start(expect_ok=False)
        if self.harness.poll() is None:
            self.stop("down")
        for site in [self.platform, *self.sites.values()]:
            site.close()
        shutil.rmtree(self.folder)

    def haproxy_pid(self):
        with open(self.folder + "/run/haproxy.json") as file:
            return json.load(file)["pid"]

    def kill_haproxy(self):
        os.kill(self.haproxy_pid(), signal.SIGKILL)

    def admin(self, command):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.folder + "/run/admin.sock")
            client.sendall(command.encode() + b"\n")
            answer = b""
            while piece := client.recv(65536):
                answer += piece
            return answer.decode()

    # -- workloads and people
    def add(self, name, owner, answer=None):
        """A workload `name` that answers, and its route (not yet told)."""
        host = f"{name}.localhost"
        number = len(self.sites) + 1
        secret = secrets.token_hex(16)
        site = Site(f"{self.folder}/d{number}.sock", answer, name, secret)
        instance = f"pod-{name}-{number}"
        self.sites[instance] = site
        self.routes[host] = {
            "host": host, "workload": "w-" + name, "upstream": "unix@" + site.path,
            "instance": instance, "secret": secret, "owner": owner,
        }  # fmt: skip
        return site

    def tell_routes(self):
        return self.tell("routes", routes=list(self.routes.values()))

    def session(self, user, host, seconds=3600):
        value = secrets.token_hex(32)
        answer = self.tell("session", hash=hash_of(value), user=user, host=host, seconds=seconds)
        if not answer["ok"]:
            raise AssertionError(answer)
        return value

    # -- requests
    def connect(self, address="127.0.0.1"):
        return socket.create_connection((address, self.port), timeout=15)

    def raw(self, data, address="127.0.0.1"):
        """Sends bytes as they are and reads one answer; status 0 when the gateway just closes."""
        with self.connect(address) as client:
            client.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))
            with client.makefile("rb") as stream:
                return read_response(stream)

    def get(self, host, target="/", cookie=None, method="GET", headers=(), body=b"", address="127.0.0.1"):
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}:{self.port}"]
        lines += [f"{name}: {value}" for name, value in headers]
        if cookie is not None:
            lines.append(f"Cookie: {COOKIE}={cookie}")
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return self.raw("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body, address)

    def open_websocket(self, host, cookie, origin="own", target="/ws"):
        """(socket, stream, response); the caller closes the socket."""
        client = self.connect()
        lines = [
            f"GET {target} HTTP/1.1", f"Host: {host}:{self.port}", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]  # fmt: skip
        if origin == "own":
            origin = f"http://{host}:{self.port}"
        if origin is not None:
            lines.append("Origin: " + origin)
        if cookie is not None:
            lines.append(f"Cookie: {COOKIE}={cookie}")
        client.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        stream = client.makefile("rb")
        first, headers = read_head(stream)
        response = Response(first, headers or Headers(), b"")
        if response.status != 101:
            response.body = read_body(stream, response.headers)
        return client, stream, response


def read_response(stream):
    first, headers = read_head(stream)
    if first is None:
        return Response(None, Headers(), b"")
    response = Response(first, headers, b"")
    if response.status not in (204, 304) and response.status >= 200:
        response.body = read_body(stream, headers)
    return response


def hash_of(value):
    return hashlib.sha256(value.encode()).hexdigest()


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("not within %s s: %s" % (seconds, what))
