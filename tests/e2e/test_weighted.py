#!/usr/bin/env python3
"""Sampling by an edge feature, from the input folder to equal losses in every mode."""
import shutil

from harness import datasets, npy, programs
from harness.programs import must
from harness.training import train

SMALL = dict(hidden=16, fanouts="5,3", batch_size=50, seed=3, threads=1, epochs=2)
FEATURES = "feature_data:\n"
WEIGHT = "  - {domain: edge, name: w, format: numpy, path: w.npy}\n"


def weight_of(edge):
    """Over seven decades, every fourth 0."""
    return 0.0 if edge % 4 == 3 else 10.0 ** (edge % 7)


def write_input(folder, weights):
    """Cora with a weight on every edge."""
    datasets.copy_of(datasets.cora(), folder)
    metadata = folder / "metadata.yaml"
    metadata.write_text(metadata.read_text().replace(FEATURES, FEATURES + WEIGHT))
    npy.save(folder / "w.npy", "<f8", (len(weights),), weights)
    return folder


class WeightedBase(programs.ProgramTest):
    AT_ONCE = 3

    # Where the topology is, beside servers.
    WHERE = (dict(), dict(local="{0.own}"), dict(topology="{0.graph}"),
             dict(topology="local", cache_dir="{0.box.folder}/cache"))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.original = datasets.GraphBolt(datasets.cora())
        cls.edges = cls.original.edge_list()
        cls.weights = [weight_of(edge) for edge in range(len(cls.edges))]
        cls.input = write_input(cls.shared.folder / "input", cls.weights)
        cls.graph = cls.shared.folder / "graph"
        cls.summary = must(cls.shared.run(
            "halograph-partition", "run", "--input", cls.input, "--output", cls.graph, "--parts", 2,
            "--seed", 1, "--sampling-weights", "w"))
        cls.own = datasets.copy_of(cls.graph, cls.shared.folder / "own")
        shutil.rmtree(cls.own / "part-0000")

    def losses(self, **given):
        _, epochs, _ = train(self.box, **{**SMALL, **given})
        return [(line["loss"], line["valid_acc"], line["sampled_edges"]) for line in epochs]

    def servers(self, *parts):
        return ",".join(self.box.servers(self.graph, parts)[1])

    def equal(self, places, **mode):
        """Losses with servers of these parts and the topology there are those of no servers, and not
        those of uniform sampling."""
        wanted = self.losses(graph=self.graph, sampling_weights="w", **mode)
        for parts, where in places:
            given = {name: value.format(self) for name, value in where.items()}
            self.assertEqual(wanted, self.losses(servers=self.servers(*parts), sampling_weights="w",
                                                 **given, **mode), (parts, where))
        self.assertNotEqual(wanted, self.losses(graph=self.graph, **mode))


class WeightedTest(WeightedBase):
    def test_losses_are_equal_in_every_mode_and_not_those_of_uniform_sampling(self):
        self.equal([(("all",), {}), *(((1, 0), where) for where in self.WHERE)])

    def test_so_they_are_with_replacement(self):
        self.equal([((1, 0), self.WHERE[0]), ((1, 0), self.WHERE[1])], replace=True)

    def test_edges_of_weight_zero_are_not_there_whatever_the_fanout(self):
        seeds = set(npy.load(self.original.tasks["train", "node"]["seeds"]).values)
        wanted = sum(v in seeds and weight > 0 for (_, v), weight in zip(self.edges, self.weights))
        for fanout in ("-1", "1000000"):
            epochs = self.losses(graph=self.graph, sampling_weights="w", layers=1, fanouts=fanout)
            self.assertEqual(wanted, epochs[0][2])

    def test_verify_finds_all_there(self):
        self.assertCode(0, self.box.run("halograph-partition", "verify", "--input", self.input,
                                        "--graph", self.graph))

    def test_summary_counts_nodes_with_nothing_to_draw(self):
        positive = {v for (_, v), weight in zip(self.edges, self.weights) if weight > 0}
        wanted = len({v for _, v in self.edges} - positive)
        self.assertIn(f"in-edges all have weight 0: {wanted}\n", self.summary.out)

    def test_weight_that_is_not_there_ends_the_run_saying_what_to_do(self):
        for where in (dict(graph=self.graph), dict(servers=self.servers("all"))):
            given = [f"--{name}={value}" for name, value in where.items()]
            self.assertCode(1, self.box.run("halograph-train", *given, "--sampling-weights", "x"),
                            "'node:edge:node'", "'x'", "'w'", "partition with --sampling-weights x")

    def test_negative_weight_is_refused_naming_the_edge_and_leaves_nothing(self):
        weights = list(self.weights)
        weights[4321] = -0.5
        wrong = write_input(self.box.folder / "wrong", weights)
        output = self.box.folder / "output"
        self.assertCode(1, self.box.run("halograph-partition", "run", "--input", wrong, "--output",
                                        output, "--parts", 2, "--sampling-weights", "w"),
                        wrong / "w.npy", "edge 4321 ", "-0.5")
        self.assertFalse(output.exists())

    def test_an_edge_feature_that_nothing_reads_is_named(self):
        given = ("halograph-train", "--graph", self.graph, "--epochs", 1)
        unread = "edge features that nothing reads: 'w' of 'node:edge:node'"
        self.assertIn(unread, must(self.box.run(*given)).err)
        self.assertNotIn(unread, must(self.box.run(*given, "--sampling-weights", "w")).err)

    def test_flipped_byte_of_a_table_is_refused_naming_the_file(self):
        graph = datasets.copy_of(self.graph, self.box.folder / "graph")
        table = graph / "part-0001/edges/node%3Aedge%3Anode/sampling/w/entries.npy"
        data = bytearray(table.read_bytes())
        data[-9] ^= 1
        table.write_bytes(data)
        self.assertCode(1, self.box.run("halograph-train", "--graph", graph), table)


class WeightedLongTest(WeightedBase):
    def test_losses_are_equal_with_any_servers_in_every_mode(self):
        for mode in (dict(), dict(replace=True)):
            self.equal([(parts, where) for parts in (("all",), (1, 0)) for where in self.WHERE], **mode)


if __name__ == "__main__":
    programs.main()
