#!/usr/bin/env python3
"""What CI runs within its budget (.ci/plan.py, .ci/shards.py), by a clock and commands that are made
up: no test waits."""
import contextlib
import io
import pathlib
import re
import sys
import unittest

from harness import programs

CI = pathlib.Path(__file__).resolve().parents[2] / ".ci"
sys.path.insert(0, str(CI))
import plan  # noqa: E402
import shards  # noqa: E402

TESTS = 3  # of each shard


class Outcome:
    def __init__(self, seconds, code=0, failed=0, lost=0, skipped=0):
        self.seconds, self.code, self.failed, self.lost, self.skipped = (
            seconds, code, failed, lost, skipped)

    def lines(self, count):
        said = ["***Failed"] * self.failed + ["***Skipped"] * self.skipped
        said += ["   Passed"] * (count - self.lost - len(said))
        return [f" {i}/{count} Test  #{i}: a_test.B .....{text}    0.10 sec\n"
                for i, text in enumerate(said)]


class FakeProcess:
    """A command that takes as long as its outcome says, beside what else runs."""

    def __init__(self, machine, title, outcome, lines):
        self.machine, self.title, self.outcome, self.lines = machine, title, outcome, lines
        self.ends = machine.clock + outcome.seconds

    def finish(self, seconds=None):
        machine, now = self.machine, self.machine.clock
        if seconds is not None and self.ends > now + seconds:
            machine.clock = now + seconds
            machine.stopped.append(self.title)
            return plan.Done(-9, self.lines, 0, True)
        machine.clock = max(now, self.ends)
        return plan.Done(self.outcome.code, self.lines, self.outcome.seconds, False)


class FakeRules:
    def __init__(self, preset, names):
        self.preset, self.names = preset, names

    def shards(self):
        return [shards.Shard(self.preset, name, [f"{self.preset}_{name}_{i}" for i in range(TESTS)],
                             [f"bin/{self.preset}_{name}"]) for name in self.names]

    def summary(self):
        return self.preset


class FakeMachine:
    def __init__(self, asan, tsan, long_tests, outcomes):
        self.names = {"asan": asan, "tsan": tsan}
        self.long_tests, self.outcomes = long_tests, outcomes
        self.clock = 0
        self.ran, self.stopped, self.behind = [], [], []

    def now(self):
        return self.clock

    def rules(self, preset):
        if preset in self.outcomes:
            raise LookupError("a test is in no shard")
        return FakeRules(preset, self.names[preset])

    def release_tests(self, *options):
        return self.long_tests if options else [f"test_{i}" for i in range(10)]

    def title(self, command):
        words = " ".join(command)
        for name, phase in plan.PHASES.items():
            if command[-1] == phase:
                return name, 0
        if "--long" in words:
            return f"long {command[-1].strip('^$')} tests", 1
        if "run.sh" in words:
            return "release tests", 10
        if "build.sh release" in words:
            return "release build", 0
        preset, shard = re.search(r"(asan|tsan)_(\w+?)(_\d|$)", words).group(1, 2)
        kind, count = ("build", 0) if "build.sh" in words else ("tests", TESTS)
        return f"{preset} {shard} {kind}", count

    def start(self, command, behind=False):
        title, count = self.title(command)
        outcome = self.outcomes.get(title, Outcome(100))
        self.ran.append(title)
        if behind:
            self.behind.append((title, self.clock))
        return FakeProcess(self, title, outcome, outcome.lines(count))

    def shards_run(self):
        return [title[:-len(" tests")] for title in self.ran
                if title.startswith(("asan", "tsan")) and title.endswith(" tests")]


class PlanTest(unittest.TestCase):
    """Everything takes 100 seconds, but for what a case says, and that is what the times say."""
    ASAN, TSAN = ["a", "b", "c", "d", "e"], ["x", "y", "z"]
    ALL = {f"asan {name}" for name in ASAN} | {f"tsan {name}" for name in TSAN}

    def run_plan(self, budget=100000, commit=0, outcomes=(), asan=ASAN, tsan=TSAN, long_tests=(),
                 times=(), limit=10**6):
        self.machine = FakeMachine(asan, tsan, list(long_tests), dict(outcomes))
        usual = {f"{name} {kind}": 100 for name in ("release", *self.ALL) for kind in ("build", "tests")}
        self.plan = plan.Plan(self.machine, {**usual, **dict(times)}, budget, commit,
                              limit)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.code = self.plan.run()
        self.out = out.getvalue()
        self.last = self.out.splitlines()[-1]

    def left_out(self):
        return set(re.findall(r"^left out: ([^:]*):", self.out, re.M))

    def test_all_runs_where_time_lasts_and_counts_are_added(self):
        self.run_plan(commit=7)
        self.assertEqual((0, set()), (self.code, self.left_out()))
        self.assertEqual(self.ALL, set(self.machine.shards_run()))
        self.assertEqual(len(self.ALL), len(self.machine.shards_run()))
        self.assertEqual(f"{10 + TESTS * len(self.ALL)} passed, 0 failed", self.last)
        for title in (*plan.PHASES, "release build", "release tests"):
            self.assertEqual(1, self.machine.ran.count(title), title)

    def test_what_must_run_runs_on_beyond_the_budget_and_ci_says_so(self):
        slow = {"release tests": Outcome(400), "asan b tests": Outcome(5000),
                "tsan y tests": Outcome(5000)}
        self.run_plan(budget=1000, commit=1, outcomes=slow)
        self.assertEqual(["asan b", "tsan y"], self.machine.shards_run())
        self.assertEqual(([], 0), (self.machine.stopped, self.code))
        self.assertIn("what must run took", self.out)
        self.assertEqual(self.ALL - {"asan b", "tsan y"}, self.left_out())
        self.assertEqual(f"{10 + 2 * TESTS} passed, 0 failed", self.last)

    def test_a_shard_that_would_not_be_done_by_the_limit_gives_its_turn_to_one_that_would(self):
        self.run_plan(budget=0, limit=2000, commit=1, times={"asan b tests": 3000})
        self.assertEqual(["asan c", "tsan y"], self.machine.shards_run())
        self.assertEqual(self.ALL - {"asan c", "tsan y"}, self.left_out())
        self.assertEqual(0, self.code)
        self.run_plan(budget=0, limit=600, commit=1)
        self.assertEqual(([], self.ALL), (self.machine.shards_run(), self.left_out()))
        self.assertEqual("10 passed, 0 failed", self.last)

    def test_a_shard_that_must_run_is_stopped_at_the_limit_and_the_release_is_not(self):
        self.run_plan(budget=0, limit=2000, outcomes={"asan a tests": Outcome(5000)})
        self.assertEqual((["asan a tests", "tsan x tests"], 0), (self.machine.stopped, self.code))
        self.assertEqual(2000, self.machine.clock)
        self.assertEqual(self.ALL, self.left_out())
        self.run_plan(budget=0, limit=2000, outcomes={"release tests": Outcome(5000)})
        self.assertNotIn("release tests", self.machine.stopped)
        self.assertEqual(self.ALL, self.left_out())
        self.assertEqual(("10 passed, 0 failed", 0), (self.last, self.code))

    def test_any_eight_commits_in_a_row_run_every_shard(self):
        for number in range(1, 9):
            names = [f"s{i}" for i in range(number)]
            every = {f"asan {name}" for name in names} | {f"tsan {name}" for name in self.TSAN}
            for first in range(1000, 1000 + number):
                seen = []
                for commit in range(first, first + 8):
                    self.run_plan(budget=0, commit=commit, asan=names)
                    self.assertEqual(2, len(self.machine.shards_run()))
                    seen += self.machine.shards_run()
                self.assertEqual(every, set(seen))

    def test_a_slow_machine_leaves_out_what_does_not_fit_and_names_it(self):
        usual = 3 * 100 + 2 * 100 + 2 * 200 + 6 * 200  # phases, release, what must run, more
        self.run_plan(budget=usual)
        self.assertEqual(set(), self.left_out())
        slow = {f"{name} {kind}": Outcome(400) for name in ("release", *self.ALL)
                for kind in ("build", "tests")}
        self.run_plan(budget=2 * usual, outcomes=slow)
        self.assertEqual(0, self.code)
        self.assertEqual([], self.machine.stopped)
        self.assertLessEqual(self.machine.clock, 2 * usual)
        self.assertTrue(self.left_out())
        self.assertEqual(self.ALL, self.left_out() | set(self.machine.shards_run()))
        self.assertEqual(set(), self.left_out() & set(self.machine.shards_run()))
        self.assertNotIn("what must run took", self.out)

    def test_what_is_too_long_does_not_keep_shorter_ones_from_running(self):
        self.run_plan(budget=50000, times={"asan b tests": 60000})
        self.assertEqual({"asan b"}, self.left_out())
        self.assertEqual(self.ALL - {"asan b"}, set(self.machine.shards_run()))

    def test_what_would_not_fit_runs_if_what_was_before_it_was_quick(self):
        must = 3 * 100 + 200 + 100  # and 1 of x; y is reckoned at 200, after 100 of x
        self.run_plan(budget=must + 250, asan=["a"], tsan=["x", "y"],
                      outcomes={"tsan x tests": Outcome(1)})
        self.assertEqual(["asan a", "tsan x", "tsan y"], self.machine.shards_run())

    def test_a_shard_that_overruns_is_stopped_at_the_budget_and_has_not_failed(self):
        for kind in ("build", "tests"):
            self.run_plan(budget=2500, outcomes={f"asan c {kind}": Outcome(9000)})
            self.assertEqual([f"asan c {kind}"], self.machine.stopped[:1], kind)
            self.assertEqual((0, 2500), (self.code, self.machine.clock))
            self.assertRegex(self.out, "left out: asan c: stopped")
            self.assertEqual(self.ALL, self.left_out() | set(self.machine.shards_run()))
            self.assertRegex(self.last, " 0 failed$")

    def test_a_test_that_failed_before_its_shard_was_stopped_has_failed(self):
        self.run_plan(budget=2500, outcomes={"asan c tests": Outcome(9000, failed=1)})
        self.assertEqual(1, self.code)
        self.assertRegex(self.last, " 1 failed$")

    def test_a_failure_of_what_must_run_fails(self):
        for title in (*plan.PHASES, "release build", "release tests", "asan a build", "asan a tests",
                      "tsan x build", "tsan x tests"):
            self.run_plan(budget=0, outcomes={title: Outcome(1, code=1)})
            self.assertEqual(1, self.code, title)
            self.assertRegex(self.last, " 1 failed$", title)
            self.assertIn(f"== {title} failed", self.out)

    def test_shards_that_cannot_be_told_fail(self):
        self.run_plan(outcomes={"tsan": None})
        self.assertEqual(1, self.code)
        self.assertIn("== plan failed", self.out)
        self.assertIn("release tests", self.machine.ran)

    def test_failed_and_skipped_tests_are_counted_apart(self):
        self.run_plan(budget=0, outcomes={"release tests": Outcome(100, 8, failed=2, skipped=3),
                                          "asan a tests": Outcome(100, 8, failed=1)})
        self.assertEqual((1, f"{5 + TESTS - 1 + TESTS} passed, 3 failed"), (self.code, self.last))

    def test_tests_without_a_result_fail(self):
        self.run_plan(budget=0, outcomes={"asan a tests": Outcome(100, lost=1)})
        self.assertEqual(1, self.code)
        self.assertIn(f"1 of {TESTS} gave no result", self.out)

    def test_what_runs_next_is_built_behind_the_tests(self):
        self.run_plan(budget=0, outcomes={"release tests": Outcome(300)})
        began = 300 + 100  # phases, build of the release
        self.assertEqual([("asan a build", began), ("tsan x build", began + 300)], self.machine.behind)
        self.assertEqual(began + 300 + 100 + 100, self.machine.clock)

    def test_one_long_test_a_commit_before_more_shards_if_time_is_left(self):
        long_tests = ["test_a.ALongTest", "b_test_long"]
        for commit, name in ((4, "test_a\\.ALongTest"), (5, "b_test_long")):
            self.run_plan(commit=commit, long_tests=long_tests)
            ran = [title for title in self.machine.ran if title.startswith("long")]
            self.assertEqual([f"long {name} tests"], ran)
            before = self.machine.ran[:self.machine.ran.index(ran[0])]
            self.assertEqual(3, len([title for title in before if title.endswith("tests")]))
            self.assertEqual(f"{11 + TESTS * len(self.ALL)} passed, 0 failed", self.last)
        self.run_plan(budget=900, long_tests=long_tests)
        self.assertIn("long test_a.ALongTest", self.left_out())

    def test_scales_are_those_of_the_release_within_limits(self):
        for seconds, scale in ((1, 0.3), (50, 0.5), (100, 1), (250, 2.5), (9999, 4)):
            self.run_plan(outcomes={"release tests": Outcome(seconds)})
            self.assertEqual({"build": 1, "tests": scale}, self.plan.scale)
            self.run_plan(outcomes={"release build": Outcome(seconds)})
            self.assertEqual({"build": scale, "tests": 1}, self.plan.scale)

    def test_the_report_has_the_form_of_the_times(self):
        self.run_plan(budget=0, outcomes={"release tests": Outcome(200),
                                          "asan a tests": Outcome(70)})
        report = plan.read_times(self.out.split("== time\n")[1].split("\n# ")[0])
        expected = {"release tests": 200, "asan a tests": 70, "asan b tests": 200, "asan b build": 100}
        self.assertEqual(expected, {name: report[name] for name in expected})
        self.assertLessEqual({"format", "map", "tidy", "plan"}, set(report))
        times = plan.read_times((CI / "times").read_text())
        self.assertLessEqual({"release build", "release tests"}, set(times))


class ProcessTest(unittest.TestCase):
    def test_gives_what_was_printed_and_the_exit_code(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            done = plan.Process(["sh", "-c", "echo one; echo two >&2; exit 3"], behind=True).finish()
        self.assertEqual((3, ["one\n", "two\n"], False), (done.code, done.lines, done.stopped))
        self.assertEqual("one\ntwo\n", out.getvalue())

    def test_is_stopped_with_all_that_it_started(self):
        process = plan.Process(["sh", "-c", "sleep 300 & echo started; wait"], behind=False)
        self.assertEqual("started\n", process.lines.get(timeout=60))
        self.assertTrue(process.finish(0).stopped)
        # The end of what it prints comes when nobody is left to print.
        self.assertIsNone(process.lines.get(timeout=60))
        self.assertEqual(set(), plan.Process.running)


class ShardsTest(unittest.TestCase):
    ENGINE = "common/state/engine/libhalograph_common_state_engine.a"
    LINKS = {"bin/halograph-train": ["/usr/lib/libtorch.so", "/usr/lib/libgrpc++.so", ENGINE],
             "bin/halograph-partition": ["partitioner/run/libhalograph_partitioner_run.a"],
             "bin/server_test": [ENGINE, "/usr/lib/libgrpc++.so"],
             "bin/engine_test": [ENGINE],
             "bin/base_test": []}

    def entry(self, name, label, *targets):
        return {"name": name, "properties": [
            {"name": "LABELS", "value": [label]},
            {"name": "REQUIRED_FILES", "value": [f"/x/build/asan/{target}" for target in targets]}]}

    def entries(self):
        return [self.entry("base_test", "unit", "bin/base_test"),
                self.entry("engine_test", "a new label", "bin/engine_test"),
                self.entry("server_test", "integration", "bin/server_test"),
                self.entry("test_a.PartitionTest", "e2e", "bin/halograph-partition"),
                self.entry("test_a.TrainTest", "e2e", "bin/halograph-partition",
                           "bin/halograph-train"),
                self.entry("test_b.FaultTest", "faults", "bin/halograph-train"),
                {"name": "script", "command": ["python3", "/x/oracle.py", "--check"]}]

    def rules(self, preset, tests):
        return shards.Rules(preset, tests, self.LINKS.__getitem__)

    def test_every_test_is_in_the_shard_of_what_it_links_or_left_out_by_its_label(self):
        rules = self.rules("tsan", self.entries())
        self.assertEqual({"torch": ["test_a.TrainTest"], "grpc": ["server_test"],
                          "partitioner": ["test_a.PartitionTest"], "state": ["engine_test"],
                          "rest": ["base_test", "script"]},
                         {shard.name: shard.tests for shard in rules.shards()})
        self.assertEqual({"test_b.FaultTest": "faults"}, rules.left_out)
        self.assertIn("rest 2; left out by label: faults 1", rules.summary())

    def test_a_shard_builds_what_its_tests_need(self):
        torch = self.rules("tsan", self.entries()).shards()[0]
        self.assertEqual(["bin/halograph-partition", "bin/halograph-train"], torch.targets)
        self.assertEqual(["./deploy/build.sh", "tsan", *torch.targets], shards.build_command(torch))
        self.assertEqual("^(test_a\\.TrainTest)$", shards.test_command(torch)[-1])

    def test_asan_runs_the_end_to_end_tests_that_are_named(self):
        named = [self.entry(name, "e2e", "bin/halograph-partition") for name in shards.E2E["asan"]]
        rules = self.rules("asan", self.entries() + named)
        self.assertEqual({"test_b.FaultTest", "test_a.PartitionTest", "test_a.TrainTest"},
                         set(rules.left_out))
        self.assertEqual(list(shards.E2E["asan"]), rules.shards()[1].tests)
        with self.assertRaisesRegex(LookupError, re.escape(shards.E2E["asan"][0])):
            self.rules("asan", self.entries() + named[1:])

    def test_a_test_that_names_no_program_is_refused(self):
        with self.assertRaisesRegex(LookupError, "new_test"):
            self.rules("tsan", [self.entry("new_test", "unit")])


if __name__ == "__main__":
    programs.main()
