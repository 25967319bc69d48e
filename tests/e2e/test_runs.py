#!/usr/bin/env python3
"""How a run is told, limited, recorded and repeated: --config, limits, event files, learning curves."""
import json
import pathlib
import struct
import subprocess
import sys
import unittest

from harness import datasets, events, links, npy, programs
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must
from harness.training import options, read_log, start_ranks, train

PLOT_LOG = pathlib.Path(__file__).parents[2] / "deploy" / "plot-log"
SMALL = dict(hidden=16, fanouts="5,3", batch_size=50, seed=3, threads=1)  # 3 steps an epoch
# "metrics" are the process's own: seconds, memory, and counts that depend on how threads meet.
TIMES = ("time", "seconds", "eval_s", "sample_wait_s", "feature_wait_s", "compute_s", "sync_wait_s",
         "push_s", "total_s", "stages", "metrics")


def without_times(lines):
    return [{key: value for key, value in line.items() if key not in TIMES} for line in lines]


class LimitsTest(CoraInTwoTest):
    AT_ONCE = 3

    def test_a_limit_ends_an_epoch_in_its_middle_and_predictions_follow(self):
        path = self.box.folder / "p.npy"
        log = self.box.folder / "run.jsonl"
        result = must(self.box.run("halograph-train", *options(
            graph=self.graph, max_steps=7, eval_every_steps=2, predict=path, log=log, **SMALL)))
        config, epochs, final = read_log(log)
        self.assertEqual([3, 6, 7], [line["step"] for line in epochs])
        self.assertEqual([3, 3, 1], [line["steps"] for line in epochs])
        self.assertEqual(3, config["epochs"], "as many as the steps take")
        self.assertEqual(("max-steps", 7, False),
                         (final["ended_by"], final["steps"], final["stopped"]))
        self.assertIn("(of 3: ended by --max-steps)", result.out)
        self.assertEqual((2708, 2), npy.load(path).shape)
        within = [json.loads(line)["evaluation"] for line in log.read_text().splitlines()
                  if line.startswith('{"evaluation"')]
        self.assertEqual([2, 4], [line["step"] for line in within])
        self.assertTrue(all(line["valid_acc"] is not None for line in within))
        evaluated = within + epochs
        self.assertEqual(max(line["valid_acc"] for line in evaluated), final["valid_acc"])

    def test_patience_ends_training_on_two_ranks(self):
        ranks = start_ranks(self.box, 2, graph=self.graph, epochs=200, patience=2, min_delta=1,
                            **SMALL)
        for rank in ranks:
            self.assertEqual(0, rank.wait(), rank.text)
        _, epochs, final = read_log(self.box.folder / "rank0.jsonl")
        self.assertEqual("patience", final["ended_by"])
        self.assertEqual(3, len(epochs), "nothing is better by more than 1")

    def test_the_clock_ends_training_which_is_no_failure(self):
        _, epochs, final = train(self.box, graph=self.graph, epochs=1000000, time_limit="1s",
                                 eval_every=0, **SMALL)
        self.assertEqual("time-limit", final["ended_by"])
        self.assertIsNotNone(final["test_acc"])
        self.assertIsNotNone(epochs[-1]["valid_acc"])
        self.assertLess(final["total_s"], programs.seconds(30))


class InterfaceTest(CoraInTwoTest):
    def ranks(self, interface):
        return start_ranks(self.box, 2, env={"GLOO_SOCKET_IFNAME": interface}, graph=self.graph, epochs=1, **SMALL)

    def test_ranks_speak_over_the_interface_that_is_named(self):
        for rank in self.ranks("lo"):
            self.assertEqual(0, rank.wait(), rank.text)

    def test_an_interface_that_is_not_there_is_named(self):
        ranks = self.ranks("nosuch0")
        for rank in ranks:
            self.assertEqual(1, rank.wait(), rank.text)
        self.assertRegex("".join(rank.text for rank in ranks), r"rank \d: connecting the ranks: .*nosuch0")


class ConfigTest(CoraInTwoTest):
    AT_ONCE = 3
    RUN = dict(SMALL, epochs=3, model="gat", heads=2, dropout=0.5, lr_schedule="cosine",
               warmup_steps=2, clip_norm=0.5, normalize_features="row", precision="bf16")

    def test_a_run_is_repeated_from_its_log_alone_bit_for_bit(self):
        first = self.box.folder / "first.jsonl"
        must(self.box.run("halograph-train", *options(graph=self.graph, log=first, **self.RUN)))
        again = self.box.folder / "again.jsonl"
        must(self.box.run("halograph-train", "--config", first, "--log", again))
        logs = [read_log(path) for path in (first, again)]
        self.assertEqual(*(without_times(log[1]) for log in logs))
        self.assertEqual(*(without_times([log[2]]) for log in logs))
        configs = [log[0] for log in logs]
        self.assertEqual([str(first), str(again)], [config.pop("log") for config in configs])
        self.assertEqual(*configs)

    def test_a_run_repeated_from_its_log_goes_on_from_its_checkpoints(self):
        first, folder = self.box.folder / "first.jsonl", self.box.folder / "checkpoints"
        kept = ("--checkpoint", folder, "--log")
        must(self.box.run("halograph-train", *options(graph=self.graph, epochs=1, **SMALL), *kept, first))
        again = self.box.folder / "again.jsonl"
        must(self.box.run("halograph-train", "--config", first, "--epochs", 2, "--resume", *kept, again))
        self.assertEqual([1], [line["epoch"] for line in read_log(again)[1] if "epoch" in line])
        must(self.box.run("halograph-train", "evaluate", "--config", first, "--checkpoint", folder))

    def test_a_refused_start_leaves_the_log_of_the_run_before(self):
        log = self.box.folder / "run.jsonl"
        words = options(graph=self.graph, epochs=1, log=log, checkpoint=self.box.folder / "kept", **SMALL)
        must(self.box.run("halograph-train", *words))
        before = log.read_text()
        self.assertCode(1, self.box.run("halograph-train", *words), "has checkpoints of a run")
        self.assertEqual(before, log.read_text())

    def test_training_goes_on_without_lines_that_a_full_disk_does_not_take(self):
        log, board = self.box.folder / "run.jsonl", self.box.folder / "board"
        limited = 'ulimit -f 16; exec "$@"'  # blocks of 512 bytes
        result = self.box.run("/bin/sh", "-c", limited, "sh", programs.binary("halograph-train"),
                              *options(graph=self.graph, epochs=20, log=log, tensorboard=board, **SMALL))
        self.assertCode(1, result, "training goes on", "lines of the log were lost", str(log))
        self.assertIn("test accuracy", result.out)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertGreater(len(lines), 2)
        self.assertLess(len(lines), 20)
        (path,) = board.iterdir()
        self.assertGreater(len(list(events.read(path))), len(lines), "records are whole")

    def test_two_ranks_are_repeated_by_two_and_by_one_process(self):
        losses = []
        for config in ({"graph": self.graph, "epochs": 2, **SMALL}, {}):
            box = programs.Sandbox()
            self.addCleanup(box.close)
            if not config:
                config = {"config": first}
            for rank in start_ranks(box, 2, **config):
                self.assertEqual(0, rank.wait(), rank.text)
            first = box.folder / "rank0.jsonl"
            losses.append([line["loss"] for line in read_log(first)[1]])
        self.assertEqual(*losses)
        alone = self.box.folder / "alone.jsonl"
        must(self.box.run("halograph-train", "--config", first, "--log", alone))
        self.assertEqual(losses[0], [line["loss"] for line in read_log(alone)[1]])
        three = dict(RANK="0", WORLD_SIZE="3", MASTER_ADDR="127.0.0.1", MASTER_PORT="1")
        self.assertCode(2, self.box.run("halograph-train", "--config", first, env=three),
                        "of a run of 2 ranks")

    def test_a_file_of_options_is_read_by_both_programs(self):
        log = self.box.folder / "yaml.jsonl"
        path = self.box.folder / "run.yaml"
        path.write_text(f"graph: {self.graph}\nmodel: gat\nheads: 2\nhidden: 16\nfanouts: [5, 3]\n"
                        f"batch_size: 50\nepochs: 50\nlog: {log}\n")
        must(self.box.run("halograph-train", "--config", path, "--epochs", 1))
        config, epochs, _ = read_log(log)
        self.assertEqual(("gat", 2, [5, 3], 1),
                         (config["model"], config["heads"], config["fanouts"], len(epochs)))
        self.assertIn("--heads", must(self.box.run("halograph-train", "--config", path, "-h")).out)
        path.write_text(f"graph: {self.graph}\nepochs: 1\nhiden: 16\n")
        self.assertCode(2, self.box.run("halograph-train", "--config", path),
                        f"{path}:3: ", "did you mean --hidden?")


class OtherGraphsTest(programs.ProgramTest):
    """Logs of other graphs and tasks are configurations too."""

    def check(self, source, first, again):
        graph = self.box.folder / "graph"
        must(self.box.run("halograph-partition", "run", "--input", source, "--output", graph,
                          "--parts", 2, "--method", "random", "--seed", 1))
        log = self.box.folder / "first.jsonl"
        must(self.box.run("halograph-train", *options(graph=graph, log=log, seed=3, threads=1,
                                                      hidden=8, **first)))
        wanted = read_log(log)
        found = train(self.box, config=log, **again)
        self.assertEqual(without_times(wanted[1]), without_times(found[1]))
        return wanted[0], found[0]

    def test_a_typed_graph_with_learnt_inputs(self):
        first, again = self.check(
            datasets.write_typed(self.box.folder / "source"),
            dict(model="rgcn", embed="author:8,unused:8", fanouts="writes=2:1,cites=1:0,*=3:3",
                 batch_size=10, epochs=2, features="feat", metric="macro-f1,accuracy",
                 state=self.box.folder / "state"),
            dict(state=self.box.folder / "other"))
        for key in ("features", "fanouts", "embed", "learnt_inputs"):
            self.assertEqual(first[key], again[key])

    def test_links(self):
        self.check(links.write(self.box.folder / "source", datasets.cora()),
                   dict(fanouts="5,3", eval_fanouts="4,2", batch_size=500, epochs=1, score="mlp",
                        negative_sampling="degree", eval_negatives=20, corrupt="both"), {})


class SubPartsTest(programs.ProgramTest):
    def test_ranks_that_do_not_fit_the_sub_parts_are_told_in_a_line(self):
        graph = self.box.folder / "graph"
        must(self.box.run("halograph-partition", "run", "--input", datasets.cora(), "--output", graph,
                          "--parts", 2, "--trainers-per-part", 2, "--seed", 1))
        for ranks, lines in ((4, 0), (2, 1)):
            with self.subTest(ranks=ranks):
                result = must(self.box.run("halograph-train", *options(
                    graph=graph, max_steps=1, logical_ranks=ranks, **SMALL)))
                told = [line for line in result.text.splitlines() if "is divided among" in line]
                self.assertEqual(lines, len(told), result.text)
                for line in told:
                    self.assertIn("each of the graph's 2 parts is divided among 2 trainers", line)
                    self.assertIn("start a multiple of 4 ranks", line)


class EventsTest(CoraInTwoTest):
    AT_ONCE = 3

    def board(self):
        """The epochs of a run, and the folder of its events."""
        folder = self.shared.folder / "board"
        return self.once("board", lambda: train(
            self.box, graph=self.graph, epochs=2, eval_every_steps=2, tensorboard=folder,
            **SMALL)[1]), folder

    def test_every_epoch_is_there_by_step(self):
        lines, folder = self.board()
        (path,) = folder.iterdir()
        single = lambda value: struct.unpack("<f", struct.pack("<f", value))[0]
        found = {step: (wall, scalars) for wall, step, scalars in events.read(path)}
        self.assertEqual([2, 3, 4, 6], list(found))
        for line in lines:
            wall, scalars = found[line["step"]]
            self.assertEqual(line["time"], wall)
            for tag, key in (("loss/train", "loss"), ("acc/train", "train_acc"),
                             ("acc/valid", "valid_acc"), ("loss/test", "test_loss"), ("lr", "lr"),
                             ("run/seconds", "seconds"), ("run/train_seeds", "train_seeds")):
                self.assertEqual(single(line[key]), scalars[tag], tag)
            self.assertFalse({"run/epoch", "run/step", "run/time"} & set(scalars))

    def test_tensorboard_reads_them(self):
        try:
            from tensorboard.backend.event_processing import event_accumulator
        except ImportError:
            raise unittest.SkipTest("tensorboard is not installed") from None
        lines, folder = self.board()
        board = event_accumulator.EventAccumulator(str(folder))
        board.Reload()
        self.assertEqual([line["step"] for line in lines],
                         [event.step for event in board.Scalars("loss/train")
                          if event.step % 3 == 0])

    def test_a_run_that_goes_on_adds_a_file_to_the_folder(self):
        folder = self.box.folder / "resumed"
        again = dict(graph=self.graph, tensorboard=folder, checkpoint=self.box.folder / "run",
                     resume=True, eval_every_steps=2, **SMALL)
        train(self.box, epochs=2, **again)
        (first,) = folder.iterdir()
        before = events.read(first)
        train(self.box, epochs=4, **again)
        (second,) = set(folder.iterdir()) - {first}
        self.assertEqual(before, events.read(first))
        self.assertEqual([2, 3, 4, 6], [step for _, step, _ in before])
        self.assertEqual([8, 9, 10, 12], [step for _, step, _ in events.read(second)])

    def test_only_rank_0_writes(self):
        folder = self.box.folder / "ranks"
        for rank in start_ranks(self.box, 2, graph=self.graph, epochs=1, tensorboard=folder, **SMALL):
            self.assertEqual(0, rank.wait(), rank.text)
        self.assertEqual(1, len(list(folder.iterdir())))


class PlotLogTest(programs.ProgramTest):
    """deploy/plot-log, without gnuplot but in the last test."""

    def setUp(self):
        super().setUp()
        self.logs = [self.write(f"it's {name}.jsonl", epochs) for name, epochs in
                     (("one", 3), ("two", 2))]

    def write(self, name, epochs):
        lines = [{"config": {}}]
        for epoch in range(epochs):
            lines.append({"epoch": epoch, "step": 5 * epoch + 5, "time": 100.0 + epoch, "seconds": 0.5,
                          "eval_s": 0.25, "loss": 1 / (epoch + 1), "valid_acc": epoch / 4,
                          "valid_loss": 2.0, "test_acc": None})
            lines.append({"evaluation": {**lines[-1], "step": 5 * epoch + 7, "loss": 0.125}})
        lines.append({"final": True, "epochs": epochs, "loss": 0.5})
        path = self.box.folder / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"epoch": 9, "lo')
        return path

    def plot(self, *words, code=0, path=None):
        done = subprocess.run([sys.executable, PLOT_LOG, *map(str, words)], capture_output=True,
                              text=True, timeout=programs.PATIENCE, check=False,
                              env={"PATH": path} if path is not None else None)
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def test_each_log_is_a_curve_in_a_panel_for_each_metric(self):
        script = self.plot("--print", *self.logs)
        self.assertIn("$curve_0_0 << END\n1 1\n2 0.5\n3 0.3333333333\nEND\n", script)
        self.assertIn("$curve_1_1 << END\n1 0\n2 0.25\nEND\n", script)
        self.assertIn("set ylabel 'loss'\nplot $curve_0_0 using 1:2 with linespoints title 'it''s one'",
                      script)
        self.assertEqual(2, script.count("\nplot "))
        self.assertIn("set terminal dumb", script)

    def test_steps_and_time_have_evaluations_within_epochs_too(self):
        script = self.plot("--print", "--x", "step", "--metric", "loss", self.logs[1])
        self.assertIn("$curve_0_0 << END\n5 1\n7 0.125\n10 0.5\n12 0.125\nEND\n", script)
        script = self.plot("--print", "--x=time", "--metric=valid_acc", self.logs[1])
        self.assertIn("$curve_0_0 << END\n0.75 0\n1.75 0.25\nEND\n", script)

    def test_what_is_wrong_is_named(self):
        self.assertIn("loss, seconds, valid_acc", self.plot("--metric", "f1", *self.logs, code=2))
        self.assertIn("no log is given", self.plot(code=2))
        self.assertIn("--x is 'day'", self.plot("--x", "day", *self.logs, code=2))
        self.assertIn(".svg or .png", self.plot("--output", "x.gif", *self.logs, code=2))
        self.assertIn("No such file", self.plot(self.box.folder / "none", code=1))
        self.assertIn("no folder none", self.plot("--output", "none/x.svg", *self.logs, code=1))
        wrong = self.box.folder / "wrong.jsonl"
        wrong.write_text("{}\nno json\n")
        self.assertIn("wrong.jsonl:2: not a line", self.plot(wrong, code=1))
        wrong.write_text('{"config": {}}\n')
        self.assertIn("no epoch is in this log", self.plot(wrong, code=1))

    def test_without_gnuplot_it_says_what_to_install(self):
        self.assertIn("gnuplot-nox", self.plot(*self.logs, code=1, path=str(self.box.folder)))

    def test_gnuplot_draws_it(self):
        if subprocess.run(["which", "gnuplot"], capture_output=True, check=False).returncode != 0:
            raise unittest.SkipTest("gnuplot is not installed")
        picture = self.box.folder / "curves.svg"
        self.plot("--output", picture, "--metric", "loss,valid_acc", *self.logs)
        text = picture.read_text()
        self.assertTrue(text.rstrip().endswith("</svg>"))
        self.assertEqual(2, text.count("it's two") + text.count("it&#39;s two"))
        self.assertIn("it's one", self.plot(self.logs[0]))


if __name__ == "__main__":
    programs.main()
