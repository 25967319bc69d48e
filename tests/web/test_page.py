#!/usr/bin/env python3
"""The page of an operator (/ui) in Chromium: page.test.mjs has the tests, this starts them.

Needs node 20, npm and chromium; what the tests need of npm is installed into a folder of the cache
(XDG_CACHE_HOME, else ~/.cache), as package-lock.json names it. Where a tool is missing the tests skip and
name it; where HALOGRAPH_NEED_TOOLS is 1 they fail.
  HALOGRAPH_UI_URL=http://127.0.0.1:9100/ui   tests the page of a server that runs
  HALOGRAPH_SHOTS=FOLDER                      takes pictures of the page, too
"""
import os
import pathlib
import re
import subprocess
import unittest

from harness import programs
from harness.node_tools import node, node_packages
from harness.tools import tool

HERE = pathlib.Path(__file__).resolve().parent
BROWSERS = ("chromium", "chromium-browser")


class PageTest(unittest.TestCase):
    def test_in_chromium(self):
        environment = {**os.environ, "HALOGRAPH_CHROMIUM": tool(*BROWSERS, package="chromium"),
                       "HALOGRAPH_WEB_TOOLS": str(node_packages(HERE)),
                       "HALOGRAPH_WEB_PAGE": programs.binary("web_page")}
        done = subprocess.run([node(), "--test", "--test-reporter=spec", str(HERE / "page.test.mjs")],
                              env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout, flush=True)
        self.assertEqual(0, done.returncode, "what failed stands above")
        passed = re.search(r"^ℹ pass (\d+)$", done.stdout, re.M)
        self.assertTrue(passed and int(passed.group(1)) > 0, "no test ran")


if __name__ == "__main__":
    programs.main()
