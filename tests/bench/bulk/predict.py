#!/usr/bin/env python3
"""Messages and bytes of sampling a bulk over a grid of servers, counted in one process.

    tests/bench/bulk/predict.py --graph FOLDER --sampler ladies --layer-nodes 512,512,512 \\
        --batch-size 512 --bulk 16 --grids 4/1,4/2,64/8 --alpha-us 50 --gigabytes-per-s 1.25

Reads the partition folder, makes the minibatches of the trainer's first epoch (one rank, --seed), and
counts for each bulk and layer (one_process.py): D destinations, N pairs of a part and a candidate, E
edges that come back, and the columns sent. Each is multiplied by the width that its numbers have in the
messages (proto/halograph/v1/graph.proto): ids 8 bytes in requests, 4 in replies (8 beyond 2^32 nodes);
counts, sums and positions are varints, whose width is that of the values. `frames` is the rest of the
messages: tags, lengths, the relation's name, seeds of draws. What HTTP/2 and TCP add is counted neither
here nor by servers.

Messages: 2 for each call, and of each part 2 calls a layer for ladies, 1 for neighbor, 1 for all layers
of fastgcn. That needs --max-message-bytes of servers and trainers above the largest message: else it is
cut, into more of them.

--grids P/c tells the same for P servers that serve R = P / c parts, each c of them, of which each node is
in one at random, by formula: a candidate with edges into e destinations is at R (1 - (1 - 1/R)^e)
parts; and beside it what section 5.2.1 of arXiv 2311.02909 has, in numbers of 4 bytes.
"""
import argparse
import collections
import pathlib

import one_process
from one_process import Graph, Sampler, Share, varint

RELATION = "node:edge:node"
REQUEST_ID = 8
TERMS = ("frames", "destinations", "pairs", "columns", "edges")


def field(length):
    """Of a field of so many bytes, with its tag and length; an empty one is left out."""
    return 1 + varint(length) + length if length else 0


def group(*fields, more=0):
    return field(more + sum(map(field, fields)))


class Traffic:
    """Calls, and bytes of their requests and replies by term."""

    def __init__(self, sampler, limit):
        self.sampler, self.limit = sampler, limit
        self.reply_id = 4 if sampler.graph.nodes <= 1 << 32 else 8
        self.calls, self.largest, self.terms = 0, 0, collections.Counter(dict.fromkeys(TERMS, 0))

    @property
    def messages(self):
        return 2 * self.calls

    @property
    def bytes(self):
        return round(sum(self.terms.values()))

    def _add(self, request, reply, **numbers):
        self.calls += 1
        self.largest = max(self.largest, request, reply)
        self.terms.update(numbers)
        self.terms["frames"] += request + reply - sum(numbers.values())

    def sample(self, number, fanout, shares):
        """One call of GraphService/Sample for the shares that one part has of a layer."""
        name, rule = field(len(RELATION)), 1 + varint(2 * fanout if fanout >= 0 else 1)
        head = 9 + (2 if number else 0) + 2  # batch seed, layer, edge_pieces
        request = head + sum(group(REQUEST_ID * one.destinations,
                                   more=name + rule + field(rule) + (9 + 2 if i else 0))
                             for i, one in enumerate(shares))
        reply = sum(group(one.count_bytes, self.reply_id * one.edges) for one in shares)
        self._add(request, reply, edges=self.reply_id * sum(one.edges for one in shares),
                  destinations=sum(REQUEST_ID * one.destinations + one.count_bytes for one in shares))

    def column_sums(self, shares):
        name, head = field(len(RELATION)), 1 + varint(self.limit)
        value = 2 if self.sampler.shares_degrees else 0
        request = head + sum(group(REQUEST_ID * one.destinations, more=name + value) for one in shares)
        reply = sum(group(self.reply_id * one.pairs, one.sum_bytes) for one in shares)
        self._add(request, reply, destinations=REQUEST_ID * sum(one.destinations for one in shares),
                  pairs=sum(self.reply_id * one.pairs + one.sum_bytes for one in shares))

    def extract(self, shares):
        name, head = field(len(RELATION)), 1 + varint(self.limit)
        request = head + sum(group(REQUEST_ID * one.destinations, REQUEST_ID * one.columns, more=name)
                             for one in shares)
        reply = sum(group(one.count_bytes, one.edge_bytes, one.degree_bytes) for one in shares)
        self._add(request, reply, columns=REQUEST_ID * sum(one.columns for one in shares),
                  edges=sum(one.edge_bytes for one in shares),
                  destinations=sum(REQUEST_ID * one.destinations + one.count_bytes + one.degree_bytes
                                   for one in shares))


def add_bulk(traffic, bulk, rows=None):
    """Adds the calls about a bulk, a list of minibatches' Layers. `rows`: at so many parts by formula,
    else as the folder's parts are."""
    sampler, of_parts = traffic.sampler, rows or traffic.sampler.graph.parts
    # shares[minibatch][layer][part]
    shares = [[[layer.at_random(rows)] * rows if rows else layer.shares for layer in layers]
              for layers in bulk]
    for part in range(of_parts):
        by_layer = [[one[number][part] for one in shares if one[number][part]]
                    for number in range(len(sampler.sizes))]
        if sampler.name == "fastgcn":
            everything = [one for layer in by_layer for one in layer]
            if everything:
                traffic.extract(everything)
            continue
        for number, of_layer in enumerate(by_layer):
            if not of_layer:
                continue
            if sampler.name == "neighbor":
                traffic.sample(number, sampler.sizes[number], of_layer)
            else:
                traffic.column_sums(of_layer)
                traffic.extract(of_layer)
    return traffic


def bulks(sampler, seed, batch_size, bulk, epoch=0):
    """The bulks of an epoch, each a list of minibatches' Layers."""
    batches = one_process.minibatches(sampler.graph, seed, batch_size, epoch)
    for first in range(0, len(batches), bulk):
        yield [sampler.layers(*batch) for batch in batches[first:first + bulk]]


# ---- the command ----------------------------------------------------------------------------------


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", type=pathlib.Path, required=True, help="partition folder")
    parser.add_argument("--sampler", choices=("neighbor", "ladies", "fastgcn"), default="ladies")
    parser.add_argument("--fanouts", default="15,10,5")
    parser.add_argument("--layer-nodes", default="512,512,512")
    parser.add_argument("--layer-probability", default="degree",
                        choices=("degree", "sqrt", "count", "count2"))
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--bulk", type=int, default=16)
    parser.add_argument("--bulks", type=int, default=1, help="how many, from the epoch's first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--grids", default="", help="P/c,...: for the formula")
    parser.add_argument("--max-message-bytes", type=int, default=4 << 20, help="of the client")
    parser.add_argument("--alpha-us", type=float, default=0, help="what a message costs")
    parser.add_argument("--gigabytes-per-s", type=float, default=1, help="1 / beta")
    return parser.parse_args()


def show(args, name, traffic):
    terms = ", ".join(f"{term} {round(traffic.terms[term]):,}" for term in TERMS)
    took = traffic.messages * args.alpha_us * 1e-6 + traffic.bytes / (1e9 * args.gigabytes_per_s)
    print(f"  {name}: {traffic.messages} messages, {traffic.bytes:,} bytes ({terms}), of which the largest "
          f"message {round(traffic.largest):,}; alpha and beta {1e3 * took:.1f} ms")


def show_layer(sampler, bulk, number):
    """Edges into its destinations; kbd of the paper."""
    of_layer = [layers[number] for layers in bulk]
    whole = sum((layer.whole() for layer in of_layer), Share())
    distinct = set().union(*(layer.destinations for layer in of_layer))
    print(f"  layer {number}: D {whole.destinations:,}, {len(distinct):,} distinct; edges into them "
          f"{whole.scanned:,}, into the distinct {sampler.graph.count_edges(distinct):,}; N "
          f"{whole.pairs:,}, E {whole.edges:,}, columns sent {whole.columns:,}")
    return whole.scanned


def main():
    args = parse()
    sizes = args.fanouts if args.sampler == "neighbor" else args.layer_nodes
    sampler = Sampler(Graph(args.graph), args.sampler, [int(size) for size in sizes.split(",")],
                      args.layer_probability)
    for number, bulk in enumerate(bulks(sampler, args.seed, args.batch_size, args.bulk)):
        if number == args.bulks:
            break
        print(f"bulk {number}, {len(bulk)} minibatches")
        kbd = sum(show_layer(sampler, bulk, layer) for layer in range(len(sampler.sizes)))
        show(args, f"{sampler.graph.parts} parts as in the folder",
             add_bulk(Traffic(sampler, args.max_message_bytes), bulk))
        for grid in filter(None, args.grids.split(",")):
            servers, replicas = map(int, grid.split("/"))
            show(args, f"P {servers}, c {replicas}, {servers // replicas} parts at random",
                 add_bulk(Traffic(sampler, args.max_message_bytes), bulk, servers // replicas))
            print(f"    the paper: rows {4 * kbd // replicas:,} bytes, reduction "
                  f"{4 * replicas * kbd // servers:,}")


if __name__ == "__main__":
    main()
