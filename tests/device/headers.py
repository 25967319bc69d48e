#!/usr/bin/env python3
"""Compiles all that includes libtorch against the headers of another libtorch, syntax only: what a
machine without that libtorch can show.

Usage: tests/device/headers.py BUILD INCLUDE
    BUILD     a configured build folder: its compile_commands.json says how things are compiled
    INCLUDE   the folder that has torch/, ATen/ and c10/; of a package: dpkg-deb -x
              libtorch-dev_*.deb ROOT, and libgloo-dev_*.deb, then ROOT/usr/include

Prints a line a source. Exit code: 0 all compile, 1 some do not, 2 wrong usage.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

OWN = "torch/csrc/api/include"  # below INCLUDE; a source whose command names it includes libtorch
WITH_VALUE = ("-o", "-MT", "-MF")
ALONE = ("-c", "-MD", "-Winvalid-pch")


def syntax_only(command, include):
    """The command without what it writes, precompiled headers, and libtorch of before."""
    words = iter(shlex.split(command))
    compiler = next(words)
    if compiler.endswith("ccache"):
        compiler = next(words)
    kept = [compiler, "-fsyntax-only", "-isystem", str(include / OWN), "-isystem", str(include)]
    for word in words:
        if word in WITH_VALUE:
            next(words)
        elif word in ("-include", "-isystem"):
            value = next(words)
            if "cmake_pch" not in value and not value.endswith(OWN):
                kept += [word, value]
        elif word not in ALONE:
            kept.append(word)
    return kept


def compiles(entry, include):
    run = subprocess.run(syntax_only(entry["command"], include), cwd=entry["directory"],
                         capture_output=True, text=True)
    name = os.path.relpath(entry["file"], entry["directory"])
    print("ok" if run.returncode == 0 else "FAILED", name, flush=True)
    if run.returncode != 0:
        print(run.stderr, file=sys.stderr, flush=True)
    return run.returncode == 0


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    build, include = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    commands = build / "compile_commands.json"
    if not commands.exists() or not (include / OWN).is_dir():
        print(f"headers.py: {commands} or {include / OWN} is not there: configure the build, and "
              "unpack the headers", file=sys.stderr)
        return 2
    entries = [entry for entry in json.loads(commands.read_text())
               if OWN in entry["command"] and "cmake_pch" not in entry["file"]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        good = list(pool.map(lambda entry: compiles(entry, include), entries))
    print(f"{sum(good)} of {len(good)} sources compile")
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
