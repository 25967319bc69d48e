#!/usr/bin/env python3
"""Messages and bytes of sampling in bulk: predicted (predict.py) beside counted, on a grid of servers.

    HALOGRAPH_BIN=build/release/bin tests/bench/bulk/counted.py [--train "--option ..."] [--serve ...]

Makes a graph (R-MAT, --log2-nodes, --edges) and trains on it, in epochs of --bulks bulks of --bulk
minibatches each, for each sampler, with --servers P servers and c = 1, 2, 4 of them for each of P / c
parts; the trainer asks one column (--columns). Calls and bytes are what the servers count of
GraphService/Sample, ColumnSums and Extract in the second epoch. Prints a row of the table of
docs/communication.md for each sampler and c.
"""
import argparse
import collections
import json
import pathlib
import shlex
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]
import predict  # noqa: E402
from one_process import Graph, Sampler  # noqa: E402
from harness import programs  # noqa: E402  (one_process knows where)
from harness.programs import must  # noqa: E402
from harness.training import options, read_log  # noqa: E402

METHODS = ("Sample", "ColumnSums", "Extract")
# By name in the table: the sampler, and more of the trainer's options for it.
SAMPLERS = {"neighbor": ("neighbor", {}),
            "ladies": ("ladies", {}),
            "ladies, count": ("ladies", {"layer_probability": "count"}),
            "fastgcn": ("fastgcn", {})}


class Calls(collections.Counter):
    """By method: ("Sample", "calls") and ("Sample", "bytes"), of all servers since they began."""

    @classmethod
    def now(cls, box, addresses):
        status = must(box.run("halograph-ctl", "status", "--servers", ",".join(addresses), "--timeout",
                              "60s", "--json"))
        calls = cls()
        for server in json.loads(status.out):
            for method in server["methods"]:
                name = method["method"].partition("/")[2]
                calls[name, "calls"] += method["calls"]
                calls[name, "bytes"] += method["request_bytes"] + method["reply_bytes"]
        return calls

    def of(self, what):
        return sum(self[method, what] for method in METHODS)

    def since(self, earlier):
        return Calls({key: value - earlier[key] for key, value in self.items()})


def count(box, addresses, *more, **given):
    """What sampling in the second epoch of a trainer takes: messages and bytes, as the servers count
    them, and bytes by the trainer's log. It is what two epochs take and one does not, so what comes
    before the first step and after the last is not in it. `more`, `given`: more of its options.
    An epoch's steps are whole bulks."""
    taken = [Calls.now(box, addresses)]
    log = box.folder / "log.jsonl"
    for epochs in (1, 2):
        must(box.run("halograph-train", *more, *options(**dict(
            given, servers=",".join(addresses), log=log, epochs=epochs, eval_every=1000))))
        taken.append(Calls.now(box, addresses))
    once, twice = taken[1].since(taken[0]), taken[2].since(taken[1])
    found = twice.since(once)
    return 2 * found.of("calls"), found.of("bytes"), read_log(log)[1][1]["remote_sample_bytes"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log2-nodes", type=int, default=18)
    parser.add_argument("--edges", type=int, default=4000000)
    parser.add_argument("--method", default="random", help="of halograph-partition")
    parser.add_argument("--servers", type=int, default=4)
    parser.add_argument("--replicas", default="1,2,4", help="c")
    parser.add_argument("--samplers", default=";".join(SAMPLERS), help="with ; between them")
    parser.add_argument("--fanouts", default="15,10,5")
    parser.add_argument("--layer-nodes", default="512,512,512")
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--bulk", type=int, default=16)
    parser.add_argument("--bulks", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-message-bytes", type=int, default=256 << 20)
    parser.add_argument("--train", default="", help="more options of halograph-train")
    parser.add_argument("--serve", default="", help="more options of halograph-server")
    return parser.parse_args()


def generate(args, box):
    folder = box.folder / "input"
    share = args.bulks * args.bulk * args.batch_size / (1 << args.log2_nodes)
    must(box.run("halograph-partition", "generate", "rmat", *options(
        log2_nodes=args.log2_nodes, edges=args.edges, features=4, classes=2, train=share, valid=0,
        test=0, seed=args.seed, output=folder)))
    return folder


def row(args, box, graph, addresses, name):
    sampler, more = SAMPLERS[name]
    sizes = args.fanouts if sampler == "neighbor" else args.layer_nodes
    given = dict(more, **{"fanouts" if sampler == "neighbor" else "layer_nodes": sizes})
    own = Sampler(graph, sampler, [int(size) for size in sizes.split(",")],
                  more.get("layer_probability", "degree"))
    predicted = predict.Traffic(own, args.max_message_bytes)
    formula = predict.Traffic(own, args.max_message_bytes)
    for bulk in predict.bulks(own, args.seed, args.batch_size, args.bulk, epoch=1):
        predict.add_bulk(predicted, bulk)
        predict.add_bulk(formula, bulk, graph.parts)
    messages, found, logged = count(
        box, addresses, *shlex.split(args.train), sampler=sampler, columns=True,
        layers=len(own.sizes), batch_size=args.batch_size, hidden=4, bulk=args.bulk, seed=args.seed,
        threads=1, plain_ids=True, prefetch_memory="8GiB", max_message_bytes=args.max_message_bytes, **given)
    parts = graph.parts
    terms = " | ".join(f"{round(predicted.terms[term]) / 1e3:,.0f}" for term in predict.TERMS)
    print(f"| {name} | {args.servers // parts} | {parts} | {predicted.messages} | {messages} | {terms} | "
          f"{predicted.bytes:,} | {found:,} | {100 * (predicted.bytes / found - 1):+.4f} % | "
          f"{100 * (formula.bytes / found - 1):+.2f} % |", flush=True)
    print(f"{name}: the trainer's log has {logged:,} bytes, of {found:,}; largest message "
          f"{round(predicted.largest):,}", file=sys.stderr, flush=True)


def main():
    args = parse()
    box = programs.Sandbox()
    try:
        source = generate(args, box)
        print("| sampler | c | R | messages predicted | counted | " +
              " | ".join(f"{term}, kB" for term in predict.TERMS) +
              " | bytes predicted | counted | off | by formula |\n" + "| --- " * 13 + "|", flush=True)
        for replicas in map(int, args.replicas.split(",")):
            parts = args.servers // replicas
            folder = box.folder / f"parts-{parts}"
            must(box.run("halograph-partition", "run", *options(
                input=source, output=folder, parts=parts, method=args.method, seed=args.seed)))
            graph = Graph(folder)
            servers, addresses = box.servers(folder, [part for part in range(parts)] * replicas,
                                             "--max-message-bytes", args.max_message_bytes,
                                             *shlex.split(args.serve))
            for name in args.samplers.split(";"):
                row(args, box, graph, addresses, name)
            for server in servers:
                server.end()
    finally:
        box.close()


if __name__ == "__main__":
    main()
