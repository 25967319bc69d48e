"""What sampling a bulk asks of servers, counted in one process from the partition folder and the seeds:
destinations, candidates, edges that come back. In its own words: draws by the rule's slow transcription
(tests/data/sampling/oracle.py), nothing that the programs counted."""
import bisect
import collections
import dataclasses
import itertools
import math
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "e2e"), str(TESTS / "data" / "sampling")]

import oracle  # noqa: E402
from harness import npy  # noqa: E402
from harness.folder import PartitionFolder  # noqa: E402

TRAIN, SHUFFLE = 0, 16  # a purpose of batch seeds; a stream of the trainer


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

    def count_edges(self, nodes):
        """Into these nodes."""
        return sum(len(self.in_edges(node)) for node in nodes)

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
    scanned: float = 0       # edges into the destinations

    def __add__(self, other):
        return Share(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))

    def over(self, rows):
        """The same at each of so many parts; columns go to all of them."""
        return Share(**{**{name: value / rows for name, value in vars(self).items()},
                        "columns": self.columns})


def parts_with_one(rows, nodes):
    """Of so many parts, those that have one of so many nodes at random."""
    return rows * (1 - (1 - 1 / rows) ** nodes)


class Layer:
    """A layer of a minibatch: its destinations; a Share for each part, None where it has no destination;
    and of each candidate (destinations with an edge from it: all of them, those that add more than a
    varint of one byte, of two, ...; the sum)."""

    def __init__(self, destinations, shares, candidates):
        self.destinations, self.shares, self.candidates = destinations, shares, candidates

    def whole(self):
        return sum((one for one in self.shares if one), Share())

    def at_random(self, rows):
        """The Share of each of `rows` parts, if each node is in one of them at random."""
        share = self.whole()
        share.columns = max(one.columns for one in self.shares if one)
        share.pairs = share.sum_bytes = 0
        for (destinations, *wider), summed in self.candidates:
            parts = parts_with_one(rows, destinations)
            share.pairs += parts
            share.sum_bytes += parts
            if wider:  # as many parts as have a destination that adds more
                share.sum_bytes += sum(parts_with_one(rows, nodes) for nodes in wider if nodes)
            else:
                share.sum_bytes += parts * (varint(summed / parts) - 1)
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
                                edges=sum(counts), scanned=self.graph.count_edges(nodes))
                          if nodes else None)
        return Layer(destinations, shares, []), [source for sources in drawn for source in sources]

    def _sums(self, nodes):
        """By candidate: how many of these destinations it has an edge into, by the width of what these
        add; and what its edges add up to."""
        widths = 5 if self.shares_degrees else 1
        into, sums = [collections.Counter() for _ in range(widths)], collections.Counter()
        for node in nodes:
            sources = self.graph.in_edges(node)
            if not self.shares_degrees:
                sums.update(sources)
                into[0].update(set(sources))
            elif sources:
                share = oracle.degree_share(len(sources))
                for source in sources:
                    sums[source] += share
                into[varint(share) - 1].update(set(sources))
        return into, sums

    def _weight(self, summed):
        if self.probability == "count":
            return summed
        return summed * summed if self.probability == "count2" else math.isqrt(summed << 32)

    def _columns(self, batch_seed, number, size, destinations):
        key = oracle.column_key(batch_seed, number, 1, 0)
        by_part, candidates, shares = self._by_part(destinations), [], []
        of_parts = [self._sums(nodes) for nodes in by_part] if self.name == "ladies" else []
        if of_parts:
            into = [sum(of_width, collections.Counter()) for of_width in zip(*(one for one, _ in of_parts))]
            sums = sum((summed for _, summed in of_parts), collections.Counter())
            ids = sorted(sums)
            for source in ids:
                wider = itertools.accumulate(of_width[source] for of_width in reversed(into))
                candidates.append((tuple(wider)[::-1], sums[source]))
            picks = Candidates([self._weight(summed) for _, summed in candidates]).draw(size, key)
            drawn = [ids[pick] for pick in picks]
        else:
            drawn = self._by_degree.draw(size, key)
        column = {source: at for at, source in enumerate(sorted(drawn))}
        for part, nodes in enumerate(by_part):
            shares.append(self._extracted(nodes, column) if nodes else None)
            if nodes and of_parts:
                shares[-1].pairs = len(of_parts[part][1])
                shares[-1].sum_bytes = sum(map(varint, of_parts[part][1].values()))
        return Layer(destinations, shares, candidates), drawn

    def _extracted(self, nodes, column):
        share = Share(destinations=len(nodes), columns=len(column),
                      scanned=self.graph.count_edges(nodes))
        for node in nodes:
            sources = self.graph.in_edges(node)
            found = [column[source] for source in sources if source in column]
            share.count_bytes += varint(len(found))
            share.degree_bytes += varint(len(sources))
            share.edges += len(found)
            share.edge_bytes += sum(map(varint, found))
        return share
