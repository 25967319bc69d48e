#!/usr/bin/env python3
"""Link prediction: the same losses everywhere, and what is refused before it begins."""
from harness import datasets, links, npy, programs
from harness.programs import must
from harness.training import read_log, start_ranks, train

SETTINGS = dict(hidden=16, link_dim=16, fanouts="5,3", eval_fanouts="5,3", batch_size=500, epochs=2,
                seed=3, threads=1, corrupt="both", negatives=2, negative_sampling="degree",
                score="distmult", eval_negatives=0)


class LinksTest(programs.ProgramTest):
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
                self.assertEqual(0, rank.wait(programs.seconds(120)), rank.text)
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


if __name__ == "__main__":
    programs.main()
