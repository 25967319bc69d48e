#!/usr/bin/env python3
"""Accuracy of two ranks against two servers beside that of one embedded rank, on the same two parts: mean
and standard deviation over seeds, and the difference of the means. Run by hand:

    HALOGRAPH_BIN=build/release/bin HALOGRAPH_DATA=DIR PYTHONPATH=tests/e2e \\
      python3 tests/accuracy/two_servers.py --seeds 5 cora-gcn aifb

Without names all cases run. A rank has half of the batch, so that steps are over as many seeds."""
import argparse
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from harness import datasets, programs
from harness.programs import Sandbox, must
from harness.training import read_log, start_ranks, train
from test_accuracy import AMAZON_PHOTO, GAT, GCN, SGC, WHOLE_CORA

FULL = dict(epochs=200, eval_every=1)
FB15K = dict(model="embedding", embed="entity:200", link_dim=200, score="distmult", corrupt="both",
             negatives=512, shared_negatives=True, link_loss="softmax", eval_negatives=0, embed_lr=0.01,
             lr=0.01, dropout=0.4, batch_size=1000, eval_batch_size=2000, epochs=12, eval_every=6,
             threads=1)
AIFB = dict(model="rgcn", embed="entity:32", hidden=32, fanouts="-1,-1", lr=0.01, epochs=50, eval_every=0,
            batch_size=1000, threads=1)


def inverse(name):
    return lambda box: datasets.with_inverse_relations(datasets.real(name), box.folder / name)


def real(name):
    return lambda _: datasets.real(name)


# Name: data, settings, the figure of the last line.
CASES = {
    "cora-gcn": (lambda _: datasets.cora(), dict(GCN, **FULL), "test_acc"),
    "cora-gat": (lambda _: datasets.cora(), dict(GAT, **FULL), "test_acc"),
    "cora-sage": (lambda _: datasets.cora(), dict(WHOLE_CORA, hidden=256, lr=0.01, weight_decay=0.0005,
                                                  epochs=50), "test_acc"),
    "cora-sgc": (lambda _: datasets.cora(), dict(SGC, epochs=100, eval_every=1), "test_acc"),
    "citeseer-gcn": (real("citeseer"), dict(GCN, epochs=100, eval_every=1), "test_acc"),
    "amazon-photo-sage": (real("amazon-photo"), AMAZON_PHOTO, "test_acc"),
    "amazon-photo-gat": (real("amazon-photo"), dict(model="gat", hidden=64, batch_size=500, lr=0.005,
                                                    eval_batch_size=1000, epochs=30, threads=1),
                         "test_acc"),
    "amazon-photo-learnt": (real("amazon-photo"), dict(AMAZON_PHOTO, embed="node:64"), "test_acc"),
    "aifb": (inverse("aifb"), AIFB, "test_acc"),
    "imdb-hetero": (real("imdb-hetero"), dict(model="rgcn", fanouts="10,10", batch_size=100, epochs=10,
                                              threads=1), "test_acc"),
    "fb15k-237": (real("fb15k-237"), FB15K, "test_mrr"),
}


def embedded(box, graph, seed, settings, learnt):
    state = dict(state=box.folder / "state", sync="never", **learnt) if learnt else {}
    return train(box, 1200, graph=graph, seed=seed, **settings, **state)[2]


def two_ranks(box, servers, seed, settings, learnt):
    halved = dict(settings, batch_size=settings["batch_size"] // 2, **learnt)
    ranks = start_ranks(box, 2, servers=",".join(servers), seed=seed, **halved)
    for rank in ranks:
        if rank.wait(programs.seconds(1200)) != 0:
            raise SystemExit(rank.text)
    return read_log(box.folder / "rank0.jsonl")[2]


def shown(values):
    spread = statistics.stdev(values) if len(values) > 1 else 0
    return f"{statistics.mean(values):.4f} +- {spread:.4f}"


def run_case(name, seeds):
    source, settings, figure = CASES[name]
    settings = {"model": "sage", **settings}
    box = Sandbox()
    try:
        graph = box.folder / "graph"
        must(box.run("halograph-partition", "run", "--input", source(box), "--output", graph, "--parts", 2,
                     "--seed", 1))
        servers = []
        for part in (0, 1):
            server = box.start_server(graph, part, "--state", box.folder / f"state{part}", "--sync", "never")
            servers.append(programs.address(server))
        # Learnt rows begin anew with every run.
        learnt = dict(embed_begin="fresh") if "embed" in settings or settings["model"] == "rgcn" else {}
        alone = [embedded(box, graph, seed, settings, learnt)[figure] for seed in seeds]
        together = [two_ranks(box, servers, seed, settings, learnt)[figure] for seed in seeds]
        difference = statistics.mean(together) - statistics.mean(alone)
        print(f"{name}: {figure} embedded {shown(alone)}, two servers and two ranks {shown(together)}, "
              f"difference {difference:+.4f}", flush=True)
    finally:
        box.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cases", nargs="*", help=", ".join(CASES))
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0")
    given = parser.parse_args()
    for name in given.cases or CASES:
        run_case(name, range(given.seeds))


if __name__ == "__main__":
    main()
