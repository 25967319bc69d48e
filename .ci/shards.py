#!/usr/bin/env python3
"""The shards of a sanitizer's preset, which CI runs by turns: a test belongs to one by what it links.

Usage: .ci/shards.py PRESET           lists the tests of each shard, and those left out
       .ci/shards.py PRESET SHARD     builds what a shard needs and runs its tests

A test's shard is the first of LIBRARIES that one of its programs links, else `rest`. So a new test is
in a shard by itself, and sources that include libtorch are compiled for one shard only. The tests of
the labels LEFT_OUT are the release's alone; of e2e, a sanitizer runs what E2E names. Tests labelled
long are not among those of ctest (tests/run.sh --long).
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARIES = {"torch": "libtorch.so", "grpc": "libgrpc++.so", "partitioner": "libhalograph_partitioner_",
             "state": "libhalograph_common_state_engine.a"}
LEFT_OUT = ("accuracy", "deploy", "faults")
# One test a program: partition, server, ctl, train. The preset tsan has the partitioner alone, and its
# threads: it runs all.
E2E = {"asan": ("test_partition.CoraTest", "test_server.StatusTest", "test_state.CommandTest",
                "test_training.LogTest")}

Shard = collections.namedtuple("Shard", "preset name tests targets")


class Rules:
    """Which test of a preset is in which shard. `tests` are as ctest shows them (json-v1);
    `inputs(target)` gives all files that a program is made of."""

    def __init__(self, preset, tests, inputs):
        self.preset, self.inputs = preset, inputs
        self.left_out = {}  # test -> label
        self.targets = {}   # test -> the programs it needs
        self.shard_of = {}
        for test in tests:
            name, label = test["name"], self.excluding_label(test)
            if label:
                self.left_out[name] = label
            else:
                self.targets[name] = programs_of(test)
                self.shard_of[name] = self.choose(self.targets[name])
        missing = set(E2E.get(preset, ())) - set(self.shard_of)
        if missing:
            raise LookupError(f"{preset} has no test {', '.join(sorted(missing))} for its shards")

    def excluding_label(self, test):
        chosen = E2E.get(self.preset)
        for label in labels_of(test):
            if label in LEFT_OUT or (label == "e2e" and chosen and test["name"] not in chosen):
                return label
        return None

    def choose(self, targets):
        files = [path for target in targets for path in self.inputs(target)]
        for shard, library in LIBRARIES.items():
            if any(library in path for path in files):
                return shard
        return "rest"

    def shards(self):
        found = []
        for shard in (*LIBRARIES, "rest"):
            tests = [name for name in self.shard_of if self.shard_of[name] == shard]
            targets = {target for name in tests for target in self.targets[name]}
            if tests:
                found.append(Shard(self.preset, shard, tests, sorted(targets)))
        return found

    def summary(self):
        shards = ", ".join(f"{shard.name} {len(shard.tests)}" for shard in self.shards())
        labels = ", ".join(f"{label} {count}" for label, count in
                           sorted(collections.Counter(self.left_out.values()).items()))
        return f"{self.preset}: {shards}; left out by label: {labels or 'none'}"


def property_of(test, name):
    return next((p["value"] for p in test.get("properties", ()) if p["name"] == name), [])


def labels_of(test):
    return property_of(test, "LABELS")


def programs_of(test):
    """The programs that a test needs: it names them as REQUIRED_FILES or in its command (which ctest
    shows once the program is there)."""
    words = [*property_of(test, "REQUIRED_FILES"), *test.get("command", ())]
    if not words:
        raise LookupError(f"{test['name']} says not what it needs: set its REQUIRED_FILES")
    return sorted({found.group(1) for word in words
                   if (found := re.search(r"/build/[\w-]+/(bin/[\w-]+)$", word))})


def tests_of(preset, *options):
    done = subprocess.run(["ctest", "--test-dir", f"build/{preset}", "--show-only=json-v1", *options],
                          cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["tests"]


def inputs_of(preset):
    known = {}

    def inputs(target):
        if target not in known:
            done = subprocess.run(["ninja", "-C", f"build/{preset}", "-t", "inputs", target], cwd=ROOT,
                                  capture_output=True, text=True, check=True)
            known[target] = done.stdout.split("\n")
        return known[target]
    return inputs


def configure(preset):
    """The rules of a preset, configured anew."""
    subprocess.run(["cmake", "--preset", preset, "-DHALOGRAPH_TESTS=ON", "--log-level=WARNING"],
                   cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return Rules(preset, tests_of(preset), inputs_of(preset))


def build_command(shard):
    return ["./deploy/build.sh", shard.preset, *shard.targets]


def test_command(shard):
    # Four at a time: tests of programs, which count as two, wait half of their time.
    names = "|".join(re.escape(name) for name in shard.tests)
    return ["ctest", "--test-dir", f"build/{shard.preset}", "--parallel", "4", "--output-on-failure",
            "--no-tests=error", "--tests-regex", f"^({names})$"]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    rules = configure(sys.argv[1])
    shards = {shard.name: shard for shard in rules.shards()}
    if len(sys.argv) == 2:
        for shard in shards.values():
            print(f"{shard.name}: {' '.join(shard.tests)}")
        print(rules.summary())
        return 0
    if sys.argv[2] not in shards:
        sys.exit(f"{sys.argv[1]} has no shard {sys.argv[2]}, only {', '.join(shards)}")
    shard = shards[sys.argv[2]]
    return (subprocess.run(build_command(shard), cwd=ROOT).returncode or
            subprocess.run(test_command(shard), cwd=ROOT).returncode)


if __name__ == "__main__":
    sys.exit(main())
