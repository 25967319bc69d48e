"""Bugs that are planted in copies of a source, and must be found by a test.

A bug is a patch of one source, its first line says what it is. It is compiled by the command that
made the true one, and linked with the rest of a finished build in front of the libraries.
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Broken(Exception):
    """The check itself cannot be made."""


def run(command, cwd, limit=600, env=None):
    try:
        return subprocess.run(command, cwd=cwd, env=env, text=True, timeout=limit, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired as late:
        raise Broken(f"{command[0]}: has not ended after {limit} s") from late


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


def to_compile(build, source, folder):
    """The entry that compiles the source, and the changed file in the place of the entry's own."""
    entries = json.loads((build / "compile_commands.json").read_text())
    for entry in entries:
        if entry["file"].endswith("/" + source):
            return entry, folder / source
    # The sources of a target are compiled together.
    true = f'#include "{ROOT / source}"'
    for entry in entries:
        file = pathlib.Path(entry["file"])
        if file.parent.name != "Unity" or true not in file.read_text():
            continue
        changed = folder / file.name
        changed.write_text(file.read_text().replace(true, f'#include "{folder / source}"'))
        return entry, changed
    raise Broken(f"{source}: not in compile_commands.json of {build}")


def compile_copy(build, source, folder):
    """The object of the changed source, by the command that made the true one."""
    entry, changed = to_compile(build, source, folder)
    words = shlex.split(entry["command"])
    words[words.index("-o") + 1] = str(folder / "changed.o")
    words[words.index(entry["file"])] = str(changed)
    made = run(words, entry["directory"])
    if made.returncode != 0:
        raise Broken(f"{source}: does not compile: {made.stdout[-3000:]}")
    return folder / "changed.o"


def link(build, program, changed, folder):
    """The program with the changed object, which stands before the libraries."""
    commands = run(["ninja", "-t", "commands", f"bin/{program}"], build).stdout.splitlines()
    line = commands[-1].removeprefix(": && ").removesuffix(" && :")
    words = shlex.split(line)
    place = words.index("-o")
    words[place + 1] = str(folder / program)
    words.insert(place, str(changed))
    made = run(words, build)
    if made.returncode != 0:
        raise Broken(f"does not link: {made.stdout[-3000:]}")
    return folder / program


def find(build, patch, program, try_it):
    """Whether `try_it` finds the bug in the program that has it; prints how."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        begin = time.monotonic()
        source = patched_copy(patch, folder)
        changed = link(build, program, compile_copy(build, source, folder), folder)
        compiled = time.monotonic()
        ok, how = try_it(changed, folder)
        seconds = time.monotonic() - compiled
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


def arguments_of(description, add=lambda parser: None):
    """The command line: --build, --list, what `add` adds, and names of bugs."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--list", action="store_true")
    add(parser)
    parser.add_argument("names", nargs="*")
    return parser, parser.parse_args()


def check(folder, program, try_it, parser, arguments):
    """Plants those that are named, or all of the folder. The exit code: 0 if each was found."""
    every = sorted(folder.glob("*.patch"))
    if arguments.list:
        for patch in every:
            print(f"{name_of(patch)}: {patch.read_text().splitlines()[0]}")
        return 0
    unknown = set(arguments.names) - {name_of(patch) for patch in every}
    if unknown:
        parser.error(f"no such bug: {', '.join(sorted(unknown))}")
    patches = [patch for patch in every if not arguments.names or name_of(patch) in arguments.names]
    failed = stale(every)
    for patch in patches:
        if name_of(patch) in failed:
            continue
        try:
            if not find(arguments.build.resolve(), patch, program, try_it):
                failed.append(name_of(patch))
        except Broken as broken:
            print(f"{name_of(patch)}: {broken}", flush=True)
            failed.append(name_of(patch))
    found = sum(name_of(patch) not in failed for patch in patches)
    print(f"{found} of {len(patches)} planted bugs found"
          + (f"; not: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0
