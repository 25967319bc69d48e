"""Input folders: the repository's, those of HALOGRAPH_DATA, and small ones made here."""
import os
import pathlib
import random
import re
import shutil
import sys
import unittest

from harness import npy

SETS = {"train_set": "train", "validation_set": "valid", "test_set": "test"}
HOMOGENEOUS_NODE, HOMOGENEOUS_RELATION = "node", "node:edge:node"


def cora():
    folder = os.environ.get("HALOGRAPH_TEST_DATA")
    base = pathlib.Path(folder) if folder else pathlib.Path(__file__).parents[2] / "data"
    return base / "cora"


def real(name):
    """A data set of HALOGRAPH_DATA; skips the test, saying so, where there is none."""
    folder = os.environ.get("HALOGRAPH_DATA")
    if not folder:
        raise unittest.SkipTest(f"HALOGRAPH_DATA is not set: no real data set '{name}'")
    path = pathlib.Path(folder) / name
    if not path.exists():
        raise unittest.SkipTest(f"HALOGRAPH_DATA has no '{name}'")
    return path


class GraphBolt:
    """What `metadata.yaml` of our data sets says. Not a YAML reader: it knows the one way in which
    these files are written."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        text = (self.folder / "metadata.yaml").read_text()
        graph, _, rest = text.partition("\nfeature_data:")
        if not rest:
            graph, _, rest = text.partition("\ntasks:")
        self.nodes = {name or HOMOGENEOUS_NODE: int(count) for name, count in
                      re.findall(r'- \{?(?:type: "([^"]*)", )?num: (\d+)', graph)}
        self.edges = {name or HOMOGENEOUS_RELATION: self.folder / path for name, path in
                      re.findall(r'- (?:type: "([^"]*)"\n +)?format: numpy\n +path: (\S+)', graph)}
        self.features = {(kind or HOMOGENEOUS_NODE, name): self.folder / path for kind, name, path in
                         re.findall(r'- domain: node\n(?: +type: "([^"]*)"\n)? +name: (\S+)\n'
                                    r' +format: numpy\n +in_memory: \w+\n +path: (\S+)', text)}
        self.tasks = self._tasks(text.partition("\ntasks:")[2])

    def _tasks(self, text):
        """{(set, type): {array name: path}} of the only task."""
        found, current = {}, None
        for line in text.splitlines():
            if match := re.match(r" +(\w+_set):", line):
                current, kind = SETS[match[1]], None
            elif match := re.match(r' +- type: "([^"]*)"', line):
                kind = match[1]
            elif match := re.match(r" +- \{name: (\w+), format: numpy, path: (\S+)\}", line):
                key = (current, kind or HOMOGENEOUS_NODE)
                found.setdefault(key, {})[match[1]] = self.folder / match[2]
        return found

    def edge_list(self, relation=HOMOGENEOUS_RELATION):
        """[(source, destination)] by original edge id."""
        values = npy.load(self.edges[relation])
        return list(zip(values.row(0), values.row(1)))

    @property
    def num_edges(self):
        return sum(npy.load(path).shape[1] for path in self.edges.values())


def copy_of(source, target):
    """A copy whose files may be changed."""
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    return target


def grown(source, target, more):
    """A copy of Cora with `more` nodes behind the others, each with an edge from node 0: what the
    others have in-edges from stays."""
    copy_of(source, target)
    metadata = target / "metadata.yaml"
    text = metadata.read_text()
    nodes = int(re.search(r"num: (\d+)", text)[1])
    metadata.write_text(text.replace(f"num: {nodes}", f"num: {nodes + more}"))
    edges = npy.load(target / "edges/edge.npy")
    count = edges.shape[1]
    new = list(range(nodes, nodes + more))
    npy.save(target / "edges/edge.npy", edges.descr, (2, count + more),
             list(edges.row(0)) + [0] * more + list(edges.row(1)) + new)
    feat = npy.load(target / "features/feat.npy")
    npy.save(target / "features/feat.npy", feat.descr, (nodes + more, feat.width),
             list(feat.values) + list(feat.values[:more * feat.width]))
    return target


def with_inverse_relations(source, target):
    """A copy of a typed data set where each relation also goes the other way, as `rev_NAME`."""
    copy_of(source, target)
    found = []

    def add(match):
        start, name, end = match[1].split(":")
        path = f"edges/rev_{pathlib.Path(match[2]).name}"
        edges = npy.load(target / match[2])
        npy.save(target / path, edges.descr, edges.shape, edges.row(1) + edges.row(0))
        found.append(name)
        return (f'{match[0]}    - type: "{end}:rev_{name}:{start}"\n      format: numpy\n'
                f"      path: {path}\n")
    metadata = target / "metadata.yaml"
    metadata.write_text(re.sub(r' +- type: "([^"]*)"\n +format: numpy\n +path: (\S+)\n', add,
                               metadata.read_text()))
    assert found, source
    return target


METADATA = """dataset_name: made
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
  - name: node_classification
    num_classes: 2
    train_set:
      - data:
          - {{name: seeds, format: numpy, path: train_seeds.npy}}
          - {{name: labels, format: numpy, path: train_labels.npy}}
    validation_set:
      - data:
          - {{name: seeds, format: numpy, path: valid_seeds.npy}}
          - {{name: labels, format: numpy, path: valid_labels.npy}}
    test_set:
      - data:
          - {{name: seeds, format: numpy, path: test_seeds.npy}}
          - {{name: labels, format: numpy, path: test_labels.npy}}
"""


def write(folder, num_nodes, edges, width=3):
    """A homogeneous data set: node v has features v, v + 0.5, ..., class v % 2; a third of the nodes
    are in each set."""
    folder.mkdir(parents=True)
    (folder / "metadata.yaml").write_text(METADATA.format(nodes=num_nodes))
    npy.save(folder / "edges.npy", "<i8", (2, len(edges)),
             [u for u, _ in edges] + [v for _, v in edges])
    npy.save(folder / "feat.npy", "<f4", (num_nodes, width),
             [v + i / 2 for v in range(num_nodes) for i in range(width)])
    for i, name in enumerate(("train", "valid", "test")):
        seeds = list(range(i, num_nodes, 3))
        npy.save(folder / f"{name}_seeds.npy", "<i8", (len(seeds),), seeds)
        npy.save(folder / f"{name}_labels.npy", "<i8", (len(seeds),), [v % 2 for v in seeds])
    return folder


def write_unscaled(folder, num_nodes=600, seed=1):
    """As `write`, but a node's class is known by the first of three columns, in part, and by its
    neighbours, mostly of its own class. That column's numbers are a millionth of the others'."""
    draw = random.Random(seed)
    edges = []
    for v in range(num_nodes):
        for _ in range(5):
            same = draw.random() < 0.8
            u = 2 * draw.randrange(num_nodes // 2) + (v % 2 if same else 1 - v % 2)
            edges.append((u, v))
    write(folder, num_nodes, edges)
    npy.save(folder / "feat.npy", "<f4", (num_nodes, 3), [
        x for v in range(num_nodes)
        for x in (draw.gauss(0.03 * (v % 2), 0.02), draw.gauss(50000, 20000), draw.gauss(0, 20000))])
    return folder


TYPED_METADATA = """dataset_name: typed
graph:
  nodes:
    - {type: "paper", num: 90}
    - {type: "author", num: 60}
    - {type: "unused", num: 4}
  edges:
"""
TYPED_EDGE = """    - type: "{relation}"
      format: numpy
      path: edges/{name}.npy
"""
TYPED_TASK = """feature_data:
  - domain: node
    type: "paper"
    name: feat
    format: numpy
    in_memory: false
    path: feat.npy
tasks:
  - name: classes
    num_classes: 3
"""
TYPED_SET = """    {name}:
      - type: "paper"
        data:
          - {{name: seeds, format: numpy, path: {name}_seeds.npy}}
          - {{name: labels, format: numpy, path: {name}_labels.npy}}
"""


def write_typed(folder):
    """Papers with features that say nothing, authors without features, a node type in no relation and
    a relation without edges. Paper v is of class v % 3, and so are its two authors, of whom everybody
    writes three papers: what learns must learn who the authors are."""
    edges = {"author:writes:paper": [(v % 3 + 3 * ((v // 3 + i * 7) % 20), v)
                                     for v in range(90) for i in range(2)],
             "paper:cites:paper": [(v * 7 % 90, v) for v in range(90)],
             "paper:retracts:paper": []}
    edges["paper:by:author"] = [(v, u) for u, v in edges["author:writes:paper"]]
    text = TYPED_METADATA
    for relation, pairs in edges.items():
        name = relation.split(":")[1]
        text += TYPED_EDGE.format(relation=relation, name=name)
        npy.save(folder / "edges" / f"{name}.npy", "<i8", (2, len(pairs)),
                 [u for u, _ in pairs] + [v for _, v in pairs])
    text += TYPED_TASK
    npy.save(folder / "feat.npy", "<f4", (90, 5),
             [(v * v + 3 * i) % 11 / 10 for v in range(90) for i in range(5)])
    for i, name in enumerate(SETS):
        text += TYPED_SET.format(name=name)
        seeds = [v for v in range(90) if v // 3 % 3 == i]
        npy.save(folder / f"{name}_seeds.npy", "<i8", (len(seeds),), seeds)
        npy.save(folder / f"{name}_labels.npy", "<i8", (len(seeds),), [v % 3 for v in seeds])
    (folder / "metadata.yaml").write_text(text)
    return folder


def write_edge_list(path, edges, comment="# made"):
    path.write_text(comment + "\n" + "".join(f"{u}\t{v}\n" for u, v in edges))
    return path


def read_edge_list(lines):
    """[(source, destination)] of SNAP's text."""
    return [tuple(map(int, line.split())) for line in lines if line.strip() and line[0] != "#"]


if __name__ == "__main__":  # python3 -m harness.datasets FOLDER: writes the typed graph there
    write_typed(pathlib.Path(sys.argv[1]))
