#!/usr/bin/env python3
"""Link prediction: the same losses everywhere, and what is refused before it begins."""
import re

from harness import datasets, links, npy, programs
from harness.programs import must
from harness.training import options, read_log, start_ranks, train

SETTINGS = dict(hidden=16, link_dim=16, fanouts="5,3", eval_fanouts="5,3", batch_size=500, epochs=2,
                seed=3, threads=1, corrupt="both", negatives=2, negative_sampling="degree",
                score="distmult", eval_negatives=0)
# Of data that gives negatives. All neighbours are read, so that a row does not depend on the minibatch
# that it is in.
GIVEN = dict(hidden=16, link_dim=16, fanouts="5,3", eval_fanouts="-1,-1", batch_size=500, epochs=4,
             negatives=2, seed=3, threads=1, hits_at="50,20,1000")


class LinksTest(programs.ProgramTest):
    AT_ONCE = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graph = cls.partitioned("part", whole=False)

    @classmethod
    def partitioned(cls, name, whole):
        source = links.write(cls.shared.folder / f"{name}-source", datasets.cora(), whole)
        graph = cls.shared.folder / name
        must(cls.shared.run("halograph-partition", "run", "--input", source, "--output", graph,
                            "--parts", 2, "--seed", 1))
        return graph

    @staticmethod
    def figures(epochs):
        return [[epoch[key] for key in ("loss", "valid_mrr", "test_mrr", "valid_hits_at_10")]
                for epoch in epochs]

    def test_embedded_and_two_servers_learn_the_same(self):
        config, epochs, _ = train(self.box, graph=self.graph, **SETTINGS)
        self.assertLess(epochs[1]["loss"], epochs[0]["loss"])
        self.assertGreater(config["train_rows"], 4000)
        servers = ",".join(self.box.servers(self.graph, [0, 1])[1])
        self.assertEqual(self.figures(epochs),
                         self.figures(train(self.box, servers=servers, **SETTINGS)[1]))

    def test_embeddings_are_the_rows_that_edges_are_scored_by(self):
        path = self.box.folder / "rows.npy"
        short = {**SETTINGS, "epochs": 1, "eval_negatives": 10}
        train(self.box, graph=self.graph, predict=path, predict_what="embeddings", **short)
        self.assertEqual((2708, SETTINGS["link_dim"]), npy.load(path).shape)
        done = self.box.run("halograph-train", "--graph", self.graph, "--predict", path)
        self.assertEqual(1, done.code)
        self.assertIn("give --predict-what embeddings", done.err)

    def test_two_ranks_rank_among_all_nodes_together(self):
        found = []
        servers = ",".join(self.box.servers(self.graph, [0, 1])[1])
        for _ in range(2):
            for rank in start_ranks(self.box, 2, servers=servers, **SETTINGS):
                self.assertEqual(0, rank.wait(), rank.text)
            found.append(self.figures(read_log(self.box.folder / "rank0.jsonl")[1]))
        self.assertEqual(found[0], found[1])
        self.assertGreater(found[0][1][1], 0.001, "better than chance")

    def test_edges_held_out_that_the_graph_has_are_refused(self):
        graph = self.partitioned("whole", whole=True)
        done = self.box.run("halograph-train", "--graph", graph, "--epochs", 1)
        self.assertEqual(1, done.code)
        self.assertRegex(done.err, r"the graph has (\d+) of the \1 edges of the valid set")
        must(self.box.run("halograph-train", "--graph", graph, "--epochs", 1, "--held-out", "keep",
                          "--hidden", 8, "--fanouts", "3,3"))

    def test_a_model_that_has_nothing_to_learn_is_refused(self):
        given = ("halograph-train", "--graph", self.graph, "--model", "embedding", "--link-dim", 1433,
                 "--eval-negatives", 10, "--epochs", 1)
        done = self.box.run(*given)
        self.assertEqual(1, done.code)
        self.assertIn("--model embedding has nothing to learn: the features of 'node' are 1433 wide",
                      done.err)
        must(self.box.run(*given, "--score", "distmult"))


class GivenNegativesTest(programs.ProgramTest):
    AT_ONCE = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.source = links.write(cls.shared.folder / "source", datasets.cora(), negatives=600)
        cls.graph = cls.partitioned(cls.source)
        cls.log = cls.shared.folder / "log.jsonl"
        must(cls.shared.run("halograph-train", *options(
            **GIVEN, graph=cls.graph, log=cls.log, predict=cls.shared.folder / "rows.npy",
            predict_what="embeddings", checkpoint=cls.shared.folder / "run")))

    @classmethod
    def partitioned(cls, source):
        graph = cls.shared.folder / f"{source.name}-parts"
        must(cls.shared.run("halograph-partition", "run", "--input", source, "--output", graph,
                            "--parts", 2, "--seed", 1))
        return graph

    def assertRefused(self, why, graph, **given):
        done = self.box.run("halograph-train", *options(graph=graph, epochs=1, **given))
        self.assertEqual(1, done.code, done)
        self.assertIn(why, done.err)

    def logged(self):
        """Epochs and last line of the run; lines of checkpoints stand between them."""
        _, epochs, final = read_log(self.log)
        return [epoch for epoch in epochs if "checkpoint" not in epoch], final

    def hits_by_hand(self, name, k):
        """OGB's formula over the rows that edges are scored by."""
        rows = npy.load(self.shared.folder / "rows.npy")
        scores = {0: [], 1: []}
        pairs, labels = npy.load(self.source / f"{name}.npy"), npy.load(self.source / f"{name}_labels.npy")
        for (u, v), label in zip(pairs.rows(), labels.values):
            scores[label].append(sum(a * b for a, b in zip(rows.row(u), rows.row(v))))
        if len(scores[0]) < k:
            return 1, len(scores[1])
        bound = sorted(scores[0])[-k]
        return sum(score > bound for score in scores[1]) / len(scores[1]), len(scores[1])

    def test_figures_are_ogbs_of_the_rows_that_edges_are_scored_by(self):
        epochs, final = self.logged()
        for name in ("valid", "test"):
            for k in (20, 50, 1000):
                wanted, edges = self.hits_by_hand(name, k)
                # A score that the program rounds otherwise may change sides.
                self.assertAlmostEqual(wanted, final[f"{name}_hits_at_{k}"], delta=1.5 / edges)
        self.assertGreater(final["test_hits_at_50"], 0.1, "better than chance: 50 of 600")
        self.assertEqual(1, final["test_hits_at_1000"])
        self.assertNotIn("test_mrr", final)
        self.assertIsNone(epochs[0]["train_hits_at_50"])
        valid = [epoch["valid_hits_at_50"] for epoch in epochs]
        self.assertEqual(valid.index(max(valid)), final["best_epoch"])

    def test_two_servers_learn_and_measure_the_same(self):
        servers = ",".join(self.box.servers(self.graph, [0, 1])[1])
        _, epochs, _ = train(self.box, servers=servers, **GIVEN)
        keys = ["loss"] + [f"{name}_{key}" for name in ("valid", "test")
                           for key in ("loss", "hits_at_20", "hits_at_50")]
        self.assertEqual([[epoch[key] for key in keys] for epoch in self.logged()[0]],
                         [[epoch[key] for key in keys] for epoch in epochs])

    def test_any_number_of_ranks_measures_the_same(self):
        servers = ",".join(self.box.servers(self.graph, [0, 1])[1])
        final = self.logged()[1]
        for world_size in (1, 2, 3):
            log, port = self.box.folder / f"of{world_size}.jsonl", programs.free_port()
            ranks = [self.box.start("halograph-train", "evaluate", *options(
                servers=servers, checkpoint=self.shared.folder / "run", log=log, rank=rank, threads=1,
                world_size=world_size, master_addr="127.0.0.1", master_port=port))
                for rank in range(world_size)]
            for rank in ranks:
                self.assertEqual(0, rank.wait(), rank.text)
            found = read_log(log)[2]
            for key in ("valid_hits_at_20", "valid_hits_at_50", "test_hits_at_20", "test_hits_at_50"):
                self.assertEqual(final[key], found[key], (key, world_size))

    def test_options_and_sets_that_contradict_are_refused(self):
        self.assertRefused("--eval-negatives 0: the validation and test sets of task 'link_prediction' "
                           "come with negatives", self.graph, eval_negatives=0)
        without = self.partitioned(links.write(self.shared.folder / "without", datasets.cora()))
        self.assertRefused("--hits-at is for sets that come with negatives", without, hits_at=20)
        metadata = self.source / "metadata.yaml"
        one = self.shared.folder / "one"
        one.mkdir()
        for path in self.source.iterdir():
            (one / path.name).symlink_to(path)
        (one / "metadata.yaml").unlink()
        (one / "metadata.yaml").write_text(
            re.sub(r"\n.*path: test_labels.npy.*", "", metadata.read_text()))
        self.assertRefused("the valid set comes with negatives, rows of label 0, and the test set has "
                           "none", self.partitioned(one))


if __name__ == "__main__":
    programs.main()
