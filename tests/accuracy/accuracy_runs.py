"""Runs of the trainer of which the benchmarks of accuracy take the figures."""
import subprocess
import sys

from harness.training import options, read_log


def partition(bin_folder, source, graph, *more):
    """Of two parts, by further options; nothing is done where `graph` is there."""
    if not graph.exists():
        subprocess.run([bin_folder / "halograph-partition", "run", "--input", source, "--output", graph,
                        "--parts", "2", "--seed", "1", *more], check=True, capture_output=True)
    return graph


def train(bin_folder, log, env=None, **settings):
    """The configuration of the run, its epochs and its last line; ends the program if it fails."""
    log.unlink(missing_ok=True)
    run = subprocess.run([bin_folder / "halograph-train", *map(str, options(**settings, log=log))],
                         env=env, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"halograph-train failed for {settings}: {run.stderr}")
    return read_log(log)
