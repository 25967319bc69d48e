#!/usr/bin/env python3
"""Sampling by an edge feature, from the input folder to equal losses in every mode."""
import json
import shutil

from harness import datasets, npy, programs
from harness.programs import must
from harness.training import options, read_log, start_ranks, train

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


class EdgeWeightTest(programs.ProgramTest):
    """Neighbours weighed by an edge feature, from the input folder to what infer makes."""
    AT_ONCE = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = datasets.copy_of(datasets.cora(), cls.shared.folder / "input")
        count = datasets.GraphBolt(folder).num_edges
        metadata = folder / "metadata.yaml"
        features = FEATURES
        for name, descr, values in (("w", "<f8", [0.5 * (edge % 5) for edge in range(count)]),
                                    ("v", "<f4", [0.5 * (edge % 5) for edge in range(count)]),
                                    ("one", "|u1", [1] * count), ("zero", "|u1", [0] * count)):
            features += WEIGHT.replace("name: w, ", f"name: {name}, ").replace("w.npy", f"{name}.npy")
            npy.save(folder / f"{name}.npy", descr, (count,), values)
        metadata.write_text(metadata.read_text().replace(FEATURES, features))
        cls.graph = cls.shared.folder / "graph"
        must(cls.shared.run("halograph-partition", "run", "--input", folder, "--output", cls.graph,
                            "--parts", 2, "--seed", 1, "--sampling-weights", "w"))

    def losses(self, **given):
        where = {} if "servers" in given else dict(graph=self.graph)
        given = {**SMALL, **where, **given}
        _, epochs, _ = train(self.box, **{name: value for name, value in given.items()
                                          if value is not None})
        return [(line["loss"], line["valid_loss"], line["sampled_edges"]) for line in epochs
                if "loss" in line]  # not that of a checkpoint

    def test_ones_change_no_bit_and_others_do_whatever_the_model(self):
        for model in ("sage", "gcn", "gat", "sgc", "rgcn"):
            given = {**SMALL, "hidden": None} if model == "sgc" else SMALL
            given = {name: value for name, value in given.items() if value is not None}
            made = {weight: train(self.box, graph=self.graph, model=model, **given,
                                  **({"edge_weight": weight} if weight else {}))[1]
                    for weight in ("", "one", "v")}
            losses = {weight: [line["loss"] for line in epochs] for weight, epochs in made.items()}
            self.assertEqual(losses[""], losses["one"], model)
            self.assertNotEqual(losses[""], losses["v"], model)

    def test_what_is_drawn_by_weighs_as_another_feature_of_the_same_values(self):
        wanted = self.losses(sampling_weights="w", edge_weight="v")
        self.assertNotEqual(wanted, self.losses(sampling_weights="w"))
        servers = ",".join(self.box.servers(self.graph, (1, 0))[1])
        for where in (dict(), dict(servers=servers)):
            self.assertEqual(wanted, self.losses(sampling_weights="w", edge_weight="w", **where))
        self.assertEqual(wanted, self.losses(sampling_weights="w", edge_weight="v", servers=servers))

    def test_estimates_are_divided_by_the_weights_of_all_edges(self):
        servers = ",".join(self.box.servers(self.graph, (1, 0))[1])
        given = dict(model="gcn", eval_fanouts="-1,-1")
        for sampler in (dict(sampler="labor", fanouts="4,4"),
                        dict(sampler="ladies", layer_nodes="40,60", fanouts=None)):
            wanted = self.losses(edge_weight="v", **given, **sampler)
            self.assertNotEqual(wanted, self.losses(**given, **sampler))
            self.assertEqual(self.losses(edge_weight="one", **given, **sampler),
                             self.losses(**given, **sampler))
            self.assertEqual(wanted, self.losses(edge_weight="v", servers=servers, **given, **sampler))
        # Of edges that weigh nothing all sums are 0, as those of what neighbours were drawn.
        given = dict(model="gcn", layers=1, dropout=0, edge_weight="zero", eval_fanouts="-1")
        alone = [line[:2] for line in self.losses(fanouts="5", **given)]
        for sampler in (dict(sampler="labor", fanouts="4"),
                        dict(sampler="ladies", layer_nodes="40", fanouts=None)):
            self.assertEqual(alone, [line[:2] for line in self.losses(**given, **sampler)])

    def test_parts_that_are_averaged_are_weighed(self):
        averaged = dict(average_every=1)
        self.assertNotEqual(self.losses(edge_weight="w", **averaged), self.losses(**averaged))
        # Their sums are those of the whole graph.
        given = dict(model="gcn", layers=1, dropout=0, edge_weight="zero", eval_fanouts="-1", **averaged)
        alone = [line[:2] for line in self.losses(fanouts="5", **given)]
        self.assertEqual(alone, [line[:2] for line in self.losses(sampler="labor", fanouts="4", **given)])
        given = dict(model="gcn", sampler="labor", fanouts="4,4", eval_fanouts="-1,-1", **averaged)
        self.assertEqual(self.losses(edge_weight="one", **given), self.losses(**given))
        given = dict(model="gcn", layers=1, dropout=0, eval_fanouts="-1", **averaged)
        # Ranks read them together.
        given = dict(given, edge_weight="v", sampler="labor", fanouts="4")
        del given["average_every"]
        for servers in (None, ",".join(self.box.servers(self.graph, (1, 0))[1])):
            where = dict(servers=servers) if servers else dict(graph=self.graph)
            ranks = start_ranks(self.box, 2, **{**SMALL, **where, **given})
            for rank in ranks:
                self.assertEqual(0, rank.wait())
            apart = [line["loss"] for line in read_log(self.box.folder / "rank0.jsonl")[1]]
            together = [line["loss"] for line in train(self.box, logical_ranks=2,
                                                       **{**SMALL, **where, **given})[1]]
            self.assertEqual(apart, together)
        # Each divides by the sums that the others have read, too.
        given = dict(given, graph=self.graph, logical_ranks=2)
        self.assertEqual(self.losses(**dict(given, edge_weight="one")),
                         self.losses(**dict(given, edge_weight=None)))

    def test_a_run_goes_on_and_is_measured_with_its_weights(self):
        whole = self.losses(edge_weight="w")
        run = dict(checkpoint=self.box.folder / "run")
        first = self.losses(edge_weight="w", **{**run, "epochs": 1})
        given = options(**{**SMALL, **run}, graph=self.graph, resume=True)
        self.assertCode(1, self.box.run("halograph-train", *given, "--edge-weight", "v"),
                        '--edge-weight was "w", is "v"')
        self.assertEqual(whole, first + self.losses(edge_weight="w", resume=True, **run))
        measure = ("halograph-train", "evaluate", "--graph", self.graph, "--checkpoint", run["checkpoint"],
                   "--weights", "last", "--threads", 1)
        found = json.loads(must(self.box.run(*measure, "--json")).out)
        self.assertEqual(whole[-1][1], found["valid_loss"])
        for more, texts in ((("--edge-weight", "one"), ("--edge-weight is one, not w",)),
                            (("--exact",), ("--exact and --edge-weight w", "--eval-fanouts -1"))):
            self.assertCode(2, self.box.run(*measure, *more), *texts)

    def test_what_is_not_there_is_named_and_what_is_read_is_not_warned_of(self):
        given = ("halograph-train", "--graph", self.graph, "--epochs", 1)
        self.assertCode(1, self.box.run(*given, "--edge-weight", "x"),
                        "--edge-weight x: relation 'node:edge:node' has no such edge feature",
                        "'one', 'v', 'w'")
        told = must(self.box.run(*given, "--edge-weight", "w")).err
        self.assertIn("edge features that nothing reads: 'one' of 'node:edge:node', 'v' of", told)
        self.assertNotIn("'w' of", told)
        self.assertIn("--edge-weight", told)


class WeightedLongTest(WeightedBase):
    def test_losses_are_equal_with_any_servers_in_every_mode(self):
        for mode in (dict(), dict(replace=True)):
            self.equal([(parts, where) for parts in (("all",), (1, 0)) for where in self.WHERE], **mode)


if __name__ == "__main__":
    programs.main()
