#!/usr/bin/env python3
"""Accuracy and synchronisation time by the interval of averaging, against gradients in every step.

    tests/bench/averaging/averaging_bench.py --bin build/release/bin --graph GRAPH --options \\
        "--hidden 64 --fanouts 10,5 --lr 0.005 --epochs 20 --batch-size 500"

GRAPH is a partition folder with halos. Runs, on this machine: in one piece (one rank, the whole
graph), gradients summed in every step, and for each interval models averaged, on --ranks ranks; with
--part-only as often with each part alone. Prints a row for each, of means over --seeds:
  accuracy  of the test set, at the best epoch by validation, with the least and the most of it
  sync s    all-reduce of gradients, or averaging models, of the whole run; mean over ranks. It has in
            it that a rank waits for a slower one
  sync n    how often ranks meet for it; - where rounds are of steps (--intervals 1,5steps)
  train s   all epochs without evaluation, and without opening parts
  total s   the whole run, with both
This is what Figures 9 and 11 of CATGNN (arXiv 2404.02300) show, on one machine: over a slow network
each meeting costs more.
"""
import argparse
import json
import os
import pathlib
import shlex
import socket
import statistics
import subprocess
import tempfile


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--graph", type=pathlib.Path, required=True)
    parser.add_argument("--options", default="", help="of halograph-train, for all runs")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--intervals", default="1,5,10,20")
    parser.add_argument("--part-only", action="store_true")
    return parser.parse_args()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(args, ranks, seed, *more):
    """(epochs, final) of a run of so many ranks."""
    with tempfile.TemporaryDirectory() as folder:
        port, running = free_port(), []
        for rank in range(ranks):
            words = [args.bin / "halograph-train", "--graph", args.graph, "--quiet", "--threads", "1",
                     "--seed", seed, "--rank", rank, "--world-size", ranks, "--master-addr",
                     "127.0.0.1", "--master-port", port, "--log", f"{folder}/{rank}.jsonl",
                     *shlex.split(args.options), *more]
            running.append(subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL,
                                            env={**os.environ, "OMP_NUM_THREADS": "1"}))
        if any(process.wait() for process in running):
            raise SystemExit("a run failed: its message stands above")
        lines = [json.loads(line) for line in open(f"{folder}/0.jsonl", encoding="utf-8")]
        return lines[1:-1], lines[-1]


def row(args, name, ranks, meetings, *more):
    accuracy, sync, train, total = [], [], [], []
    for seed in range(args.seeds):
        epochs, final = run(args, ranks, seed, *more)
        accuracy.append(final["test_acc"])
        sync.append(sum(line["sync_wait_s"] for line in epochs))
        train.append(final["seconds"])
        total.append(final["total_s"])
    print(f"| {name} | {statistics.mean(accuracy):.4f} ({min(accuracy):.3f} to {max(accuracy):.3f}) | "
          f"{statistics.mean(sync):.3f} | {meetings(epochs)} | {statistics.mean(train):.2f} | "
          f"{statistics.mean(total):.2f} |", flush=True)


def main():
    args = parse()
    print("| run | accuracy | sync s | sync n | train s | total s |\n"
          "| --- | --- | --- | --- | --- | --- |", flush=True)
    row(args, "in one piece", 1, lambda epochs: 0)
    row(args, "gradients in every step", args.ranks, lambda epochs: sum(e["steps"] for e in epochs))
    alone = ["--part-only"] if args.part_only else []
    for interval in args.intervals.split(","):
        whole = interval.isdigit()
        row(args, f"models every {interval}{' epochs' if whole else ''}", args.ranks,
            lambda epochs: -(-len(epochs) // int(interval)) if whole else "-",
            "--average-every", interval, *alone)


if __name__ == "__main__":
    main()
