#!/usr/bin/env python3
"""Messages and bytes of sampling a bulk over a grid of servers, counted in one process.

    tests/bench/bulk/predict.py --graph FOLDER --sampler ladies --layer-nodes 512,512,512 \\
        --batch-size 512 --bulk 16

Reads the partition folder, makes the minibatches of the trainer's first epoch (one rank, --seed), and
counts for each bulk and layer: D destinations, N pairs of a part and a candidate, E edges that come
back, and the columns sent. Each is multiplied by the width that its numbers have in the messages
(proto/halograph/v1/graph.proto): ids 8 bytes in requests, 4 in replies (8 beyond 2^32 nodes); counts,
sums and positions are varints, whose width is that of the values. `frames` is the rest of the messages:
tags, lengths, the relation's name, seeds of draws. gRPC's headers are not counted, here or by servers.

Messages: 2 for each call, and of each part 2 calls a layer for ladies, 1 for neighbor, 1 for all layers
of fastgcn. How many servers serve a part (c) changes neither: P servers make R = P / c parts. No message
may exceed the limit of servers (--max-message-bytes): what does is sent in more of them.

With --rows R it tells the same for R parts, of which each node is in one at random, by formula: a
candidate with edges into e destinations is at R (1 - (1 - 1/R)^e) parts.
"""
import argparse
import bisect
import collections
import dataclasses
import math
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "e2e"), str(TESTS / "data" / "sampling")]

import oracle  # noqa: E402  the rule of draws, without speed
from harness import npy  # noqa: E402
from harness.folder import PartitionFolder  # noqa: E402

RELATION = "node:edge:node"
TRAIN, SHUFFLE = 0, 16  # a purpose of batch seeds; a stream of the trainer
REQUEST_ID = 8
TERMS = ("frames", "destinations", "pairs", "columns", "edges")


# ---- the graph and its minibatches ----------------------------------------------------------------


class Graph:
    """One node type and one relation, by global ids."""

    def __init__(self, path):
        folder = PartitionFolder(path)
        self.starts, self._parts, self.train = [0], [], []
        for p in range(len(folder.parts)):
            edges = folder.edge_folder(p)
            self._parts.append([npy.load(edges / f"{name}.npy").values for name in ("indptr", "indices")])
            self.starts.append(self.starts[-1] + len(self._parts[-1][0]) - 1)
            for task in sorted((folder.parts[p] / "tasks").iterdir())[:1]:
                self.train += npy.load(task / "train" / "node" / "seeds.npy").values
        self.train.sort()
        self.nodes, self.parts = self.starts[-1], len(self._parts)

    def part(self, node):
        return bisect.bisect_right(self.starts, node) - 1

    def in_edges(self, node):
        """Sources, in file order."""
        part = self.part(node)
        indptr, indices = self._parts[part]
        row = node - self.starts[part]
        return indices[indptr[row]:indptr[row + 1]]

    def out_degrees(self):
        counts = collections.Counter()
        for _, indices in self._parts:
            counts.update(indices)
        return [counts[node] for node in range(self.nodes)]


def minibatches(graph, seed, batch_size, epoch=0):
    """[(batch seed, seeds)] of one rank, as the trainer goes through an epoch: a Fisher-Yates shuffle."""
    key = oracle.mix(seed)
    for n in (SHUFFLE, epoch, 0):
        key = oracle.node_key(key, n)
    order = list(graph.train)
    for draw, i in enumerate(range(len(order) - 1, 0, -1)):
        other = oracle.bounded(oracle.draw(key, draw), i + 1)
        order[i], order[other] = order[other], order[i]
    return [(oracle.batch_seed(seed, TRAIN, epoch, step, 1, 0),
             list(dict.fromkeys(order[first:first + batch_size])))
            for step, first in enumerate(range(0, len(order), batch_size))]


class Candidates:
    """Draws as oracle.draw_candidates does, by sums over powers of two (a Fenwick tree)."""

    def __init__(self, weights):
        self.count = sum(weight > 0 for weight in weights)
        self._weights, self._sums = weights, [0, *weights]
        self._rest = sum(weights)
        for i in range(1, len(weights) + 1):
            if (up := i + (i & -i)) <= len(weights):
                self._sums[up] += self._sums[i]

    def _add(self, position, weight):
        i = position + 1
        while i < len(self._sums):
            self._sums[i] += weight
            i += i & -i

    def draw(self, nodes, key):
        """Positions as picked; nothing stays removed."""
        if nodes < 0 or nodes >= self.count:
            return [i for i, weight in enumerate(self._weights) if weight > 0]
        rest, picks = self._rest, []
        for i in range(nodes):
            target = (oracle.column_draw(key, i) * rest) >> 128
            at, step = 0, 1 << len(self._weights).bit_length()
            while step := step >> 1:
                if at + step < len(self._sums) and self._sums[at + step] <= target:
                    at += step
                    target -= self._sums[at]
            picks.append(at)
            rest -= self._weights[at]
            self._add(at, -self._weights[at])
        for at in picks:
            self._add(at, self._weights[at])
        return picks


# ---- what is counted ------------------------------------------------------------------------------


def varint(value):
    return max(1, (int(value).bit_length() + 6) // 7)


@dataclasses.dataclass
class Share:
    """What one part has of a layer of a minibatch: numbers, and bytes of those that are varints."""
    destinations: float = 0
    count_bytes: float = 0   # of edges back, by destination
    degree_bytes: float = 0
    pairs: float = 0         # candidates of this part
    sum_bytes: float = 0
    columns: float = 0       # sent to this part
    edges: float = 0
    edge_bytes: float = 0    # positions of their sources in the columns

    def __add__(self, other):
        return Share(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))

    def over(self, rows):
        """The same at each of so many parts; columns go to all of them."""
        return Share(**{**{name: value / rows for name, value in vars(self).items()},
                        "columns": self.columns})


class Layer:
    """A layer of a minibatch: a Share for each part, those of parts without destinations None; and of
    candidates (destinations with an edge from it, sum)."""

    def __init__(self, shares, candidates):
        self.shares, self.candidates = shares, candidates

    def at_random(self, rows):
        """The Share of each of `rows` parts, if nodes are in one of them at random."""
        share = sum((one for one in self.shares if one), Share(columns=0))
        share.columns = max(one.columns for one in self.shares if one)
        share.pairs = share.sum_bytes = 0
        for destinations, summed in self.candidates:
            parts = rows * (1 - (1 - 1 / rows) ** destinations)
            share.pairs += parts
            share.sum_bytes += parts * varint(summed / parts)
        return share.over(rows)


class Sampler:
    """neighbor: `sizes` are fanouts. ladies, by `probability`, and fastgcn: nodes a layer."""

    def __init__(self, graph, name, sizes, probability="degree"):
        self.graph, self.name, self.sizes, self.probability = graph, name, sizes, probability
        self.shares_degrees = name == "ladies" and probability == "degree"  # sums of g_v
        if name == "fastgcn":
            self._by_degree = Candidates(graph.out_degrees())

    def layers(self, batch_seed, seeds):
        """The Layers of one minibatch."""
        nodes, found = dict.fromkeys(seeds), []
        for number, size in enumerate(self.sizes):
            destinations = list(nodes)
            count = self._neighbours if self.name == "neighbor" else self._columns
            layer, drawn = count(batch_seed, number, size, destinations)
            found.append(layer)
            nodes.update(dict.fromkeys(drawn))
        return found

    def _by_part(self, destinations):
        lists = [[] for _ in range(self.graph.parts)]
        for node in destinations:
            lists[self.graph.part(node)].append(node)
        return lists

    def _neighbours(self, batch_seed, number, fanout, destinations):
        key, drawn, shares = oracle.layer_key(batch_seed, number, 1, 0), [], []
        for node in destinations:
            edges = self.graph.in_edges(node)
            drawn.append([edges[p] for p in oracle.pick_positions(len(edges), fanout, False,
                                                                  oracle.node_key(key, node))])
        picks = dict(zip(destinations, drawn))
        for nodes in self._by_part(destinations):
            counts = [len(picks[node]) for node in nodes]
            shares.append(Share(destinations=len(nodes), count_bytes=sum(map(varint, counts)),
                                edges=sum(counts)) if nodes else None)
        return Layer(shares, []), [source for sources in drawn for source in sources]

    def _sums(self, nodes):
        """By candidate: how many of these destinations it has an edge into, and what its edges add up
        to."""
        destinations, sums = collections.Counter(), collections.Counter()
        for node in nodes:
            sources = self.graph.in_edges(node)
            destinations.update(set(sources))
            if not self.shares_degrees:
                sums.update(sources)
            elif sources:
                share = oracle.degree_share(len(sources))
                for source in sources:
                    sums[source] += share
        return destinations, sums

    def _weight(self, summed):
        if self.probability == "count":
            return summed
        return summed * summed if self.probability == "count2" else math.isqrt(summed << 32)

    def _columns(self, batch_seed, number, size, destinations):
        key = oracle.column_key(batch_seed, number, 1, 0)
        by_part, candidates, shares = self._by_part(destinations), [], []
        of_parts = [self._sums(nodes) for nodes in by_part] if self.name == "ladies" else []
        if of_parts:
            into, sums = (sum(counters, collections.Counter()) for counters in zip(*of_parts))
            ids = sorted(sums)
            candidates = [(into[source], sums[source]) for source in ids]
            picks = Candidates([self._weight(summed) for _, summed in candidates]).draw(size, key)
            drawn = [ids[pick] for pick in picks]
        else:
            drawn = self._by_degree.draw(size, key)
        column = {source: at for at, source in enumerate(sorted(drawn))}
        for part, nodes in enumerate(by_part):
            shares.append(self._extracted(nodes, column) if nodes else None)
            if nodes and of_parts:
                shares[-1].pairs = len(of_parts[part][0])
                shares[-1].sum_bytes = sum(map(varint, of_parts[part][1].values()))
        return Layer(shares, candidates), drawn

    def _extracted(self, nodes, column):
        share = Share(destinations=len(nodes), columns=len(column))
        for node in nodes:
            sources = self.graph.in_edges(node)
            found = [column[source] for source in sources if source in column]
            share.count_bytes += varint(len(found))
            share.degree_bytes += varint(len(sources))
            share.edges += len(found)
            share.edge_bytes += sum(map(varint, found))
        return share


# ---- messages -------------------------------------------------------------------------------------


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
    batches = minibatches(sampler.graph, seed, batch_size, epoch)
    for first in range(0, len(batches), bulk):
        yield [sampler.layers(*batch) for batch in batches[first:first + bulk]]


def total(bulk, number):
    """D, N, E and columns of one layer of a bulk, over all parts."""
    shares = [one for layers in bulk for one in layers[number].shares if one]
    return sum(shares, Share())


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
    parser.add_argument("--rows", default="", help="numbers of parts for the formula: 4,2,1")
    parser.add_argument("--max-message-bytes", type=int, default=4 << 20, help="of the client")
    parser.add_argument("--alpha-us", type=float, default=0, help="what a message costs")
    parser.add_argument("--gigabytes-per-s", type=float, default=1, help="1 / beta")
    return parser.parse_args()


def show(args, name, traffic):
    terms = ", ".join(f"{term} {round(traffic.terms[term]):,}" for term in TERMS)
    took = traffic.messages * args.alpha_us * 1e-6 + traffic.bytes / (1e9 * args.gigabytes_per_s)
    print(f"{name}: {traffic.messages} messages, {traffic.bytes:,} bytes ({terms}); largest message "
          f"{round(traffic.largest):,}; alpha and beta: {1e3 * took:.2f} ms")


def main():
    args = parse()
    sizes = args.fanouts if args.sampler == "neighbor" else args.layer_nodes
    sampler = Sampler(Graph(args.graph), args.sampler, [int(size) for size in sizes.split(",")],
                      args.layer_probability)
    for number, bulk in enumerate(bulks(sampler, args.seed, args.batch_size, args.bulk)):
        if number == args.bulks:
            break
        print(f"bulk {number}, {len(bulk)} minibatches")
        for layer in range(len(sampler.sizes)):
            all_parts = total(bulk, layer)
            print(f"  layer {layer}: D {all_parts.destinations:,}, N {all_parts.pairs:,}, "
                  f"E {all_parts.edges:,}, columns sent {all_parts.columns:,}")
        show(args, f"  {sampler.graph.parts} parts",
             add_bulk(Traffic(sampler, args.max_message_bytes), bulk))
        for rows in filter(None, args.rows.split(",")):
            show(args, f"  {rows} parts at random, by formula",
                 add_bulk(Traffic(sampler, args.max_message_bytes), bulk, int(rows)))


if __name__ == "__main__":
    main()
