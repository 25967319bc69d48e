#!/usr/bin/env python3
"""Samplers by name: the same losses in every mode, and what is refused."""
import shutil

from harness import datasets, programs
from harness.programs import must
from harness.training import train

SMALL = dict(hidden=16, batch_size=50, seed=3, threads=1, epochs=2)
# Each with options that leave defaults.
SAMPLERS = (dict(sampler="labor", fanouts="5,3"),
            dict(sampler="labor", model="gcn", fanouts="5,3", labor_shared=True),
            dict(sampler="ladies"),
            dict(sampler="ladies", model="gcn", layer_nodes="40,60"),
            dict(sampler="ladies", model="gat", layer_nodes="40,-1", layer_probability="count"),
            dict(sampler="ladies", layer_nodes="30,30", layer_estimate="normalized"),
            dict(sampler="fastgcn", model="gcn", layer_nodes="300,400"))


class SamplersTest(programs.ProgramTest):
    AT_ONCE = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graph = cls.shared.folder / "graph"
        must(cls.shared.run("halograph-partition", "run", "--input", datasets.cora(), "--output",
                            cls.graph, "--parts", 2, "--seed", 1))
        cls.own = datasets.copy_of(cls.graph, cls.shared.folder / "own")
        shutil.rmtree(cls.own / "part-0000")

    def losses(self, **given):
        _, epochs, _ = train(self.box, **{**SMALL, **given})
        return [(line["loss"], line["valid_acc"], line["sampled_edges"]) for line in epochs]

    def servers(self, *parts):
        return ",".join(self.box.servers(self.graph, parts)[1])

    def test_losses_are_equal_in_every_mode(self):
        servers = self.servers(1, 0)
        for sampler in SAMPLERS:
            wanted = self.losses(graph=self.graph, **sampler)
            self.assertLess(wanted[1][0], wanted[0][0])
            for where in (dict(), dict(local=self.own), dict(topology=self.graph)):
                self.assertEqual(wanted, self.losses(servers=servers, **where, **sampler),
                                 (sampler, where))

    def test_evaluation_draws_all_neighbours_whatever_the_sampler(self):
        config, _, _ = train(self.box, graph=self.graph, sampler="ladies", **SMALL)
        self.assertEqual([-1, -1], config["eval_fanouts"])
        self.assertEqual("ladies", config["sampler"])

    def test_all_candidates_have_the_bits_of_full_neighbourhoods(self):
        # Of one layer: lists of nodes are in another order, by which deeper layers drop out.
        full = self.losses(graph=self.graph, layers=1, dropout=0, fanouts="-1")
        for sampler in ("ladies", "fastgcn"):
            found = self.losses(graph=self.graph, layers=1, dropout=0, sampler=sampler,
                                layer_nodes="-1")
            self.assertEqual([line[:2] for line in full], [line[:2] for line in found])

    def test_what_does_not_fit_is_refused_by_name(self):
        for given, words in (
                (("--sampler", "ladies", "--fanouts", "5,5"), ("--fanouts", "neighbor or labor", "ladies")),
                (("--layer-nodes", "5,5"), ("--layer-nodes", "--sampler ladies")),
                (("--sampler", "ladies", "--layer-nodes", "5"), ("--layer-nodes", "--layers 2")),
                (("--sampler", "ladies", "--layer-nodes", "5,-2"), ("--layer-nodes", "-2")),
                (("--sampler", "nothing"), ("--sampler", "neighbor", "ladies")),
                (("--sampler", "ladies", "--aggregator", "pool"), ("--sampler ladies", "pool")),
                (("--sampler", "fastgcn", "--layer-probability", "sqrt"),
                 ("--layer-probability", "ladies", "fastgcn")),
                (("--sampler", "ladies", "--full-batch"), ("--full-batch", "--sampler ladies")),
                (("--sampler", "ladies", "--labor-shared"), ("--labor-shared", "--sampler labor")),
                (("--sampler", "fastgcn", "--part-only", "--average-every", "1"),
                 ("--part-only", "fastgcn", "ladies")),
                (("--sampler", "ladies", "--model", "gcn", "--edge-weight", "w"),
                 ("--edge-weight w", "gcn", "ladies"))):
            self.assertCode(2, self.box.run("halograph-train", "--graph", self.graph, *given), *words)

    def test_out_degrees_that_exceed_the_memory_are_refused_with_their_size(self):
        self.assertCode(1, self.box.run("halograph-train", "--graph", self.graph, "--sampler", "fastgcn",
                                        "--sampler-memory", "1KiB"),
                        "fastgcn", "10.6 KiB", "--sampler-memory is 1.0 KiB")

    def test_attention_is_told_to_be_biased_once(self):
        result = must(self.box.run("halograph-train", "--graph", self.graph, "--sampler", "ladies",
                                   "--model", "gat", "--epochs", 1))
        self.assertEqual(1, result.err.count("attention is normalised over the drawn neighbours"))


if __name__ == "__main__":
    programs.main()
