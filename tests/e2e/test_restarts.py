#!/usr/bin/env python3
"""What docs/checkpoints.md says to go on from a checkpoint, as it stands there but for the number of
ranks: a loop, mpirun in it, and a Slurm job. Programs of other projects are scripts here, which start
the ranks with the environment that those give them.

A run has no end until it was disturbed: then it gets the epochs that the checkpoint lacks, and two."""
import os
import pathlib
import re
import signal

from harness import checkpoints, programs
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must, wait_until
from harness.training import ENDLESS, MEETING, options

PAGE = pathlib.Path(__file__).parents[2] / "docs/checkpoints.md"
RUN = dict(hidden=16, fanouts="5,3", batch_size=20, seed=3, threads=1, predict_what="logits",
           eval_every=2, **MEETING)
RANKS_STARTED = "2"
# Each start leaves its process id and its rank.
TRAIN = """echo "$$ ${{OMPI_COMM_WORLD_RANK-}}${{SLURM_PROCID-}}" >> starts
[ -z "$FAILS" ] || exit $FAILS
exec {program} "$@" {more} --epochs $(cat epochs)
"""
# What the loop waits with: until the run has an end.
SLEEP = f"""[ -z "$FAILS" ] || exit 0
touch slept
while grep -q {ENDLESS} epochs; do /bin/sleep 0.01; done
"""
# $ranks times a command, each with its rank and their number; the last exit code that is not 0.
RANKS = """ids=
for ((rank = 0; rank < ranks; ++rank)); do
  env {rank}=$rank {size}=$ranks "$@" & ids="$ids $!"
done
worst=0
for id in $ids; do wait $id || worst=$?; done
exit $worst
"""
MPIRUN = """[ "$1" = -n ] || exit 99
ranks=$2; shift 2
while [ "$1" = -x ]; do [ -n "${!2}" ] || exit 98; shift 2; done
""" + RANKS.format(rank="OMPI_COMM_WORLD_RANK", size="OMPI_COMM_WORLD_SIZE")
SRUN = "ranks=$SLURM_NTASKS\n" + RANKS.format(rank="SLURM_PROCID", size="SLURM_NTASKS")
SCONTROL = """case "$1 $2" in
  "show hostnames") echo 127.0.0.1; echo other.invalid ;;
  *) echo "$@" >> requeued ;;
esac
"""


class RestartsTest(CoraInTwoTest):
    AT_ONCE = 3

    def setUp(self):
        super().setUp()
        self.folder = self.box.folder
        (self.folder / "bin").mkdir()
        (self.folder / "parts").symlink_to(self.graph)
        more = options(checkpoint_every=3, predict=self.folder / "predicted.npy", **RUN)
        train = TRAIN.format(program=os.path.abspath(programs.binary("halograph-train")),
                             more=" ".join(map(str, more)))
        for name, text in (("halograph-train", train), ("mpirun", MPIRUN), ("srun", SRUN),
                           ("scontrol", SCONTROL), ("sleep", SLEEP)):
            path = self.folder / "bin" / name
            path.write_text("#!/bin/bash\n" + text)
            path.chmod(0o755)
        (self.folder / "epochs").write_text(f"{ENDLESS}\n")
        text = PAGE.read_text().split("## To go on")[1].replace("29500", str(programs.free_port()))
        text = re.sub(r"(mpirun -n |--ntasks=)4\b", rf"\g<1>{RANKS_STARTED}", text)
        self.loop, self.mpirun, self.slurm = re.findall(r"^```sh by-hand\n(.*?)^```", text,
                                                        re.DOTALL | re.MULTILINE)[:3]
        self.again = self.loop[:self.loop.index("\nagain ") + 1]

    def start(self, script, **env):
        """In a process group of its own, as a terminal gives it."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        return self.box.start("/usr/bin/setsid", "/bin/bash", "-c", f"cd {self.folder}\n{script}",
                              env={"PATH": path, "FAILS": "", **env})

    def starts(self):
        """(process id, rank or nothing) of each."""
        path = self.folder / "starts"
        return [line.split(" ") for line in path.read_text().splitlines()] if path.exists() else []

    def kill(self, process, rank):
        """The process of that rank, among those started last, once there is a checkpoint."""
        checkpoints.await_one(self.folder / "run1", [process])
        os.kill(int([pid for pid, of in self.starts() if of == rank][-1]), signal.SIGKILL)

    def set_end(self):
        """Of the run that is to go on now. Its epochs."""
        epochs = checkpoints.epochs_to_go(self.folder / "run1")
        (self.folder / "epochs").write_text(f"{epochs}\n")
        return epochs

    def go_on(self, process):
        """The loop, whose run has ended, goes on to an end. Epochs of the run."""
        wait_until(lambda: (self.folder / "slept").exists() or not process.running(),
                   "the end of all ranks")
        self.assertTrue(process.running(), process.text)
        epochs = self.set_end()
        self.assertEqual(0, process.wait(), process.text)
        return epochs

    def assertAsUndisturbed(self, ranks, epochs):
        predicted = self.folder / "whole.npy"
        must(self.box.run("halograph-train", *options(
            graph=self.graph, epochs=epochs, logical_ranks=ranks, predict=predicted, **RUN)))
        self.assertEqual(predicted.read_bytes(), (self.folder / "predicted.npy").read_bytes())

    def test_a_run_in_the_loop_ends_well_although_it_is_killed(self):
        process = self.start(self.loop)
        self.kill(process, "")
        epochs = self.go_on(process)
        self.assertEqual(2, len(self.starts()))
        self.assertIn("going on from", process.err)
        self.assertAsUndisturbed(1, epochs)

    def test_the_loop_ends_with_an_interrupt_a_wrong_command_and_the_fifth_failure(self):
        process = self.start(self.loop)
        checkpoints.await_one(self.folder / "run1", [process])
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(130, process.wait(), process.text)
        self.assertIn("stopped by signal", process.err)
        self.assertEqual(1, len(self.starts()))
        for fails, starts in (("2", 1), ("1", 5), ("137", 5)):
            (self.folder / "starts").unlink()
            process = self.start(self.loop, FAILS=fails)
            self.assertEqual(int(fails), process.wait(), process.text)
            self.assertEqual(starts, len(self.starts()))

    def test_ranks_of_mpirun_in_the_loop_end_well_although_one_is_killed(self):
        process = self.start(self.again + self.mpirun)
        self.kill(process, "1")
        epochs = self.go_on(process)
        self.assertEqual(sorted("0101"), sorted(rank for _, rank in self.starts()))
        self.assertIn("rank 1", process.err)
        self.assertAsUndisturbed(int(RANKS_STARTED), epochs)

    def test_a_slurm_job_asks_to_be_started_again_until_it_ends_well(self):
        tasks = re.search(r"^#SBATCH .*--ntasks=(\d+)", self.slurm, re.MULTILINE)[1]
        job = dict(SLURM_NTASKS=tasks, SLURM_JOB_ID="17", SLURM_JOB_NODELIST="localhost,a[1-2]")
        requeued = self.folder / "requeued"
        process = self.start(self.slurm, **job)
        self.kill(process, "1")
        self.assertNotIn(process.wait(), (0, 2), process.text)
        self.assertEqual("requeue 17\n", requeued.read_text())
        epochs = self.set_end()
        process = self.start(self.slurm, SLURM_RESTART_COUNT="1", **job)
        self.assertEqual(0, process.wait(), process.text)
        self.assertIn("going on from", process.err)
        self.assertEqual(2 * int(tasks), len(self.starts()))
        self.assertAsUndisturbed(int(tasks), epochs)
        for fails, count in (("1", "5"), ("2", "0")):
            process = self.start(self.slurm, FAILS=fails, SLURM_RESTART_COUNT=count, **job)
            self.assertEqual(int(fails), process.wait(), process.text)
        self.assertEqual("requeue 17\n", requeued.read_text(), "not asked for again")


if __name__ == "__main__":
    programs.main()
