#!/usr/bin/env python3
"""--logical-ranks: the same bits in any number of processes, also where a run stops in some and goes on
in others."""
import shutil
import signal

from harness import checkpoints, programs
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must, wait_until
from harness.training import ENDLESS, num_epochs, options, read_log, start_ranks

# Batch norm: each rank has running figures of its own.
RUN = dict(model="gcn", norm="batch", hidden=16, fanouts="5,3", batch_size=10, seed=3, threads=1, epochs=6,
           predict_what="logits", eval_every=2)
FIGURES = ("loss", "train_acc", "valid_acc", "valid_loss", "test_acc", "steps", "train_seeds",
           "sampled_edges")


class LogicalRanksTest(CoraInTwoTest):
    AT_ONCE = 3

    @staticmethod
    def figures(epochs):
        return [[epoch[key] for key in FIGURES] for epoch in epochs if "epoch" in epoch]

    def start(self, processes, name, **given):
        """The processes of a run, and its log and predictions."""
        predicted = self.box.folder / f"{name}.npy"
        started = start_ranks(self.box, processes, lambda rank: dict(
            log=self.box.folder / f"{name}{rank}.jsonl"), **{
                **RUN, "predict": predicted, **({} if "servers" in given else {"graph": self.graph}),
                **given})
        return started, self.box.folder / f"{name}0.jsonl", predicted

    def run_in(self, processes, name, **given):
        """Configuration, figures by epoch and predictions of a run."""
        started, log, predicted = self.start(processes, name, **given)
        self.assertEqual([0] * processes, [one.wait() for one in started],
                         [one.err for one in started])
        config, epochs, last = read_log(log)
        return config, (self.figures(epochs), last["best_epoch"], predicted.read_bytes())

    def of_four(self):
        """Figures and predictions of a run of four processes, and its log."""
        def run():
            found = self.run_in(4, "four")[1]
            return found, shutil.copy(self.box.folder / "four0.jsonl", self.shared.folder)
        return self.once("four", run)

    def test_one_two_and_four_processes_end_with_the_same_bits(self):
        four, _ = self.of_four()
        for processes, name in ((2, "two"), (1, "one")):
            config, found = self.run_in(processes, name, logical_ranks=4)
            self.assertEqual((4, processes), (config["world_size"], config["processes"]))
            self.assertEqual(four, found, name)
        _, other = self.run_in(1, "other", logical_ranks=2)
        self.assertNotEqual(four[-1], other[-1], "two ranks are another run")

    def test_bfloat16_gradients_are_rounded_rank_by_rank_in_any_number_of_processes(self):
        given = dict(gradient_dtype="bfloat16", epochs=2)
        found = {processes: self.run_in(processes, f"rounded{processes}", logical_ranks=4, **given)
                 for processes in (4, 2, 1)}
        self.assertEqual("bfloat16", found[4][0]["gradient_dtype"])
        self.assertEqual(found[4][1], found[2][1])
        self.assertEqual(found[4][1], found[1][1])
        self.assertNotEqual(self.of_four()[0][0][0][0], found[4][1][0][0][0], "the loss of the first epoch")

    def test_pushes_of_learnt_inputs_are_of_ranks_not_of_processes(self):
        found = []
        for processes in (2, 1):
            servers = [self.box.start_server(self.graph, part, "--state",
                                             self.box.folder / f"state-{processes}-{part}")
                       for part in (0, 1)]
            found.append(self.run_in(processes, f"learnt{processes}", embed="node:8", epochs=2,
                                     servers=",".join(map(programs.address, servers)),
                                     logical_ranks=2)[1])
        self.assertEqual(*found)

    def test_a_run_stopped_on_four_goes_on_on_one(self):
        folder = self.box.folder / "checkpoints"
        given = dict(checkpoint=folder, checkpoint_every=3, resume=True)
        started, _, _ = self.start(4, "begun", epochs=ENDLESS, **given)
        checkpoints.await_one(folder, started)
        for one in started:
            one.signal(signal.SIGKILL)
            self.assertEqual(-signal.SIGKILL, one.wait(), one.text)
        given["epochs"] = checkpoints.epochs_to_go(folder)
        refused, _, _ = self.start(1, "refused", **given)
        self.assertEqual(1, refused[0].wait())
        self.assertRegex(refused[0].err, "--world-size was 4, is 1.*with --logical-ranks 4 there are as many")
        config, found = self.run_in(1, "gone-on", logical_ranks=4, **given)
        self.assertEqual(1, config["processes"])
        _, whole = self.run_in(1, "whole", logical_ranks=4, epochs=given["epochs"])
        self.assertEqual(whole[1:], found[1:])
        self.assertEqual(whole[0][-1], found[0][-1])

    def test_a_log_of_four_processes_is_repeated_in_one(self):
        four, first = self.of_four()
        log, predicted = self.box.folder / "again.jsonl", self.box.folder / "again.npy"
        must(self.box.run("halograph-train", *options(config=first, log=log, predict=predicted)))
        config, epochs, _ = read_log(log)
        self.assertEqual((4, 1), (config["world_size"], config["processes"]))
        self.assertEqual(four[0], self.figures(epochs))
        self.assertEqual(four[-1], predicted.read_bytes())

    def test_a_process_that_dies_is_named_with_its_ranks(self):
        started, log, _ = self.start(2, "dying", logical_ranks=4, epochs=ENDLESS)
        wait_until(lambda: num_epochs(log), "an epoch")
        started[1].signal(signal.SIGKILL)
        self.assertEqual(1, started[0].wait())
        self.assertRegex(started[0].err, r"process 1 with ranks 2 to 3 \(host .*\) does not answer")

    def test_a_signal_stops_all_ranks_of_a_process(self):
        started, log, predicted = self.start(1, "stopped", logical_ranks=3, epochs=ENDLESS)
        wait_until(lambda: num_epochs(log) >= 4, "an evaluation")
        started[0].signal(signal.SIGTERM)
        self.assertEqual(1, started[0].wait())
        self.assertIn("stopped by signal", started[0].err)
        self.assertTrue(predicted.exists())

    def test_ranks_that_cannot_be_shared_out_are_refused(self):
        result = self.box.run("halograph-train", *options(
            graph=self.graph, logical_ranks=3, rank=0, world_size=2, master_addr="127.0.0.1",
            master_port=29500))
        self.assertEqual(2, result.code)
        self.assertIn("--logical-ranks 3 cannot be shared out to 2 processes", result.err)


if __name__ == "__main__":
    programs.main()
