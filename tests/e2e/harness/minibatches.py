"""What the minibatches of ranks touch of a partition folder of one node type: counted, not run, by the
rules of the trainer (equal ranges of the sorted seeds, in order of the ranks), with draws of its own."""
import random

from harness import npy


class Counts:
    """Of all minibatches of all ranks, one pass over the seeds."""

    def __init__(self):
        self.minibatches = 0
        self.input_nodes = 0
        self.remote_rows = 0  # unique in their minibatch, owned by another part than the rank's

    def a_minibatch(self):
        return self.input_nodes / self.minibatches, self.remote_rows / self.minibatches


def in_neighbours(folder):
    """By global id: a function that gives the sources of a node's in-edges."""
    starts, parts = [0], []
    for part in range(len(folder.parts)):
        edges = folder.edge_folder(part)
        parts.append((npy.load(edges / "indptr.npy").values, npy.load(edges / "indices.npy").values))
        starts.append(starts[-1] + len(parts[-1][0]) - 1)

    def of(node):
        part = max(p for p in range(len(parts)) if starts[p] <= node)
        indptr, indices = parts[part]
        row = node - starts[part]
        return indices[indptr[row]:indptr[row + 1]]
    return of, starts


def count(folder, seeds, ranks, batch_size, fanouts, seed=1):
    """`ranks`: a multiple of the parts."""
    neighbours, starts = in_neighbours(folder)
    seeds, counts, draw = sorted(seeds), Counts(), random.Random(seed)
    for rank in range(ranks):
        part = rank * len(folder.parts) // ranks
        own = seeds[len(seeds) * rank // ranks:len(seeds) * (rank + 1) // ranks]
        draw.shuffle(own)
        for first in range(0, len(own), batch_size):
            nodes = set(own[first:first + batch_size])
            frontier = nodes
            for fanout in fanouts:
                found = set()
                for node in sorted(frontier):
                    sources = neighbours(node)
                    found.update(sources if len(sources) <= fanout else draw.sample(list(sources), fanout))
                frontier = nodes | found
                nodes = frontier
            counts.minibatches += 1
            counts.input_nodes += len(nodes)
            counts.remote_rows += sum(not starts[part] <= node < starts[part + 1] for node in nodes)
    return counts
