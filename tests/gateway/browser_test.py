#!/usr/bin/python3
"""A real Chromium as the person, a notebook's page as the attacker.

The person is signed in on the platform and on two notebooks, `a` and `b`. The page of `a` turns hostile and tries everything a page can
try at `b` and at the platform. What the upstreams have seen decides.
"""

import secrets
import unittest
import urllib.parse

from chromium import Chromium
from world import COOKIE, World

A, B, C = "nb-a--demo.localhost", "nb-b--demo.localhost", "nb-c--demo.localhost"


class Platform:
    """The sign-in as the README's contract says it, small: whoever has a platform session is `ann`."""

    def __init__(self):
        self.sessions, self.codes, self.world = set(), {}, None

    def __call__(self, site, method, target, headers, body):
        url = urllib.parse.urlsplit(target)
        query = dict(urllib.parse.parse_qsl(url.query))
        cookies = dict(part.strip().split("=", 1) for part in (headers.get("cookie") or "").split(";") if "=" in part)
        if headers.get("x-cubeplane-signin") == "1":
            return self.on_workload(url.path, query, headers, cookies)
        if url.path == "/login":
            value = secrets.token_hex(32)
            self.sessions.add(value)
            return self.page("signed in", [("Set-Cookie", f"{COOKIE}={value}; Path=/; Secure; HttpOnly; SameSite=Lax")])
        if cookies.get(COOKIE) not in self.sessions:
            return 401, [("Content-Type", "text/html")], "log in first"
        if url.path == "/authorize":
            code = secrets.token_hex(16)
            self.codes[code] = (query["host"], query["state"], query["next"])
            port = headers.get("host").partition(":")[2]
            location = f"http://{query['host']}:{port}/.cubeplane/callback?code={code}&state={query['state']}"
            return 303, [("Location", location)], ""
        return self.page("platform " + url.path)

    def on_workload(self, path, query, headers, cookies):
        host, state, target = self.codes.pop(query.get("code"), (None, None, None))
        own = headers.get("x-cubeplane-host")
        if path != "/.cubeplane/callback" or host != own or state != query["state"] or cookies.get(f"{COOKIE}-s-{state[0]}") != state:
            return 400, [], "start again"
        value = self.world.session("ann", own)
        return 303, [
            ("Location", target),
            ("Set-Cookie", f"{COOKIE}={value}; Path=/; Max-Age=28800; Secure; HttpOnly; SameSite=Lax"),
            ("Set-Cookie", f"{COOKIE}-s-{state[0]}=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax"),
            ("Cache-Control", "no-store"),
        ], ""  # fmt: skip

    @staticmethod
    def page(text, headers=()):
        return 200, [("Content-Type", "text/html"), *headers], f"<!doctype html><title>{text}</title><body>{text}</body>"


def notebook(site, method, target, headers, body):
    """A page, with what a careless or hostile upstream adds."""
    return 200, [("Content-Type", "text/html"), ("Access-Control-Allow-Origin", "*")], (
        f"<!doctype html><title>{site.name}</title><body>secret of {site.name}</body>")


# Each attack gives a word; `$B` is the victim's origin. An attack that throws gives "threw".
ATTACKS = {
    "fetch with cookies": "fetch('$B/api/contents', {credentials: 'include'}).then(r => r.text())",
    "fetch no-cors": "fetch('$B/api/contents', {credentials: 'include', mode: 'no-cors'}).then(r => r.type)",
    "fetch POST simple": "fetch('$B/api/kernels', {method: 'POST', credentials: 'include', mode: 'no-cors', body: 'x'}).then(r => r.type)",
    "fetch PUT json": "fetch('$B/api/contents/x', {method: 'PUT', credentials: 'include', headers: {'Content-Type': 'application/json'}, body: '{}'}).then(r => r.status)",
    "fetch DELETE": "fetch('$B/api/contents/x', {method: 'DELETE', credentials: 'include'}).then(r => r.status)",
    "no referrer": "fetch('$B/api/kernels', {method: 'POST', credentials: 'include', mode: 'no-cors', referrerPolicy: 'no-referrer', body: 'x'}).then(r => r.type)",
    "beacon": "String(navigator.sendBeacon('$B/api/kernels', 'x'))",
    "websocket": "new Promise(done => { const w = new WebSocket('$B/api/kernels/1/channels'.replace('http:', 'ws:'));"
                 " w.onopen = () => { w.send('x'); done('open'); }; w.onerror = () => done('error'); })",
    "event source": "new Promise(done => { const e = new EventSource('$B/events', {withCredentials: true});"
                    " e.onopen = () => done('open'); e.onerror = () => { e.close(); done('error'); }; })",
    "image": "new Promise(done => { const i = new Image(); i.onload = () => done('load'); i.onerror = () => done('error'); i.src = '$B/x.png'; })",
    "script": "element('script', 'src', '$B/x.js')",
    "stylesheet": "element('link', 'href', '$B/x.css', {rel: 'stylesheet'})",
    "module": "import('$B/x.mjs').then(() => 'load', () => 'error')",
    "prefetch": "element('link', 'href', '$B/next', {rel: 'prefetch'})",
    "object": "element('object', 'data', '$B/x')",
    "video": "new Promise(done => { const v = document.createElement('video'); v.onloadeddata = () => done('load');"
             " v.onerror = () => done('error'); v.src = '$B/x.mp4'; document.body.append(v); })",
    "iframe": "new Promise(done => { const f = document.createElement('iframe'); f.onload = () => { let text = 'hidden';"
              " try { text = f.contentDocument.body.innerText } catch (e) {} done(text); }; f.src = '$B/lab'; document.body.append(f); })",
    "form POST in a frame": "new Promise(done => { const f = document.createElement('iframe'); f.name = 'f' + Math.random(); document.body.append(f);"
                            " const form = document.createElement('form'); form.method = 'POST'; form.action = '$B/api/kernels'; form.target = f.name;"
                            " document.body.append(form); f.onload = () => done('loaded'); form.submit(); })",
    "form GET in a frame": "new Promise(done => { const f = document.createElement('iframe'); f.name = 'g' + Math.random(); document.body.append(f);"
                           " const form = document.createElement('form'); form.action = '$B/api/kernels'; form.target = f.name;"
                           " document.body.append(form); f.onload = () => done('loaded'); form.submit(); })",
    "worker": "new Promise(done => { try { const w = new Worker('$B/w.js'); w.onerror = () => done('error'); } catch (e) { done('threw'); } })",
    "tossed cookies": "(document.cookie = '$COOKIE=evil; Domain=localhost; Path=/; Secure', document.cookie = 'toss=1; Domain=localhost; Path=/',"
                      " document.cookie = 'toss=1; Domain=.localhost', 'done')",
}
HELPERS = """
window.element = (tag, attribute, url, more = {}) => new Promise(done => {
  const e = Object.assign(document.createElement(tag), more);
  e.onload = () => done('load'); e.onerror = () => done('error');
  e[attribute] = url; document.body.append(e); setTimeout(() => done('nothing'), 1500);
}); 'ready'
"""


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.platform = Platform()
        cls.world = cls.platform.world = World(cls.platform)
        cls.addClassCleanup(cls.world.close)
        cls.world.start()
        cls.site_a = cls.world.add("nb-a--demo", "ann", notebook)
        cls.site_b = cls.world.add("nb-b--demo", "ann", notebook)
        cls.site_c = cls.world.add("nb-c--demo", "cat", notebook)
        assert cls.world.tell_routes()["ok"]
        cls.browser = Chromium()
        cls.addClassCleanup(cls.browser.close)

    def origin(self, host):
        return f"http://{host}:{self.world.port}"

    def signed_in(self):
        page = self.browser.new_page()
        page.go(self.origin("localhost") + "/login")
        for host in [A, B]:
            self.assertEqual(self.origin(host) + "/lab?x=1", page.go(self.origin(host) + "/lab?x=1"))
        return page

    def test_signing_in_by_redirect_over_plain_http(self):
        page = self.browser.new_page()
        # Nobody yet: the platform is asked, and asks for a log-in.
        self.assertTrue(page.go(self.origin(A) + "/lab").startswith(self.origin("localhost") + "/authorize?host=" + A))
        self.assertIn("log in first", page.run("document.body.innerText"))
        page.go(self.origin("localhost") + "/login")
        self.assertEqual(self.origin(A) + "/lab/tree/a%20b?x=1&y=2", page.go(self.origin(A) + "/lab/tree/a%20b?x=1&y=2"))
        self.assertEqual("secret of nb-a--demo", page.run("document.body.innerText"))
        # The session's cookie: of this host only, out of reach of the page; the flow's cookie is gone.
        cookies = {(c["domain"], c["name"]): c for c in page.cookies() if c["domain"] == A}
        session = cookies[(A, COOKIE)]
        self.assertTrue(session["httpOnly"] and session["secure"] and session["sameSite"] == "Lax" and session["path"] == "/")
        self.assertEqual([], [name for _, name in cookies if "-s-" in name and name.startswith(COOKIE) and name in page.run("document.cookie")])
        self.assertNotIn("cubeplane", page.run("document.cookie"))
        self.assertTrue(page.run("isSecureContext"))
        # Its own WebSocket and its own requests pass.
        own = "new Promise(d => { const w = new WebSocket('ws://' + location.host + '/ws'); w.onmessage = m => d(m.data); w.onerror = () => d('error'); })"
        self.assertEqual("nb-a--demo", page.run(own))
        self.assertEqual(200, page.run("fetch('/api/x', {method: 'PUT', body: '{}'}).then(r => r.status)"))
        self.assertEqual(200, page.run("fetch('/api/x').then(r => r.status)"))
        # Another person's notebook: a page that says so, and no way round in circles.
        page.go(self.origin(C) + "/lab")
        self.assertEqual([], self.site_c.seen)

    def test_two_flows_at_once_both_end_well(self):
        first = self.browser.new_page()
        first.go(self.origin("localhost") + "/login")
        second = self.browser.page_in(first.context)
        first.call("Page.navigate", url=self.origin(A) + "/one")
        second.call("Page.navigate", url=self.origin(B) + "/two")
        self.assertEqual(self.origin(A) + "/one", first.settle())
        self.assertEqual(self.origin(B) + "/two", second.settle())

    def test_hostile_page_reaches_neither_a_sibling_nor_the_platform(self):
        for victim, site in [(self.origin(B), self.site_b), (self.origin("localhost"), self.world.platform)]:
            page = self.signed_in()
            page.go(self.origin(A) + "/evil")
            page.run(HELPERS)
            site.seen.clear()
            for name, attack in ATTACKS.items():
                with self.subTest(victim=victim, attack=name):
                    code = attack.replace("$B", victim).replace("$COOKIE", COOKIE)
                    guarded = (f"Promise.race([(async () => {{ try {{ return await ({code}) }} catch (e) {{ return 'threw' }} }})(),"
                               " new Promise(d => setTimeout(() => d('late'), 4000))])")  # fmt: skip
                    word = str(page.run(guarded))
                    self.assertNotIn("secret", word)
                    self.assertNotIn(word, ("open", "load", "200"))
                    self.assertEqual([], site.seen)
            # The victim still works for its own page, without a foreign cookie.
            page.go(victim + "/lab?x=1")
            own = [seen for seen in site.seen if seen[1] == "/lab?x=1"]
            self.assertEqual(1, len(own), site.seen)
            self.assertNotIn("toss", str(own[0][2].get("cookie")))

    def test_form_post_and_window_from_a_hostile_page(self):
        page = self.signed_in()
        page.go(self.origin(A) + "/evil")
        self.site_b.seen.clear()
        # A window of the victim: it opens (a link would, too), but cannot be read.
        script = f"""(async () => {{ const w = window.open('{self.origin(B)}/lab?opened'); await new Promise(d => setTimeout(d, 2000));
            try {{ return w.document.body.innerText }} catch (e) {{ return 'closed: ' + w.closed + ' ' + e.name }} }})()"""
        self.assertNotIn("secret", str(page.run(script)))
        self.assertTrue(all(method == "GET" for method, *_ in self.site_b.seen), self.site_b.seen)
        self.site_b.seen.clear()
        for policy in ["", "no-referrer"]:
            page.go(self.origin(A) + "/evil")
            page.run(f"""(() => {{ const m = document.createElement('meta'); m.name = 'referrer'; m.content = '{policy}';
                if ('{policy}') document.head.append(m);
                const f = document.createElement('form'); f.method = 'POST'; f.action = '{self.origin(B)}/api/kernels';
                f.enctype = 'text/plain'; document.body.append(f); f.submit(); return 1 }})()""")
            self.assertEqual(self.origin(B) + "/api/kernels", page.settle())
            self.assertIn("Forbidden", page.run("document.body.innerText"))
            # The refusal's own page may ask for its icon.
            self.assertEqual([], [seen for seen in self.site_b.seen if seen[1] != "/favicon.ico"])

    def test_a_workload_cannot_plant_cookies_or_open_itself(self):
        def planting(site, method, target, headers, body):
            return 200, [("Content-Type", "text/html"), ("Set-Cookie", f"{COOKIE}-x=1; Path=/; Secure"),
                         ("Set-Cookie", "wide=1; Domain=localhost; Path=/")], "<body>planted</body>"  # fmt: skip

        page = self.signed_in()
        self.site_a.answer = planting
        self.addCleanup(setattr, self.site_a, "answer", notebook)
        page.go(self.origin(A) + "/plant")
        names = [(c["domain"], c["name"]) for c in page.cookies()]
        self.assertNotIn(f"{COOKIE}-x", [name for _, name in names])
        self.assertNotIn((".localhost", "wide"), names)
        self.assertNotIn(("localhost", "wide"), names)
        # Still signed in.
        self.assertEqual(self.origin(A) + "/again", page.go(self.origin(A) + "/again"))


if __name__ == "__main__":
    unittest.main()
