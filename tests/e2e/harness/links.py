"""Data sets of links to predict, made of the edges of another graph.

Usage: python3 -m harness.links SOURCE FOLDER [--whole] [--negatives N]
"""
import argparse
import pathlib
import random
import shutil

from harness import datasets, npy

METADATA = """dataset_name: links
graph:
  nodes:
    - num: {nodes}
  edges:
    - format: numpy
      path: edges.npy
feature_data:
  - domain: node
    name: feat
    format: numpy
    in_memory: false
    path: feat.npy
tasks:
  - name: link_prediction
    train_set:
      - data:
          - {{name: seeds, format: numpy, path: train.npy}}
    validation_set:
      - data:
          - {{name: seeds, format: numpy, path: valid.npy}}{valid_labels}
    test_set:
      - data:
          - {{name: seeds, format: numpy, path: test.npy}}{test_labels}
"""
LABELS = """
          - {{name: labels, format: numpy, path: {name}_labels.npy}}"""


def split(edges):
    """Of the pairs of neighbours every tenth for validation, every tenth for the test, the others to
    train on."""
    found = {"train": [], "valid": [], "test": []}
    for i, pair in enumerate(sorted({(min(u, v), max(u, v)) for u, v in edges if u != v})):
        found[{3: "valid", 7: "test"}.get(i % 10, "train")].append(pair)
    return found


def both_ways(pairs):
    return [way for u, v in pairs for way in ((u, v), (v, u))]


def unlinked(edges, nodes, count, seed):
    """Pairs of nodes that no edge joins, in any direction."""
    linked, draw, found = set(both_ways(edges)), random.Random(seed), set()
    while len(found) < count:
        u, v = draw.randrange(nodes), draw.randrange(nodes)
        if u != v and (u, v) not in linked:
            found.add((u, v))
    return sorted(found)


def write(folder, source, whole=False, negatives=0):
    """The links of a homogeneous data set with the feature "feat". The graph has those to train on,
    both ways; `whole`: all of them. `negatives`: given with the validation and the test set each."""
    old = datasets.GraphBolt(source)
    sets = split(old.edge_list())
    nodes = old.nodes[datasets.HOMOGENEOUS_NODE]
    folder.mkdir(parents=True)
    (folder / "metadata.yaml").write_text(METADATA.format(nodes=nodes, **{
        f"{name}_labels": LABELS.format(name=name) if negatives else "" for name in ("valid", "test")}))
    edges = both_ways(sum(sets.values(), []) if whole else sets["train"])
    npy.save(folder / "edges.npy", "<i8", (2, len(edges)),
             [u for u, _ in edges] + [v for _, v in edges])
    shutil.copyfile(old.features[(datasets.HOMOGENEOUS_NODE, "feat")], folder / "feat.npy")
    for seed, (name, pairs) in enumerate(sets.items()):
        if negatives and name != "train":
            given = unlinked(old.edge_list(), nodes, negatives, seed)
            npy.save(folder / f"{name}_labels.npy", "<i8", (len(pairs) + len(given),),
                     [1] * len(pairs) + [0] * len(given))
            pairs = pairs + given
        npy.save(folder / f"{name}.npy", "<i8", (len(pairs), 2), [end for pair in pairs for end in pair])
    return folder


if __name__ == "__main__":
    reader = argparse.ArgumentParser()
    reader.add_argument("source")
    reader.add_argument("folder", type=pathlib.Path)
    reader.add_argument("--whole", action="store_true")
    reader.add_argument("--negatives", type=int, default=0)
    given = reader.parse_args()
    write(given.folder, given.source, given.whole, given.negatives)
