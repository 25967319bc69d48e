#!/usr/bin/env python3
"""A slow oracle of the sampling contract, version 1, and the golden vectors made with it.

Written from common/sampling/SAMPLING.md alone, in the plainest way and with nothing but the
standard library, so that it shares no mistake with the C++.

    oracle.py            writes golden_v1.json beside this file
    oracle.py --check    exits 1 if that file is not what the oracle gives

The file never changes: other output is another contract version.
"""

import json
import pathlib
import sys

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


# ---- integers ---------------------------------------------------------------------------------


def mix(x):
    x &= MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def layer_key(batch_seed, layer, num_relations, relation):
    return mix(mix(batch_seed) + GOLDEN * (1 + layer * num_relations + relation))


def node_key(key, node):
    return mix(key + GOLDEN * (node + 1))


def draw(key, i):
    return mix(key + GOLDEN * (i + 1))


def bounded(value, n):
    return (value * n) >> 64


def batch_seed(seed, purpose, epoch, step, world_size, rank):
    key = mix(seed)
    for n in (purpose, epoch, step * world_size + rank):
        key = mix(key + GOLDEN * (n + 1))
    return key


# ---- picks ------------------------------------------------------------------------------------


def pick_positions(degree, fanout, replace, key):
    """Positions in a node's in-edge list, in the order drawn."""
    if fanout == -1:
        return list(range(degree))
    if replace:
        return [bounded(draw(key, i), degree) for i in range(fanout)] if degree else []
    if fanout >= degree:
        return list(range(degree))
    taken = []
    for i in range(fanout):
        j = degree - fanout + i
        t = bounded(draw(key, i), j + 1)
        taken.append(j if t in taken else t)
    return taken


# ---- graphs -----------------------------------------------------------------------------------


def triple(relation):
    return ":".join((relation["source"], relation["name"], relation["destination"]))


def renumber(graph):
    """Global ids, and per relation in contract order the in-edge lists by global destination."""
    ids = {}
    for node_type in graph["node_types"]:
        owners = node_type["owners"]
        order = sorted(range(len(owners)), key=lambda v: (owners[v], v))
        ids[node_type["name"]] = {v: g for g, v in enumerate(order)}
    relations = []
    for relation in sorted(graph["relations"], key=lambda r: triple(r).encode("utf-8")):
        sources, destinations = ids[relation["source"]], ids[relation["destination"]]
        in_edges = [[] for _ in destinations]
        for source, destination in relation["edges"]:  # ascending original edge id
            in_edges[destinations[destination]].append(sources[source])
        relations.append({"triple": triple(relation), "source": relation["source"],
                          "destination": relation["destination"], "in_edges": in_edges})
    return ids, relations


def minibatch(type_names, relations, seed_type, seeds, layers, replace, seed):
    """layers: a list of {triple: fanout}, from the seeds outward. seeds: global ids."""
    lists = {name: [] for name in type_names}

    def position(name, node):
        if node not in lists[name]:
            lists[name].append(node)
        return lists[name].index(node)

    seed_positions = [position(seed_type, node) for node in seeds]
    result, edges = [], 0
    for l, fanouts in enumerate(layers):
        destinations = {name: list(nodes) for name, nodes in lists.items()}
        blocks = []
        for r, relation in enumerate(relations):
            if relation["triple"] not in fanouts:
                continue
            key = layer_key(seed, l, len(relations), r)
            indptr, indices = [0], []
            for node in destinations[relation["destination"]]:
                in_edges = relation["in_edges"][node]
                for p in pick_positions(len(in_edges), fanouts[relation["triple"]], replace,
                                        node_key(key, node)):
                    indices.append(position(relation["source"], in_edges[p]))
                indptr.append(len(indices))
            edges += len(indices)
            blocks.append({"relation": r, "indptr": indptr, "indices": indices})
        result.append({"blocks": blocks,
                       "num_destinations": [len(destinations[name]) for name in type_names],
                       "num_sources": [len(lists[name]) for name in type_names]})
    return {"layers": result, "nodes": [lists[name] for name in type_names],
            "seed_positions": seed_positions, "sampled_edges": edges}


# ---- golden vectors ---------------------------------------------------------------------------


def hexadecimal(value):
    return f"{value:016x}"


def golden_keys():
    rows = []
    for seed, layer, count, relation, node in [
            (0, 0, 1, 0, 0), (1, 0, 1, 0, 0), (1, 1, 1, 0, 0), (1, 1, 3, 2, 7),
            (0xDEADBEEF, 2, 237, 236, 123456789), (MASK, 5, 45, 44, (1 << 40) + 3)]:
        layer_value = layer_key(seed, layer, count, relation)
        node_value = node_key(layer_value, node)
        rows.append({"batch_seed": hexadecimal(seed), "layer": layer, "num_relations": count,
                     "relation": relation, "node": node, "layer_key": hexadecimal(layer_value),
                     "node_key": hexadecimal(node_value),
                     "draws": [hexadecimal(draw(node_value, i)) for i in range(4)]})
    return rows


def golden_bounded():
    rows = []
    for i in range(6):
        for n in (1, 2, 3, 10, 1000003, (1 << 40) + 7, MASK):
            value = (0, MASK, 1 << 63, mix(1), mix(2), mix(3))[i]
            rows.append({"draw": hexadecimal(value), "n": hexadecimal(n),
                         "result": hexadecimal(bounded(value, n))})
    return rows


def golden_batch_seeds():
    rows = []
    for case in [(0, 0, 0, 0, 1, 0), (0, 1, 0, 0, 1, 0), (42, 0, 3, 17, 4, 2),
                 (42, 2, 0, 5, 2, 1), (MASK, 3, 0, 1 << 33, 8, 7)]:
        seed, purpose, epoch, step, world_size, rank = case
        rows.append({"seed": hexadecimal(seed), "purpose": purpose, "epoch": epoch, "step": step,
                     "world_size": world_size, "rank": rank,
                     "batch_seed": hexadecimal(batch_seed(*case))})
    return rows


def golden_picks():
    """Degree, fanout and mode against positions; the list of node v has sources 0..degree-1."""
    rows = []
    for degree, fanout, replace in [
            (0, 5, False), (0, 5, True), (0, -1, False), (1, 1, False), (1, 3, True),
            (7, 0, False), (7, 0, True), (7, -1, False), (7, -1, True), (7, 7, False),
            (7, 8, False), (7, 7, True), (7, 20, True), (8, 7, False), (10, 3, False),
            (10, 9, False), (1000, 15, False), (1000, 15, True), (50, 47, False), (50, 48, False),
            (50, 49, False), (1000, 100, False), (200, 199, False), (3000, 1, False),
            (100000, 64, False), (100000, 10, True)]:
        for seed, node in ((7, 0), (8, 1)):
            key = node_key(layer_key(seed, 1, 3, 2), node)
            rows.append({"degree": degree, "fanout": fanout, "replace": replace,
                         "batch_seed": seed, "layer": 1, "num_relations": 3, "relation": 2,
                         "node": node,
                         "positions": pick_positions(degree, fanout, replace, key)})
    return rows


def edges_of(key, count, sources, destinations):
    """Edges skewed to small ids, with a hub, self-loops and parallel edges where ids meet."""
    edges, i = [], 0
    while len(edges) < count:
        a, b, c = (draw(key, i + n) for n in range(3))
        i += 3
        source = bounded(a, sources)
        destination = min(bounded(b, destinations), bounded(c, destinations))
        edges.append([source, destination])
        if len(edges) % 7 == 0:
            edges.append([source, destination])
        if len(edges) % 11 == 0:
            edges.append([min(source, destinations - 1), 0])
    return edges


def golden_graph():
    """Two owners. By text 'a-:..' comes before 'a:..', though type 'a' comes before 'a-'."""
    def owners(key, count):
        return [bounded(draw(key, i), 2) for i in range(count)]
    return {
        "parts": 2,
        "node_types": [{"name": "b", "owners": owners(3, 6)},
                       {"name": "a-", "owners": owners(2, 17)},
                       {"name": "a", "owners": owners(1, 40)}],
        "relations": [
            {"source": "a", "name": "r", "destination": "a", "edges": edges_of(11, 230, 40, 40)},
            {"source": "a-", "name": "r", "destination": "a", "edges": edges_of(12, 90, 17, 40)},
            {"source": "a", "name": "\u00fcber", "destination": "a-",
             "edges": edges_of(13, 60, 40, 17)},
            {"source": "b", "name": "r", "destination": "a", "edges": edges_of(14, 25, 6, 40)},
            {"source": "a", "name": "s", "destination": "b", "edges": edges_of(15, 45, 40, 6)},
            {"source": "b", "name": "empty", "destination": "b", "edges": []}],
    }


def golden_minibatches(graph):
    type_names = sorted((t["name"] for t in graph["node_types"]), key=lambda n: n.encode("utf-8"))
    _, relations = renumber(graph)
    triples = [relation["triple"] for relation in relations]

    def every(fanout):
        return {name: fanout for name in triples}

    cases = [
        ("one layer", "a", [3, 0, 7], [every(2)], False, 1),
        ("duplicate seeds", "a", [5, 1, 5, 5, 1, 30], [every(3), every(2)], False, 2),
        ("no seeds", "a", [], [every(3), every(2)], False, 3),
        ("all seeds, two layers", "a", list(range(39, -1, -1)), [every(4), every(3)], False, 4),
        ("full neighbourhood", "a", [0, 12], [every(-1), every(-1)], False, 5),
        ("full then sampled", "b", [2, 5, 0], [every(-1), every(2), every(1)], False, 6),
        ("fanout 0 between", "a", [4, 9], [every(2), every(0), every(2)], False, 7),
        ("with replacement", "a", [0, 1, 2, 39], [every(5), every(3)], True, 8),
        ("full with replacement", "a-", [16, 0], [every(-1), every(4)], True, 9),
        ("fanout over every degree", "a", [0, 8, 21], [every(1 << 20), every(500)], False, 10),
        ("some relations", "a", [0, 2, 11],
         [{"a:r:a": 3, "b:r:a": 2}, {"a:r:a": 2, "a:s:b": 4}, {"a-:r:a": 1}], False, 11),
        ("differing fanouts", "a", [0, 2, 11, 0],
         [{name: i for i, name in enumerate(triples)}, every(2)], False, MASK),
    ]
    rows = []
    for name, seed_type, seeds, layers, replace, seed in cases:
        rows.append({"name": name, "seed_type": seed_type, "seeds": seeds,
                     "layers": [[{"relation": t, "fanout": layer[t]} for t in triples if t in layer]
                                for layer in layers],
                     "replace": replace, "batch_seed": hexadecimal(seed),
                     "expected": minibatch(type_names, relations, seed_type, seeds, layers,
                                           replace, seed)})
    return rows


def golden():
    graph = golden_graph()
    ids, relations = renumber(graph)
    return {
        "contract": 1,
        "keys": golden_keys(),
        "bounded": golden_bounded(),
        "batch_seeds": golden_batch_seeds(),
        "picks": golden_picks(),
        "graph": graph,
        "global_ids": {name: [of[v] for v in range(len(of))] for name, of in ids.items()},
        "relations": [{"triple": r["triple"], "in_edges": r["in_edges"]} for r in relations],
        "minibatches": golden_minibatches(graph),
    }


def main():
    path = pathlib.Path(__file__).with_name("golden_v1.json")
    value = golden()
    lines = []
    for key, part in value.items():  # one line a case: small, and diffs say which case
        if isinstance(part, list):
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in part)
            lines.append(f"{json.dumps(key)}:[\n{rows}]")
        else:
            lines.append(f"{json.dumps(key)}:{json.dumps(part, separators=(',', ':'))}")
    text = "{" + ",\n".join(lines) + "}\n"
    if sys.argv[1:] == ["--check"]:
        if not path.exists() or path.read_text() != text:
            sys.exit(f"{path.name} is not what the oracle gives")
        return
    path.write_text(text)


if __name__ == "__main__":
    main()
