#!/usr/bin/env python3
"""Parts that are trained alone and models that are averaged (docs/catgnn.md), with the programs."""
import json
import shutil
import signal

from harness import checkpoints, datasets, links, npy, programs
from harness.programs import must
from harness.training import ENDLESS, options, read_log, start_ranks, train

PARTS = 4
RUN = dict(hidden=16, fanouts="5,3", batch_size=20, seed=3, threads=1, epochs=4, average_every=2,
           lr=0.02)


class AveragingBase(programs.ProgramTest):
    """Cora in four parts with halos of two hops: as many as the models have layers."""
    AT_ONCE = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graph = cls.shared.folder / "cora"
        cls.made = programs.must(cls.shared.run(
            "halograph-partition", "run", "--input", datasets.cora(), "--output", cls.graph,
            "--parts", PARTS, "--seed", 1, "--halo-features", "--hops", 2))

    def part_only(self):
        """The log of a run of all parts alone."""
        return self.once("part only", lambda: train(self.box, graph=self.graph, part_only=True, **RUN))

    def one_hop(self):
        """The same graph with halos of one hop, made afterwards."""
        graph = self.box.folder / "one"
        shutil.copytree(self.graph, graph)
        must(self.box.run("halograph-partition", "halo", "--graph", graph, "--force"))
        return graph

    def losses(self, epochs):
        return [line["loss"] for line in epochs]

    def refused(self, code, *mentioned, **given):
        self.assertCode(code, self.box.run("halograph-train", *options(**{**RUN, **given})),
                        *mentioned)


class HalosTest(AveragingBase):
    def test_they_are_shown_and_verified(self):
        self.assertIn("halos of 4 parts: 2 hops", self.made.out)
        shown = must(self.box.run("halograph-partition", "inspect", "--graph", self.graph)).out
        self.assertIn("halos for training alone: 4 of 4 parts, 2 hops", shown)
        parts = json.loads(must(self.box.run("halograph-partition", "inspect", "--graph", self.graph,
                                             "--json")).out)["parts"]
        for part, found in enumerate(parts):
            folder = self.graph / f"part-{part:04}" / "halo"
            self.assertEqual(2, found["halo_hops"])
            self.assertEqual(found["halo_bytes"],
                             sum(path.stat().st_size for path in folder.rglob("*.npy")))
        must(self.box.run("halograph-partition", "verify", "--input", datasets.cora(),
                          "--graph", self.graph))

    def test_one_is_made_of_an_existing_folder_and_replaced_by_force_only(self):
        graph = self.one_hop()
        shown = must(self.box.run("halograph-partition", "inspect", "--graph", graph)).out
        self.assertIn("4 of 4 parts, 1 hops", shown)
        self.assertCode(1, self.box.run("halograph-partition", "halo", "--graph", graph),
                        "part-0000/halo exists", "--force")
        ids = self.graph / "part-0001" / "halo" / "nodes" / "node" / "ids.npy"
        self.assertNotEqual(ids.read_bytes(), (
            graph / "part-0001" / "halo" / "nodes" / "node" / "ids.npy").read_bytes())

    def test_hops_go_with_halos(self):
        self.assertCode(2, self.box.run("halograph-partition", "run", "--input", datasets.cora(),
                                        "--output", self.box.folder / "g", "--parts", 2, "--hops", 2),
                        "--hops goes with --halo-features")


class PartOnlyTest(AveragingBase):
    def test_enough_hops_train_as_on_the_whole_graph_bit_for_bit(self):
        config, epochs, final = self.part_only()
        self.assertEqual(("part-only", 2), (config["mode"], config["average_every"]))
        _, whole, _ = train(self.box, graph=self.graph, **RUN)
        self.assertEqual(self.losses(whole), self.losses(epochs))
        self.assertEqual([line["sampled_edges"] for line in whole],
                         [line["sampled_edges"] for line in epochs])
        self.assertEqual([0] * 4, [line["cut_nodes"] for line in epochs])
        self.assertEqual([0] * 4, [line["remote_bytes"] for line in epochs])
        self.assertEqual([140] * 4, [line["train_seeds"] for line in epochs])
        # The model is evaluated where it is the average: after every second epoch.
        self.assertEqual([True, False, True, False], [line["valid_acc"] is None for line in epochs])
        self.assertGreater(final["test_acc"], 0.3)

    def test_fewer_hops_are_cut_and_the_log_says_how_often(self):
        _, epochs, _ = train(self.box, graph=self.one_hop(), part_only=True, **RUN)
        _, whole, _ = self.part_only()
        for line, complete in zip(epochs, whole):
            self.assertGreater(line["cut_nodes"], 0)
            self.assertLess(line["sampled_edges"], complete["sampled_edges"])

    def test_two_ranks_with_nothing_but_their_own_parts(self):
        """Each rank's parts are its own whoever they are: the same run but for the order of sums."""
        _, alone, _ = self.part_only()
        folders = []
        for rank in range(2):
            folders.append(self.box.folder / f"machine{rank}")
            for part in (2 * rank, 2 * rank + 1):
                shutil.copytree(self.graph / f"part-{part:04}", folders[-1] / f"part-{part:04}")
        ranks = start_ranks(self.box, 2, lambda rank: dict(graph=folders[rank]), part_only=True,
                            **RUN)
        for rank in ranks:
            self.assertEqual(0, rank.wait(), rank.text)
        _, epochs, final = read_log(self.box.folder / "rank0.jsonl")
        for line, expected in zip(epochs, alone):
            self.assertAlmostEqual(expected["loss"], line["loss"], places=4)
            for key in ("train_seeds", "sampled_edges", "cut_nodes"):
                self.assertEqual(expected[key], line[key], key)
        self.assertAlmostEqual(final["test_acc"], alone[3]["test_acc"] if final["best_epoch"] == 3
                               else alone[1]["test_acc"], delta=0.01)
        self.assertGreater(final["most_frequent_class"], 0)

    def test_rounds_of_steps_that_hold_an_epoch_are_those_of_epochs(self):
        given = {**RUN, "graph": self.graph, "part_only": True}
        _, epochs, _ = train(self.box, **{**given, "average_every": 1})
        config, steps, _ = train(self.box, **{**given, "average_every": "50steps"})
        self.assertEqual("50steps", config["average_every"])
        self.assertEqual(self.losses(epochs), self.losses(steps))
        _, often, final = train(self.box, **{**given, "average_every": "1steps"})
        self.assertNotEqual(self.losses(epochs), self.losses(often))
        self.assertEqual([140] * 4, [line["train_seeds"] for line in often])
        self.assertEqual([line["step"] for line in epochs], [line["step"] for line in often])
        self.assertEqual("epochs", final["ended_by"])

    def test_a_run_is_repeated_bit_for_bit(self):
        given = dict(RUN, graph=self.graph, part_only=True, average_every=1, dropout=0.5)
        self.assertEqual(self.losses(train(self.box, **given)[1]),
                         self.losses(train(self.box, **given)[1]))


class CheckpointsTest(AveragingBase):
    def test_two_ranks_that_are_killed_go_on_and_end_as_undisturbed_ones(self):
        given = dict(RUN, graph=self.graph, part_only=True, average_every=1, dropout=0.5)
        folder = self.box.folder / "checkpoints"
        kept = dict(given, checkpoint=folder, checkpoint_every="1", resume=True)
        ranks = start_ranks(self.box, 2, **{**kept, "epochs": ENDLESS})
        checkpoints.await_one(folder, ranks)
        for rank in ranks:
            rank.signal(signal.SIGKILL)
            rank.wait()
        epochs = checkpoints.epochs_to_go(folder)
        ranks = start_ranks(self.box, 2, **{**kept, "epochs": epochs})
        self.assertEqual([0, 0], [rank.wait() for rank in ranks])
        self.assertIn("going on from", ranks[0].err)
        _, lines, final = read_log(self.box.folder / "rank0.jsonl")
        lines = {line["epoch"]: line for line in lines if "epoch" in line}
        (self.box.folder / "rank0.jsonl").unlink()
        ranks = start_ranks(self.box, 2, **{**given, "epochs": epochs})
        self.assertEqual([0, 0], [rank.wait() for rank in ranks])
        _, whole, wanted = read_log(self.box.folder / "rank0.jsonl")
        self.assertEqual(self.losses(whole), [lines[epoch]["loss"] for epoch in range(epochs)])
        for key in ("best_epoch", "valid_loss", "test_acc", "epochs", "steps"):
            self.assertEqual(wanted[key], final[key], key)

    def test_its_weights_predict(self):
        folder, predicted = self.box.folder / "checkpoints", self.box.folder / "p.csv"
        train(self.box, graph=self.graph, part_only=True, checkpoint=folder, **RUN)
        must(self.box.run("halograph-train", "infer", *options(
            checkpoint=folder, graph=self.graph, predict=predicted, threads=1)))
        self.assertEqual(1 + 2708, len(predicted.read_text().splitlines()))


class RefusalsTest(AveragingBase):
    def test_options_that_make_no_sense(self):
        self.refused(2, "--part-only needs --average-every", graph=self.graph, part_only=True,
                     average_every=0)
        self.refused(2, "--part-only needs --epochs", graph=self.graph, part_only=True, epochs=0)
        self.refused(2, "--part-only is for --graph", servers="127.0.0.1:1", part_only=True)
        self.refused(2, "--part-only and --predict", graph=self.graph, part_only=True,
                     predict=self.box.folder / "p.npy")
        self.refused(2, "--average-every and --max-steps", graph=self.graph, max_steps=5)
        self.refused(2, "'0steps' is out of range", graph=self.graph, average_every="0steps")
        self.refused(2, "'5x' is neither, expected epochs", graph=self.graph, average_every="5x")
        self.refused(2, "--average-every and --embed", graph=self.graph, embed="node:8",
                     state=self.box.folder / "state")

    def test_what_is_about_edges_or_learnt_as_an_input(self):
        graphs = {}
        for name, write in (("links", lambda folder: links.write(folder, datasets.cora())),
                            ("typed", datasets.write_typed)):
            graphs[name] = self.box.folder / name
            must(self.box.run("halograph-partition", "run", "--input",
                              write(self.box.folder / f"{name}-source"), "--output", graphs[name],
                              "--parts", 2, "--seed", 1))
        self.refused(1, "--average-every is for tasks about nodes", graph=graphs["links"],
                     score="dot", eval_negatives=5)
        state = self.box.folder / "state"
        for _ in range(2):  # nothing is begun
            self.refused(1, "since they have no features: author, unused; ", ": 0 tensors",
                         graph=graphs["typed"], model="rgcn", state=state)

    def test_parts_whose_labels_tell_other_numbers_of_classes(self):
        source, graph = self.box.folder / "source", self.box.folder / "graph"
        datasets.write(source, 60, [(v, (v + 1) % 60) for v in range(60)])
        metadata = source / "metadata.yaml"
        metadata.write_text(metadata.read_text().replace("    num_classes: 2\n", ""))
        npy.save(source / "train_labels.npy", "<i8", (20,), [v % 2 for v in range(19)] + [2])
        must(self.box.run("halograph-partition", "run", "--input", source, "--output", graph,
                          "--parts", 2, "--seed", 1, "--halo-features"))
        for ranks in (1, 2):
            result = self.box.run("halograph-train", *options(
                graph=graph, part_only=True, logical_ranks=ranks, **RUN))
            self.assertEqual(1, result.code)
            self.assertRegex(result.err, "halograph-train: (rank 0, part 1: )?task 'node_classification' has "
                             "[23] outputs by the labels of part 1, and [23] by those of part 0: its "
                             "metadata needs num_classes")

    def test_a_part_without_halo(self):
        graph = self.box.folder / "bare"
        shutil.copytree(self.graph, graph, ignore=shutil.ignore_patterns("halo"))
        self.refused(1, "part-0000/halo/manifest.json", "halograph-partition halo --graph",
                     graph=graph, part_only=True)

    def test_more_ranks_than_parts(self):
        graph = self.box.folder / "two"
        must(self.box.run("halograph-partition", "run", "--input", datasets.cora(), "--output", graph,
                          "--parts", 2, "--seed", 1))
        for rank in start_ranks(self.box, 3, graph=graph, **RUN):
            self.assertEqual(1, rank.wait(), rank.text)
            self.assertIn("3 ranks, but 2 partitions", rank.text)


if __name__ == "__main__":
    programs.main()
