"""Node and packages of npm, as a package-lock.json beside a test names them."""
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

from harness import programs
from harness.tools import missing, tool

OLDEST_NODE = 20


def node():
    path = tool("node", package="nodejs")
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    major = int(re.match(r"v(\d+)", done.stdout).group(1))
    if major < OLDEST_NODE:
        missing(f"node is {done.stdout.strip()}; the tests need {OLDEST_NODE}")
    return path


def node_packages(folder):
    """A folder of the cache with what the package-lock.json of `folder` names, for this and later runs."""
    npm = tool("npm", package="npm")
    lock = (folder / "package-lock.json").read_bytes()
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    kept = cache / "halograph" / f"{folder.name}-{hashlib.sha256(lock).hexdigest()[:16]}"
    kept.mkdir(parents=True, exist_ok=True)
    done = kept / "installed"
    with open(kept / "lock", "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)  # one installs, others wait
        if not done.exists():
            for name in ("package.json", "package-lock.json"):
                shutil.copy(folder / name, kept / name)
            command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(kept)]
            try:
                result = subprocess.run(command, cwd=kept, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        timeout=programs.PATIENCE, check=False)
            except subprocess.TimeoutExpired:
                missing(f"npm gave no packages within {programs.PATIENCE:.0f} s")
            if result.returncode != 0:
                missing(f"npm could not install its packages: {result.stdout.strip()[:300]}")
            done.touch()
    return kept
