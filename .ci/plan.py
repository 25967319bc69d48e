#!/usr/bin/env python3
"""What CI runs within its budget of seconds, and in which order: .ci/run calls this.

What must run: formatting, the module map, clang-tidy on changed lines, all tests of the release, and
of each sanitizer's preset one shard (.ci/shards.py), by turns: the number of the commit chooses it.
Then, while the time lasts, one long test and more shards. Seconds are reckoned from .ci/times, scaled
by how long this run took for the release. What does not fit, or is not done when the budget ends, is
left out and named. What must run goes on beyond the budget, up to LIMIT: on a machine so slow that
the shard whose turn it is would not be done by then, the next that fits takes its place. The release
is never left out. While tests run, what runs next is built at the lowest priority: tests wait a good
deal, and leave cores idle.

Usage: .ci/plan.py [SECONDS]     SECONDS: spent before, on what is installed
HALOGRAPH_CI_SECONDS is the budget (4200). The last line is N passed, N failed. Exit code: 0 nothing
failed.
"""
import collections
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
import shards  # noqa: E402

BUDGET = 4200
LIMIT = 4900  # seconds by which all is done but the release
PRESETS = ("asan", "tsan")
SCALES = (0.3, 4)  # what a machine may be reckoned faster or slower than that of .ci/times
UNKNOWN = 300      # seconds of what .ci/times does not know
PHASES = {"format": "git ls-files -z -- '*.h' '*.cc' | xargs -0 -r clang-format --dry-run -Werror",
          "map": "cmake/module_map.py",
          "tidy": ".ci/tidy"}
TEST_LINE = re.compile(r" *\d+/\d+ Test +#\d+: \S+ \.*(.*?) +[\d.]+ sec")

# What has tests: `build` may be None; `count` is the number of tests, None if known only once built;
# `ends`: the second at which it is stopped, None if never.
Work = collections.namedtuple("Work", "name build tests count ends")
# `seconds`: of the processors, over their number.
Done = collections.namedtuple("Done", "code lines seconds stopped")


def read_times(text):
    """`name seconds` a line, and comments; a name may be of several words."""
    times = {}
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words:
            times[" ".join(words[:-1])] = float(words[-1])
    return times


def in_turn(items, commit):
    """The items, that of a commit first; after it those that had their turn longest ago."""
    first = commit % len(items) if items else 0
    return items[first:] + items[:first]


def counts(lines):
    """Passed, failed and skipped tests in what ctest printed."""
    found = collections.Counter()
    for line in lines:
        result = TEST_LINE.match(line)
        if result:
            said = result.group(1).strip()
            found["passed" if said == "Passed" else
                  "skipped" if "***Skipped" in said or "Disabled" in said else "failed"] += 1
    return found


class Process:
    """A command in a process group of its own; `behind`: at the lowest priority, which holds within a
    session (Linux shares cores among sessions evenly)."""
    running = set()

    def __init__(self, command, behind):
        self.lines = queue.SimpleQueue()
        self.popen = subprocess.Popen(
            [*(["nice", "-n", "19"] if behind else []), *command], cwd=shards.ROOT, text=True,
            errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, process_group=0)
        self.running.add(self)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        with self.popen.stdout as out:
            for line in out:
                self.lines.put(line)
        self.lines.put(None)

    def finish(self, seconds=None):
        """Prints what it printed and prints, up to its end. Stopped after so many seconds."""
        ends = None if seconds is None else time.monotonic() + seconds
        lines, stopped = [], False
        while True:
            try:
                line = self.lines.get(timeout=None if ends is None else
                                      max(0, ends - time.monotonic()))
            except queue.Empty:
                stopped = True
                break
            if line is None:
                break
            print(line, end="", flush=True)
            lines.append(line)
        if stopped:
            self.kill()
        _, status, used = os.wait4(self.popen.pid, 0)
        self.running.discard(self)
        self.popen.returncode = os.waitstatus_to_exitcode(status)
        return Done(self.popen.returncode, lines,
                    (used.ru_utime + used.ru_stime) / len(os.sched_getaffinity(0)), stopped)

    def kill(self):
        try:
            os.killpg(self.popen.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Machine:
    """The clock, the processes and the build folders; tests of the plan bring their own."""

    def __init__(self, spent):
        self.began = time.monotonic() - spent

    def now(self):
        return time.monotonic() - self.began

    def start(self, command, behind=False):
        return Process(command, behind)

    def rules(self, preset):
        return shards.configure(preset)

    def release_tests(self, *options):
        return [test["name"] for test in shards.tests_of("release", *options)]


class Plan:
    def __init__(self, machine, times, budget, commit, limit=LIMIT):
        self.machine, self.times, self.budget, self.commit = machine, times, budget, commit
        self.limit = max(limit, budget)
        self.passed = self.failed = 0
        self.scale = {"build": 1, "tests": 1}
        self.measured = {}   # as .ci/times, of this run
        self.waited = {}     # seconds on the clock, where those of .ci/times are others
        self.left_out = []
        self.must, self.may = [], []  # `must`: of each list one
        self.builder = None  # what is built behind the tests
        self.mandatory = 0   # when what must run was done

    def say(self, text):
        print(text, flush=True)

    def fail(self, text, tests=1):
        self.failed += tests
        self.say(f"== {text}")

    # What a thing takes on this machine; `kind` is build or tests.

    def estimate(self, name, kind):
        return self.times.get(f"{name} {kind}", UNKNOWN) * self.scale[kind]

    def measure_scale(self, kind):
        if f"release {kind}" in self.times and f"release {kind}" in self.measured:
            ratio = self.measured[f"release {kind}"] / max(1, self.times[f"release {kind}"])
            self.scale[kind] = min(max(ratio, SCALES[0]), SCALES[1])

    def seconds_of(self, work):
        build = self.estimate(work.name, "build") if work.build else 0
        return build + self.estimate(work.name, "tests")

    def phase(self, name, run):
        """A step without tests: if it fails, that is one failed test. `run` gives its exit code."""
        self.say(f"== {name}")
        start = self.machine.now()
        try:
            code = run()
        except (LookupError, OSError, subprocess.CalledProcessError) as error:
            self.say(f"{error}")
            code = 1
        self.measured[name] = self.machine.now() - start
        if code != 0:
            self.fail(f"{name} failed")

    def run(self):
        for name, command in PHASES.items():
            self.phase(name, lambda: self.machine.start(["bash", "-c", command]).finish().code)
        self.phase("plan", self.plan)
        work = self.choose(0)
        while work:
            following = None
            if self.build(work):
                following = self.choose(self.estimate(work.name, "tests"))
                if following and following.build:
                    self.builder = self.machine.start(following.build, behind=True)
                self.test(work)
                if work.name == "release":
                    self.plan_long_test()
            if work.ends != self.budget:
                self.mandatory = self.machine.now()
            work = following or self.choose(0)
        self.left_out += [f"{work.name}: its {self.seconds_of(work):.0f} s do not fit"
                          for work in self.may]
        return self.report()

    def plan(self):
        self.must = [[Work("release", ["./deploy/build.sh", "release", "-DHALOGRAPH_TESTS=ON"],
                           ["./tests/run.sh", "--built"], None, None)]]
        turns = []
        for preset in PRESETS:
            rules = self.machine.rules(preset)
            self.say(rules.summary())
            turns.append([Work(f"{preset} {shard.name}", shards.build_command(shard),
                               shards.test_command(shard), len(shard.tests), self.budget)
                          for shard in in_turn(rules.shards(), self.commit)])
        self.must += filter(None, turns)
        most = max(map(len, turns))
        self.may += [turn[i] for i in range(most) for turn in turns if i < len(turn)]
        return 0

    def plan_long_test(self):
        """One of the long tests, before more shards."""
        tests = in_turn(self.machine.release_tests("-C", "long", "-L", "^long$"), self.commit)
        if tests:
            self.may.insert(0, Work(
                f"long {tests[0]}", None,
                ["./tests/run.sh", "--built", "--long", "-R", f"^{re.escape(tests[0])}$"], 1, self.budget))

    def choose(self, before):
        """Takes what runs next, if `before` seconds pass first."""
        while self.must:
            turn = self.must.pop(0)
            if turn[0].ends is None:
                return turn[0]
            work = self.first_that_fits(turn, before, self.limit)
            if work:
                return work._replace(ends=self.limit)
        return self.first_that_fits(self.may, before, self.budget)

    def first_that_fits(self, works, before, end):
        for work in works:
            if self.machine.now() + before + self.seconds_of(work) <= end:
                self.may.remove(work)
                return work
        return None

    def finish(self, name, process, work):
        """Ends a process of what `work` takes; measures and returns it."""
        start = self.machine.now()
        done = process.finish(None if work.ends is None else max(0, work.ends - start))
        if done.stopped:
            self.left_out.append(f"{work.name}: stopped, the budget is spent")
        self.waited[name] = self.machine.now() - start
        return done

    def build(self, work):
        if not work.build:
            return True
        name = f"{work.name} build"
        self.say(f"== {name}")
        process, self.builder = self.builder or self.machine.start(work.build), None
        done = self.finish(name, process, work)
        if done.stopped:
            return False
        self.measured[name] = done.seconds
        if work.name == "release":
            self.measure_scale("build")
        if done.code != 0:
            self.fail(f"{name} failed")
        return done.code == 0

    def test(self, work):
        name = f"{work.name} tests"
        self.say(f"== {name}")
        count = work.count or len(self.machine.release_tests())
        done = self.finish(name, self.machine.start(work.tests), work)
        found = counts(done.lines)
        self.failed += found["failed"]
        if done.stopped:
            return
        self.passed += found["passed"]
        self.measured[name] = self.waited.pop(name)
        if work.name == "release":
            self.measure_scale("tests")
        if sum(found.values()) < count:
            self.fail(f"{name}: {count - sum(found.values())} of {count} gave no result")
        elif done.code != 0 and not found["failed"]:
            self.fail(f"{name} failed")

    def report(self):
        """The seconds in the form of .ci/times (those of what did not run are the old ones, scaled),
        what was left out, and the sum."""
        self.say("== time")
        for name in [*self.measured, *(name for name in self.times if name not in self.measured)]:
            if name in self.measured:
                note = f"  # waited for {self.waited[name]:.0f}" if name in self.waited else ""
                self.say(f"{name:40} {self.measured[name]:5.0f}{note}")
            else:
                scale = self.scale.get(name.split()[-1], 1)
                self.say(f"{name:40} {self.times[name] * scale:5.0f}  # not run")
        self.say(f"# {self.machine.now():.0f} s of {self.budget:.0f}; against .ci/times, tests are "
                 f"reckoned at {self.scale['tests']:.2f} and builds at {self.scale['build']:.2f}")
        if self.mandatory > self.budget:
            self.say(f"what must run took {self.mandatory:.0f} s alone, more than the budget of "
                     f"{self.budget:.0f} s")
        for text in self.left_out:
            self.say(f"left out: {text}")
        self.say(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0


def main():
    spent = float(sys.argv[1]) if len(sys.argv) > 1 else 0
    os.chdir(shards.ROOT)
    data = shards.ROOT.parent / "shared/data"
    if not os.environ.get("HALOGRAPH_DATA") and data.is_dir():
        os.environ["HALOGRAPH_DATA"] = str(data)
    commit = subprocess.run(["git", "rev-list", "--count", "HEAD"], capture_output=True, text=True,
                            check=True).stdout
    plan = Plan(Machine(spent), read_times(pathlib.Path(".ci/times").read_text()),
                float(os.environ.get("HALOGRAPH_CI_SECONDS") or BUDGET), int(commit))
    plan.measured["install"] = spent
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        return plan.run()
    finally:
        for process in Process.running:
            process.kill()


if __name__ == "__main__":
    sys.exit(main())
