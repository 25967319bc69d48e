#!/usr/bin/env python3
"""Inputs that are learnt: pulled from their owners, and pushed to them."""
import signal

from harness import datasets, programs
from harness.programs import must
from harness.training import ENDLESS, num_epochs, options, read_log, start_ranks, train

SETTINGS = dict(embed="node:16", hidden=16, fanouts="5,5", batch_size=50, epochs=2, seed=3,
                threads=1)


class CoraBase(programs.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graph = cls.shared.folder / "cora"
        must(cls.shared.run("halograph-partition", "run", "--input", datasets.cora(), "--output",
                            cls.graph, "--parts", cls.PARTS, "--seed", 1))


class LearntInputsTest(CoraBase):
    AT_ONCE = 3
    PARTS = 4

    def served(self, groups):
        """Addresses of a server a group of parts, each with a state folder of its own."""
        servers = [self.box.start_server(self.graph, parts, "--state",
                                         self.box.folder / f"state-{len(groups)}-{i}")
                   for i, parts in enumerate(groups)]
        return ",".join(programs.address(server) for server in servers)

    def losses(self, **where):
        _, epochs, final = train(self.box, **where, **SETTINGS)
        return [epoch["loss"] for epoch in epochs], final["test_acc"]

    def test_any_number_of_servers_learns_the_same(self):
        """And so does a trainer that keeps the rows itself."""
        alone = self.losses(graph=self.graph, state=self.box.folder / "state")
        self.assertLess(alone[0][1], alone[0][0])
        for groups in (["all"], ["0,1", "2,3"], ["0", "1", "2", "3"]):
            self.assertEqual(alone, self.losses(servers=self.served(groups)), groups)

    def test_two_ranks_learn_the_same_twice(self):
        found = []
        for _ in range(2):
            servers = self.served(["0,1", "2,3"]) if not found else servers
            for rank in start_ranks(self.box, 2, servers=servers, embed_begin="fresh", **SETTINGS):
                self.assertEqual(0, rank.wait(), rank.text)
            _, epochs, _ = read_log(self.box.folder / "rank0.jsonl")
            found.append([epoch["loss"] for epoch in epochs])
        self.assertEqual(found[0], found[1])

    def test_what_was_learnt_is_not_lost_by_chance(self):
        state = self.box.folder / "state"
        self.losses(graph=self.graph, state=state)
        again = self.box.run("halograph-train", "--graph", self.graph, "--state", state, "--embed",
                             "node:16", "--seed", 3)
        self.assertEqual(1, again.code)
        self.assertIn("node node / embedding was trained before", again.err)
        self.assertIn("--embed-begin continue", again.err)
        _, epochs, _ = train(self.box, graph=self.graph, state=state, embed_begin="continue",
                             **SETTINGS)
        first, _ = self.losses(graph=self.graph, state=self.box.folder / "other")
        self.assertLess(epochs[0]["loss"], first[0])

    def test_stale_rows_learn_too(self):
        _, epochs, _ = train(self.box, graph=self.graph, state=self.box.folder / "state",
                             staleness=3, **{**SETTINGS, "epochs": 20})
        self.assertLess(epochs[-1]["loss"], epochs[0]["loss"] - 0.1)

    def test_stale_rows_are_the_same_whatever_is_prepared_ahead(self):
        """And whatever memory there is for it, which is said once."""
        found = []
        for i, machine in enumerate((dict(), dict(prefetch=0, sample_threads=1),
                                     dict(prefetch=9, sample_threads=4),
                                     dict(prefetch_memory="1KiB"))):
            log = self.box.folder / f"log-{i}.jsonl"
            done = must(self.box.run("halograph-train", *options(
                log=log, graph=self.graph, state=self.box.folder / f"state-{i}", staleness=2,
                **machine, **SETTINGS)))
            _, epochs, final = read_log(log)
            found.append(([epoch["loss"] for epoch in epochs], final["test_acc"]))
            self.assertEqual(1 if "prefetch_memory" in machine else 0,
                             done.err.count("a step needs --prefetch-memory"), done.err)
        self.assertEqual(found[:1] * 4, found)

    def test_several_ranks_on_files_say_what_to_do(self):
        done = self.box.run("halograph-train", "--graph", self.graph, "--embed", "node",
                            "--logical-ranks", 2)
        self.assertCode(1, done, "for 2 ranks start halograph-server with --state DIR, and give "
                                 "--servers")
        done = self.box.run("halograph-train", "--graph", self.graph, "--embed", "node", "--sync",
                            "always")
        self.assertCode(2, done, "--sync is for --state")


class OwnFolderTest(CoraBase):
    """A run without --state keeps its rows below TMPDIR, and leaves nothing there."""
    AT_ONCE = 2
    PARTS = 2

    def setUp(self):
        super().setUp()
        self.temporary = self.box.folder / "temporary"
        self.temporary.mkdir()
        self.log = self.box.folder / "log.jsonl"

    def words(self, **given):
        return options(**{**SETTINGS, "graph": self.graph, "log": self.log, **given})

    def start(self, **given):
        return self.box.start("halograph-train", *self.words(**given),
                              env={"TMPDIR": str(self.temporary)})

    def run_(self, **given):
        process = self.start(**given)
        return programs.Result(process, process.wait())

    def left(self):
        return [path.name for path in self.temporary.iterdir()]

    def test_it_learns_the_same_bits_and_leaves_nothing(self):
        predicted = [self.box.folder / f"{name}.npy" for name in ("own", "given")]
        epochs = []
        for path, more in zip(predicted, ({}, dict(state=self.box.folder / "state"))):
            done = must(self.run_(predict=path, predict_what="logits", **more))
            self.assertEqual(not more, "until the run ends; --state DIR keeps them" in done.err)
            config, lines, _ = read_log(self.log)
            self.assertEqual(str(more.get("state", "")), config["state"] or "")
            epochs.append([[line[key] for key in ("loss", "valid_loss", "test_acc")]
                           for line in lines])
            self.assertEqual([], self.left())
        self.assertEqual(epochs[0], epochs[1])
        self.assertEqual(*(path.read_bytes() for path in predicted))

    def test_errors_and_signals_leave_nothing(self):
        done = self.run_(predict=self.box.folder / "p.npy", predict_what="values")
        self.assertCode(1, done, "predict")
        self.assertEqual([], self.left())
        process = self.start(epochs=ENDLESS)
        programs.wait_until(lambda: num_epochs(self.log), "an epoch")
        self.assertEqual(1, len(self.left()))
        process.signal(signal.SIGTERM)
        self.assertEqual(1, process.wait(), process.text)
        self.assertEqual([], self.left())

    def test_the_next_start_removes_what_a_killed_run_left_and_nothing_of_one_that_runs(self):
        killed, running = self.start(epochs=ENDLESS, log=self.box.folder / "killed.jsonl"), None
        programs.wait_until(lambda: num_epochs(self.box.folder / "killed.jsonl"), "an epoch")
        of_killed = self.left()
        killed.signal(signal.SIGKILL)
        killed.wait()
        self.assertEqual(of_killed, self.left())
        running = self.start(epochs=ENDLESS)
        programs.wait_until(lambda: num_epochs(self.log), "an epoch")
        of_running = self.left()
        self.assertEqual(1, len(of_running))
        self.assertNotEqual(of_killed, of_running)
        must(self.run_(log=self.box.folder / "third.jsonl"))
        self.assertEqual(of_running, self.left())
        self.assertTrue(running.running())

    def test_a_folder_that_cannot_be_made_is_named(self):
        self.temporary.rmdir()
        self.assertCode(1, self.run_(), self.temporary, "TMPDIR", "--state DIR")


if __name__ == "__main__":
    programs.main()
