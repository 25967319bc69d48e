"""Data sets of links to predict, made of the edges of another graph.

Usage: python3 -m harness.links SOURCE FOLDER [--whole]
"""
import pathlib
import shutil
import sys

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
          - {{name: seeds, format: numpy, path: valid.npy}}
    test_set:
      - data:
          - {{name: seeds, format: numpy, path: test.npy}}
"""


def split(edges):
    """Of the pairs of neighbours every tenth for validation, every tenth for the test, the others to
    train on."""
    found = {"train": [], "valid": [], "test": []}
    for i, pair in enumerate(sorted({(min(u, v), max(u, v)) for u, v in edges if u != v})):
        found[{3: "valid", 7: "test"}.get(i % 10, "train")].append(pair)
    return found


def both_ways(pairs):
    return [way for u, v in pairs for way in ((u, v), (v, u))]


def write(folder, source, whole=False):
    """The links of a homogeneous data set with the feature "feat". The graph has those to train on,
    both ways; `whole`: all of them."""
    old = datasets.GraphBolt(source)
    sets = split(old.edge_list())
    nodes = old.nodes[datasets.HOMOGENEOUS_NODE]
    folder.mkdir(parents=True)
    (folder / "metadata.yaml").write_text(METADATA.format(nodes=nodes))
    edges = both_ways(sum(sets.values(), []) if whole else sets["train"])
    npy.save(folder / "edges.npy", "<i8", (2, len(edges)),
             [u for u, _ in edges] + [v for _, v in edges])
    shutil.copyfile(old.features[(datasets.HOMOGENEOUS_NODE, "feat")], folder / "feat.npy")
    for name, pairs in sets.items():
        npy.save(folder / f"{name}.npy", "<i8", (len(pairs), 2), [end for pair in pairs for end in pair])
    return folder


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[2]), sys.argv[1], whole="--whole" in sys.argv)
