#!/usr/bin/env python3
"""Test accuracy by what products of layers are made of: float32, and --precision bf16 by kernel.

    PYTHONPATH=tests/e2e:tests/accuracy tests/bench/precision/precision_bench.py \\
        --bin build/release/bin --data DATA > precision.jsonl

DATA holds the folders `cora`, `amazon-photo` and `imdb-hetero`, as halograph-partition reads them. Each
is partitioned into two parts, and trained on by the settings of tests/accuracy, once for each of
--seeds: in float32, then with --precision bf16 by each of --kernels (docs/training.md, "Precision"), of
which `chosen` is what the trainer chooses by itself. Of each run it takes the test accuracy at the best
epoch by validation. A line of JSON for each graph, model and kernel, which report.py reads.
"""
import argparse
import json
import os
import pathlib
import tempfile

import accuracy_runs
import test_accuracy

CASES = {
    "Cora, GraphSAGE": ("cora", test_accuracy.CORA),
    "Cora, GCN": ("cora", test_accuracy.GCN),
    "Cora, GAT": ("cora", test_accuracy.GAT),
    "Amazon Photo, GraphSAGE": ("amazon-photo", test_accuracy.AMAZON_PHOTO),
    "IMDB, R-GCN": ("imdb-hetero", test_accuracy.IMDB),
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--cases", default=";".join(CASES), help="with ; between them (default: all)")
    parser.add_argument("--kernels", default="chosen,float32")
    parser.add_argument("--seeds", default="1,2,3,4,5")
    return parser.parse_args()


def train(args, folder, graph, seed, settings, kernel):
    """The configuration of the run, and its test accuracy. `kernel`: None: float32."""
    env = {name: value for name, value in os.environ.items() if name != "HALOGRAPH_PRODUCT_KERNEL"}
    if "embed_begin" in settings:
        settings = dict(settings, state=tempfile.mkdtemp(prefix="state-", dir=folder))
    if kernel not in (None, "chosen"):
        env["HALOGRAPH_PRODUCT_KERNEL"] = kernel
    config, _, last = accuracy_runs.train(
        args.bin, folder / "log.jsonl", env, **settings, graph=graph, seed=seed,
        precision="float32" if kernel is None else "bf16")
    return config, last["test_acc"]


def main():
    args = parse()
    seeds = [int(seed) for seed in args.seeds.split(",")]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case in args.cases.split(";"):
            data, settings = CASES[case]
            graph = accuracy_runs.partition(args.bin, args.data / data, folder / data)
            for kernel in [None, *args.kernels.split(",")]:
                found = [train(args, folder, graph, seed, settings, kernel) for seed in seeds]
                config = found[0][0]
                print(json.dumps({
                    "bench": "precision", "build": config["build"], "case": case,
                    "precision": config["precision"],
                    "product_kernel": None if kernel is None else config["product_kernel"],
                    "seeds": seeds, "test_acc": [accuracy for _, accuracy in found]}), flush=True)


if __name__ == "__main__":
    main()
