#!/usr/bin/env python3
"""Hybrid training and own partitions with the programs: the same numbers as embedded, topology that
is fetched once, servers of features only."""
import math
import shutil

from harness import datasets, npy, programs
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must
from harness.training import ENDLESS, options, read_log, start_ranks, train

RUN = dict(hidden=16, fanouts="5,3", batch_size=50, seed=3, threads=1, epochs=2)


class ModesBase(CoraInTwoTest):
    AT_ONCE = 3

    def remote(self, *parts, serve="all"):
        """The value of --servers for servers of these parts."""
        return ",".join(self.box.servers(self.graph, parts, "--serve", serve)[1])

    def only_part(self, part):
        """A partition folder as the machine of one part has it."""
        folder = self.box.folder / f"only-{part}"
        folder.mkdir()
        name = f"part-{part:04}"
        shutil.copytree(self.graph / name, folder / name)
        return folder

    def numbers(self, **mode):
        _, epochs, final = train(self.box, **mode, **RUN)
        return [(line["loss"], line["valid_acc"], line["test_acc"], line["sampled_edges"])
                for line in epochs], final["test_acc"]

    def refused(self, code, *mentioned, **mode):
        self.assertCode(code, self.box.run("halograph-train", *options(**mode, **RUN)), *mentioned)


class SameEverywhereTest(ModesBase):
    def test_losses_are_equal_bit_for_bit_in_every_mode(self):
        wanted = self.numbers(graph=self.graph)
        servers, features = self.remote(0, 1), self.remote(1, 0, serve="features")
        cache = self.box.folder / "cache"
        for mode in (dict(servers=servers, local=self.only_part(1)),
                     dict(servers=servers, topology=self.graph),
                     dict(servers=features, topology=self.graph),
                     dict(servers=servers, topology="local", cache_dir=cache)):
            with self.subTest(mode):
                self.assertEqual(wanted, self.numbers(**mode))

    def test_a_folder_named_local_is_a_folder_if_written_as_a_path(self):
        (self.box.folder / "local").symlink_to(self.graph)
        features = self.remote("all", serve="features")
        self.numbers(servers=features, topology=f"{self.box.folder}/./local")


class CacheTest(ModesBase):
    def fetched(self, final):
        """Rows by whether they were fetched for the first time or again, as the run's metrics say."""
        series = next(metric["series"] for metric in final["metrics"]
                      if metric["name"] == "halograph_trainer_cache_fetched_rows_total")
        labels = [{label["name"]: label["value"] for label in one["labels"]} for one in series]
        return {found["fetch"]: int(float(one["value"])) for found, one in zip(labels, series)}

    def test_rows_that_are_fetched_again_are_told_apart(self):
        servers = self.remote(0, 1)
        # After the first epoch rows are ranked by their reads, and count as never fetched.
        for memory, again in (("64MiB", False), ("1MiB", True)):
            with self.subTest(memory):
                _, epochs, final = train(self.box, servers=servers, cache_memory=memory,
                                         **{**RUN, "epochs": 4})
                fetched = self.fetched(final)
                self.assertEqual(sum(line["cache_misses"] for line in epochs), sum(fetched.values()))
                self.assertEqual(sum(line["cache_refetches"] for line in epochs), fetched["again"])
                self.assertEqual(again, fetched["again"] > 0)
                self.assertGreater(fetched["first"], 0)

    def test_without_a_cache_none_is_fetched(self):
        _, _, final = train(self.box, servers=self.remote(0, 1), cache="off", **RUN)
        self.assertEqual({"first": 0, "again": 0}, self.fetched(final))


class FetchedTopologyTest(ModesBase):
    def state(self, folder):
        return {path.relative_to(folder): (path.stat().st_mtime_ns, path.stat().st_ino)
                for path in folder.rglob("*") if path.is_file()}

    def test_a_second_trainer_fetches_nothing(self):
        servers, cache = self.remote(0, 1), self.box.folder / "cache"
        first = self.numbers(servers=servers, topology="local", cache_dir=cache)
        before = self.state(cache)
        self.assertTrue(any(path.name == "indices.npy" for path in before), before)
        self.assertFalse(any("features" in path.parts for path in before), before)
        # Servers that have no topology to give: what is there is enough.
        features = self.remote(0, 1, serve="features")
        self.assertEqual(first, self.numbers(servers=features, topology="local", cache_dir=cache))
        self.assertEqual(before, self.state(cache))

    def test_two_trainers_at_once_share_what_one_fetches(self):
        servers, cache = self.remote(0, 1), self.box.folder / "cache"
        both = [self.box.start("halograph-train", *options(
            servers=servers, topology="local", cache_dir=cache, **RUN)) for _ in range(2)]
        for trainer in both:
            self.assertEqual(0, trainer.wait(), trainer.text)
        self.assertEqual(1, sum(path.is_dir() for path in cache.iterdir()), list(cache.iterdir()))

    def test_the_user_s_cache_is_the_default(self):
        servers, home = self.remote("all"), self.box.folder / "home"
        must(self.box.run("halograph-train", *options(servers=servers, topology="local", **RUN),
                          env={"HOME": str(home), "XDG_CACHE_HOME": ""}))
        self.assertTrue(any((home / ".cache" / "halograph").rglob("indices.npy")))

    def test_a_home_that_cannot_be_used_names_the_option_for_another_folder(self):
        servers = self.remote("all")
        for home, code in (("/dev/null", 1), ("", 2)):
            result = self.box.run("halograph-train", *options(servers=servers, topology="local", **RUN),
                                  env={"HOME": home, "XDG_CACHE_HOME": ""})
            self.assertEqual(code, result.code, str(result))
            self.assertIn("--cache-dir", result.err)

    def test_servers_of_features_have_none_to_fetch(self):
        servers = self.remote("all", serve="features")
        self.refused(1, "--topology local", servers=servers, topology="local",
                     cache_dir=self.box.folder / "cache")


class RefusalTest(ModesBase):
    def test_files_of_another_graph_are_refused(self):
        other = self.box.folder / "other"
        must(self.box.run("halograph-partition", "run", "--input", datasets.cora(), "--output", other,
                          "--parts", 2, "--method", "random"))
        servers = self.remote("all")
        self.refused(1, other, "is of graph", servers=servers, topology=other)
        self.refused(1, other, "is of graph", servers=servers, local=other)

    def test_servers_of_features_cannot_sample(self):
        self.refused(1, "topology", servers=self.remote("all", serve="features"))

    def test_a_damaged_file_of_the_own_partition_is_found_unless_headers_are_enough(self):
        local, servers = self.only_part(0), self.remote("all")
        path = next(local.rglob("indices.npy"))
        data = bytearray(path.read_bytes())
        data[-4] ^= 1
        path.chmod(0o644)
        path.write_bytes(data)
        self.refused(1, path, servers=servers, local=local)
        must(self.box.run("halograph-train", *options(
            servers=servers, local=local, verify="headers", **RUN)))


class FullBatchTest(ModesBase):
    EDGES, LAYERS = 10556, 2
    RUN = dict(model="gcn", hidden=16, dropout=0, normalize_features="row", seed=3, threads=1)

    def losses(self, epochs):
        return [line["loss"] for line in epochs]

    def assertClose(self, found, wanted, most):
        self.assertEqual(len(wanted), len(found))
        self.assertLess(max(abs(a - b) for a, b in zip(found, wanted)), most)

    def test_it_computes_what_is_computed_layer_by_layer_over_the_whole_graph(self):
        """In one epoch of no steps to speak of: the loss is of the weights that it ends with."""
        predicted, exact = self.box.folder / "p.npy", self.box.folder / "e.npy"
        checkpoint = self.box.folder / "checkpoint"
        begins = dict(graph=self.graph, epochs=1, lr="1e-30", **self.RUN)
        _, epochs, _ = train(self.box, full_batch=True, predict=predicted, predict_what="logits",
                             checkpoint=checkpoint, **begins)
        must(self.box.run("halograph-train", "infer", "--exact", *options(
            graph=self.graph, checkpoint=checkpoint, predict=exact, predict_what="logits",
            threads=1)))
        logits = npy.load(exact)
        self.assertClose(npy.load(predicted).values, logits.values, 1e-6)
        seeds = datasets.GraphBolt(datasets.cora()).tasks["train", "node"]
        wanted = [math.log(sum(map(math.exp, logits.row(seed)))) - logits.row(seed)[label]
                  for seed, label in zip(npy.load(seeds["seeds"]).values,
                                         npy.load(seeds["labels"]).values)]
        wanted = sum(wanted) / len(wanted)
        self.assertAlmostEqual(wanted, epochs[0]["loss"], delta=1e-6)
        self.assertEqual(self.LAYERS * self.EDGES, epochs[0]["sampled_edges"])
        # A minibatch does not know the degrees of its outermost ring.
        _, epochs, _ = train(self.box, fanouts="-1,-1", **begins)
        self.assertGreater(abs(epochs[0]["loss"] - wanted), 1e-5)

    def test_two_ranks_with_servers_are_one_but_for_the_ring_around_their_parts(self):
        run = dict(self.RUN, model="sage", full_batch=True, epochs=3)
        _, alone, _ = train(self.box, graph=self.graph, **run)
        for rank in start_ranks(self.box, 2, servers=self.remote(0, 1), **run):
            self.assertEqual(0, rank.wait(), rank.text)
        _, together, _ = read_log(self.box.folder / "rank0.jsonl")
        self.assertClose(self.losses(together), self.losses(alone), 1e-5)
        one, two = alone[0]["sampled_edges"], together[0]["sampled_edges"]
        self.assertEqual(self.LAYERS * self.EDGES, one)
        self.assertTrue(one < two < 1.5 * one, "each node is of one rank, and so are its edges")

    def test_each_part_alone_and_the_models_averaged(self):
        run = dict(self.RUN, full_batch=True, epochs=3, average_every=1)
        _, epochs, final = train(self.box, graph=self.graph, **run)
        self.assertEqual(2 * len(epochs), final["steps"], "one of each part and epoch")
        self.assertLess(epochs[-1]["loss"], epochs[0]["loss"])
        first, most = epochs[0]["sampled_edges"], 1.5 * self.LAYERS * self.EDGES
        self.assertTrue(self.LAYERS * self.EDGES < first < most, first)


class DyingServerTest(ModesBase):
    def test_a_server_that_dies_is_named_with_the_call(self):
        servers, addresses = self.box.servers(self.graph, [0, 1], "--serve", "features")
        log = self.box.folder / "log.jsonl"
        trainer = self.box.start("halograph-train", *options(
            servers=",".join(addresses), topology=self.graph, timeout="10m",
            server_timeout="1s", log=log, **{**RUN, "epochs": ENDLESS}))
        programs.wait_until(lambda: log.exists() and log.read_text().count("\n") > 2, "the first epochs")
        servers[1].popen.kill()
        self.assertEqual(1, trainer.wait(), trainer.text)
        self.assertIn(addresses[1], trainer.text)
        self.assertIn("KVService/Pull", trainer.text)


if __name__ == "__main__":
    programs.main()
