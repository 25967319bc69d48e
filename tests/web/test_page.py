#!/usr/bin/env python3
"""The page of an operator (/ui) in Chromium: page.test.mjs has the tests, this starts them.

Needs node 20, npm and chromium; what the tests need of npm is installed into a folder of the cache
(XDG_CACHE_HOME, else ~/.cache), as package-lock.json names it. Where a tool is missing the tests skip and
name it; where HALOGRAPH_NEED_TOOLS is 1 they fail.
  HALOGRAPH_UI_URL=http://127.0.0.1:9100/ui   tests the page of a server that runs
  HALOGRAPH_SHOTS=FOLDER                      takes pictures of the page, too
"""
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from harness import programs
from harness.tools import missing, tool

HERE = pathlib.Path(__file__).resolve().parent
OLDEST_NODE = 20
BROWSERS = ("chromium", "chromium-browser")


def node():
    path = tool("node", package="nodejs")
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    major = int(re.match(r"v(\d+)", done.stdout).group(1))
    if major < OLDEST_NODE:
        missing(f"node is {done.stdout.strip()}; the tests need {OLDEST_NODE}")
    return path


def web_tools():
    """A folder with what package-lock.json names, for this and later runs."""
    npm = tool("npm", package="npm")
    lock = (HERE / "package-lock.json").read_bytes()
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / "halograph" / f"web-{hashlib.sha256(lock).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "installed"
    with open(folder / "lock", "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)  # one installs, others wait
        if not done.exists():
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / name, folder / name)
            command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
            try:
                result = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        timeout=programs.PATIENCE, check=False)
            except subprocess.TimeoutExpired:
                missing(f"npm gave no packages within {programs.PATIENCE:.0f} s")
            if result.returncode != 0:
                missing(f"npm could not install its packages: {result.stdout.strip()[:300]}")
            done.touch()
    return folder


class PageTest(unittest.TestCase):
    def test_in_chromium(self):
        environment = {**os.environ, "HALOGRAPH_CHROMIUM": tool(*BROWSERS, package="chromium"),
                       "HALOGRAPH_WEB_TOOLS": str(web_tools()),
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
