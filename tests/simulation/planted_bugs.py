#!/usr/bin/env python3
"""Plants bugs in copies of the state engine, and checks that the simulation finds each.

Usage: planted_bugs.py [--build DIR] [--seeds N] [--list] [NAME...]

A bug is a patch of one source, in planted/. Each is compiled alone and linked with the rest of a
finished build: the simulation must fail within N seeds (default 500). Without names all are tried.
Exit code: 0 each was found, 1 one was not, or a patch, named or not, no longer applies, 2 wrong usage.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Broken(Exception):
    """The check itself cannot be made."""


def run(command, cwd, limit=600, env=None):
    return subprocess.run(command, cwd=cwd, env=env, text=True, timeout=limit, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def name_of(patch):
    return patch.stem.partition("-")[2]  # without its number


def patched_copy(patch, folder):
    """Applies the patch to a copy of the one source that it changes; returns the source's path."""
    names = re.findall(r"^\+\+\+ b/(\S+)$", patch.read_text(), re.M)
    if len(names) != 1 or not names[0].endswith(".cc"):
        raise Broken(f"{patch.name}: changes {names}, not one source")
    copy = folder / names[0]
    copy.parent.mkdir(parents=True)
    copy.write_bytes((ROOT / names[0]).read_bytes())
    applied = run(["patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch", "-i", str(patch)], folder)
    if applied.returncode != 0:
        raise Broken(f"{patch.name}: no longer applies: {applied.stdout}")
    return names[0]


def compile_copy(build, source, folder):
    """The object of the changed source, by the command that made the true one."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if entry["file"].endswith("/" + source):
            break
    else:
        raise Broken(f"{source}: not in compile_commands.json of {build}")
    words = shlex.split(entry["command"])
    words[words.index("-o") + 1] = str(folder / "changed.o")
    words[words.index(entry["file"])] = str(folder / source)
    made = run(words, entry["directory"])
    if made.returncode != 0:
        raise Broken(f"{source}: does not compile: {made.stdout[-3000:]}")
    return folder / "changed.o"


def link(build, changed, folder):
    """The simulation with the changed object, which stands before the libraries."""
    commands = run(["ninja", "-t", "commands", "bin/simulation_test"], build).stdout.splitlines()
    line = commands[-1].removeprefix(": && ").removesuffix(" && :")
    words = shlex.split(line)
    program = folder / "simulation_test"
    place = words.index("-o")
    words[place + 1] = str(program)
    words.insert(place, str(changed))
    made = run(words, build)
    if made.returncode != 0:
        raise Broken(f"does not link: {made.stdout[-3000:]}")
    return program


def find(build, patch, seeds):
    """Whether the simulation finds the bug; prints how."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        begin = time.monotonic()
        source = patched_copy(patch, folder)
        program = link(build, compile_copy(build, source, folder), folder)
        compiled = time.monotonic()
        ran = run([str(program), "--gtest_filter=SimulationTest.EverySeed*"], folder,
                  env={**os.environ, "HALOGRAPH_SIM_SEEDS": str(seeds)})
        seconds = time.monotonic() - compiled
    found = re.search(r"seed (\d+) \(.*?\): (.*)", ran.stdout)
    how = f"seed {found[1]}: {found[2][:150]}" if found else ran.stdout.strip()[-200:]
    ok = ran.returncode != 0 and (found is not None or ran.returncode < 0)
    print(f"{name_of(patch)}: {'found' if ok else 'NOT FOUND'} "
          f"({compiled - begin:.1f} s to compile, {seconds:.1f} s to run): {how}", flush=True)
    return ok


def stale(patches):
    """Names of those that no longer apply."""
    names = []
    for patch in patches:
        with tempfile.TemporaryDirectory() as name:
            try:
                patched_copy(patch, pathlib.Path(name))
            except Broken as broken:
                print(broken, flush=True)
                names.append(name_of(patch))
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    patches = sorted((HERE / "planted").glob("*.patch"))
    if arguments.list:
        for patch in patches:
            print(f"{name_of(patch)}: {patch.read_text().splitlines()[0]}")
        return 0
    if arguments.names:
        unknown = set(arguments.names) - {name_of(patch) for patch in patches}
        if unknown:
            parser.error(f"no such bug: {', '.join(sorted(unknown))}")
        patches = [patch for patch in patches if name_of(patch) in arguments.names]
    failed = stale(sorted((HERE / "planted").glob("*.patch")))
    for patch in patches:
        if name_of(patch) in failed:
            continue
        try:
            if not find(arguments.build.resolve(), patch, arguments.seeds):
                failed.append(name_of(patch))
        except Broken as broken:
            print(broken, flush=True)
            failed.append(name_of(patch))
    found = sum(name_of(patch) not in failed for patch in patches)
    print(f"{found} of {len(patches)} planted bugs found"
          + (f"; not: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
