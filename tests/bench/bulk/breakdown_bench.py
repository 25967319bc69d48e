#!/usr/bin/env python3
"""Where the seconds of an epoch go, by ranks and by columns of servers.

    PYTHONPATH=tests/e2e HALOGRAPH_BIN=build/release/bin tests/bench/bulk/breakdown_bench.py \\
        --input FOLDER --options "--sampler ladies --batch-size 512"

As figure 4 of arXiv 2311.02909, on one machine. FOLDER is what halograph-partition reads. --servers
servers (4) are a grid of c columns: each of servers / c parts has c of them. c is 1, 2, ... up to all
servers; ranks are --ranks (1, 2, 4), each a process, that ask their columns (--columns,
--column-pulls). Nothing is prepared ahead (--prefetch 0), so that the parts of an epoch add up. Prints a
row for each, in seconds of an epoch, medians over --rounds runs after their first epoch, which are
interleaved:
  sampling   the loop waits for it
  fetching   of features, likewise
  training   forward, backward, optimizer, and the sum of gradients
  messages   of sampling and fetching, MB of all ranks
Exit codes: 0 done, 1 failed, 2 wrong usage.
"""
import argparse
import pathlib
import shlex
import statistics
import sys
import tempfile

from harness import programs
from harness.programs import must
from harness.training import read_log, start_ranks

PARTS_OF_AN_EPOCH = ("seconds", "sampling", "fetching", "training", "messages")


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--input", type=pathlib.Path, required=True)
    add("--servers", type=int, default=4, help="a power of 2 (default: 4)")
    add("--ranks", default="1,2,4")
    add("--options", default="", help="of halograph-train")
    add("--epochs", type=int, default=3, help="of a run, of which the first is left out (default: 3)")
    add("--rounds", type=int, default=5)
    add("--seed", type=int, default=1)
    args = parser.parse_args()
    args.ranks = [int(ranks) for ranks in args.ranks.split(",")]
    if args.servers & (args.servers - 1):
        parser.error(f"--servers is {args.servers}, expected a power of 2")
    if args.epochs < 2:
        parser.error("--epochs: 2 at least, since the first one is left out")
    return args


def columns_of(servers):
    return [1 << power for power in range(servers.bit_length())]


class Grid:
    """Servers of one graph in c columns."""

    def __init__(self, args, columns, folder):
        self.args, self.columns = args, columns
        parts = args.servers // columns
        self.box = programs.Sandbox()
        graph = folder / f"parts{parts}"
        must(self.box.run("halograph-partition", "run", "--input", args.input, "--output", graph,
                          "--parts", parts, "--seed", args.seed, "--quiet"))
        self.servers = ",".join(self.box.servers(graph, [part for part in range(parts)
                                                         for _ in range(columns)])[1])

    def run(self, ranks):
        """What an epoch of each rank took, means over epochs but the first."""
        given = shlex.split(self.args.options)
        more = dict(columns=True, column_pulls=True) if self.columns > 1 else {}
        log = pathlib.Path(tempfile.mkdtemp(dir=self.box.folder)) / "log"
        started = start_ranks(self.box, ranks,
                              lambda rank: dict(log=log) if rank == 0 else dict(log=f"{log}{rank}"),
                              servers=self.servers, epochs=self.args.epochs, prefetch=0, threads=1,
                              eval_every=0, seed=self.args.seed, cache="off", **more,
                              **{name.removeprefix("--").replace("-", "_"): value
                                 for name, value in zip(given[::2], given[1::2])})
        for process in started:
            if process.wait(programs.seconds(600)) != 0:
                raise RuntimeError(process.text[-3000:])
        lines = [line for line in read_log(log)[1] if "loss" in line][1:]
        epochs = [{"seconds": line["seconds"], "sampling": line["sample_wait_s"],
                   "fetching": line["feature_wait_s"],
                   "training": line["compute_s"] + line["sync_wait_s"],
                   "messages": 1e-6 * (line["remote_bytes"] + line["remote_sample_bytes"])}
                  for line in lines]
        return {part: statistics.mean(epoch[part] for epoch in epochs) for part in PARTS_OF_AN_EPOCH}


def table(found):
    yield "| ranks | columns | epoch | sampling | fetching | training | messages |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for (ranks, columns), runs in found.items():
        median = {part: statistics.median(run[part] for run in runs) for part in PARTS_OF_AN_EPOCH}
        yield (f"| {ranks} | {columns} | {median['seconds']:.2f} | {median['sampling']:.2f} | "
               f"{median['fetching']:.2f} | {median['training']:.2f} | {median['messages']:,.0f} MB |")


def main():
    args = parse()
    grids = []
    with tempfile.TemporaryDirectory() as name:
        try:
            for columns in columns_of(args.servers):
                grids.append(Grid(args, columns, pathlib.Path(name)))
            found = {(ranks, grid.columns): [] for ranks in args.ranks for grid in grids}
            for _ in range(args.rounds):
                for ranks in args.ranks:
                    for grid in grids:
                        found[ranks, grid.columns].append(grid.run(ranks))
        finally:
            for grid in grids:
                grid.box.close()
    print("\n".join(table(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
