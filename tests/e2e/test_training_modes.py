#!/usr/bin/env python3
"""Hybrid training and own partitions with the programs: the same numbers as embedded, topology that
is fetched once, servers of features only."""
import shutil

from harness import datasets, programs
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must
from harness.training import options, train

RUN = dict(hidden=16, fanouts="5,3", batch_size=50, seed=3, threads=1, epochs=2)


class ModesBase(CoraInTwoTest):
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
        for mode in (dict(servers=servers),
                     dict(servers=servers, local=self.only_part(1)),
                     dict(servers=servers, topology=self.graph),
                     dict(servers=features, topology=self.graph),
                     dict(servers=servers, topology="local", cache_dir=cache)):
            with self.subTest(mode):
                self.assertEqual(wanted, self.numbers(**mode))

    def test_a_folder_named_local_is_a_folder_if_written_as_a_path(self):
        (self.box.folder / "local").symlink_to(self.graph)
        features = self.remote("all", serve="features")
        self.numbers(servers=features, topology=f"{self.box.folder}/./local")


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
            self.assertEqual(0, trainer.wait(programs.seconds(120)), trainer.text)
        self.assertEqual(1, sum(path.is_dir() for path in cache.iterdir()), list(cache.iterdir()))

    def test_the_user_s_cache_is_the_default(self):
        servers, home = self.remote("all"), self.box.folder / "home"
        must(self.box.run("halograph-train", *options(servers=servers, topology="local", **RUN),
                          env={"HOME": str(home), "XDG_CACHE_HOME": ""}))
        self.assertTrue(any((home / ".cache" / "halograph").rglob("indices.npy")))

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


class DyingServerTest(ModesBase):
    def test_a_server_that_dies_is_named_with_the_call(self):
        servers, addresses = self.box.servers(self.graph, [0, 1], "--serve", "features")
        log = self.box.folder / "log.jsonl"
        trainer = self.box.start("halograph-train", *options(
            servers=",".join(addresses), topology=self.graph, timeout="2s", log=log,
            **{**RUN, "epochs": 100000}))
        programs.wait_until(lambda: log.exists() and log.read_text().count("\n") > 2,
                            programs.seconds(60), "the first epochs")
        servers[1].popen.kill()
        self.assertEqual(1, trainer.wait(programs.seconds(30)), trainer.text)
        self.assertIn(addresses[1], trainer.text)
        self.assertIn("KVService/Pull", trainer.text)


if __name__ == "__main__":
    programs.main()
