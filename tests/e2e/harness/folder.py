"""Reads a partition folder, by its layout in the design: global ids are the parts' nodes (edges of
a relation) one part after the other. What was read once is kept."""
import functools
import json
import pathlib
import urllib.parse

from harness import npy
from harness.datasets import HOMOGENEOUS_NODE, HOMOGENEOUS_RELATION


class PartitionFolder:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.parts = sorted(self.path.glob("part-*"))
        self.manifest = json.loads((self.path / "manifest.json").read_text())

    def named(self, kind):
        """Names of the folders nodes/ or edges/, decoded."""
        return sorted({urllib.parse.unquote(entry.name) for part in self.parts
                       for entry in (part / kind).iterdir()})

    @staticmethod
    def encoded(parent, name):
        """The folder of that name, however it was percent-encoded."""
        for entry in parent.iterdir():
            if urllib.parse.unquote(entry.name) == name:
                return entry
        raise FileNotFoundError(f"{parent}: nothing for '{name}'")

    def node_folder(self, part, node_type=HOMOGENEOUS_NODE):
        return self.encoded(self.parts[part] / "nodes", node_type)

    def edge_folder(self, part, relation=HOMOGENEOUS_RELATION):
        return self.encoded(self.parts[part] / "edges", relation)

    @functools.lru_cache(maxsize=None)
    def core(self, node_type=HOMOGENEOUS_NODE):
        """Per part, the original ids of its core nodes in order of global id."""
        return [list(npy.load(self.node_folder(p, node_type) / "original_ids.npy").values)
                for p in range(len(self.parts))]

    @functools.lru_cache(maxsize=None)
    def original(self, node_type=HOMOGENEOUS_NODE):
        """Original id by global id."""
        return [v for part in self.core(node_type) for v in part]

    @functools.lru_cache(maxsize=None)
    def owners(self, node_type=HOMOGENEOUS_NODE):
        """Part by original id."""
        return {v: p for p, part in enumerate(self.core(node_type)) for v in part}

    def halo(self, part, node_type=HOMOGENEOUS_NODE):
        return list(npy.load(self.node_folder(part, node_type) / "halo_ids.npy").values)

    @functools.lru_cache(maxsize=None)
    def edges(self, relation=HOMOGENEOUS_RELATION):
        """[(original edge id, source, destination)] with original node ids, by global edge id."""
        source, _, destination = relation.split(":")
        sources, found = self.original(source), []
        for p, core in enumerate(self.core(destination)):
            folder = self.edge_folder(p, relation)
            indptr = npy.load(folder / "indptr.npy").values
            indices = npy.load(folder / "indices.npy").values
            ids = npy.load(folder / "original_ids.npy").values
            assert len(indptr) == len(core) + 1 and indptr[0] == 0
            assert indptr[-1] == len(indices) == len(ids)
            for row, node in enumerate(core):
                for position in range(indptr[row], indptr[row + 1]):
                    found.append((ids[position], sources[indices[position]], node))
        return found

    def edge_cut(self):
        cut = 0
        for relation in self.named("edges"):
            source, _, destination = relation.split(":")
            sources, destinations = self.owners(source), self.owners(destination)
            cut += sum(sources[u] != destinations[v] for _, u, v in self.edges(relation))
        return cut

    def task(self, name, set_name, array, kind=HOMOGENEOUS_NODE):
        """Per part, the array of a task set."""
        return [npy.load(self.encoded(part / "tasks" / name / set_name, kind) / f"{array}.npy")
                for part in self.parts]
