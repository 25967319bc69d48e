#!/usr/bin/env python3
"""How long training stands still for a checkpoint with learnt inputs, and how soon it is durable.

    tests/bench/checkpoint/learnt_bench.py --work DIR --bin build/release/bin

Generates a graph of 1 M nodes without features, serves it by two servers of a part each, which keep
rows of 64 float32 for every node with Adam's moments, and trains a GraphSAGE of about 10 M parameters
on them: --steps steps with a checkpoint every --every, and as many without, in turns, --rounds times.
DIR decides which disk is measured. By round:
  step        seconds of a step without checkpoints
  copy        that training stood still for a checkpoint, as the log says: median of the round
  more        by which the run with checkpoints is longer, by checkpoint: what pushes wait for the
              snapshot, and what it takes of the processors, counts here too
  durable     from the moment until the checkpoint is on the disk: median of the round
  snapshot    MiB that the servers wrote for the last one of these
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import time

MIB = 1 << 20
PARTS = 2
# Few destinations in the wide layers, many inputs: rows cost little computing.
TRAINING = ("--layers 3 --fanouts 100,2,2 --batch-size 400 --embed node:64 --embed-begin fresh "
            "--eval-every 0 --quiet --log-level warning --epochs 1").split()


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--work", type=pathlib.Path, required=True, help="folder for graph, states and checkpoints")
    add("--bin", type=pathlib.Path, required=True)
    add("--nodes", type=int, default=1_000_000)
    add("--hidden", type=int, default=2180, help="10 M parameters, with three layers of GraphSAGE")
    add("--steps", type=int, default=40)
    add("--every", type=int, default=16)
    add("--rounds", type=int, default=5)
    return parser.parse_args()


def call(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


def make_graph(args):
    graph, raw = args.work / "graph", args.work / "raw"
    if not graph.exists():
        partition = args.bin / "halograph-partition"
        call(partition, "generate", "sbm", "--output", raw, "--nodes", args.nodes, "--edges",
             16 * args.nodes, "--features", 0, "--classes", 47, "--valid", 0, "--test", 0)
        call(partition, "run", "--input", raw, "--output", graph, "--parts", PARTS, "--method", "random")
    return graph


class Servers:
    def __init__(self, args, graph):
        self.running, self.addresses = [], []
        for part in range(PARTS):
            state, said = args.work / f"state-{part}", args.work / f"address-{part}"
            shutil.rmtree(state, ignore_errors=True)
            said.unlink(missing_ok=True)
            self.running.append(subprocess.Popen([str(word) for word in (
                args.bin / "halograph-server", "--graph", graph, "--part", part, "--state", state,
                "--listen", "127.0.0.1:0", "--address-file", said, "--log-level", "warning")]))
            while not said.exists():
                time.sleep(0.01)
            self.addresses.append(said.read_text().strip())
        self.ctl = [args.bin / "halograph-ctl", "state"]

    def snapshot_bytes(self, steps_done):
        """Over all parts."""
        out = subprocess.run([str(word) for word in (
            *self.ctl, "snapshots", "--servers", ",".join(self.addresses), "--json")], check=True,
            capture_output=True, text=True).stdout
        return sum(snapshot["bytes"] for snapshot in json.loads(out)
                   if f"-step-{steps_done:09d}-" in snapshot["name"])

    def end(self):
        for server in self.running:
            server.terminate()
        for server in self.running:
            server.wait()


def train(args, servers, *more):
    """(seconds of the epoch, lines of checkpoints)."""
    log = args.work / "log.jsonl"
    log.unlink(missing_ok=True)
    call(args.bin / "halograph-train", "--servers", ",".join(servers.addresses), "--hidden", args.hidden,
         "--max-steps", args.steps, "--log", log, *TRAINING, *more)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    epoch = next(line for line in lines if "epoch" in line)
    return epoch["seconds"], [line["checkpoint"] for line in lines if "checkpoint" in line]


def main():
    args = parse()
    args.work.mkdir(parents=True, exist_ok=True)
    graph, folder = make_graph(args), args.work / "checkpoints"
    found = {name: [] for name in ("step", "copy", "more", "durable", "more / step", "copy / step")}
    for _ in range(args.rounds):
        servers = Servers(args, graph)
        plain, _ = train(args, servers)
        servers.end()
        shutil.rmtree(folder, ignore_errors=True)
        servers = Servers(args, graph)
        kept, lines = train(args, servers, "--checkpoint", folder, "--checkpoint-every", args.every)
        # Not those of the beginning and the end, which are waited for.
        lines = [line for line in lines if 0 < line["steps_done"] < args.steps]
        snapshot = servers.snapshot_bytes(lines[-1]["steps_done"]) / MIB
        servers.end()
        step = plain / args.steps
        copy = statistics.median(line["copy_s"] for line in lines)
        durable = statistics.median(line["seconds"] for line in lines)
        more = (kept - plain) / len(lines)
        for name, value in zip(found, (step, copy, more, durable, more / step, copy / step)):
            found[name].append(value)
        print(f"step {step:.3f} s, {len(lines)} checkpoints: copy {copy:.3f} s, more {more:.3f} s, "
              f"durable {durable:.3f} s, snapshot {snapshot:.0f} MiB", flush=True)
    for name, values in found.items():
        print(f"{name}: {statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})")


if __name__ == "__main__":
    main()
