#!/usr/bin/env python3
"""Training: the same numbers in every mode, what the log says, predictions."""
import csv
import json
import math
import os

from harness import datasets, npy, programs
from harness.cora_in_two import CoraInTwoTest
from harness.folder import PartitionFolder
from harness.programs import must
from harness.training import MEETING, num_epochs, options, read_log, start_ranks, train

LOG_KEYS = {"epoch", "loss", "train_acc", "valid_acc", "test_acc", "valid_loss", "test_loss", "lr",
            "time", "eval_s", "seconds", "sample_wait_s", "feature_wait_s",
            "compute_s", "sampled_edges", "local_bytes", "remote_bytes", "remote_sample_bytes",
            "rounds_per_minibatch", "failovers", "cache_hits", "cache_misses",
            "cache_refetches", "cache_enough_bytes", "cache_forecast", "device_cache_hits",
            "device_cache_saved_bytes", "stages"}
SMALL = dict(hidden=16, fanouts="5,3", batch_size=50, seed=3, threads=1)


class TrainingBase(CoraInTwoTest):
    AT_ONCE = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.input = datasets.GraphBolt(datasets.cora())

    def remote(self, *parts):
        """The value of --servers for servers of these parts."""
        return ",".join(self.box.servers(self.graph, parts)[1])


class SameEverywhereTest(TrainingBase):
    RUN = dict(SMALL, epochs=3, dropout=0.5)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.files = cls.state()

    @classmethod
    def state(cls):
        return {path: path.stat().st_mtime_ns for path in cls.graph.rglob("*")}

    def numbers(self, **mode):
        _, epochs, final = train(self.box, **mode, **self.RUN)
        return [(line["loss"], line["valid_acc"], line["test_acc"], line["sampled_edges"])
                for line in epochs], final["test_acc"]

    def embedded(self):
        return self.once("embedded", lambda: self.numbers(graph=self.graph))

    def test_losses_are_equal_bit_for_bit_in_every_mode(self):
        wanted = self.embedded()
        self.assertEqual(3, len(wanted[0]))
        self.assertEqual(wanted, self.numbers(servers=self.remote("all")), "one server")
        self.assertEqual(wanted, self.numbers(servers=self.remote(0, 1)), "two servers")
        self.assertEqual(wanted, self.numbers(servers=self.remote(1, 0)), "in any order")
        self.assertEqual(self.files, self.state(), "training changes nothing in the partition folder")
        self.assertEqual(2, len(PartitionFolder(self.graph).parts))

    def test_bf16_gives_one_result_in_every_mode_near_that_of_float32(self):
        wanted = self.numbers(graph=self.graph, precision="bf16")
        self.assertEqual(wanted, self.numbers(servers=self.remote(0, 1), precision="bf16"))
        for wide, narrow in zip(self.embedded()[0], wanted[0]):
            self.assertNotEqual(wide[0], narrow[0])
            self.assertAlmostEqual(wide[0], narrow[0], delta=0.02)
            self.assertEqual(wide[3], narrow[3])

    def test_a_product_kernel_gives_the_same_bits_whatever_the_threads(self):
        """The kernel of this processor, and that of any."""
        for kernel in (None, "float32"):
            env = None if kernel is None else {"HALOGRAPH_PRODUCT_KERNEL": kernel}
            runs = [train(self.box, env=env, graph=self.graph, precision="bf16",
                          **{**self.RUN, "threads": threads}) for threads in (1, 2)]
            losses = [[line["loss"] for line in epochs] for _, epochs, _ in runs]
            self.assertEqual(losses[0], losses[1])
            config = runs[0][0]
            if kernel is not None:
                self.assertEqual(kernel, config["product_kernel"])
            narrow = config["product_kernel"] != "float32"
            self.assertEqual("bfloat16" if narrow else "float32", config["product_dtype"])

    def test_an_unknown_product_kernel_is_refused(self):
        result = self.box.run("halograph-train", *options(
            graph=self.graph, precision="bf16", epochs=1, **SMALL),
            env={"HALOGRAPH_PRODUCT_KERNEL": "sse"})
        self.assertCode(1, result, "sse", "amx, avx512_bf16, float32")

    def test_another_seed_gives_other_losses(self):
        _, epochs, _ = train(self.box, graph=self.graph, **{**self.RUN, "seed": 4})
        self.assertNotEqual([line[0] for line in self.embedded()[0]], [line["loss"] for line in epochs])


class StandardFeaturesTest(programs.ProgramTest):
    """--normalize-features standard: mean and deviation are of the training set of all ranks."""
    RUN = dict(hidden=8, fanouts="5,3", batch_size=50, epochs=2, seed=3, threads=1,
               normalize_features="standard")

    def setUp(self):
        super().setUp()
        source = datasets.write_unscaled(self.box.folder / "source")
        self.graph = self.box.folder / "graph"
        must(self.box.run("halograph-partition", "run", "--input", source, "--output", self.graph,
                          "--parts", 2, "--seed", 1))
        self.features = npy.load(source / "feat.npy")

    def losses(self, lines):
        """Of the epochs; a line of a run with checkpoints may be of one of these."""
        return [line["loss"] for line in lines if "loss" in line]

    def scales(self, folder):
        manifest = json.loads((max(folder.glob("step-*")) / "manifest.json").read_text())
        return manifest["feature_scales"]

    def test_it_is_the_same_bits_in_every_mode_and_number_of_ranks_and_kept_for_inference(self):
        folder, predicted = self.box.folder / "checkpoint", self.box.folder / "p.npy"
        _, epochs, final = train(self.box, graph=self.graph, checkpoint=folder, predict=predicted,
                                 predict_what="logits", eval_fanouts="-1,-1", **self.RUN)
        self.assertEqual([], [line for line in final["advice"] if "different scales" in line])
        scales = self.scales(folder)
        found = scales["node"]["feat"]
        for column in range(3):
            values = [self.features.row(v)[column] for v in range(0, 600, 3)]
            mean = sum(values) / len(values)
            deviation = math.sqrt(sum((x - mean) ** 2 for x in values) / len(values))
            self.assertAlmostEqual(mean, found["mean"][column], delta=1e-9 * (abs(mean) + deviation))
            self.assertAlmostEqual(deviation, found["deviation"][column], delta=1e-9 * deviation)
        servers = ",".join(self.box.servers(self.graph, [0, 1])[1])
        for name, mode in (("served", dict(servers=servers)),
                           ("hybrid", dict(servers=servers, topology=self.graph))):
            kept = self.box.folder / name
            _, others, _ = train(self.box, checkpoint=kept, eval_fanouts="-1,-1", **mode, **self.RUN)
            self.assertEqual(self.losses(epochs), self.losses(others), name)
            self.assertEqual(scales, self.scales(kept), name)
        two = self.box.folder / "two"
        for rank in start_ranks(self.box, 2, graph=self.graph, checkpoint=two, **self.RUN):
            self.assertEqual(0, rank.wait(), rank.text)
        self.assertEqual(scales, self.scales(two), "two ranks")
        averaged = self.box.folder / "averaged"
        train(self.box, graph=self.graph, checkpoint=averaged, average_every=1, **self.RUN)
        self.assertEqual(scales, self.scales(averaged), "parts that are trained alone")
        # Exact inference goes by the rows that minibatches have.
        for exact in ({}, {"exact": True}):
            inferred = self.box.folder / "i.npy"
            must(self.box.run("halograph-train", "infer", *options(
                graph=self.graph, checkpoint=folder, predict=inferred, predict_what="logits",
                threads=1, **exact)))
            for a, b in zip(npy.load(inferred).values, npy.load(predicted).values):
                self.assertAlmostEqual(a, b, delta=1e-4 * (1 + abs(b)))

    def test_a_run_goes_on_with_the_same(self):
        folder, whole = self.box.folder / "checkpoint", self.box.folder / "whole"
        _, wanted, _ = train(self.box, graph=self.graph, checkpoint=whole, **self.RUN)
        train(self.box, graph=self.graph, checkpoint=folder, **{**self.RUN, "epochs": 1})
        _, found, _ = train(self.box, graph=self.graph, checkpoint=folder, resume=True, **self.RUN)
        self.assertEqual(self.losses(wanted)[-1], self.losses(found)[-1])
        self.assertEqual(self.scales(whole), self.scales(folder))

    def test_columns_of_different_scales_are_named_by_the_advice(self):
        _, _, final = train(self.box, graph=self.graph, **{**self.RUN, "normalize_features": "none"})
        (advice,) = [line for line in final["advice"] if "different scales" in line]
        self.assertRegex(advice, r"column [12] of 'feat' is \d+ times that of column 0 of 'feat': "
                                 r"--normalize-features standard")


class LogTest(TrainingBase):
    def embedded(self):
        return self.once("embedded", lambda: train(self.box, graph=self.graph, epochs=3, **SMALL))

    def test_lines_and_keys(self):
        config, epochs, final = self.embedded()
        self.assertIsInstance(config, dict)
        for name, value in (("hidden", 16), ("batch_size", 50), ("epochs", 3)):
            self.assertEqual(value, config[name])
        self.assertEqual(3, len(epochs))
        for line in epochs:
            self.assertLessEqual(LOG_KEYS, set(line))
        numbers = [line["epoch"] for line in epochs]
        self.assertEqual(list(range(numbers[0], numbers[0] + 3)), numbers)
        best = max(epochs, key=lambda line: line["valid_acc"])
        self.assertEqual(best["test_acc"], final["test_acc"])
        self.assertIs(True, final["final"])

    def test_sampled_edges_counts_the_training_batches_only(self):
        """Full neighbourhood, one layer: the in-degrees of the training nodes, whatever is
        evaluated."""
        edges = self.input.edge_list()
        seeds = set(npy.load(self.input.tasks["train", "node"]["seeds"]).values)
        wanted = sum(v in seeds for _, v in edges)
        small = dict(SMALL, layers=1, fanouts="-1", graph=self.graph)
        _, epochs, _ = train(self.box, epochs=1, **small)
        self.assertEqual(wanted, epochs[0]["sampled_edges"])

    def test_embedded_moves_no_remote_bytes_and_servers_do(self):
        _, epochs, _ = self.embedded()
        self.assertEqual(0, epochs[0]["remote_bytes"])
        self.assertGreater(epochs[0]["local_bytes"], 0)
        self.assertNotIn("server_wait_s", epochs[0])
        self.assertEqual(0, epochs[0]["cache_enough_bytes"])
        servers = self.remote(0, 1)
        _, epochs, _ = train(self.box, servers=servers, epochs=1, **SMALL)
        self.assertGreater(epochs[0]["remote_bytes"], 0)
        self.assertGreater(epochs[0]["cache_enough_bytes"], 0)
        waits = epochs[0]["server_wait_s"]
        self.assertEqual({"sample", "gather"}, set(waits))
        for stage in waits.values():
            self.assertEqual(set(servers.split(",")), set(stage))
            self.assertTrue(all(seconds > 0 for seconds in stage.values()), waits)

    def test_eval_every(self):
        _, epochs, _ = train(self.box, graph=self.graph, epochs=4, eval_every=2, **SMALL)
        evaluated = [line.get("valid_acc") is not None for line in epochs]
        self.assertEqual(2, sum(evaluated), epochs)

    def test_no_default_has_more_threads_than_the_process_has_processors(self):
        one = min(os.sched_getaffinity(0))
        log = self.box.folder / "one.jsonl"
        must(self.box.run("/usr/bin/taskset", "--cpu-list", one, programs.binary("halograph-train"),
                          *options(graph=self.graph, epochs=1, log=log)))
        config, _, _ = read_log(log)
        self.assertEqual((1, 1), (config["threads"], config["sample_threads"]))

    def test_loss_falls(self):
        _, epochs, final = train(self.box, graph=self.graph, epochs=15, normalize_features="row",
                                 lr=0.01, **SMALL)
        self.assertLess(epochs[-1]["loss"], epochs[0]["loss"] * 0.7)
        self.assertGreater(final["test_acc"], 0.4)


class PredictTest(TrainingBase):
    """Full neighbourhoods, so that nothing is drawn: the predictions give the reported accuracy."""
    RUN = dict(SMALL, fanouts="-1,-1", epochs=4, normalize_features="row", lr=0.01)

    def accuracy(self, predicted):
        paths = self.input.tasks["test", "node"]
        pairs = list(zip(npy.load(paths["seeds"]).values, npy.load(paths["labels"]).values))
        return sum(predicted[v] == label for v, label in pairs) / len(pairs)

    def check(self, predicted, final):
        self.assertLessEqual(set(predicted), set(range(2708)))
        self.assertAlmostEqual(final["test_acc"], self.accuracy(predicted), delta=0.0021)
        self.assertGreater(final["test_acc"], 0.3)

    def test_csv_under_original_ids(self):
        path = self.box.folder / "predicted.csv"
        _, _, final = train(self.box, graph=self.graph, predict=path, **self.RUN)
        with open(path, newline="") as handle:
            rows = [row for row in csv.reader(handle) if row and row[0].lstrip("-").isdigit()]
        self.assertEqual(len(rows), len({row[0] for row in rows}))
        self.check({int(row[0]): int(row[1]) for row in rows}, final)

    def test_npy_under_original_ids(self):
        path = self.box.folder / "predicted.npy"
        _, _, final = train(self.box, servers=self.remote(0, 1), predict=path, **self.RUN)
        found = npy.load(path)
        if len(found.shape) == 1:  # one prediction a node
            self.assertEqual((2708,), found.shape)
            predicted = dict(enumerate(found.values))
        else:  # original id, prediction
            predicted = {row[0]: row[1] for row in found.rows()}
        self.check(predicted, final)


    def test_probabilities_logits_and_embeddings(self):
        found = {}
        for what, columns in (("probabilities", 7), ("logits", 7), ("embeddings", 16)):
            path = self.box.folder / f"{what}.npy"
            _, _, final = train(self.box, graph=self.graph, predict=path, predict_what=what,
                                **self.RUN)
            found[what] = npy.load(path)
            self.assertEqual((2708, columns), found[what].shape)
            ids = npy.load(self.box.folder / f"{what}.ids.npy")
            self.assertEqual(list(range(2708)), list(ids.values))
        best = lambda row: max(range(7), key=lambda column: row[column])
        for what in ("probabilities", "logits"):
            self.check({i: best(row) for i, row in enumerate(found[what].rows())}, final)
        for row in found["probabilities"].rows():
            self.assertAlmostEqual(1, sum(row), delta=1e-5)
        path = self.box.folder / "logits.csv"
        train(self.box, graph=self.graph, predict=path, predict_what="logits", predict_nodes="test",
              **self.RUN)
        with open(path, newline="") as handle:
            header, *rows = csv.reader(handle)
        self.assertEqual(["original_id"] + [f"logit_{i}" for i in range(7)], header)
        self.assertEqual(1000, len(rows))
        logits = list(found["logits"].rows())
        for row in rows[:50]:
            for wanted, value in zip(logits[int(row[0])], row[1:]):
                self.assertAlmostEqual(wanted, float(value), delta=1e-4)


class RanksTest(TrainingBase):
    def test_two_ranks_on_two_servers(self):
        servers = self.remote(0, 1)
        ranks = start_ranks(self.box, 2, servers=servers, epochs=3, **SMALL)
        for rank in ranks:
            self.assertEqual(0, rank.wait(), rank.text)
        _, epochs, final = read_log(self.box.folder / "rank0.jsonl")
        self.assertEqual(3, len(epochs))
        self.assertIsNotNone(final["test_acc"])

    def test_two_ranks_are_repeatable_and_read_the_launcher_s_environment(self):
        for rank in start_ranks(self.box, 2, graph=self.graph, epochs=2, **SMALL):
            self.assertEqual(0, rank.wait(), rank.text)
        _, wanted, _ = read_log(self.box.folder / "rank0.jsonl")
        port = programs.free_port()
        log = self.box.folder / "log.jsonl"
        ranks = [self.box.start(
            "halograph-train", *options(graph=self.graph, epochs=2, log=log, **MEETING, **SMALL),
            env={"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": str(port)}) for rank in range(2)]
        for rank in ranks:
            self.assertEqual(0, rank.wait(), rank.text)
        config, epochs, _ = read_log(log)
        self.assertEqual(2, config["world_size"])
        self.assertEqual([line["loss"] for line in wanted], [line["loss"] for line in epochs])


class UsageTest(TrainingBase):
    def test_wrong_usage_exits_2(self):
        graph = ["--graph", self.graph]
        for arguments in ([], [*graph, "--servers", "127.0.0.1:1"], [*graph, "--no-such-option"],
                          [*graph, "--layers", "2", "--fanouts", "5"], [*graph, "--fanouts", "5,x"],
                          [*graph, "--batch-size", "0"], [*graph, "--dropout", "1.5"],
                          [*graph, "--topology", "local"], [*graph, "--local", self.graph],
                          ["--servers", "127.0.0.1:1", "--cache-dir", "."],
                          [*graph, "--rank", "2", "--world-size", "2"]):
            with self.subTest(arguments):
                self.assertCode(2, self.box.run("halograph-train", *arguments))

    def test_unknown_model_names_those_that_exist(self):
        result = self.box.run("halograph-train", *options(graph=self.graph, model="magic"))
        self.assertIn(result.code, (1, 2), str(result))
        self.assertIn("sage", result.text)

    def test_heads_that_do_not_divide_the_width_are_refused_by_name(self):
        result = self.box.run("halograph-train", *options(graph=self.graph, model="gat", heads=6,
                                                          hidden=64))
        self.assertCode(2, result, "--heads is 6", "--hidden 64")

    def test_every_model_trains_predicts_and_takes_its_options(self):
        """In either precision; options of another model are refused by name."""
        for settings in (dict(model="gcn", hidden=16, norm="batch", input_dropout=0.2),
                         dict(model="gat", hidden=16, heads=4, gatv2=True, residual=True),
                         dict(model="sgc", precision="bf16"),
                         dict(model="gat", hidden=16, heads=2, precision="bf16", norm="layer"),
                         dict(model="sage", hidden=16, aggregator="pool", ngnn=1)):
            with self.subTest(settings):
                predictions = self.box.folder / "predictions.csv"
                config, epochs, final = train(self.box, graph=self.graph, epochs=2, fanouts="5,5",
                                              predict=predictions, **settings)
                self.assertEqual(settings["model"], config["model"])
                self.assertLess(epochs[-1]["loss"], 2.1)
                self.assertIsNotNone(final["test_acc"])
        self.assertCode(2, self.box.run("halograph-train", *options(
            graph=self.graph, model="sgc", hidden=16)), "--hidden")

    def test_unknown_precision_names_those_that_exist(self):
        result = self.box.run("halograph-train", *options(graph=self.graph, precision="int3"))
        self.assertCode(2, result, "int3", "float32", "bf16")

    def test_memory_of_a_device_is_for_one_that_is_there(self):
        run = dict(SMALL, graph=self.graph, epochs=1, device_cache_memory="1MiB")
        self.assertCode(2, self.box.run("halograph-train", *options(**run)),
                        "--device-cache-memory is for --device cuda")
        auto = self.box.run("halograph-train", *options(**run, device="auto"),
                            env={"CUDA_VISIBLE_DEVICES": ""})
        self.assertCode(0, auto, "--device-cache-memory 1.0 MiB", "no rows are kept")

    def test_a_device_that_is_not_there_is_told_before_servers_are_asked(self):
        nobody = f"127.0.0.1:{programs.free_port()}"
        refused = self.box.run("halograph-train", *options(servers=nobody, device="cuda:99"))
        self.assertCode(1, refused, "--device cuda:99:")
        self.assertNotIn("Describe", refused.text)

    def test_a_log_that_cannot_be_written_is_named(self):
        path = self.box.folder / "no" / "such" / "log.jsonl"
        self.assertCode(1, self.box.run("halograph-train", *options(
            graph=self.graph, epochs=1, log=path, **SMALL)), path)

    def test_a_log_that_another_run_writes_is_refused(self):
        log = self.box.folder / "shared.jsonl"
        first = self.box.start("halograph-train", *options(
            graph=self.graph, epochs=1000000, log=log, **SMALL))
        programs.wait_until(lambda: num_epochs(log) > 1, "two epochs")
        self.assertCode(1, self.box.run("halograph-train", *options(
            graph=self.graph, epochs=1, log=log, **SMALL)), f"--log {log}: another run")
        self.assertTrue(first.running(), first.text)
        first.end()

    def test_servers_of_two_graphs_are_refused_naming_them(self):
        other = self.box.folder / "other"
        must(self.box.run("halograph-partition", "run", "--input", datasets.cora(), "--output", other,
                          "--parts", 2, "--method", "random"))
        first = self.box.servers(self.graph, [0])[1]
        second = self.box.servers(other, [1])[1]
        self.assertCode(1, self.box.run("halograph-train", *options(
            servers=",".join(first + second), epochs=1, **SMALL)), second[0])

    def test_rows_that_fit_no_message_are_refused_before_anything_is_trained(self):
        source = datasets.copy_of(datasets.cora(), self.box.folder / "input")
        npy.save(source / "features" / "feat.npy", "<f4", (2708, 600), [0.0] * (2708 * 600))
        graph, log = self.box.folder / "wide", self.box.folder / "log.jsonl"
        must(self.box.run("halograph-partition", "run", "--input", source, "--output", graph,
                          "--parts", 1))
        servers = ",".join(self.box.servers(graph, [0])[1])
        result = self.box.run("halograph-train", *options(
            servers=servers, max_message_bytes="4KiB", epochs=1, log=log, **SMALL))
        self.assertCode(1, result)
        self.assertRegex(result.err, r"halograph-train: features: .* one row of node node / feat has 2400 "
                                     r"bytes, .*; raise --max-message-bytes of client and server")
        self.assertNotIn("config", log.read_text() if log.exists() else "")

    def test_a_part_that_no_server_has_is_named(self):
        address = self.remote(0)
        result = self.box.run("halograph-train", *options(servers=address, epochs=1, **SMALL))
        self.assertCode(1, result)
        self.assertRegex(result.text, r"\bpart(ition)?s?\b.{0,20}\b1\b")


if __name__ == "__main__":
    programs.main()
