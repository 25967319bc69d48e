#!/usr/bin/env python3
"""Measures what durable pushes cost, and prints one table: each figure beside what it shall reach.

Usage: push_table.py --folder FOLDER [--build DIR] [--rounds N] [--quick]

FOLDER is made for states and removed: it decides which disk is measured, and needs 8 GB free. The
machine should be idle. --quick: small tensors and few rounds, to see that all of it works; its
figures mean nothing. Prints the outputs of the programs first, a line of JSON each.
Exit code: 0 every figure reaches what it shall, 1 one does not, or a program failed, 2 wrong usage.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
MORE, LESS = ">=", "<="

# What, the run and the key of its figure, its unit, and what it shall reach.
ROWS = [
    ("push, `interval`, one core, of the update in memory", "one core", "interval_to_memory", "",
     MORE, 0.60),
    ("push, `interval`, a second core idle, of the same", "usual", "interval_to_memory", "",
     MORE, 0.95),
    ("push, `interval`, all cores updating, of the same", "usual", "all_cores_interval_to_memory",
     "", MORE, 0.50),
    ("push, `always`, one client, of the smaller of memory and bare direct writes", "usual",
     "always_1_clients_to_slower", "", MORE, 0.70),
    ("the same, two clients", "usual", "always_2_clients_to_slower", "", MORE, 0.85),
    ("the same, four clients", "usual", "always_4_clients_to_slower", "", MORE, 0.85),
    ("push over loopback, `interval`, of a pull of the same bytes", "calls", "push_to_pull", "",
     MORE, 0.60),
    ("recovery of 1 M rows and 1 GiB of log, warm", "usual", "recovery_s", " s", LESS, 1.2),
    ("replay of the log, of the live rate", "usual", "replay_to_live", "", MORE, 0.75),
    ("checkpoint of all rows", "usual", "checkpoint_gb_per_s", " GB/s", MORE, 1.8),
    ("load of a checkpoint", "usual", "load_gb_per_s", " GB/s", MORE, 2.2),
    ("bytes of an incremental snapshot, of the images of the rows touched", "usual",
     "increment_bytes_to_images", "", LESS, 1.1),
    ("99th percentile of pushes during incremental snapshots, of that between them", "usual",
     "p99_meanwhile_to_between", "", LESS, 2.0),
    ("control: puts of a push into RocksDB, a row a key, times slower than `interval`", "usual",
     "rocksdb_put_to_interval", "", MORE, 8.0),
    ("control: the whole push to RocksDB, times slower than `interval`", "usual",
     "rocksdb_push_to_interval", "", MORE, 8.0),
]


def run(words, **arguments):
    print("# " + " ".join(map(str, words)), file=sys.stderr, flush=True)
    done = subprocess.run([str(word) for word in words], text=True, stdout=subprocess.PIPE,
                          check=False, **arguments)
    if done.returncode != 0:
        sys.exit(f"{words[0]} failed with code {done.returncode}")
    print(done.stdout.strip(), flush=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(arguments):
    """The outputs of all runs, by their names in ROWS."""
    programs = arguments.build / "bin"
    folder = arguments.folder / "push-table"
    sizes = ["--rounds", arguments.rounds]
    calls = [arguments.rounds]
    if arguments.quick:
        sizes = ["--rounds", 3, "--rows", 20000, "--entries", 4000, "--replay-pushes", 10]
        calls = [3, 20000, 4000]
    bench = [programs / "durable_push_bench", "--folder", folder, *sizes]
    core = min(os.sched_getaffinity(0))
    try:
        runs = {
            "one core": run([*bench, "--sections", "rounds"],
                            preexec_fn=lambda: os.sched_setaffinity(0, {core})),
            "usual": run([*bench, "--sections",
                          "rounds,all-cores,always,rocksdb,recovery,meanwhile"]),
            "calls": run([programs / "push_calls_bench", programs / "halograph-server", folder,
                          *calls]),
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    usual = runs["usual"]
    for what in ("push", "put"):
        usual[f"rocksdb_{what}_to_interval"] = (usual["interval_to_memory"] /
                                                usual[f"rocksdb_{what}_to_memory"])
    return runs


def reached(value, sign, bound):
    return value >= bound if sign == MORE else value <= bound


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    runs = measure(arguments)
    print("\n| what | figure | shall reach | reached |\n| --- | --- | --- | --- |")
    missed = 0
    for what, name, key, unit, sign, bound in ROWS:
        value = runs[name][key]
        ok = reached(value, sign, bound)
        missed += not ok
        print(f"| {what} | {value:.3g}{unit} | {sign} {bound:g}{unit} | {'yes' if ok else 'no'} |")
    if not runs["usual"]["bare_writes_direct"]:
        print("\nThe file system takes no direct writes: the rows of `always` mean little.")
    return 1 if missed and not arguments.quick else 0


if __name__ == "__main__":
    sys.exit(main())
