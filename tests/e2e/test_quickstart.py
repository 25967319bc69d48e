#!/usr/bin/env python3
"""deploy/quickstart.sh with programs that are built already: it trains, can be run again, and leaves
nothing running, however it ends."""
import pathlib
import signal

from harness import datasets, programs
from harness.programs import Result, wait_until
from harness.training import ENDLESS, num_epochs, read_log

SCRIPT = pathlib.Path(__file__).parents[2] / "deploy" / "quickstart.sh"


class QuickstartBase(programs.ProgramTest):
    def start(self, *options, work=None):
        return self.box.start(SCRIPT, *options,
                              env={"HALOGRAPH_WORK": str(work or self.box.folder / "work")})

    def run_to_end(self, *options):
        process = self.start(*options)
        return Result(process, process.wait())

    def train_cora(self, *options):
        return self.run_to_end("--data", datasets.cora(), *options)


class TrainTest(QuickstartBase):
    AT_ONCE = 3
    TABLE = ("loss", "validation accuracy", "test accuracy", "seconds per epoch",
             "sampled edges per second")

    def trained(self):
        """A first run, and a copy of its folder to run in again."""
        def train():
            result = self.train_cora("--epochs", 2)
            self.assertNothingRuns()  # of this box: the test that asked first started it
            return result, datasets.copy_of(self.box.folder / "work", self.shared.folder / "work")
        result, work = self.once("trained", train)
        if not (self.box.folder / "work").exists():
            datasets.copy_of(work, self.box.folder / "work")
        return result

    def test_embedded(self):
        self.assertCode(0, self.trained(), *self.TABLE)
        self.assertEqual(2, len(read_log(self.box.folder / "work" / "cora.jsonl")[1]))

    def test_cluster(self):
        result = self.train_cora("--cluster", "--epochs", 2)
        self.assertCode(0, result, "SERVER", *self.TABLE)
        self.assertNothingRuns()

    def test_again_uses_what_is_there(self):
        self.trained()
        manifest = self.box.folder / "work" / "cora-2" / "manifest.json"
        before = manifest.stat().st_mtime_ns
        self.assertCode(0, self.train_cora("--epochs", 1), "holds this graph already")
        self.assertEqual(before, manifest.stat().st_mtime_ns)

    def test_damaged_partition_folder_is_made_anew(self):
        self.trained()
        part = self.box.folder / "work" / "cora-2" / "part-0001" / "manifest.json"
        part.write_text(part.read_text().replace("1", "2"))
        self.assertCode(0, self.train_cora("--epochs", 1), "making it again")

    def test_relative_folders_are_those_of_the_caller(self):
        process = self.start("--data", "nowhere/at/all", work="elsewhere")
        self.assertEqual(2, process.wait())
        self.assertIn(f"{pathlib.Path.cwd()}/nowhere/at/all", process.text)


class EndTest(QuickstartBase):
    """It ends before its time."""
    AT_ONCE = 3

    def in_the_middle(self, *options):
        process = self.start("--data", datasets.cora(), "--epochs", ENDLESS, *options)
        log = self.box.folder / "work" / "cora.jsonl"

        def training():
            self.assertTrue(process.running(), process.text)
            return num_epochs(log) >= 2
        wait_until(training, "two epochs")
        return process

    def ended_by(self, number, *options):
        process = self.in_the_middle(*options)
        process.signal(number)
        self.assertEqual(128 + number, process.wait(), process.text)
        self.assertNothingRuns()

    def test_sigterm_ends_everything(self):
        self.ended_by(signal.SIGTERM)

    def test_sigint_ends_servers_and_ranks_too(self):
        self.ended_by(signal.SIGINT, "--cluster")

    def test_limit(self):
        for limit in (3, 15, 75):  # each step has it: on a slow machine one before the ranks takes as long
            result = self.train_cora("--cluster", "--epochs", ENDLESS, "--limit", limit)
            self.assertCode(1, result, f"did not end within --limit {limit} s")
            self.assertNothingRuns()
            if "a trainer rank" in result.err:
                break
        self.assertIn(f"a trainer rank: did not end within --limit {limit} s", result.err)

    def refused(self, source, *words):
        """It must end before anything is partitioned, with these words."""
        for options in ([], ["--cluster"]):
            result = self.run_to_end("--data", source, *options)
            self.assertCode(1, result, "can be partitioned and served, but not trained on", *words)
            self.assertEqual([], list((self.box.folder / "work").glob("*-2*")))
            self.assertNothingRuns()

    def test_a_graph_without_task_and_features_is_refused_at_once(self):
        path = datasets.write_edge_list(self.box.folder / "edges.txt",
                                        [(i, (i + 1) % 50) for i in range(50)])
        self.refused(path, "no features", "feature_data", "no task with labels", "tasks")

    def test_a_graph_without_features_is_refused_at_once(self):
        source = datasets.write(self.box.folder / "bare", 30, [(i, (i + 1) % 30) for i in range(30)])
        text = (source / "metadata.yaml").read_text()
        start, end = text.index("feature_data:"), text.index("tasks:")
        (source / "metadata.yaml").write_text(text[:start] + text[end:])
        self.refused(source, "no features")

    def test_a_typed_graph_is_refused_at_once(self):
        source = self.box.folder / "typed"
        datasets.write(source, 30, [(i, (i + 1) % 30) for i in range(30)])
        (source / "metadata.yaml").write_text(TYPED)
        self.refused(source, "several node types or relations", "node type b: 30 nodes")


TYPED = """dataset_name: typed
graph:
  nodes:
    - {type: a, num: 30}
    - {type: b, num: 30}
  edges:
    - {type: "a:to:b", format: numpy, path: edges.npy}
"""


class UsageTest(QuickstartBase):
    def test_wrong_usage_exits_2(self):
        for options in (["--no-such"], ["--epochs", "many"], ["--epochs", 0], ["--limit"],
                        ["--data", self.box.folder / "nowhere"]):
            with self.subTest(options):
                self.assertCode(2, self.run_to_end(*options))

    def test_help_exits_0(self):
        self.assertCode(0, self.run_to_end("--help"), "--cluster")


if __name__ == "__main__":
    programs.main()
