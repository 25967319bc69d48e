#!/usr/bin/env python3
"""Seconds until a run that goes on from a checkpoint is ready to train, against opening the graph and
reading the checkpoint's bytes.

    tests/bench/checkpoint/resume_bench.py --work DIR --bin build/release/bin

Generates a graph, trains two steps of a model of about 10 M parameters on it, mapped, and keeps a
checkpoint (weights, best weights, Adam's moments). Then, --rounds times: goes on from it for one
step, starts the same run anew, and reads the checkpoint's files. Medians of
  open     from the start of the program to the line of its configuration in the log: the program,
           libtorch and the graph, whose checksums are verified, but no model yet
  read     every byte of the checkpoint, one file after the other, by this script
  resume   from the start of the program to the beginning of the first step
  anew     the same without a checkpoint to go on from
and of resume / (open + read) by round. With --cold the files of graph and checkpoint are dropped from
the page cache before each of them.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import time

POLL_S = 0.001
MIB = 1 << 20
TRAINING = ("--layers 3 --fanouts 2,2,2 --batch-size 10 --eval-every 0 --threads 1 --quiet "
            "--log-level warning --epochs 1").split()


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--work", type=pathlib.Path, required=True, help="folder for graph and checkpoint")
    add("--bin", type=pathlib.Path, required=True)
    add("--nodes", type=int, default=200_000)
    add("--edges", type=int, default=6_000_000)
    add("--features", type=int, default=100)
    add("--hidden", type=int, default=2180, help="10 M parameters, with three layers of GraphSAGE")
    add("--rounds", type=int, default=5)
    add("--cold", action="store_true")
    return parser.parse_args()


def call(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


def make_graph(args):
    graph, raw = args.work / "graph", args.work / "raw"
    if not graph.exists():
        call(args.bin / "halograph-partition", "generate", "sbm", "--output", raw, "--nodes",
             args.nodes, "--edges", args.edges, "--features", args.features, "--classes", 47,
             "--valid", 0, "--test", 0)
        call(args.bin / "halograph-partition", "run", "--input", raw, "--output", graph, "--parts", 1)
    return graph


def drop_cached(folder):
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_all(folder):
    """(seconds, bytes)."""
    start, total, buffer = time.perf_counter(), 0, bytearray(MIB)
    for path in folder.iterdir():
        with open(path, "rb", buffering=0) as file:
            while count := file.readinto(buffer):
                total += count
    return time.perf_counter() - start, total


def train(args, graph, steps, *more, before=0.0):
    """A run up to so many steps: (seconds to its configuration, seconds to its first step, seconds of
    its epoch). An epoch's seconds are those of all its steps, with `before` of an earlier run."""
    log = args.work / "log.jsonl"
    log.unlink(missing_ok=True)
    start = time.time()
    running = subprocess.Popen([str(word) for word in (
        args.bin / "halograph-train", "--graph", graph, "--hidden", args.hidden, "--max-steps", steps,
        "--log", log, *TRAINING, *more)], stdout=subprocess.DEVNULL)
    while running.poll() is None and not (log.exists() and log.stat().st_size):
        time.sleep(POLL_S)
    configured = time.time() - start
    if running.wait() != 0:
        raise SystemExit("a run failed: its message stands above")
    lines = map(json.loads, log.read_text().splitlines())
    epoch = next(line for line in lines if "epoch" in line)
    trained = epoch["seconds"] - before
    return configured, epoch["time"] - epoch["eval_s"] - trained - start, epoch["seconds"]


def main():
    args = parse()
    args.work.mkdir(parents=True, exist_ok=True)
    graph, kept, checkpoint = make_graph(args), args.work / "kept", args.work / "checkpoint"
    shutil.rmtree(kept, ignore_errors=True)
    before = train(args, graph, 2, "--checkpoint", kept)[2]
    found = {name: [] for name in ("open", "read", "resume", "anew", "ratio")}
    for _ in range(args.rounds):
        shutil.rmtree(checkpoint, ignore_errors=True)
        shutil.copytree(kept, checkpoint)
        os.sync()  # what is not written yet is not dropped
        load = os.getloadavg()[0]
        cold = [graph, checkpoint] if args.cold else []
        for folder in cold:
            drop_cached(folder)
        read_s, size = read_all(next(checkpoint.iterdir()))
        for folder in cold:
            drop_cached(folder)
        open_s, resume_s, _ = train(args, graph, 3, "--checkpoint", checkpoint, "--resume",
                                    before=before)
        for folder in cold:
            drop_cached(folder)
        anew_s = train(args, graph, 3)[1]
        figures = (open_s, read_s, resume_s, anew_s, resume_s / (open_s + read_s))
        for name, value in zip(found, figures):
            found[name].append(value)
        print(f"open {open_s:.3f} s, read {read_s:.3f} s ({size / MIB:.0f} MiB), resume "
              f"{resume_s:.3f} s, anew {anew_s:.3f} s; load before it {load:.1f}", flush=True)
    for name, values in found.items():
        print(f"{name}: {statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})")


if __name__ == "__main__":
    main()
