#!/usr/bin/python3
"""A real JupyterLab behind the gateway, in a real Chromium: the page loads, a cell runs, nothing that Jupyter asks for is refused.

Needs CUBEPLANE_ENVIRONMENT, the folder of env:default. Run by hand: python3 tests/gateway/jupyter_check.py
"""

import glob
import json
import os
import subprocess
import time
import unittest

import browser_test
from chromium import Chromium
from world import World, wait_until

HOST = "nb-j--demo.localhost"
CELL = {"cell_type": "code", "id": "x", "metadata": {}, "source": "print(6 * 7)", "outputs": [], "execution_count": None}
NOTEBOOK = {
    "cells": [CELL], "nbformat": 4, "nbformat_minor": 5,
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}},
}  # fmt: skip


class Jupyter(unittest.TestCase):
    def setUp(self):
        platform = browser_test.Platform()
        self.world = platform.world = World(platform)
        self.addCleanup(self.world.close)
        self.world.start()
        self.home = self.world.folder + "/home"
        os.makedirs(self.home + "/d")
        with open(self.home + "/a b.ipynb", "w") as file:
            json.dump(NOTEBOOK, file)
        with open(self.home + "/d/100%.txt", "w") as file:
            file.write("hi")
        self.start_jupyter()

    def start_jupyter(self):
        packages = glob.glob(os.environ["CUBEPLANE_ENVIRONMENT"] + "/lib/python3*/site-packages")[0]
        share = os.environ["CUBEPLANE_ENVIRONMENT"] + "/share/jupyter"
        door = self.world.folder + "/jupyter.sock"
        self.origin = f"http://{HOST}:{self.world.port}"
        self.output = open(self.world.folder + "/jupyter.log", "wb")
        self.addCleanup(self.output.close)
        self.jupyter = subprocess.Popen(
            ["/usr/bin/python3", "-m", "jupyterlab", "--allow-root", "--no-browser", "--ServerApp.sock=" + door,
             "--IdentityProvider.token=", "--ServerApp.password=", "--ServerApp.allow_remote_access=True",
             "--ServerApp.allow_origin=" + self.origin, "--ServerApp.root_dir=" + self.home, f"--LabApp.app_dir={share}/lab"],
            env={**os.environ, "PYTHONPATH": packages, "HOME": self.home, "JUPYTER_PATH": share},
            stdout=self.output, stderr=subprocess.STDOUT, cwd=self.home,
        )  # fmt: skip
        self.addCleanup(self.jupyter.wait)
        self.addCleanup(self.jupyter.terminate)
        wait_until(lambda: os.path.exists(door), 90, "JupyterLab listens")
        self.world.routes[HOST] = {"host": HOST, "workload": "w", "upstream": "unix@" + door, "instance": "pod-j",
                                   "secret": "0123456789abcdef0123", "owner": "ann"}  # fmt: skip
        self.assertTrue(self.world.tell_routes()["ok"])

    def test_notebook_opens_and_a_cell_runs(self):
        browser = Chromium()
        self.addCleanup(browser.close)
        page = browser.new_page()
        page.call("Network.enable")
        page.go(f"http://localhost:{self.world.port}/login")
        page.go(self.origin + "/lab/tree/a%20b.ipynb")
        ready = "!!document.querySelector('.jp-Cell .cm-content') && document.body.innerText.includes('Idle')"
        self.until(page, ready, 90)
        page.run("document.querySelector('.jp-Cell .cm-content').focus()")
        for kind in ["keyDown", "keyUp"]:
            page.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, modifiers=8,
                      **({"text": "\r"} if kind == "keyDown" else {}))  # fmt: skip
        self.until(page, "[...document.querySelectorAll('.jp-OutputArea-output')].some(e => e.innerText.trim() == '42')", 60)
        self.assertEqual(200, page.run("fetch('/api/contents/d/100%25.txt').then(r => r.status)"))
        sockets, refused, count = [], [], 0
        for event in browser.events:
            if event.get("method") == "Network.webSocketHandshakeResponseReceived":
                sockets.append(event["params"]["response"]["status"])
            if event.get("method") == "Network.responseReceived" and event["params"]["response"]["url"].startswith(self.origin):
                count += 1
                if event["params"]["response"]["status"] in (400, 401, 403, 502, 503, 504):
                    refused.append(event["params"]["response"]["url"])
        self.assertGreater(count, 20)
        self.assertEqual([], refused)
        self.assertIn(101, sockets)

    def until(self, page, expression, seconds):
        deadline = time.monotonic() + seconds
        while not page.run(expression):
            self.assertLess(time.monotonic(), deadline, page.run("document.body.innerText.slice(0, 500)"))
            time.sleep(0.3)


if __name__ == "__main__":
    unittest.main()
