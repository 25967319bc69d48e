#!/usr/bin/env python3
"""deploy/slurm: the script with programs in the place of Slurm's, and, at length, by a real sbatch on two slurmd of
this machine. The long test needs root and Debian's slurmctld, slurmd, slurm-client and munge."""
import os
import pathlib
import re
import socket
import stat
import subprocess

from harness import programs
from harness.cora_in_two import CoraInTwoTest
from harness.tools import missing, tool
from harness.training import ENDLESS, num_epochs, options, read_log

SCRIPT = pathlib.Path(__file__).parents[2] / "deploy/slurm/halograph.sbatch"
RUN = dict(epochs=2, hidden=8, batch_size=100, threads=1, timeout="10m")
# Runs the tasks of a step on this machine, as tasks of a job of two nodes; its own number is in a file of steps.
SRUN = """#!/usr/bin/env python3
import os, re, subprocess, sys
words = sys.argv[1:]
tasks = 2
while words[0].startswith("--"):
    name, _, value = words.pop(0).partition("=")
    tasks = int(value) if name == "--ntasks" else tasks
running = [subprocess.Popen(words, env={**os.environ, "SLURM_PROCID": str(task), "SLURM_NTASKS": str(tasks),
                                        "SLURM_JOB_NODELIST": "localhost,n[1-3]"}) for task in range(tasks)]
step = "1" if words[0] == "halograph-train" else "0"
with open(os.path.join(os.environ["STEPS"], step), "w") as handle:
    handle.write(" ".join(str(task.pid) for task in running))
sys.exit(max(task.wait() for task in running))
"""
SCANCEL = """#!/bin/sh
kill -TERM $(cat "$STEPS/${3#*.}")
"""
SLURM = """ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={host} NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=4 State=UNKNOWN
NodeName={host}-b NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class JobBase(CoraInTwoTest):
    """What both tests of a job ask of it."""

    def words(self, **more):
        return [str(word) for word in options(log=self.box.folder / "log.jsonl", **{**RUN, **more})]

    def check_trained(self, text, epochs=RUN["epochs"]):
        self.assertRegex(text, r"2 servers of 2 parts: 127\.0\.0\.1:\d+,127\.0\.0\.1:\d+\n")
        self.assertEqual(epochs, len(read_log(self.box.folder / "log.jsonl")[1]))
        self.assertIn("the ranks ended with 0; the servers drain", text)
        self.assertEqual(2, len(re.findall(r"halograph-server: stopped", text)), text[-3000:])


class ScriptTest(JobBase):
    def job(self, *words, **environment):
        tools = self.box.folder / "tools"
        tools.mkdir()
        for name, text in (("srun", SRUN), ("scancel", SCANCEL)):
            (tools / name).write_text(text)
            (tools / name).chmod(stat.S_IRWXU)
        steps = self.box.folder / "steps"
        steps.mkdir()
        self.steps = steps
        return self.box.start("/bin/bash", SCRIPT, *words, env={
            "PATH": f"{tools}:{os.environ['PATH']}", "STEPS": str(steps), "SLURM_JOB_ID": "17",
            "SLURM_JOB_NUM_NODES": "2",
            "SLURM_SUBMIT_DIR": str(self.box.folder), "HALOGRAPH_BIN": os.environ["HALOGRAPH_BIN"],
            "HALOGRAPH_LISTEN": "127.0.0.1:0", "MASTER_PORT": str(programs.free_port()), **environment})

    def test_two_servers_and_two_ranks_that_meet_on_the_first_node(self):
        job = self.job(self.graph, *self.words())
        self.assertEqual(0, job.wait(), job.text)
        self.check_trained(job.text)
        self.assertNothingRuns()

    def test_told_to_stop_it_ends_the_ranks_first_and_then_the_servers(self):
        job = self.job(self.graph, *self.words(epochs=ENDLESS, checkpoint=self.box.folder / "checkpoint"))
        programs.wait_until(lambda: num_epochs(self.box.folder / "log.jsonl") > 0 or not job.running(), "an epoch")
        job.signal(15)
        job.wait()
        self.assertIn("told to stop", job.err)
        self.assertLess(job.err.index("told to stop"), job.err.index("the servers drain"), job.err)
        self.assertEqual(2, len(re.findall(r"halograph-server: stopped", job.err)), job.err)
        self.assertTrue(any((self.box.folder / "checkpoint").iterdir()))
        self.assertNothingRuns()

    def test_servers_that_do_not_start_end_it(self):
        job = self.job(self.graph, *self.words(), HALOGRAPH_SERVER_OPTIONS="--threads -1")
        self.assertEqual(1, job.wait(), job.text)
        self.assertIn("the servers ended before they served", job.err)

    def test_what_it_is_told_wrong_is_named(self):
        self.assertEqual(2, self.job(self.box.folder / "none").wait())
        job = self.box.start("/bin/bash", SCRIPT, self.graph, env={"SLURM_JOB_ID": ""})
        self.assertEqual(2, job.wait())
        self.assertIn("this is a script for sbatch", job.err)


class SlurmLongTest(JobBase):
    """Real ones: a controller, and two slurmd that stand for two machines."""

    def start_slurm(self):
        if os.getuid() != 0:
            missing("slurmctld and slurmd of the test need root")
        for name, package in (("munged", "munge"), ("slurmctld", "slurmctld"), ("slurmd", "slurmd"),
                              ("sbatch", "slurm-client")):
            tool(name, package=package)
        folder = self.box.folder
        host = socket.gethostname().split(".")[0]  # the first node's name, where ranks are to meet
        nodes = (host, f"{host}-b")
        for name in ("munge", "state", *(f"spool-{node}" for node in nodes)):
            (folder / name).mkdir()
        key = folder / "munge/key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        conf = folder / "slurm.conf"
        conf.write_text(SLURM.format(folder=folder, host=host, controller=programs.free_port(),
                                     first=programs.free_port(), second=programs.free_port()))
        self.environment = {"SLURM_CONF": str(conf)}
        self.addCleanup(self.end_slurm)
        self.start(tool("munged", package="munge"), "--foreground", "--force", f"--key-file={key}",
                   *[f"--{name}-file={folder}/munge/{name}" for name in ("pid", "log", "seed")],
                   f"--socket={folder}/munge/socket")
        programs.wait_until(lambda: (folder / "munge/socket").exists(), "munged")
        self.start(tool("slurmctld", package="slurmctld"), "-D", "-f", conf)
        for node in nodes:
            self.start(tool("slurmd", package="slurmd"), "-D", "-N", node, "-f", conf)
        programs.wait_until(self.two_are_idle, "two idle nodes")

    def two_are_idle(self):
        for process in self.box.processes[-3:]:
            self.assertTrue(process.running(), process.text[-3000:])
        return self.slurm("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == "2"

    def start(self, program, *words):
        return self.box.start(program, *words, env=self.environment)

    def slurm(self, *words):
        done = subprocess.run([str(word) for word in words], text=True, capture_output=True, check=False,
                              env={**os.environ, **self.environment, programs.MARK: self.box.mark})
        return done.stdout if done.returncode == 0 else ""

    def end_slurm(self):
        self.slurm("scancel", "--full", "--user=root")
        for process in reversed(self.box.processes):
            process.end()
        for pid in self.box.leftovers():  # what slurmd left of a job, which is the test's own
            os.kill(pid, 9)

    def submit(self, *words, **environment):
        try:
            socket.gethostbyname(socket.gethostname().split(".")[0])
        except OSError:  # then the test cannot tell whether the first node is found
            environment["MASTER_ADDR"] = "127.0.0.1"
        exported = {"HALOGRAPH_BIN": os.environ["HALOGRAPH_BIN"], "HALOGRAPH_LISTEN": "127.0.0.1:0",
                    "MASTER_PORT": programs.free_port(), programs.MARK: self.box.mark, "PATH": os.environ["PATH"],
                    "HALOGRAPH_RUN": self.box.folder, **environment}
        self.out = self.box.folder / "job.out"
        job = self.slurm("sbatch", "--parsable", f"--output={self.out}", f"--chdir={self.box.folder}",
                         "--export=" + ",".join(f"{name}={value}" for name, value in exported.items()),
                         SCRIPT, self.graph, *words).strip()
        self.assertTrue(job.isdigit(), job)
        return job

    def text(self):
        return self.out.read_text(errors="replace") if self.out.exists() else ""

    def ended(self, job):
        state = programs.wait_until(
            lambda: re.search(r"JobState=(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL)",
                              self.slurm("scontrol", "show", "job", job)), f"job {job}:\n{self.text()[-3000:]}")
        return state.group(1)

    def test_sbatch_trains_on_two_nodes_and_stops_when_told(self):
        self.start_slurm()
        job = self.submit(*self.words())
        self.assertEqual("COMPLETED", self.ended(job), self.text())
        self.check_trained(self.text())
        self.out.unlink()
        (self.box.folder / "log.jsonl").unlink()
        job = self.submit(*self.words(epochs=ENDLESS, checkpoint=self.box.folder / "checkpoint"))
        programs.wait_until(lambda: num_epochs(self.box.folder / "log.jsonl") > 0, "an epoch")
        self.slurm("scancel", "--batch", "--signal=TERM", job)
        self.ended(job)
        self.assertIn("told to stop", self.text())
        self.assertEqual(2, len(re.findall(r"halograph-server: stopped", self.text())), self.text())
        self.assertTrue(any((self.box.folder / "checkpoint").iterdir()))


if __name__ == "__main__":
    programs.main()
