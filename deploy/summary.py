#!/usr/bin/env python3
"""Prints the log of a training run (halograph-train --log) as a table.

Usage: deploy/summary.py TITLE LOG
"""
import json
import sys


def read(path):
    with open(path, encoding="utf-8") as handle:
        lines = [json.loads(line) for line in handle if line.strip()]
    epochs = [line for line in lines if "epoch" in line and not line.get("final")]
    final = next((line for line in lines if line.get("final")), None)
    if not epochs or final is None:
        sys.exit(f"{path}: not the log of a finished run")
    return epochs, final


def mean(values):
    return sum(values) / len(values)


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    title, path = sys.argv[1:]
    epochs, final = read(path)
    measured = epochs[1:] or epochs  # the first warms up
    valid = [line["valid_acc"] for line in epochs if line.get("valid_acc") is not None]
    seconds = sum(line["seconds"] for line in measured)
    rows = [
        ("epochs", f"{len(epochs)}"),
        ("loss, first to last epoch", f"{epochs[0]['loss']:.4f} to {epochs[-1]['loss']:.4f}"),
        ("best validation accuracy", f"{max(valid):.4f}" if valid else "no validation set"),
        ("test accuracy at that epoch",
         f"{final['test_acc']:.4f}" if final.get("test_acc") is not None else "no test set"),
        ("seconds an epoch", f"{mean([line['seconds'] for line in measured]):.3f}"),
        ("sampled edges a second",
         f"{sum(line['sampled_edges'] for line in measured) / seconds:,.0f}" if seconds else "-"),
    ]
    wide = max(len(name) for name, _ in rows)
    print(f"\n{title}\n" + "-" * max(len(title), wide + 20))
    for name, value in rows:
        print(f"{name:<{wide}}  {value:>18}")
    print(f"log: {path}\n")


main()
