#!/usr/bin/python3
"""What a hostile client, page or workload tries at the gateway, as tables. Real HAProxy, real sockets."""

import json
import time
import unittest

from world import COOKIE, World, hash_of

A, B = "nb-a--demo.localhost", "nb-b--demo.localhost"


class Attacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.world.start()
        cls.site_a = cls.world.add("nb-a--demo", "ann")
        cls.site_b = cls.world.add("nb-b--demo", "bob")
        assert cls.world.tell_routes()["ok"]
        cls.ann = cls.world.session("ann", A)
        cls.bob = cls.world.session("bob", B)

    @classmethod
    def tearDownClass(cls):
        cls.world.close()

    def setUp(self):
        self.site_a.seen.clear()
        self.site_b.seen.clear()
        self.world.platform.seen.clear()

    def untouched(self):
        self.assertEqual([], self.site_a.seen)
        self.assertEqual([], self.site_b.seen)

    def refused(self, answer, status, code):
        self.assertEqual((status, code), (answer.status, answer.code), answer.body)
        self.assertEqual("Status", answer.json["kind"])
        self.assertEqual(status, answer.json["code"])
        self.untouched()

    # -- who
    def test_owner_is_let_in_and_sees_only_what_it_may(self):
        answer = self.world.get(A, "/lab?x=1", self.ann)
        self.assertEqual(200, answer.status)
        self.assertEqual("nb-a--demo", answer.json["site"])
        self.assertEqual("/lab?x=1", answer.json["target"])

    def test_sessions_that_do_not_open(self):
        other_user = self.world.session("bob", A)
        other_host = self.world.session("ann", B)
        short = self.world.session("ann", A, seconds=2)
        self.assertEqual(200, self.world.get(A, "/", short).status)
        self.site_a.seen.clear()
        time.sleep(2.1)
        signed_out = self.world.session("ann", A)
        self.assertTrue(self.world.tell("end", hashes=[hash_of(signed_out)])["ok"])
        table = [
            ("no cookie", None, 401, "gateway_no_session"),
            ("empty", "", 401, "gateway_no_session"),
            ("unknown", "0" * 64, 401, "gateway_no_session"),
            ("the stored hash itself", hash_of(self.ann), 401, "gateway_no_session"),
            ("upper case", self.ann.upper() + "X", 401, "gateway_no_session"),
            ("with a tail", self.ann + "0", 401, "gateway_no_session"),
            ("signed out", signed_out, 401, "gateway_no_session"),
            ("another host's session", other_host, 401, "gateway_other_host"),
            ("another user's session", self.bob, 401, "gateway_other_host"),
            ("another user's session of this host", other_user, 403, "gateway_not_owner"),
        ]
        for name, cookie, status, code in table:
            with self.subTest(name):
                self.refused(self.world.get(A, "/api/contents", cookie), status, code)
        # Refused by its time, or swept out already.
        answer = self.world.get(A, "/api/contents", short)
        self.assertIn(answer.code, ("gateway_expired", "gateway_no_session"))
        self.refused(answer, 401, answer.code)

    def test_expiry_that_is_zero_negative_or_huge_is_refused(self):
        # What HAProxy itself makes of such a line, should one ever stand in its map.
        for expiry in ["0", "1", str(int(time.time()) - 1), "-5", "-9223372036854775808", "x", ""]:
            with self.subTest(expiry):
                value = "v" + expiry
                line = f"add map maps/sessions.map {hash_of(value)} ann|{expiry}|{A}"
                self.assertEqual("", self.world.admin(line).strip())
                self.refused(self.world.get(A, "/", value), 401, "gateway_expired")

    # -- cookies
    def test_ambiguous_cookies_are_refused(self):
        good = f"{COOKIE}={self.ann}"
        table = [
            ("twice in one line", [("Cookie", f"{good}; {good}")]),
            ("tossed: foreign first", [("Cookie", f"{COOKIE}=evil; {good}")]),
            ("tossed: foreign last", [("Cookie", f"{good}; {COOKIE}=evil")]),
            ("two lines", [("Cookie", good), ("Cookie", "x=1")]),
            ("two lines, ours second", [("Cookie", "x=1"), ("Cookie", good)]),
        ]
        for name, headers in table:
            with self.subTest(name):
                self.refused(self.world.get(A, headers=headers), 400, "gateway_bad_cookie")

    def test_no_cookie_of_ours_reaches_the_workload(self):
        own = f"{COOKIE}={self.ann}"
        table = [
            (f"{own}; a=1", "a=1"),
            (f"a=1; {own}; b=2", "a=1; b=2"),
            (f"a=1;{own};b=2", "a=1;b=2"),
            (f"a=1; {COOKIE} = {self.ann}; b=2", "a=1; b=2"),
            (f"{own}; {COOKIE}-s-3=abc; {COOKIE}-s-4=def; _xsrf=2|x", "_xsrf=2|x"),
            (f"{own}; __Host-cubeplane-other=zzz; a=1", "a=1"),
            (f"{own}; __host-cubeplane-other=zzz; a=1", "a=1"),
            (own, None),
        ]
        for sent, arrives in table:
            with self.subTest(sent):
                answer = self.world.get(A, headers=[("Cookie", sent)])
                self.assertEqual(200, answer.status, answer.body)
                got = dict(answer.json["headers"]).get("cookie")
                self.assertEqual(arrives, got)
        # Hidden in a value or without a name, it is refused.
        for sent in [f'{own}; a="; __Host-cubeplane-x"', f"{own}; __Host-cubeplane-x"]:
            with self.subTest(sent):
                self.site_a.seen.clear()
                self.refused(self.world.get(A, headers=[("Cookie", sent)]), 400, "gateway_bad_cookie")

    # -- other origins
    def test_foreign_origins(self):
        own, foreign = f"http://{A}:{self.world.port}", f"http://{B}:{self.world.port}"
        site = "Sec-Fetch-Site"
        table = [
            ("POST from a sibling", "POST", [("Origin", foreign)], 403, "gateway_cross_origin_write"),
            ("PUT from elsewhere", "PUT", [("Origin", "https://evil.example")], 403, "gateway_cross_origin_write"),
            ("DELETE, other port", "DELETE", [("Origin", f"http://{A}:1")], 403, "gateway_cross_origin_write"),
            ("PATCH, no port", "PATCH", [("Origin", f"http://{A}")], 403, "gateway_cross_origin_write"),
            ("POST, https", "POST", [("Origin", own.replace("http:", "https:"))], 403, "gateway_cross_origin_write"),
            ("POST, two Origins", "POST", [("Origin", own), ("Origin", foreign)], 403, "gateway_cross_origin_write"),
            ("POST without Origin", "POST", [], 403, "gateway_write_without_origin"),
            ("POST, null Origin", "POST", [("Origin", "null")], 403, "gateway_cross_origin_write"),
            ("POST, null Origin, cross-site", "POST", [("Origin", "null"), (site, "cross-site")], 403, "gateway_cross_origin_write"),
            ("POST, no Origin, same-site", "POST", [(site, "same-site")], 403, "gateway_write_without_origin"),
            ("own Origin, but cross-site", "POST", [("Origin", own), (site, "cross-site")], 403, "gateway_cross_origin_embed"),
            ("CORS fetch", "GET", [("Origin", foreign)], 403, "gateway_cross_origin_read"),
            ("img", "GET", [(site, "cross-site"), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "image")], 403, "gateway_cross_origin_embed"),
            ("script, same-site", "GET", [(site, "same-site"), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "script")], 403, "gateway_cross_origin_embed"),
            ("iframe", "GET", [(site, "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe")], 403, "gateway_cross_origin_embed"),
            ("form POST navigation", "POST", [("Origin", foreign), (site, "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")], 403, "gateway_cross_origin_write"),
            ("preflight", "OPTIONS", [("Origin", foreign), ("Access-Control-Request-Method", "PUT")], 403, "gateway_cross_origin_read"),
            ("own POST", "POST", [("Origin", own)], 200, None),
            ("own POST, browser's word", "POST", [(site, "same-origin")], 200, None),
            ("own form without referrer", "POST", [("Origin", "null"), (site, "same-origin")], 200, None),
            ("link from elsewhere", "GET", [(site, "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")], 200, None),
        ]  # fmt: skip
        for name, method, headers, status, code in table:
            with self.subTest(name):
                self.site_a.seen.clear()
                answer = self.world.get(A, "/api/contents/x", self.ann, method, headers)
                if status == 200:
                    self.assertEqual(200, answer.status, answer.body)
                else:
                    self.refused(answer, status, code)

    def test_websockets(self):
        table = [
            ("sibling's page", self.ann, f"http://{B}:{self.world.port}", 403, "gateway_cross_origin_websocket"),
            ("the platform's page", self.ann, f"http://localhost:{self.world.port}", 403, "gateway_cross_origin_websocket"),
            ("null", self.ann, "null", 403, "gateway_cross_origin_websocket"),
            ("no Origin", self.ann, None, 403, "gateway_cross_origin_websocket"),
            ("no session", None, "own", 401, "gateway_no_session"),
            ("bob's session", self.bob, "own", 401, "gateway_other_host"),
        ]
        for name, cookie, origin, status, code in table:
            with self.subTest(name):
                client, stream, answer = self.world.open_websocket(A, cookie, origin)
                with client, stream:
                    self.refused(answer, status, code)
                    self.assertIsNone(answer.headers.get("set-cookie"))
        client, stream, answer = self.world.open_websocket(A, self.ann)
        with client, stream:
            self.assertEqual(101, answer.status)
            self.assertEqual(b"\x81\x0anb-a--demo", stream.read(12))
            client.sendall(b"ping")
            self.assertEqual(b"ping", stream.read(4))

    # -- shape
    def test_paths(self):
        bad = [
            "/a/../b", "/..", "/a/..", "/./a", "/a/.", "/a//b", "//evil.example/x", "/%2e%2e/x", "/a%2fb", "/a%2Fb", "/a%5cb",
            "/a\\b", "/a/..;/b", "/%2E/x", "/.cubeplane/../lab", "/lab/%2e%2e/.cubeplane/open",
        ]  # fmt: skip
        for path in bad:
            with self.subTest(path):
                self.refused(self.world.get(A, path, self.ann), 400, "gateway_bad_path")
        good = [
            "/", "/a%20b.ipynb", "/.ipynb_checkpoints/x", "/..x", "/a..b", "/a?u=http://x/../y//z%2f", "/%E4%B8%AD",
            "/lab/api/settings/@jupyterlab/apputils-extension:themes", "/a;b", "/100%25",
        ]  # fmt: skip
        for path in good:
            with self.subTest(path):
                answer = self.world.get(A, path, self.ann)
                self.assertEqual((200, path), (answer.status, answer.json.get("target")), answer.body)

    def test_hosts_and_targets(self):
        port = self.world.port
        cookie = f"Cookie: {COOKIE}={self.ann}\r\n"
        table = [
            ("no Host", f"GET / HTTP/1.1\r\n{cookie}\r\n", 400),
            ("two Hosts", f"GET / HTTP/1.1\r\nHost: {A}\r\nHost: {B}\r\n{cookie}\r\n", 400),
            ("HTTP/1.0 without Host", f"GET / HTTP/1.0\r\n{cookie}\r\n", 400),
            ("absolute form", f"GET http://{A}:{port}/ HTTP/1.1\r\nHost: {A}:{port}\r\n{cookie}\r\n", 400),
            ("absolute form, other host", f"GET http://{B}:{port}/ HTTP/1.1\r\nHost: {A}:{port}\r\n{cookie}\r\n", 400),
            ("star", f"OPTIONS * HTTP/1.1\r\nHost: {A}\r\n{cookie}\r\n", 400),
            ("CONNECT", f"CONNECT {A}:80 HTTP/1.1\r\nHost: {A}:80\r\n{cookie}\r\n", 405),
            ("TRACE", f"TRACE / HTTP/1.1\r\nHost: {A}\r\n{cookie}\r\n", 405),
            ("odd Host", f"GET / HTTP/1.1\r\nHost: {A}/x\r\n{cookie}\r\n", 400),
            ("Host with user", f"GET / HTTP/1.1\r\nHost: x@{A}\r\n{cookie}\r\n", 400),
            ("Host with bad port", f"GET / HTTP/1.1\r\nHost: {A}:x\r\n{cookie}\r\n", 400),
            ("trailing dot", f"GET / HTTP/1.1\r\nHost: {A}.\r\n{cookie}\r\n", 404),
            ("below a workload", f"GET / HTTP/1.1\r\nHost: x.{A}\r\n{cookie}\r\n", 404),
            ("prefix of a name", f"GET / HTTP/1.1\r\nHost: nb-a--dem.localhost\r\n{cookie}\r\n", 404),
            ("unknown", f"GET / HTTP/1.1\r\nHost: evil.example\r\n{cookie}\r\n", 404),
            ("127.0.0.1", f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{cookie}\r\n", 404),
            ("[::1]", f"GET / HTTP/1.1\r\nHost: [::1]:{port}\r\n{cookie}\r\n", 400),
            ("HTTP/2 by prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        ]
        for name, data, status in table:
            with self.subTest(name):
                answer = self.world.raw(data)
                self.assertEqual(status, answer.status, answer.body)
                self.untouched()
        self.assertEqual(200, self.world.get(A.upper(), "/", self.ann).status)
        self.assertEqual(200, self.world.get(A, "/", self.ann, address="::1").status)

    def test_smuggling(self):
        head = f"POST /x HTTP/1.1\r\nHost: {A}\r\nOrigin: http://{A}\r\nCookie: {COOKIE}={self.ann}\r\n"
        inner = f"GET /inner HTTP/1.1\r\nHost: {B}\r\nCookie: {COOKIE}={self.bob}\r\n\r\n"
        table = [
            ("CL twice", head + "Content-Length: 0\r\nContent-Length: 5\r\n\r\nhello"),
            ("CL list", head + "Content-Length: 0, 5\r\n\r\nhello"),
            ("CL negative", head + "Content-Length: -1\r\n\r\n"),
            ("CL with plus", head + "Content-Length: +5\r\n\r\nhello"),
            ("TE unknown", head + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
            ("TE twice", head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + inner),
            ("blank before colon", head + "Content-Length : 5\r\n\r\nhello"),
            ("NUL in a header", head + "X-A: a\0b\r\nContent-Length: 0\r\n\r\n"),
            ("bad chunk size", head + "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n"),
            ("folded into the cookie", head + " Cookie: x\r\nContent-Length: 0\r\n\r\n"),
        ]
        for name, data in table:
            with self.subTest(name):
                self.site_a.seen.clear()
                answer = self.world.raw(data)
                smuggled = [seen for seen in self.site_a.seen + self.site_b.seen if "inner" in seen[1]]
                self.assertEqual([], smuggled)
                if answer.status == 200:  # made unambiguous: then nobody got two framings
                    method, target, headers, body = self.site_a.seen[0]
                    framing = headers.all("content-length") + headers.all("transfer-encoding")
                    self.assertEqual(1, len(framing), headers)
                else:
                    self.assertIn(answer.status, (0, 400, 401, 501), answer.body)
        # CL and TE together: TE wins, CL is gone, what follows is never read as a request of the first's rights.
        self.site_a.seen.clear()
        self.world.raw(head + f"Content-Length: {len(inner) + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner)
        for method, target, headers, body in self.site_a.seen:
            self.assertNotIn("inner", target)
            self.assertEqual([], headers.all("content-length"))

    def test_other_upgrades_are_not_tunnels(self):
        headers = [("Upgrade", "h2c"), ("Connection", "Upgrade, HTTP2-Settings"), ("HTTP2-Settings", "AAMAAABkAAQAAP__"),
                   ("Origin", f"http://{A}:{self.world.port}")]  # fmt: skip
        answer = self.world.get(A, "/x", self.ann, headers=headers)
        self.assertEqual(200, answer.status)
        got = dict(answer.json["headers"])
        self.assertNotIn("upgrade", got)
        self.assertNotIn("http2-settings", got.get("connection", ""))

    # -- headers
    def test_headers_of_ours_cannot_be_injected(self):
        mine = [
            ("X-Cubeplane-Door", "evil"), ("x-cubeplane-door", "evil2"), ("X-Cubeplane-User", "root"), ("X_Cubeplane_User", "root"),
            ("X-Cubeplane-Signin", "1"), ("X-Cubeplane-Host", B), ("X-Forwarded-For", "9.9.9.9"), ("X-Forwarded-Proto", "https"),
            ("X-Forwarded-Host", "evil"), ("Forwarded", "for=9.9.9.9"), ("Proxy-Authorization", "Basic x"),
            ("Connection", "X-Cubeplane-Door, X-Cubeplane-User"), ("Authorization", "Bearer cpt_abc"),
        ]  # fmt: skip
        answer = self.world.get(A, "/", self.ann, headers=mine)
        self.assertEqual(200, answer.status, answer.body)
        got = {}
        for name, value in answer.json["headers"]:
            got.setdefault(name, []).append(value)
        self.assertEqual([self.site_a.secret], got["x-cubeplane-door"])
        self.assertEqual(["ann"], got["x-cubeplane-user"])
        self.assertEqual(["http"], got["x-forwarded-proto"])
        self.assertEqual(["127.0.0.1"], got["x-forwarded-for"])
        self.assertEqual([f"{A}:{self.world.port}"], got["host"])
        for name in ["x_cubeplane_user", "x-cubeplane-signin", "x-cubeplane-host", "x-forwarded-host", "forwarded",
                     "proxy-authorization", "authorization"]:  # fmt: skip
            self.assertNotIn(name, got)
        self.assertNotIn("cubeplane", " ".join(got.get("connection", [])).lower())
        own = self.world.get(A, "/", self.ann, headers=[("Authorization", "token abc")])
        self.assertEqual("token abc", dict(own.json["headers"])["authorization"])

    def test_platform_gets_clean_headers(self):
        headers = [("X-Cubeplane-Signin", "1"), ("X-Cubeplane-Host", A), ("X-Forwarded-For", "9.9.9.9"), ("Authorization", "Bearer cpt_abc")]
        answer = self.world.get("localhost", "/api/v1/projects", "platform-session", headers=headers)
        self.assertEqual(200, answer.status)
        got = dict(answer.json["headers"])
        self.assertNotIn("x-cubeplane-signin", got)
        self.assertNotIn("x-cubeplane-host", got)
        self.assertEqual("127.0.0.1", got["x-forwarded-for"])
        self.assertEqual("Bearer cpt_abc", got["authorization"])
        self.assertEqual(f"{COOKIE}=platform-session", got["cookie"])

    def test_platform_and_other_origins(self):
        own, foreign = f"http://localhost:{self.world.port}", f"http://{A}:{self.world.port}"
        table = [
            ("program", "POST", [], 200, None),
            ("own page", "POST", [("Origin", own), ("Sec-Fetch-Site", "same-origin")], 200, None),
            ("notebook's POST", "POST", [("Origin", foreign), ("Sec-Fetch-Site", "cross-site")], 403, "gateway_cross_origin_write"),
            ("notebook's fetch", "GET", [("Origin", foreign)], 403, "gateway_cross_origin_read"),
            ("notebook's img", "GET", [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")], 403, "gateway_cross_origin_embed"),
            ("sign-in path", "GET", [], 404, "gateway_unknown_path"),
        ]
        for name, method, headers, status, code in table:
            with self.subTest(name):
                target = "/.cubeplane/callback?code=x" if name == "sign-in path" else "/api/v1/projects"
                answer = self.world.get("localhost", target, "p", method, headers)
                self.assertEqual((status, code), (answer.status, answer.code if status != 200 else None), answer.body)
        client, stream, answer = self.world.open_websocket("localhost", "p", foreign)
        with client, stream:
            self.assertEqual(403, answer.status)

    # -- the sign-in
    def test_signin_paths_reach_the_platform_marked(self):
        answer = self.world.get(A, "/.cubeplane/callback?code=c&state=s", headers=[("X-Cubeplane-Host", B), ("Authorization", "x")])
        self.assertEqual(200, answer.status)
        got = dict(answer.json["headers"])
        self.assertEqual(("platform", "1", A), (answer.json["site"], got["x-cubeplane-signin"], got["x-cubeplane-host"]))
        self.assertNotIn("authorization", got)
        own = [("Origin", f"http://{A}:{self.world.port}")]
        self.assertEqual(200, self.world.get(A, "/.cubeplane/open", method="POST", headers=own).status)
        table = [
            ("GET", "/.cubeplane", [], 404, "gateway_unknown_path"),
            ("GET", "/.cubeplane/", [], 404, "gateway_unknown_path"),
            ("GET", "/.cubeplane/admin", [], 404, "gateway_unknown_path"),
            ("GET", "/.cubeplanex", [], 404, "gateway_unknown_path"),
            ("PUT", "/.cubeplane/open", own, 405, "gateway_bad_method"),
            ("POST", "/.cubeplane/open", [], 403, "gateway_write_without_origin"),
            ("POST", "/.cubeplane/signout", [("Origin", f"http://{B}:{self.world.port}")], 403, "gateway_cross_origin_write"),
            ("GET", "/%2ecubeplane/open", [], 400, "gateway_bad_path"),
        ]
        for method, target, headers, status, code in table:
            with self.subTest(method + " " + target):
                self.refused(self.world.get(A, target, self.ann, method, headers), status, code)

    def test_only_pages_are_redirected(self):
        html = [("Accept", "text/html,*/*")]
        page = html + [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"), ("Sec-Fetch-Site", "none")]
        for headers in [html, page]:
            answer = self.world.get(A, "/lab/tree/a%20b?x=1&y=//z", headers=headers)
            self.assertEqual(302, answer.status)
            state = answer.headers.get("set-cookie").split("=")[1].split(";")[0]
            self.assertRegex(state, "^[0-9a-f]{64}$")
            self.assertEqual(
                f"http://localhost:{self.world.port}/authorize?host={A}&state={state}"
                "&next=%2Flab%2Ftree%2Fa%2520b%3Fx%3D1%26y%3D%2F%2Fz",
                answer.headers.get("location"),
            )
            self.assertEqual(
                f"{COOKIE}-s-{state[0]}={state}; Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax",
                answer.headers.get("set-cookie"),
            )
            self.assertEqual("no-store", answer.headers.get("cache-control"))
        for headers in [
            [("Accept", "application/json")],
            [("Accept", "*/*")],
            html + [("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty"), ("Sec-Fetch-Site", "same-origin")],
            html + [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe"), ("Sec-Fetch-Site", "same-origin")],
        ]:
            answer = self.world.get(A, "/lab", headers=headers)
            self.assertEqual(401, answer.status)
            self.assertIsNone(answer.headers.get("set-cookie"))
        # Not the owner: said, not sent round in circles. In the language of the browser.
        mine = self.world.session("bob", A)
        answer = self.world.get(A, "/lab", mine, headers=page + [("Accept-Language", "zh-CN,zh;q=0.9")])
        self.assertEqual(403, answer.status)
        self.assertIn("text/html", answer.headers.get("content-type"))
        self.assertIn("只有所有者", answer.body.decode())

    def test_states_differ_and_flows_are_bounded(self):
        names, states = set(), set()
        for _ in range(100):
            cookie = self.world.get(A, "/lab", headers=[("Accept", "text/html")]).headers.get("set-cookie")
            name, _, rest = cookie.partition("=")
            names.add(name)
            states.add(rest.split(";")[0])
        self.assertEqual(100, len(states))
        self.assertLessEqual(len(names), 16)

    def test_long_addresses_do_not_break_the_redirect(self):
        answer = self.world.get(A, "/lab?x=" + "%E4" * 3000, headers=[("Accept", "text/html")])
        self.assertEqual(302, answer.status)
        self.assertTrue(answer.headers.get("location").endswith("&next=%2F"))

    # -- a hostile workload
    def test_answers_of_a_workload_are_tamed(self):
        def hostile(site, method, target, headers, body):
            return 200, [
                ("Set-Cookie", f"{COOKIE}=evil; Path=/; Secure"),
                ("Set-Cookie", f"  {COOKIE}-s-1=evil; Path=/"),
                ("Set-Cookie", f"__host-CUBEPLANE-x=evil"),
                ("Set-Cookie", f"={COOKIE}=evil"),
                ("Set-Cookie", "a=1; Domain=localhost; Path=/"),
                ("Set-Cookie", "b=1; domain = .localhost"),
                ("Set-Cookie", "c=1; Domain=x; Domain=localhost; Secure"),
                ("Set-Cookie", "d=1; Domain=x; Domain=y; Domain=localhost"),
                ("Set-Cookie", "e=domain; Path=/"),
                ("Access-Control-Allow-Origin", "*"),
                ("Access-Control-Allow-Credentials", "true"),
                ("Clear-Site-Data", '"*"'),
                ("Strict-Transport-Security", "max-age=9"),
                ("Alt-Svc", 'h2=":1"'),
                ("Cross-Origin-Opener-Policy", "unsafe-none"),
                ("Cross-Origin-Resource-Policy", "cross-origin"),
                ("Content-Security-Policy", "frame-ancestors *"),
            ], b"x"  # fmt: skip

        self.site_a.answer = hostile
        self.addCleanup(setattr, self.site_a, "answer", type(self.site_a).echo)
        answer = self.world.get(A, "/", self.ann)
        self.assertEqual(200, answer.status)
        cookies = answer.headers.all("set-cookie")
        self.assertEqual(["a=1; Path=/", "b=1", "c=1; Secure", "e=domain; Path=/"],
                         [c for c in cookies if not c.startswith("blocked=")])  # fmt: skip
        self.assertEqual(9, len(cookies))
        for name in ["access-control-allow-origin", "access-control-allow-credentials", "clear-site-data",
                     "strict-transport-security", "alt-svc"]:  # fmt: skip
            self.assertIsNone(answer.headers.get(name), name)
        self.assertEqual(["same-origin"], answer.headers.all("cross-origin-resource-policy"))
        self.assertEqual(["same-origin-allow-popups"], answer.headers.all("cross-origin-opener-policy"))
        self.assertIn("frame-ancestors 'self'", answer.headers.all("content-security-policy"))
        self.assertIn("private", answer.headers.all("cache-control"))

    def test_own_errors_of_a_workload_pass(self):
        self.site_a.answer = lambda *_: (503, [("Content-Type", "application/json")], b'{"mine":1}')
        self.addCleanup(setattr, self.site_a, "answer", type(self.site_a).echo)
        answer = self.world.get(A, "/", self.ann, headers=[("Accept", "text/html")])
        self.assertEqual((503, {"mine": 1}, "application/json"), (answer.status, answer.json, answer.headers.get("content-type")))

    def test_slow_and_large_requests_have_a_bound(self):
        answer = self.world.get(A, "/", self.ann, headers=[("X-Big", "x" * 40000)])
        self.assertIn(answer.status, (400, 431))
        self.untouched()
        answer = self.world.get(A, "/", self.ann, headers=[("Cookie2", "x" * 12000)])
        self.assertEqual(200, answer.status)

    def test_routes_with_odd_text_are_refused_and_harm_no_other(self):
        good = dict(self.world.routes[A])
        table = [
            ("host", f"x.localhost {A}"), ("host", "x.localhost\nadd map"), ("host", "UP.localhost"), ("host", "localhost"),
            ("host", "a.example"), ("owner", "ann|bob"), ("owner", "a b"), ("owner", "a;shutdown"), ("owner", ""),
            ("upstream", "unix@/x\nshow info"), ("upstream", "127.0.0.1:22"), ("upstream", "unix@relative"),
            ("upstream", "unix@" + self.world.folder + "/run/admin.sock"), ("upstream", "unix@" + self.world.platform_path),
            ("upstream", "unix@" + self.world.folder + "/run/../run/admin.sock"), ("instance", "a/b"), ("instance", "x y"),
            ("secret", "short"), ("secret", "x" * 20 + "; y"),
        ]  # fmt: skip
        for field, value in table:
            with self.subTest(f"{field}={value!r}"):
                bad = {**good, "host": "bad--demo.localhost", field: value}
                answer = self.world.tell("routes", routes=[bad, *self.world.routes.values()])
                self.assertEqual((False, "Invalid"), (answer["ok"], answer["code"]))
                self.assertEqual(200, self.world.get(A, "/", self.ann).status)
                self.assertEqual(404, self.world.get("bad--demo.localhost", "/", self.ann).status)
        answer = self.world.tell("routes", routes=[*self.world.routes.values(), {**good, "instance": "other"}])
        self.assertEqual((False, "Invalid"), (answer["ok"], answer["code"]))
        self.assertIn("two workloads", answer["message"])
        self.assertTrue(self.world.tell_routes()["ok"])
        self.assertEqual("nb-a--demo", self.world.get(A, "/", self.ann).json["site"])


if __name__ == "__main__":
    unittest.main()
