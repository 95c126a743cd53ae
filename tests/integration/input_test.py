#!/usr/bin/python3
"""Bad input at the command line of a real installation: the path of the field, what was found, what is allowed; nothing stored."""

import json
import re
import unittest

from world import InstallationTest, manifest_job

JOB = {"apiVersion": "cubeplane.io/v1", "kind": "TrainingJob", "metadata": {"name": "a", "project": "demo"},
       "spec": {"command": ["true"], "resources": {"cpu": "500m", "memory": "512Mi"}}}


def changed(path, value):
    job = json.loads(json.dumps(JOB))
    place = job
    *parts, last = path.split(".")
    for part in parts:
        place = place[part]
    place[last] = value
    return json.dumps(job)


class BadInput(InstallationTest):
    def test_each_problem_names_the_field_and_stores_nothing(self):
        table = [
            ("unknown field", changed("spec.imagee", "x"), "spec.imagee"),
            ("wrong unit", changed("spec.resources.memory", "12Qi"), "spec.resources.memory"),
            ("negative", changed("spec.resources.cpu", "-1"), "spec.resources.cpu"),
            ("overflow", changed("spec.resources.memory", "99999999999E"), "spec.resources.memory"),
            ("thousandth of a byte", changed("spec.resources.memory", "128m"), "128Mi"),
            ("name", changed("metadata.name", "Bert_FT"), "bert-ft"),
            ("double hyphen", changed("metadata.name", "a--b"), "metadata.name"),
            ("long name", changed("metadata.name", "a" * 31), "metadata.name"),
            ("type", changed("spec.command", 7), "spec.command"),
            ("gpu", changed("spec.resources.gpu", "two"), "spec.resources.gpu"),
            ("kind", changed("kind", "Pod"), "Pod"),
        ]
        for title, manifest, word in table:
            with self.subTest(title):
                code, out, said = self.plane.cli("apply", "-f", "-", "-p", "demo", stdin=manifest, check=False)
                self.assertEqual((6, ""), (code, out), said)
                self.assertIn(word, said)
        self.assertEqual("[]", json.dumps(json.loads(self.plane.cli("get", "jobs", "-p", "demo", "-o", "json")[1])["items"]))

    def test_what_is_no_yaml_names_line_and_column(self):
        for text in ("a: [1", "a: b: c", "\t- x", "{" * 200, "a: &x [*x]"):
            with self.subTest(text[:10]):
                code, _, said = self.plane.cli("apply", "-f", "-", stdin=text, check=False)
                self.assertEqual(6, code, said)

    def test_a_body_over_the_limit(self):
        code, _, said = self.plane.cli("apply", "-f", "-", stdin="a: " + "x" * (3 << 20), check=False)
        self.assertEqual(6, code, said)

    def test_over_quota_says_the_numbers_and_the_way_out_and_the_way_out_works(self):
        big = json.loads(manifest_job("big", "print(1)"))
        big["kind"] = "Notebook"
        del big["spec"]["command"], big["spec"]["retries"]
        big["spec"]["resources"] = {"cpu": "3", "memory": "1Gi"}
        code, _, said = self.plane.cli("apply", "-f", "-", stdin=json.dumps(big), check=False)
        self.assertEqual(7, code, said)
        for words in ("requested: limits.cpu=3,requests.cpu=3", "used: ", "limited: limits.cpu=2,requests.cpu=2"):
            self.assertIn(words, said)
        fits = re.search(r"Ask for at most limits\.cpu=([\dm]+),requests\.cpu=\1[,;]", said)
        self.assertTrue(fits, said)
        big["spec"]["resources"]["cpu"] = fits.group(1)
        self.plane.cli("apply", "-f", "-", stdin=json.dumps(big))
        self.plane.cli("delete", "notebook/big", "-p", "demo", "--yes")

    def test_a_strangers_project_is_not_found(self):
        code, _, _ = self.plane.cli("get", "project", "none", check=False)
        self.assertEqual(3, code)

    def test_the_same_name_again(self):
        self.plane.cli("submit", "-f", "-", stdin=manifest_job("again", "import time; time.sleep(20)"))
        code, _, said = self.plane.cli("submit", "-f", "-", stdin=manifest_job("again", "print(2)"), check=False)
        self.assertEqual(5, code, said)
        self.plane.cli("stop", "job/again", "-p", "demo")
        self.plane.wait_phase("job", "again", ["stopped"], 60)


if __name__ == "__main__":
    unittest.main()
