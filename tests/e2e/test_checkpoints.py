#!/usr/bin/env python3
"""Checkpoints: killed runs that go on end as undisturbed ones do; files that others read; what is
refused. Runs that are killed have no end of their own: the last one that goes on has it."""
import json
import math
import re
import shutil
import signal
import sys

from harness import checkpoints, programs, safetensors
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must, wait_until
from harness.training import ENDLESS, num_epochs, options, start_ranks

RUN = dict(hidden=16, fanouts="5,3", batch_size=20, seed=3, threads=1, eval_every=2)


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class CheckpointsTest(CoraInTwoTest):
    AT_ONCE = 3

    def setUp(self):
        super().setUp()
        self.folder = self.box.folder / "checkpoints"
        self.log = self.box.folder / "log.jsonl"
        self.predicted = self.box.folder / "predicted.npy"

    def words(self, **given):
        return options(**{**RUN, "graph": self.graph, "log": self.log, "predict": self.predicted,
                          "predict_what": "logits", **given})

    def kept(self, **given):
        return self.words(**{**dict(checkpoint=self.folder, checkpoint_every="5", resume=True),
                             **given})

    def steps(self):
        """Names of the checkpoints that are there."""
        return checkpoints.names(self.folder)

    def trained(self, folder):
        """`folder` with the checkpoints of a run of two epochs, which the tests share."""
        def make():
            made = self.shared.folder / "trained"
            must(self.shared.run("halograph-train", *self.kept(checkpoint=made, epochs=2)))
            return made
        shutil.copytree(self.once("trained", make), folder)

    def run_ranks(self, ranks, disturb=None, **given):
        """Exit codes of the ranks of one run; `disturb(processes)` is called while they run."""
        if "predict" in given:
            given["predict_what"] = "logits"
        started = start_ranks(self.box, ranks, **{**RUN, "graph": self.graph, **given})
        if disturb:
            disturb(started)
        return [process.wait() for process in started]

    def assertAsUndisturbed(self, log, **given):
        """Predictions and the last line are those of a run that nothing happened to."""
        whole, predicted = self.box.folder / "whole.jsonl", self.box.folder / "whole.npy"
        must(self.box.run("halograph-train", *self.words(log=whole, predict=predicted, **given)))
        self.assertEqual(predicted.read_bytes(), self.predicted.read_bytes())
        wanted, last = lines_of(whole)[-1], lines_of(log)[-1]
        for key in ("best_epoch", "valid_acc", "test_acc", "valid_loss", "loss", "epochs"):
            self.assertEqual(wanted[key], last[key], key)

    def test_a_run_that_is_killed_again_and_again_ends_as_an_undisturbed_one(self):
        for threads in (1, 4, 4):  # computing threads change no bit
            before = checkpoints.newest(self.folder)
            process = self.box.start("halograph-train", *self.kept(threads=threads, epochs=ENDLESS))
            checkpoints.await_one(self.folder, [process], before)
            process.signal(signal.SIGKILL)
            self.assertEqual(-signal.SIGKILL, process.wait(), process.text)
        epochs = checkpoints.epochs_to_go(self.folder)
        must(self.box.run("halograph-train", *self.kept(threads=4, epochs=epochs)))
        self.assertAsUndisturbed(self.log, epochs=epochs)
        self.assertGreater(sum("config" in line for line in lines_of(self.log)), 1,
                           "the log of runs before stays")
        self.assertEqual(3, len(self.steps()))

    def test_a_rank_that_dies_is_named_and_one_command_goes_on(self):
        given = dict(checkpoint=self.folder, checkpoint_every="5", resume=True,
                     predict=self.predicted, gradient_dtype="bfloat16")

        def kill_one(ranks):
            checkpoints.await_one(self.folder, ranks, "step-000000014")  # whose evaluation is the first
            ranks[1].signal(signal.SIGKILL)
            ranks[1].wait()
            self.assertEqual(1, ranks[0].wait())
            self.assertIn("rank 1", ranks[0].err)
            self.assertIn("the last good checkpoint is", ranks[0].err)

        self.run_ranks(2, kill_one, epochs=ENDLESS, **given)
        epochs = checkpoints.epochs_to_go(self.folder)
        self.assertEqual([0, 0], self.run_ranks(2, epochs=epochs, **given))
        self.assertAsUndisturbed(self.box.folder / "rank0.jsonl", epochs=epochs, logical_ranks=2,
                                gradient_dtype="bfloat16")

    def test_a_tuned_run_keeps_its_threads_and_one_that_ended_before_tunes_anew(self):
        def run(epochs):
            words = self.kept(tune=True, epochs=epochs)
            at = words.index("--threads")
            del words[at:at + 2]
            must(self.box.run("halograph-train", *words))
            return checkpoints.manifest(self.folder)["progress"].get("threads")

        def split(line):
            return [line[key] for key in ("threads", "sample_threads", "gather_threads")]

        kept = [run(epochs) for epochs in (2, 110, 112)]  # 14 steps are too few, 750 enough
        lines = lines_of(self.log)
        tuned = [line["tuned"] for line in lines if "tuned" in line]
        config = lines[0]["config"]
        self.assertIs(True, config["tune"])
        alone = config["threads"] == 1  # on one processor there is no choice
        self.assertEqual((["measurement"] if not alone else ["measurement", "checkpoint"]) + ["checkpoint"],
                         [line["by"] for line in tuned])
        for line in tuned:
            self.assertEqual(split(tuned[0]), split(line))
            self.assertLessEqual(line["threads"], config["threads"])
            self.assertLessEqual(max(split(line)[1:]), config["sample_threads"])
        wanted = dict(zip(("compute", "sample", "gather"), split(tuned[0])))
        self.assertEqual([wanted if alone else None, wanted, wanted], kept)
        if not alone:
            self.assertGreater(tuned[0]["splits"], 3)
            self.assertGreater(tuned[0]["step_s"], 0)
        self.assertAsUndisturbed(self.log, epochs=112)  # so few rows are added up alike by any threads

    def test_progress_is_counted_from_where_the_run_goes_on(self):
        given = dict(checkpoint_every="1h", eval_every=0, batch_size=4)  # steps enough to show progress
        epochs = 100
        seeds = 140 * epochs
        must(self.box.run("halograph-train", *self.kept(epochs=epochs, **given)))
        on_terminal = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) != 0)"
        result = must(self.box.run(sys.executable, "-c", on_terminal,
                                   programs.binary("halograph-train"),
                                   *self.kept(epochs=2 * epochs, **given)))
        counts = re.findall(r"training, seeds: ([\d,]+) of", result.out)
        self.assertGreater(int(counts[0].replace(",", "")), seeds, "more than a count from 0 comes to")
        self.assertIn(f"training, seeds: {seeds:,} in", result.out)

    def test_a_signal_leaves_a_checkpoint_at_its_step(self):
        process = self.box.start("halograph-train", *self.kept(checkpoint_every="1h", epochs=ENDLESS))
        wait_until(lambda: num_epochs(self.log), "an epoch")
        process.signal(signal.SIGTERM)
        self.assertEqual(1, process.wait())
        self.assertEqual(1, len(self.steps()))
        self.assertRegex(lines_of(self.log)[-1]["error"], "stopped by signal")
        epochs = checkpoints.epochs_to_go(self.folder)
        must(self.box.run("halograph-train", *self.kept(checkpoint_every="1h", epochs=epochs)))
        self.assertAsUndisturbed(self.log, epochs=epochs)

    def test_a_signal_to_one_rank_is_what_the_others_name(self):
        def stop_the_last(ranks):
            checkpoints.await_one(self.folder, ranks)
            ranks[2].signal(signal.SIGTERM)
            ends = [rank.wait() for rank in ranks]
            self.assertEqual([1, 1, 1], ends)
            self.assertIn("stopped by signal", ranks[2].err)
            for rank in ranks[:2]:
                self.assertRegex(rank.err, r"halograph-train: stopped by signal to rank 2 \(host .*, pid "
                                           rf"{ranks[2].pid}\)\n")

        self.run_ranks(3, stop_the_last, epochs=ENDLESS, checkpoint=self.folder, checkpoint_every="3")

    def test_a_run_whose_last_checkpoint_was_not_written_fails_at_its_end(self):
        limited = 'ulimit -f 64; exec "$@"'  # blocks of 512 bytes: less than the weights
        result = self.box.run("/bin/sh", "-c", limited, "sh", programs.binary("halograph-train"), *options(
            **{**RUN, "graph": self.graph, "epochs": 2, "checkpoint": self.folder}))
        self.assertCode(1, result, "training goes on", "the last checkpoint, after 14 steps, was not written")
        self.assertIn("test accuracy", result.out)
        self.assertEqual([], self.steps())

    def test_a_finished_run_has_nothing_to_do(self):
        for number, (ended_by, given) in enumerate((
                ("epochs", dict(epochs=3, lr_schedule="cosine")),
                ("max-steps", dict(epochs=9, max_steps=10)),
                ("patience", dict(epochs=9, patience=1, min_delta=2, eval_every_steps=4)),
                ("patience", dict(epochs=9, patience=1, min_delta=2, average_every=1)))):
            kept = self.kept(checkpoint=self.box.folder / f"finished{number}", checkpoint_every="1h",
                             log=self.box.folder / f"finished{number}.jsonl", eval_every=1, **given)
            lasts, lines = [], []
            again = 2 if number == 0 else 1
            for _ in range(1 + again):
                must(self.box.run("halograph-train", *kept))
                told = lines_of(self.box.folder / f"finished{number}.jsonl")
                lasts.append({**told[-1], "total_s": None, "metrics": None})  # both of a process
                lines.append(sum("epoch" in line or "evaluation" in line for line in told))
            self.assertEqual(ended_by, lasts[0]["ended_by"])
            self.assertIsNotNone(lasts[0]["loss"])
            self.assertEqual([lasts[0]] * again, lasts[1:])
            self.assertEqual([lines[0]] * again, lines[1:], "no epoch has another line")

    def test_epochs_have_the_figures_of_all_their_steps_wherever_the_run_was_stopped(self):
        given = dict(epochs=4, eval_every=1)
        must(self.box.run("halograph-train", *self.words(log=self.box.folder / "whole.jsonl", **given)))
        for steps in (3, 7, 17):  # 7 make an epoch: in the middle, at an end, in the middle from an end
            must(self.box.run("halograph-train", *self.kept(max_steps=steps, **given)))
        must(self.box.run("halograph-train", *self.kept(**given)))
        figures = []
        for log in (self.box.folder / "whole.jsonl", self.log):
            epochs = {line["epoch"]: line for line in lines_of(log) if "epoch" in line}
            figures.append({epoch: [line[key] for key in (
                "loss", "train_acc", "valid_acc", "valid_loss", "steps", "step", "train_seeds",
                "sampled_edges", "local_bytes")] for epoch, line in epochs.items()})
        self.assertEqual(4, len(figures[0]))
        self.assertEqual(*figures)

    def test_a_cosine_must_keep_its_length(self):
        must(self.box.run("halograph-train", *self.kept(epochs=1, lr_schedule="cosine")))
        result = self.box.run("halograph-train", *self.kept(epochs=2, lr_schedule="cosine"))
        self.assertEqual(1, result.code)
        self.assertRegex(result.err, "--epochs was 1, is 2.*with --lr-schedule cosine every step's")

    def test_the_files_are_as_the_format_says(self):
        self.trained(self.folder)
        folder = self.folder / self.steps()[-1]
        manifest = checkpoints.manifest(self.folder)
        model = safetensors.read(folder / "model.safetensors")
        best = safetensors.read(folder / "best.safetensors")
        moments = safetensors.read(folder / "optimizer.safetensors")
        self.assertEqual(set(model), set(best))
        self.assertTrue(all(name.startswith("model.") for name in model))
        self.assertEqual({f"{name}.{what}" for name in model
                          for what in ("step", "exp_avg", "exp_avg_sq")}, set(moments))
        self.assertEqual(2, manifest["epoch"])
        for name, tensor in model.items():
            self.assertEqual("F32", tensor.dtype)
            self.assertTrue(all(map(math.isfinite, tensor.values)))
            self.assertEqual(tensor.shape, moments[f"{name}.exp_avg"].shape)
            self.assertEqual([manifest["steps_done"]], moments[f"{name}.step"].values)
        self.assertFalse((folder / "epoch.safetensors").exists(), "no epoch is under way")
        sums = safetensors.read(self.folder / self.steps()[-2] / "epoch.safetensors")
        self.assertEqual(([1, 1], "F64"), (list(sums["loss"].shape), sums["loss"].dtype))
        whole = (folder / "model.safetensors").read_bytes()
        with self.assertRaises(ValueError):
            safetensors.parse(whole + b"\0")

    def test_what_does_not_fit_is_refused_and_named(self):
        self.trained(self.folder)
        for given, messages in (
                (dict(lr=0.5, seed=4, batch_size=30),
                 ("--lr was 0.003, is 0.5; --seed was 3, is 4", "--batch-size was 20, is 30")),
                (dict(gradient_dtype="bfloat16"),
                 ('--gradient-dtype was "float32", is "bfloat16"', "there is one rank, whose gradients go nowhere")),
                (dict(model="gcn"), ("the model was sage, is gcn",))):
            self.assertCode(1, self.box.run("halograph-train", *self.kept(epochs=2, **given)), *messages)
        fresh = [word for word in self.kept(epochs=2) if word != "--resume"]
        self.assertIn("--resume goes on from the newest", self.box.run("halograph-train", *fresh).err)
        self.assertIn("--resume needs --checkpoint",
                      self.box.run("halograph-train", *self.words(resume=True)).err)

    def test_how_often_is_steps_or_a_time(self):
        for word, wrong in (("0", "is not above 0"), ("0s", "is not above 0"), ("ten", "is neither"),
                            ("-5", "is neither"), ("5x", "is neither"), ("1.5", "is neither"),
                            ("9" * 30, "is too large")):
            result = self.box.run("halograph-train", *self.words(checkpoint=self.folder,
                                                                 checkpoint_every=word))
            self.assertEqual(2, result.code, str(result))
            self.assertIn(f"--checkpoint-every: '{word}' {wrong}, expected steps (500), or a time",
                          result.err)

    def test_a_damaged_one_is_named_and_the_one_before_it_taken(self):
        self.trained(self.folder)
        newest, before = self.steps()[-1], self.steps()[-2]
        path = self.folder / newest / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-1] + b"\x01")
        result = must(self.box.run("halograph-train", *self.kept(epochs=4)))
        self.assertRegex(result.err, rf"{newest} is damaged: .*model.safetensors")
        self.assertIn(f"going on from {self.folder / before}", result.err)

    def test_a_loss_that_is_not_finite_names_the_last_good_one(self):
        def run(**given):
            return self.box.run("halograph-train", *self.kept(
                optimizer="sgd", lr=1, weight_decay=1e3, epochs=60,
                **{**dict(checkpoint_every="1h"), **given}))

        # Whichever rank comes to it first: rank 0 knows the checkpoint.
        other = self.box.folder / "other"
        result = run(checkpoint=other, checkpoint_every=1, logical_ranks=2)
        self.assertEqual(1, result.code)
        self.assertRegex(result.err, f"the loss is .*; the last good checkpoint is {other}/step-0")
        self.assertRegex(lines_of(self.log)[-1]["error"], f"; the last good checkpoint is {other}/step-0")

        must(run(max_steps=1))
        result = run()
        good = self.folder / self.steps()[0]
        self.assertRegex(result.err, f"the last good checkpoint is {good}\n")
        # Weights of the moment before the step are finite, but lead nowhere.
        epoch, step = map(int, re.search(r"epoch (\d+), step (\d+): the loss is", result.err).groups())
        must(run(max_steps=7 * epoch + step))  # 7 make an epoch
        newer = self.folder / self.steps()[1]
        self.assertRegex(run().err, f"the last good checkpoint is {good}. The newer one, {newer}, is of the "
                                    "moment before this step, .* remove the newer one")
        shutil.rmtree(good)
        self.assertRegex(run().err, f"there is no good checkpoint: {newer} is of the moment .*Begin anew")

    def test_a_checkpoint_itself_is_refused_as_their_folder(self):
        self.trained(self.folder)
        given = self.folder / self.steps()[-1]
        before = sorted(given.iterdir())
        self.assertCode(1, self.box.run("halograph-train", *self.kept(checkpoint=given, epochs=2)),
                        f"is a checkpoint itself; give the folder that it is in, {self.folder}:")
        self.assertEqual(before, sorted(given.iterdir()))


if __name__ == "__main__":
    programs.main()
