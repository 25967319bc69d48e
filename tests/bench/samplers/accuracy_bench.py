#!/usr/bin/env python3
"""Accuracy by sampler, beside full neighbourhoods.

    PYTHONPATH=tests/e2e:tests/accuracy tests/bench/samplers/accuracy_bench.py \\
        --bin build/release/bin --data DATA > accuracy.jsonl

DATA holds the folder --graph (amazon-photo), as halograph-partition reads it. It is partitioned into two
parts of --clusters each, and a GraphSAGE of two layers is trained by the trainer's defaults, but for
--epochs, once for each of --seeds and each of --samplers; `full` draws all neighbours. Of each run it
takes the test accuracy at the best epoch by validation, and the edges of the last epoch; and how it
converged: of every --eval-every epochs, the seconds of training up to there and the accuracy of
validation, means over the seeds. A line of JSON for each sampler.
"""
import argparse
import json
import pathlib
import statistics
import tempfile

import accuracy_runs

SAMPLERS = {
    "full": dict(fanouts="-1,-1"),
    "neighbor": dict(eval_fanouts="-1,-1"),
    "labor": dict(sampler="labor", eval_fanouts="-1,-1"),
    "ladies": dict(sampler="ladies"),
    "ladies sqrt": dict(sampler="ladies", layer_probability="sqrt"),
    "ladies count2": dict(sampler="ladies", layer_probability="count2"),
    "ladies normalized": dict(sampler="ladies", layer_estimate="normalized"),
    "fastgcn": dict(sampler="fastgcn"),
    "saint-node": dict(sampler="saint-node"),
    "saint-edge": dict(sampler="saint-edge"),
    "saint-walk": dict(sampler="saint-walk"),
    "cluster": dict(sampler="cluster"),
    "cluster weights": dict(sampler="cluster", cluster_weights=True),
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--graph", default="amazon-photo", help="folder within DATA")
    parser.add_argument("--clusters", type=int, default=24)
    parser.add_argument("--eval-every", type=int, default=5)
    parser.add_argument("--samplers", default=";".join(SAMPLERS), help="with ; between them (default: all)")
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=512)
    return parser.parse_args()


def curve(runs):
    """[epoch, seconds, accuracy] of each evaluation."""
    points = []
    for lines in zip(*(epochs for _, epochs, _ in runs)):
        at = lines[0]["epoch"]
        if lines[0].get("valid_acc") is None:
            continue
        seconds = [sum(line["seconds"] for line in epochs if line["epoch"] <= at) for _, epochs, _ in runs]
        points.append([at + 1, round(statistics.mean(seconds), 3),
                       round(statistics.mean(line["valid_acc"] for line in lines), 4)])
    return points


def main():
    args = parse()
    seeds = [int(seed) for seed in args.seeds.split(",")]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        graph = accuracy_runs.partition(args.bin, args.data / args.graph, folder / "graph",
                                        "--batch-clusters", str(args.clusters))
        for sampler in args.samplers.split(";"):
            runs = [accuracy_runs.train(args.bin, folder / "log.jsonl", graph=graph, seed=seed,
                                        epochs=args.epochs, batch_size=args.batch_size, threads=1,
                                        eval_every=args.eval_every,
                                        **SAMPLERS[sampler]) for seed in seeds]
            found = [last["test_acc"] for _, _, last in runs]
            print(json.dumps({
                "bench": "samplers", "build": runs[0][0]["build"], "graph": args.graph, "sampler": sampler,
                "batch_size": args.batch_size, "epochs": args.epochs, "seeds": seeds,
                "test_acc": found, "mean": round(statistics.mean(found), 4),
                "deviation": round(statistics.stdev(found), 4) if len(found) > 1 else 0,
                "sampled_edges": runs[0][1][-1]["sampled_edges"], "curve": curve(runs)}), flush=True)


if __name__ == "__main__":
    main()
