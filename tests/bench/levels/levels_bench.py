#!/usr/bin/env python3
"""Input nodes and unique remote rows a minibatch, with and without --trainers-per-part.

    PYTHONPATH=tests/e2e tests/bench/levels/levels_bench.py --bin build/release/bin --input GRAPH

GRAPH is a graph of one node type with a task of nodes, as halograph-partition reads it. It is
partitioned by each of --methods into --parts, whole and divided among each of --trainers, always with
--seed. Then minibatches of the train set are drawn from the folders: every rank takes an equal range of
the sorted seeds, as the trainer does, --batch-size at a time in an order drawn at random, with
--fanouts from the seeds outward. A remote row is an input node of another part than the rank's. Prints a
row of means for each.
"""
import argparse
import os
import pathlib
import subprocess
import tempfile

from harness import minibatches
from harness.folder import PartitionFolder


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--input", type=pathlib.Path, required=True)
    parser.add_argument("--methods", default="metis,stream-metis")
    parser.add_argument("--parts", type=int, default=2)
    parser.add_argument("--trainers", default="2,4", help="trainers a part")
    parser.add_argument("--batch-size", type=int, default=1000)
    parser.add_argument("--fanouts", default="5,10")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(": ", 1)[1]
    return "unknown"


def partition(args, output, method, trainers):
    subprocess.run([args.bin / "halograph-partition", "run", "--input", args.input, "--output", output,
                    "--parts", str(args.parts), "--method", method, "--seed", str(args.seed),
                    "--trainers-per-part", str(trainers)], check=True, capture_output=True)
    return PartitionFolder(output)


def train_seeds(folder):
    task, = (entry.name for entry in (folder.parts[0] / "tasks").iterdir())
    return [node for part in folder.task(task, "train", "seeds") for node in part.values]


def main():
    args = parse()
    fanouts = [int(fanout) for fanout in args.fanouts.split(",")]
    print(f"{cpu_model()}, {len(os.sched_getaffinity(0))} cores; {args.input.name}, seed {args.seed}, "
          f"batches of {args.batch_size}, fanouts {args.fanouts}")
    print("| method | parts | trainers | sub-parts | input nodes | remote rows |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as box:
        for method in args.methods.split(","):
            whole = partition(args, pathlib.Path(box) / method, method, 1)
            for trainers in (int(each) for each in args.trainers.split(",")):
                output = pathlib.Path(box) / f"{method}-{trainers}"
                for word, folder in (("no", whole),
                                     ("yes", partition(args, output, method, trainers))):
                    counts = minibatches.count(folder, train_seeds(folder), args.parts * trainers,
                                               args.batch_size, fanouts, args.seed)
                    nodes, rows = counts.a_minibatch()
                    print(f"| {method} | {args.parts} | {trainers} | {word} | {nodes:,.0f} | "
                          f"{rows:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
