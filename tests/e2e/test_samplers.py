#!/usr/bin/env python3
"""Samplers by name: the same losses in every mode, what they ask of servers, and what is refused."""
import pathlib
import random
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "bench" / "bulk"))
import counted
import one_process
import predict
from harness import datasets, links, programs
from harness.programs import must
from harness.training import options, start_ranks, read_log, train

SMALL = dict(hidden=16, batch_size=50, seed=3, threads=1, epochs=2)
# Each with options that leave defaults.
SAMPLERS = (dict(sampler="labor", fanouts="5,3"),
            dict(sampler="labor", model="gcn", fanouts="5,3", labor_shared=True),
            dict(sampler="ladies"),
            dict(sampler="ladies", model="gcn", layer_nodes="40,60"),
            dict(sampler="ladies", model="gat", layer_nodes="40,-1", layer_probability="count"),
            dict(sampler="ladies", layer_nodes="30,30", layer_estimate="normalized"),
            dict(sampler="fastgcn", model="gcn", layer_nodes="300,400"),
            dict(sampler="cluster"),
            dict(sampler="cluster", model="gcn", clusters_per_batch=4, cluster_weights=True),
            dict(sampler="saint-node", model="gcn", saint_nodes=300),
            dict(sampler="saint-edge", saint_edges=200),
            dict(sampler="saint-walk", model="gat", saint_roots=100, walk_length=3))


class SamplersTest(programs.ProgramTest):
    AT_ONCE = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graph = cls.shared.folder / "graph"
        must(cls.shared.run("halograph-partition", "run", "--input", datasets.cora(), "--output",
                            cls.graph, "--parts", 2, "--seed", 1, "--batch-clusters", 10))
        cls.own = datasets.copy_of(cls.graph, cls.shared.folder / "own")
        shutil.rmtree(cls.own / "part-0000")

    def losses(self, **given):
        _, epochs, _ = train(self.box, **{**SMALL, **given})
        return [(line["loss"], line["valid_acc"], line["sampled_edges"]) for line in epochs
                if "loss" in line]  # not that of a checkpoint

    def servers(self, *parts):
        return ",".join(self.box.servers(self.graph, parts)[1])

    def test_losses_are_equal_in_every_mode(self):
        servers = self.servers(1, 0)
        for sampler in SAMPLERS:
            wanted = self.losses(graph=self.graph, **sampler)
            if not sampler["sampler"].startswith("saint"):  # two epochs of these are too noisy
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
                (("--sampler", "cluster", "--saint-nodes", "5"),
                 ("--saint-nodes", "--sampler saint-node", "cluster")),
                (("--sampler", "saint-node", "--average-every", "1"),
                 ("--average-every", "--sampler saint-node")),
                (("--sampler", "cluster", "--full-batch"), ("--full-batch", "--sampler cluster")),
                (("--sampler", "saint-edge", "--aggregator", "pool"), ("--sampler saint-edge", "pool"))):
            self.assertCode(2, self.box.run("halograph-train", "--graph", self.graph, *given), *words)

    def partitioned(self, source, *given):
        folder = self.box.folder / "other"
        must(self.box.run("halograph-partition", "run", "--input", source, "--output", folder,
                          "--parts", 2, *given))
        return folder

    def test_graphs_that_have_no_such_subgraphs_are_refused_by_name(self):
        one_way = datasets.write(self.box.folder / "one-way", 30, [(v, (v + 1) % 30) for v in range(30)])
        plain = self.partitioned(one_way)
        for sampler in ("saint-node", "saint-edge", "saint-walk"):
            self.assertCode(1, self.box.run("halograph-train", "--graph", plain, "--sampler", sampler),
                            f"--sampler {sampler}", "node:edge:node", "symmetric")
        self.assertCode(1, self.box.run("halograph-train", "--graph", plain, "--sampler", "cluster"),
                        "no clusters", "--batch-clusters N")
        shutil.rmtree(plain)
        typed = datasets.write_typed(self.box.folder / "typed")
        self.assertCode(1, self.box.run("halograph-train", "--graph", self.partitioned(typed),
                                        "--sampler", "saint-node"), "--sampler saint-node", "one node type")

    def test_subgraphs_are_for_nodes_alone(self):
        source = links.write(self.box.folder / "links", datasets.cora())
        graph = self.partitioned(source, "--batch-clusters", 4)
        self.assertCode(1, self.box.run("halograph-train", "--graph", graph, "--sampler", "cluster"),
                        "--sampler cluster", "about edges")

    def test_an_epoch_of_subgraphs_is_as_many_steps_as_seeds_make(self):
        # 140 training nodes.
        for sampler in ("cluster", "saint-node"):
            _, epochs, _ = train(self.box, graph=self.graph, sampler=sampler, **SMALL)
            self.assertEqual([3, 3], [line["steps"] for line in epochs])

    def test_a_run_of_subgraphs_goes_on_bit_for_bit(self):
        for sampler in ("saint-node", "saint-walk"):
            given = dict(SMALL, graph=self.graph, sampler=sampler, model="sage", epochs=3)
            whole = self.losses(**given)
            kept = dict(given, checkpoint=self.box.folder / sampler)
            self.losses(**dict(kept, max_steps=4))
            self.assertEqual(whole[1:], self.losses(resume=True, **kept))

    def test_weights_of_clusters_fit_a_graph_without_any(self):
        plain = self.partitioned(datasets.cora())
        run = self.box.folder / "clusters"
        _, epochs, _ = train(self.box, graph=self.graph, sampler="cluster", checkpoint=run,
                             **dict(SMALL, epochs=1))
        for command in (("evaluate", "--json"), ("infer", "--predict", self.box.folder / "out.npy")):
            must(self.box.run("halograph-train", command[0], "--graph", plain, "--checkpoint", run,
                              *command[1:]))

    def test_ranks_draw_the_same_subgraphs_wherever_they_are(self):
        given = dict(SMALL, graph=self.graph, sampler="saint-edge", saint_edges=200)
        for rank in start_ranks(self.box, 2, **given):
            self.assertEqual(0, rank.wait())
        apart = [line["loss"] for line in read_log(self.box.folder / "rank0.jsonl")[1]]
        together = [line["loss"] for line in train(self.box, logical_ranks=2, **given)[1]]
        self.assertEqual(apart, together)

    def test_minibatches_in_bulk_are_the_same_ones_in_fewer_rounds(self):
        servers = self.servers(1, 0)
        given = dict(SMALL, batch_size=10, servers=servers)  # 14 steps
        for sampler, rounds in ((dict(fanouts="5,3"), 4), (dict(sampler="ladies"), 6),
                                (dict(sampler="fastgcn"), 2),
                                (dict(sampler="saint-edge", saint_edges=300), 4)):
            alone = train(self.box, **given, **sampler)[1]
            bulk = train(self.box, bulk=7, **given, **sampler)[1]
            self.assertEqual([line["loss"] for line in alone], [line["loss"] for line in bulk])
            self.assertEqual([rounds + 2] * 2, [line["rounds_per_minibatch"] for line in alone])
            for line in bulk:
                self.assertAlmostEqual(rounds / 7 + 2, line["rounds_per_minibatch"])

    def test_bulks_of_learnt_rows_and_of_a_run_that_is_tuned_are_the_same_minibatches(self):
        given = dict(SMALL, batch_size=10, graph=self.graph, embed="node:8", fanouts="5,3")
        alone = self.losses(state=self.box.folder / "alone", **given)
        self.assertEqual(alone, self.losses(state=self.box.folder / "bulk", bulk=4, **given))
        given = dict(graph=self.graph, hidden=16, batch_size=10, seed=3, epochs=2, fanouts="5,3")
        alone, tuned = ([line["loss"] for line in train(self.box, **given, **more)[1]]
                        for more in (dict(), dict(bulk=4, tune=True)))
        self.assertEqual(alone, tuned)

    def test_more_clusters_a_batch_than_there_are_is_told(self):
        result = must(self.box.run("halograph-train", *options(
            graph=self.graph, sampler="cluster", clusters_per_batch=40, epochs=1)))
        self.assertIn("--clusters-per-batch 40: the graph has 20 clusters", result.err)

    def test_messages_and_bytes_are_those_predicted_in_one_process(self):
        graph = one_process.Graph(self.graph)
        _, addresses = self.box.servers(self.graph, (1, 0))
        for sampler, sizes, messages, given in (
                ("neighbor", (5, 3), 4, dict(fanouts="5,3")),
                ("ladies", (30, 40), 8, dict(layer_nodes="30,40")),
                ("ladies", (150, 40), 8, dict(layer_nodes="150,40", layer_probability="count")),
                ("fastgcn", (300, 400), 2, dict(layer_nodes="300,400"))):
            with self.subTest(**given):
                found, found_bytes, logged = counted.count(
                    self.box, addresses, sampler=sampler, plain_ids=True, **dict(SMALL, batch_size=10, bulk=7),
                    **given)
                traffic = predict.Traffic(one_process.Sampler(
                    graph, sampler, sizes, given.get("layer_probability", "degree")), 4 << 20)
                for bulk in predict.bulks(traffic.sampler, SMALL["seed"], 10, 7, epoch=1):
                    predict.add_bulk(traffic, bulk)
                # Two bulks of 7: messages by the paper's rows (parts), 4R or 2R a layer, or 2R.
                self.assertEqual(2 * 2 * messages, traffic.messages)
                self.assertEqual(traffic.messages, found)
                self.assertEqual(logged, found_bytes)
                self.assertAlmostEqual(1, traffic.bytes / found_bytes, delta=0.01)

    def test_pairs_by_formula_are_the_mean_over_random_parts(self):
        graph, rows, draws, random_parts = one_process.Graph(self.graph), 3, 300, random.Random(1)
        seeds = one_process.minibatches(graph, SMALL["seed"], 140)[0]
        for probability in ("degree", "count"):
            for layer in one_process.Sampler(graph, "ladies", (150, 10), probability).layers(*seeds):
                pairs = 0
                for _ in range(draws):
                    pairs += len({(part, source) for node in layer.destinations
                                  for part in (random_parts.randrange(rows),)
                                  for source in graph.in_edges(node)})
                self.assertAlmostEqual(1, layer.at_random(rows).pairs * rows * draws / pairs, delta=0.005)
                self.assertEqual(layer.whole().destinations, layer.at_random(rows).destinations * rows)

    def test_a_topology_that_is_here_asks_no_server_for_samples(self):
        _, addresses = self.box.servers(self.graph, (1, 0))
        for sampler in (dict(fanouts="5,3"), dict(sampler="ladies"), dict(sampler="fastgcn")):
            for where, rounds in ((dict(graph=self.graph), 0),
                                  (dict(servers=",".join(addresses), topology=self.graph, cache="off"), 2)):
                _, epochs, _ = train(self.box, **SMALL, **where, **sampler)
                for line in epochs:  # what hybrid mode has is of features
                    self.assertEqual((0, rounds), (line["remote_sample_bytes"], line["rounds_per_minibatch"]))
        self.assertEqual((0, 0), tuple(map(counted.Calls.now(self.box, addresses).of, ("calls", "bytes"))))

    def test_bulks_that_cannot_be_are_told(self):
        result = must(self.box.run("halograph-train", *options(
            graph=self.graph, bulk=60, batch_size=50, epochs=1, prefetch_memory="1KiB")))
        for words in ("--bulk 60: an epoch has 3 steps",
                      "--bulk 3 needs --prefetch-memory", "and has 1.0 KiB"):
            self.assertIn(words, result.err)
        for given, words in ((("--bulk", 4, "--prefetch", 0), ("--bulk 4", "--prefetch 0")),
                             (("--bulk", 65), ("--bulk", "1 to 64"))):
            self.assertCode(2, self.box.run("halograph-train", "--graph", self.graph, *given), *words)

    def test_a_cluster_larger_than_a_batch_is_told(self):
        result = must(self.box.run("halograph-train", *options(
            graph=self.graph, sampler="cluster", batch_size=2, epochs=1)))
        self.assertIn("a minibatch of 1 of 20 clusters has about 7 training nodes, and --batch-size is 2",
                      result.err)

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
