#!/usr/bin/python3
"""The house's own rules bite: an undeclared dependency fails the link test, GCC 12 is refused, the checks of layers and documents find what is planted."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from test_parts import Run

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
list(APPEND CMAKE_MODULE_PATH {root}/cmake)
include(Library)
enable_testing()
find_package(Threads REQUIRED)
add_subdirectory(lower)
add_subdirectory(upper)
"""


def run(*command, cwd=None):
    done = subprocess.run([str(word) for word in command], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    return done.returncode, done.stdout


class House(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cubeplane-house-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, path, text):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def small_project(self, deps):
        self.write("CMakeLists.txt", PROJECT.format(root=ROOT))
        self.write("lower/CMakeLists.txt", "cubeplane_library(lower)\n")
        self.write("lower/lower.cc", "int Lower() { return 1; }\n")
        self.write("upper/CMakeLists.txt", f"cubeplane_library(upper {deps})\n")
        self.write("upper/upper.cc", "int Lower();\nint Upper() { return Lower(); }\n")
        code, said = run("cmake", "-G", "Ninja", "-B", "build", "-DCMAKE_CXX_COMPILER=clang++-19", cwd=self.folder)
        self.assertEqual(0, code, said)
        return run("cmake", "--build", "build", "--target", "upper_link_test", cwd=self.folder)

    def test_an_undeclared_dependency_fails_the_link_test(self):
        code, said = self.small_project("")
        self.assertNotEqual(0, code)
        self.assertIn("undefined", said)
        self.assertIn("Lower()", said)

    def test_a_declared_dependency_passes_the_link_test(self):
        code, said = self.small_project("DEPS lower")
        self.assertEqual(0, code, said)

    def test_gcc_12_is_refused_with_the_reason(self):
        """The rule itself, told which compiler it meets: it speaks before anything of the build is set up."""
        def meets(version):
            return run("cmake", "-DCMAKE_CXX_COMPILER_ID=GNU", f"-DCMAKE_CXX_COMPILER_VERSION={version}", "-P", ROOT / "cmake/Toolchain.cmake")
        code, said = meets("12.2.0")
        self.assertNotEqual(0, code)
        self.assertIn("GCC 12.2.0 miscompiles C++20 coroutines", " ".join(said.split()))
        self.assertIn("clang-19", said)
        self.assertNotIn("miscompiles", meets("13.1.0")[1])

    def copy_of_sources(self):
        for name in ("src", "tools", "docs", "cmake"):
            shutil.copytree(ROOT / name, self.folder / name)
        shutil.copy(ROOT / "CMakeLists.txt", self.folder)

    def test_a_folder_that_includes_one_above_it_is_found(self):
        self.copy_of_sources()
        self.assertEqual(0, run(self.folder / "tools/check_layers")[0])
        self.write("src/base/planted.cc", '#include "storage/store.h"\n')
        self.write("src/model/planted.cc", "#include <boost/asio.hpp>\n")
        code, said = run(self.folder / "tools/check_layers")
        self.assertEqual(1, code)
        self.assertIn("base does not declare storage in DEPS", said)
        self.assertIn("which is hidden in http", said)

    def test_a_promise_without_a_check_is_found(self):
        self.copy_of_sources()
        shutil.copytree(ROOT / "tests", self.folder / "tests")
        with open(self.folder / "docs/checks.md", "a", encoding="utf-8") as checks:
            checks.write("| planted | `Nowhere.NoTest` |\n| planted too | words only |\n")
        code, said = run(self.folder / "tools/check_docs")
        self.assertEqual(1, code)
        self.assertIn("Nowhere.NoTest does not exist", said)
        self.assertIn("names no check", said)

    def test_what_is_skipped_has_failed(self):
        tests = Run(False, "/usr", self.folder)
        tests.logs, tests.part = self.folder, "house"
        self.write("skips.py", "import unittest\nclass T(unittest.TestCase):\n    @unittest.skip('no root')\n    def test_a(self):\n        pass\n"
                               "    def test_b(self):\n        pass\nunittest.main()\n")
        tests.unittest("skipped_python", self.folder / "skips.py", {}, 60)
        report = '{"testsuites":[{"testsuite":[{"classname":"T","name":"A","result":"SKIPPED"},{"classname":"T","name":"B","result":"COMPLETED"}]}]}'
        self.write("skips.sh", f"echo '{report}' > ${{1#--gtest_output=json:}}\n")
        tests.gtest("skipped_cpp", ["sh", self.folder / "skips.sh"])
        tests.gtest("without_report", ["true"])
        tests.check("not_there", ["/nonexistent/tool"])
        self.assertEqual([(1, 1), (1, 1), (0, 1), (0, 1)], [(result["passed"], result["failed"]) for result in tests.results])


if __name__ == "__main__":
    unittest.main()
