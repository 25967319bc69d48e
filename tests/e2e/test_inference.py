#!/usr/bin/env python3
"""halograph-train infer and evaluate: what they make of a checkpoint, in every mode, and what is
refused."""
import json
import os
import shutil
import signal
import unittest

from harness import datasets, npy, programs
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must
from harness.training import MEETING, options

RUN = dict(hidden=16, layers=2, fanouts="5,3", batch_size=40, seed=3, threads=1, epochs=4,
           eval_fanouts="-1,-1", quiet=True)
NODES = 2708


class InferenceTest(CoraInTwoTest):
    AT_ONCE = 3

    def checkpoint(self, model):
        """Folder of checkpoints, and what the run itself predicted, of one training a model."""
        def trained():
            folder = self.shared.folder / f"of-{model}"
            predicted = self.shared.folder / f"{model}.npy"
            run = {**RUN, **(dict(hidden=512) if model == "wide" else dict(model=model))}
            must(self.shared.run("halograph-train", *options(
                **run, graph=self.graph, checkpoint=folder, checkpoint_every="8",
                predict=predicted, predict_what="logits",
                log=self.shared.folder / f"{model}.jsonl")))
            return folder, predicted
        return self.once(model, trained)

    def infer(self, model, name="p.npy", **given):
        where = {} if "servers" in given else dict(graph=self.graph)
        words = dict(checkpoint=self.checkpoint(model)[0], predict=self.box.folder / name,
                     predict_what="logits", quiet=True, threads=1, **{**where, **given})
        result = must(self.box.run("halograph-train", "infer", *options(**words)))
        self.assertIn("nodes", result.out)
        return self.box.folder / name

    def assertClose(self, found, wanted):
        found, wanted = npy.load(found), npy.load(wanted)
        self.assertEqual(wanted.shape, found.shape)
        for a, b in zip(found.values, wanted.values):
            self.assertAlmostEqual(a, b, delta=1e-3 * (1 + abs(b)))

    def test_exact_and_sampled_inference_give_what_the_run_predicted(self):
        for model in ("sage", "gat"):
            with self.subTest(model):
                wanted = self.checkpoint(model)[1]
                sampled, exact = self.infer(model, "s.npy"), self.infer(model, "e.npy", exact=True)
                self.assertClose(sampled, wanted)
                self.assertClose(exact, wanted)
                self.assertEqual((NODES, 7), npy.load(exact).shape)
                self.assertEqual((self.box.folder / "e.ids.npy").read_bytes(),
                                 wanted.with_name(wanted.stem + ".ids.npy").read_bytes())

    def test_servers_and_little_memory_change_no_bit(self):
        whole = self.infer("wide", "whole.npy", exact=True).read_bytes()
        log = self.box.folder / "log.jsonl"
        scratch = self.box.folder / "scratch"
        scratch.mkdir()
        # The projected rows that the first layer reads are 11 MB.
        little = self.infer("wide", "little.npy", exact=True, memory="1MiB", prefetch=1,
                            scratch=scratch, log=log)
        self.assertEqual(whole, little.read_bytes())
        last = json.loads(log.read_text().splitlines()[-1])["exact"]
        self.assertGreater(last["scratch_file_bytes"], 0)
        self.assertGreater(last["layers"][0]["chunks"], 20)
        self.assertGreater(last["layers"][1]["chunks"], 3)
        self.assertEqual([], list(scratch.iterdir()))
        for layer in last["layers"]:
            self.assertGreater(layer["sample_seconds"], 0)
            self.assertGreater(layer["pull_seconds"], 0)
        servers = ",".join(self.box.servers(self.graph, (0, 1))[1])
        self.assertEqual(whole, self.infer("wide", "remote.npy", exact=True,
                                           servers=servers).read_bytes())
        self.assertEqual(whole, self.infer("wide", "hybrid.npy", exact=True, servers=servers,
                                           topology=self.graph).read_bytes())

    def test_a_node_whose_edges_do_not_fit_a_message_changes_no_bit(self):
        """One node has 20,000 in-edges; a message of 64 KiB holds 16,000."""
        edges = [(v % 300, 7) for v in range(20000)] + [(v, (v + 1) % 300) for v in range(300)]
        graph, folder = self.box.folder / "hub", self.box.folder / "checkpoint"
        must(self.box.run("halograph-partition", "run", "--input", datasets.write(
            self.box.folder / "in", 300, edges), "--output", graph, "--parts", 2, "--method",
            "random", "--seed", 1))
        must(self.box.run("halograph-train", *options(**{
            **RUN, "epochs": 1, "graph": graph, "checkpoint": folder, "fanouts": "-1,-1"})))
        servers = ",".join(self.box.servers(graph, (0, 1), "--max-message-bytes", "64KiB")[1])
        for way in (dict(exact=True), dict()):
            made = []
            for where in (dict(graph=graph), dict(servers=servers)):
                made.append(self.box.folder / f"{len(made)}.npy")
                must(self.box.run("halograph-train", "infer", *options(
                    checkpoint=folder, predict=made[-1], predict_what="logits", quiet=True,
                    threads=1, **where, **way)))
            self.assertEqual(made[0].read_bytes(), made[1].read_bytes(), way)

    def test_a_run_of_full_batches_is_inferred_exactly_in_little_memory(self):
        folder = self.box.folder / "full"
        must(self.box.run("halograph-train", *options(
            graph=self.graph, full_batch=True, epochs=2, hidden=16, checkpoint=folder, threads=1)))
        little = dict(checkpoint=folder, graph=self.graph, exact=True, memory="1MiB", quiet=True)
        path = self.box.folder / "test.csv"
        must(self.box.run("halograph-train", "infer", *options(nodes="test", predict=path, **little)))
        self.assertEqual(1 + 1000, len(path.read_text().splitlines()))
        must(self.box.run("halograph-train", "evaluate", *options(**little)))

    def test_a_signal_ends_inference_by_sampling(self):
        log, path = self.box.folder / "log.jsonl", self.box.folder / "p.npy"
        process = self.box.start("halograph-train", "infer", *options(
            checkpoint=self.checkpoint("sage")[0], graph=self.graph, predict=path, log=log,
            eval_batch_size=1, sample_threads=1, quiet=True))
        programs.wait_until(lambda: log.exists() and log.read_text(), "the log")
        process.signal(signal.SIGTERM)
        self.assertEqual(1, process.wait())
        self.assertIn("stopped by signal", process.err)
        self.assertFalse(path.exists())

    @unittest.skipUnless(os.access("/proc", os.W_OK), "only root may try to write to /proc")
    def test_a_full_disk_is_named_before_anything_is_inferred(self):
        for way in ({}, dict(exact=True)):
            done = self.box.run("halograph-train", "infer", *options(
                checkpoint=self.checkpoint("sage")[0], graph=self.graph, quiet=True, **way,
                predict="/proc/p.npy"))  # a file system that has no room at all
            self.assertEqual(1, done.code, done)
            self.assertRegex(done.err, r"--predict /proc/p.npy: .* are needed, 0 B are free")

    def test_listed_nodes_come_once_each_by_original_id(self):
        whole = npy.load(self.checkpoint("sage")[1])
        listed = self.box.folder / "nodes.txt"
        listed.write_text("17\n3\n2707\n3\n")
        for exact in ({}, dict(exact=True)):
            some = npy.load(self.infer("sage", "some.npy", nodes=listed, **exact))
            self.assertEqual([3, 17, 2707],
                             list(npy.load(self.box.folder / "some.ids.npy").values))
            for row, node in zip(some.rows(), (3, 17, 2707)):
                for a, b in zip(row, whole.row(node)):
                    self.assertAlmostEqual(a, b, delta=1e-3)
        tested = self.infer("sage", "test.csv", nodes="test", exact=True)
        self.assertEqual(1 + 1000, len(tested.read_text().splitlines()))
        listed.write_text("99999\n")
        self.refused("original id 99999", nodes=listed)
        self.refused("task 'node_classification' is about nodes of other types: node",
                     node_type="paper")

    def refused(self, message, command="infer", code=1, **given):
        words = dict(checkpoint=self.checkpoint("sage")[0], graph=self.graph, quiet=True)
        if command == "infer":
            words["predict"] = self.box.folder / "refused.npy"
        result = self.box.run("halograph-train", command, *options(**{**words, **given}))
        self.assertCode(code, result, message)

    def test_evaluate_tells_what_training_did(self):
        log = self.shared.folder / "sage.jsonl"
        folder = self.checkpoint("sage")[0]
        last = json.loads(log.read_text().splitlines()[-1])
        for exact in ({}, dict(exact=True)):
            result = must(self.box.run("halograph-train", "evaluate", *options(
                checkpoint=folder, graph=self.graph, threads=1, json=True, quiet=True, **exact)))
            found = json.loads(result.out)
            layers = [len(of_set["layers"]) for of_set in found.get("exact", {}).values()]
            self.assertEqual([2, 2] if exact else [], layers, "of both sets")
            for key in ("valid_acc", "test_acc", "valid_loss"):
                self.assertAlmostEqual(last[key], found[key], delta=2e-3)
        table = must(self.box.run("halograph-train", "evaluate", *options(
            checkpoint=folder, graph=self.graph, quiet=True))).out
        self.assertRegex(table, r"validation accuracy +0\.\d{4}\n(.*\n)*test accuracy +0\.\d{4}\n")

    def test_what_differs_from_the_checkpoint_is_refused_by_name(self):
        self.refused("--hidden is 32, not 16", code=2, hidden=32)
        self.refused("--model is gat, not sage", code=2, model="gat")
        self.refused("--layers is 3, not 2", code=2, layers=3)
        self.refused("--fanouts is for training; infer has --eval-fanouts", code=2, fanouts="1,1")
        self.refused("--exact is for one process", code=2, exact=True, world_size=2, rank=0,
                     master_addr="127.0.0.1", master_port=1)
        self.refused("--predict", command="evaluate", code=2, predict=self.box.folder / "p.npy")
        self.refused("none: there is no such folder; give the folder that a run was given",
                     checkpoint=self.box.folder / "none")
        self.refused("--memory", exact=True, memory="64KiB")

    def test_a_damaged_checkpoint_is_named_once(self):
        folder = self.box.folder / "damaged"
        shutil.copytree(self.checkpoint("sage")[0], folder)
        newest = max(folder.iterdir())
        path = newest / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-1] + b"\x01")
        result = must(self.box.run("halograph-train", "infer", *options(
            checkpoint=folder, graph=self.graph, predict=self.box.folder / "p.npy", threads=1)))
        self.assertEqual(1, result.err.count(f"{newest} is damaged"), result.err)

    def partitioned(self, source, name, parts):
        """A partition folder of the data set, by another seed than the run's."""
        must(self.box.run("halograph-partition", "run", "--input", source, "--output",
                          self.box.folder / name, "--parts", parts, "--seed", 7))
        return self.box.folder / name

    def test_weights_are_used_on_other_graphs_that_they_fit(self):
        wanted = npy.load(self.checkpoint("sage")[1])
        more = 30
        graphs = {"parts": self.partitioned(datasets.cora(), "parts", 3),
                  "grown": self.partitioned(datasets.grown(
                      datasets.cora(), self.box.folder / "input", more), "grown", 2)}
        servers = ",".join(self.box.servers(graphs["parts"], (0, 1, 2))[1])
        for name, where in (("parts", {}), ("grown", {}), ("parts", dict(servers=servers))):
            for exact in ({}, dict(exact=True)):
                with self.subTest(name, **exact, **where):
                    path = self.infer("sage", "other.npy", **exact,
                                      **(where or dict(graph=graphs[name])))
                    ids = list(npy.load(self.box.folder / "other.ids.npy").values)
                    self.assertEqual(list(range(NODES + (more if name == "grown" else 0))), ids)
                    for row, of_run in zip(npy.load(path).rows(), wanted.rows()):
                        for a, b in zip(row, of_run):
                            self.assertAlmostEqual(a, b, delta=1e-3 * (1 + abs(b)))
        done = must(self.box.run("halograph-train", "evaluate", *options(
            checkpoint=self.checkpoint("sage")[0], graph=graphs["grown"], json=True, quiet=True)))
        self.assertEqual(1, done.err.count("are used on another one"), done.err)
        last = json.loads((self.shared.folder / "sage.jsonl").read_text().splitlines()[-1])
        self.assertAlmostEqual(last["test_acc"], json.loads(done.out)["test_acc"], delta=2e-3)
        # A run goes on with its own graph alone.
        refused = self.box.run("halograph-train", *options(
            **{**RUN, "graph": graphs["parts"], "checkpoint": self.checkpoint("sage")[0],
               "model": "sage", "resume": True}))
        self.assertCode(1, refused, "the graph's identity was ")

    def learnt(self):
        """Folder of checkpoints, with the rows, of a run that learns them; what it predicted."""
        def trained():
            folder = self.shared.folder / "of-learnt"
            predicted = self.shared.folder / "learnt.npy"
            must(self.shared.run("halograph-train", *options(
                **RUN, graph=self.graph, embed="node:8", checkpoint=folder, predict=predicted,
                predict_what="logits")))
            return folder, predicted
        return self.once("learnt", trained)

    def copied(self):
        """For a test of its own: one process at a time has the rows."""
        folder = self.box.folder / "of-learnt"
        shutil.copytree(self.learnt()[0], folder)
        return folder

    def assertLearnt(self, path, more):
        """Rows of the run's nodes, and those of `more` behind them."""
        wanted, found = npy.load(self.learnt()[1]), npy.load(path)
        self.assertEqual((NODES + more, 7), found.shape)
        ids = npy.load(path.with_name(path.stem + ".ids.npy")).values
        self.assertEqual(list(range(NODES + more)), list(ids))
        for row, of_run in zip(found.rows(), wanted.rows()):
            for a, b in zip(row, of_run):
                self.assertAlmostEqual(a, b, delta=1e-3 * (1 + abs(b)))

    def test_learnt_rows_are_found_by_original_id_on_other_graphs(self):
        folder, more = self.copied(), 30
        parts = self.partitioned(datasets.cora(), "parts", 3)
        grown = self.partitioned(datasets.grown(datasets.cora(), self.box.folder / "input", more),
                                 "grown", 2)
        words = dict(checkpoint=folder, predict=self.box.folder / "p.npy", predict_what="logits",
                     quiet=True, threads=1)

        def infer(**given):
            return self.box.run("halograph-train", "infer", *options(**{**words, **given}))

        for way in ({}, dict(exact=True)):
            must(infer(graph=parts, **way))
            self.assertLearnt(words["predict"], 0)
            self.assertCode(1, infer(graph=grown, **way),
                            f"{more} of {NODES + more} nodes of type 'node' have no row in",
                            f"original ids {NODES}, {NODES + 1}, ", "--new-rows init")
            done = must(infer(graph=grown, new_rows="init", **way))
            self.assertIn(f"; {more} have new ones", done.err)
            self.assertLearnt(words["predict"], more)
        # --state is the run's folder, wherever it went.
        shutil.move(folder / "state", self.box.folder / "moved")
        self.assertCode(1, infer(graph=parts), f"{folder / 'state'} is not there")
        must(infer(graph=parts, state=self.box.folder / "moved"))
        self.assertLearnt(words["predict"], 0)
        must(self.box.run("halograph-train", "evaluate", *options(
            checkpoint=folder, graph=parts, state=self.box.folder / "moved", quiet=True)))
        self.assertCode(1, infer(graph=parts, state=self.box.folder / "none"), "no such folder")

    def test_learnt_rows_that_servers_of_another_graph_have_are_taken_with_a_warning(self):
        folder = self.copied()
        parts = self.partitioned(datasets.cora(), "parts", 3)

        def served(graph, state):
            server = self.box.start_server(graph, "all", "--state", state)
            return server, programs.address(server)

        words = dict(checkpoint=folder, predict=self.box.folder / "p.npy", predict_what="logits",
                     quiet=True, threads=1)
        other, where = served(parts, self.box.folder / "other-state")
        self.assertCode(1, self.box.run("halograph-train", "infer", *options(
            **words, servers=where)), "halograph-ctl state export")
        of_run, from_run = served(self.graph, folder / "state")
        rows = self.box.folder / "rows"
        must(self.box.run("halograph-ctl", "state", "export", "--servers", from_run, "--type", "node",
                          "--tensor", "embedding", "--output", rows))
        must(self.box.run("halograph-ctl", "state", "import", "--servers", where, "--input", rows))
        done = must(self.box.run("halograph-train", "infer", *options(**words, servers=where)))
        self.assertIn("the learnt inputs are taken as these servers have them", done.err)
        self.assertLearnt(words["predict"], 0)
        for server in (other, of_run):
            server.end()

    def test_a_checkpoint_of_a_graph_that_it_does_not_fit_is_refused(self):
        other = self.box.folder / "other"
        for words in (["generate", "sbm", "--output", self.box.folder / "in", "--nodes", "200"],
                      ["run", "--input", self.box.folder / "in", "--output", other, "--parts", "1"]):
            must(self.box.run("halograph-partition", *words))
        for command in ("infer", "evaluate"):
            self.refused("feature 'feat' of node type 'node' was 1433 wide (",
                         command=command, graph=other)

    def test_a_run_that_was_to_go_on_by_itself_can_be_asked(self):
        """The command that docs/checkpoints.md recommends, with all that limits a run."""
        folder = self.box.folder / "resumed"
        must(self.box.run("halograph-train", *options(
            **{**RUN, "graph": self.graph, "checkpoint": folder, "resume": True, "max_steps": 6,
               "patience": 3, "eval_every": 0, "eval_every_steps": 2})))
        must(self.box.run("halograph-train", "infer", *options(
            checkpoint=folder, graph=self.graph, predict=self.box.folder / "p.csv", quiet=True)))

    def test_a_checkpoint_before_the_first_evaluation_has_its_last_weights(self):
        folder, log = self.box.folder / "early", self.box.folder / "log.jsonl"
        must(self.box.run("halograph-train", *options(
            **{**RUN, "graph": self.graph, "checkpoint": folder, "checkpoint_every": 8,
               "eval_every": 0})))
        result = must(self.box.run("halograph-train", "evaluate", *options(
            checkpoint=min(folder.iterdir()), graph=self.graph, log=log, quiet=True)))
        self.assertIn("has no best weights: using its last ones", result.err)
        self.assertEqual("last", json.loads(log.read_text().splitlines()[-1])["weights"])

    def run_two(self, command, **of_rank_1):
        """Two ranks of a command; rank 0's log."""
        path = self.box.folder / f"of-two-{command}.jsonl"
        words = dict(checkpoint=self.checkpoint("sage")[0], graph=self.graph, quiet=True, threads=1,
                     log=path)
        if command == "infer":
            words.update(predict=self.box.folder / "two.npy", predict_what="logits")
        port = programs.free_port()
        ranks = [self.box.start("halograph-train", command, *options(
            **{**words, **(of_rank_1 if rank else {})}, rank=rank, world_size=2,
            master_addr="127.0.0.1", master_port=port, **MEETING)) for rank in range(2)]
        for rank in ranks:
            self.assertEqual(0, rank.wait(), rank.text)
        self.assertNotIn("nodes", ranks[1].out)
        return json.loads(path.read_text().splitlines()[-1])

    def test_two_ranks_use_the_weights_that_rank_0_reads(self):
        """As if the run had written a newer checkpoint before rank 1 looked."""
        folder = self.checkpoint("sage")[0]
        first, *_, newest = sorted(folder.iterdir())
        self.assertNotEqual((first / "model.safetensors").read_bytes(),
                            (newest / "model.safetensors").read_bytes())
        found = self.run_two("infer", checkpoint=first)
        self.assertClose(self.box.folder / "two.npy", self.checkpoint("sage")[1])
        self.assertEqual((NODES, str(newest), "best"),
                         (found["nodes"], found["checkpoint"], found["weights"]))
        alone = must(self.box.run("halograph-train", "evaluate", *options(
            checkpoint=folder, graph=self.graph, threads=1, json=True, quiet=True)))
        found = self.run_two("evaluate", checkpoint=first)
        for key, value in json.loads(alone.out).items():
            if key.startswith(("valid", "test")):
                self.assertAlmostEqual(value, found[key], delta=1e-4, msg=key)

    def test_rank_0_says_what_is_wrong_with_the_checkpoint_and_rank_1_repeats_it(self):
        folder = self.box.folder / "damaged"
        newest = max(self.checkpoint("sage")[0].iterdir())
        shutil.copytree(newest, folder / newest.name)
        path = folder / newest.name / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-1] + b"\x01")
        port = programs.free_port()
        ranks = [self.box.start("halograph-train", "evaluate", *options(
            checkpoint=folder, graph=self.graph, rank=rank, world_size=2, master_addr="127.0.0.1",
            master_port=port, **MEETING)) for rank in range(2)]
        for rank in ranks:
            self.assertEqual(1, rank.wait(), rank.text)
            self.assertIn("none of 1 checkpoints is whole", rank.err)


if __name__ == "__main__":
    programs.main()
