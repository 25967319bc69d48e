#!/usr/bin/env python3
"""A slow oracle of the sampling contract, version 1, and the golden vectors made with it.

Written from common/sampling/SAMPLING.md alone, in the plainest way and with nothing but the
standard library, so that it shares no mistake with the C++.

    oracle.py            writes golden_v1.json, golden_weighted_v1.json, golden_edges_v1.json,
                         golden_labor_v1.json, golden_layer_wise_v1.json and
                         golden_graph_wise_v1.json beside this file
    oracle.py --check    exits 1 if those files are not what the oracle gives
    oracle.py --fuzz SEED FOLDER
                         writes tables and picks of random nodes to FOLDER/sampling, under the name
                         of the second file: run the tests of tests/unit/sampling_weighted that
                         compare with it under HALOGRAPH_TEST_DATA=FOLDER

The files never change: other output is another contract version.
"""

import json
import pathlib
import random
import struct
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


# ---- LABOR ------------------------------------------------------------------------------------


def pick_labor(in_edges, fanout, key):
    """Positions in a node's in-edge list: `key` is the layer's, and each source has a draw of it."""
    degree = len(in_edges)
    if fanout == -1 or degree <= fanout:
        return list(range(degree))
    SEEN.add("labor")
    return [p for p, source in enumerate(in_edges) if bounded(draw(key, source), degree) < fanout]


def labor_coefficient(degree, fanout):
    return 1.0 if fanout == -1 or degree <= fanout else float(degree) / float(fanout)


# ---- weighted picks ---------------------------------------------------------------------------


HEAVY_DEGREE, HEAVY_EDGES = 64, 10
SEEN = set()  # ways that weighted picks went: the golden vectors must have gone them all


def total(values):
    """One after the other."""
    result = 0.0
    for value in values:
        result = result + value
    return result


def set_apart(weights):
    """Positions of the heaviest edges, if they are drawn apart from the others, else none."""
    if len(weights) < HEAVY_DEGREE:
        return []
    heavy = sorted(range(len(weights)), key=lambda i: (-weights[i], i))[:HEAVY_EDGES]
    of_heavy = total(weights[i] for i in heavy)
    return heavy if of_heavy > 0.0 and of_heavy >= total(others(weights, heavy)) else []


def others(weights, heavy):
    """The weights, 0 for those set apart."""
    return [0.0 if i in heavy else weight for i, weight in enumerate(weights)]


def alias_table(weights):
    """(threshold, alias) of each in-edge of one node: Vose's method in IEEE doubles."""
    degree = len(weights)
    whole = total(weights)
    if whole == 0.0:
        return [(0, i) for i in range(degree)]
    share = [(weight / whole) * float(degree) for weight in weights]
    threshold = [0xFFFFFFFF] * degree
    alias = list(range(degree))
    small = [i for i in range(degree) if share[i] < 1.0]
    large = [i for i in range(degree) if not share[i] < 1.0]
    while small and large:
        s, g = small.pop(), large.pop()
        threshold[s] = int(share[s] * 4294967296.0)
        alias[s] = g
        share[g] = (share[g] + share[s]) - 1.0
        (small if share[g] < 1.0 else large).append(g)
    for s in small:  # left by rounding
        if weights[s] == 0.0:
            threshold[s], alias[s] = 0, weights.index(max(weights))
    return list(zip(threshold, alias))


def lane_sum(values):
    """In four lanes, as vectors add."""
    lanes = [0.0] * 4
    for i, value in enumerate(values):
        lanes[i % 4] = lanes[i % 4] + value
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])


def locate(x, values):
    """(index, rest of x) where x falls into `values` laid end to end; beyond: the last above 0."""
    last = None
    for i, value in enumerate(values):
        if x < value:
            return i, x
        if value > 0.0:
            last = i
        x = x - value
    return last, 0.0


def share_of(value):
    return float(value >> 11) * 2.0 ** -53


class Draws:
    """The i-th draw of a node: a position. Edges of `removed` that were set apart have no chance."""

    def __init__(self, weights, key):
        self.key, self.degree = key, len(weights)
        self.heavy = set_apart(weights)
        self.left = [weights[i] for i in self.heavy]
        rest = others(weights, self.heavy)
        self.rest, self.table = total(rest), alias_table(rest)
        self.keys = 2 if self.heavy else 1  # a draw takes

    def alias(self, i):
        SEEN.add("other edge" if self.heavy else "alias")
        product = draw(self.key, i) * self.degree
        slot, fraction = product >> 64, (product & MASK) >> 32
        return slot if fraction < self.table[slot][0] else self.table[slot][1]

    def __call__(self, i):
        if not self.heavy:
            return self.alias(i)
        if total(self.left) + self.rest < 2.0 ** -900:
            SEEN.add("tiny heavy")
            self.left = [weight * 2.0 ** 900 for weight in self.left]
            self.rest = self.rest * 2.0 ** 900
        of_heavy = total(self.left)
        x = share_of(draw(self.key, 2 * i)) * (of_heavy + self.rest)
        if x < of_heavy or self.rest == 0.0:
            SEEN.add("heavy edge" if self.rest > 0.0 else "heavy edges only")
            return self.heavy[locate(x, self.left)[0]]
        return self.alias(2 * i + 1)

    def remove(self, position):
        if position in self.heavy:
            self.left[self.heavy.index(position)] = 0.0


def pick_weighted(weights, fanout, replace, key):
    """Positions in a node's in-edge list, in the order drawn."""
    drawable = [i for i, weight in enumerate(weights) if weight > 0.0]
    if fanout == -1 or (not replace and fanout >= len(drawable)):
        return drawable
    if not drawable:
        return []
    draws = Draws(weights, key)
    if replace:
        return [draws(i) for i in range(fanout)]
    picked, i, limit = [], 0, 2 * fanout + len(weights) // 16
    while len(picked) < fanout and i < limit:
        position = draws(i)
        if position in picked:
            SEEN.add("repeat")
        else:
            picked.append(position)
            draws.remove(position)
        i += 1
    if len(picked) < fanout:
        SEEN.add("rest of a top-heavy node" if draws.heavy else "rest")
        pick_rest(weights, picked, fanout, key, i * draws.keys)
    return picked


def pick_rest(weights, picked, fanout, key, i):
    """Adds to `picked` what is missing, from the sums of what is left."""
    left = others(weights, picked)
    while len(picked) < fanout:
        blocks = [left[begin:begin + 64] for begin in range(0, len(left), 64)]
        sums = [lane_sum(block) for block in blocks]
        if lane_sum(sums) < 2.0 ** -900:  # too small for a share of it to be told exactly
            SEEN.add("tiny rest")
            left = [weight * 2.0 ** 900 for weight in left]
            continue
        x = share_of(draw(key, i)) * lane_sum(sums)
        block, x = locate(x, sums)
        inside, _ = locate(x, blocks[block])
        picked.append(block * 64 + inside)
        left[picked[-1]] = 0.0
        i += 1


# ---- layer-wise draws -------------------------------------------------------------------------


def root(square):
    """The largest integer whose square is at most `square`, a bit at a time."""
    result = 0
    for bit in range(square.bit_length() // 2, -1, -1):
        if (result | 1 << bit) ** 2 <= square:
            result |= 1 << bit
    return result


def degree_share(degree):
    return max(1, (1 << 32) // (degree * degree))


def candidate_weight(probability, degrees):
    """Of a source with an edge into a destination of each of these in-degrees."""
    count = len(degrees)
    if probability == "degree":
        return root(sum(degree_share(degree) for degree in degrees) << 32)
    if probability == "sqrt":
        return root(count << 32)
    return count if probability == "count" else count * count


def column_draw(key, i):
    return draw(key, 2 * i) << 64 | draw(key, 2 * i + 1)


def column_key(batch_seed_value, layer, num_relations, relation):
    return node_key(layer_key(batch_seed_value, layer, num_relations, relation), MASK)


def draw_candidates(weights, nodes, key):
    """Positions in the list of candidates, in the order picked, and the factor of each."""
    left = {j: weight for j, weight in enumerate(weights) if weight > 0}
    count = len(left)
    if nodes >= count:
        return list(left), [1.0] * count
    positions, factors = [], []
    for i in range(nodes):
        rest = sum(left.values())
        assert rest < 1 << 127
        target = (column_draw(key, i) * rest) >> 128
        for j in left:  # ascending
            if target < left[j]:
                break
            target -= left[j]
        factors.append(pick_factor(count, nodes, i, rest, left.pop(j)))
        positions.append(j)
    return positions, factors


def pick_factor(count, nodes, i, rest, weight):
    """Every integer becomes a double first; operations in this order."""
    n, s, z = float(count), float(nodes), float(count - nodes)
    before, after = float(count - i), float(count - i - 1)
    scale = (n * z) / (s * (before * after))
    certain = (float(i + 1) * z) / (s * after)
    return (1.0 - certain) + scale * (float(rest) / float(weight))


def column_degrees(in_edges, destinations):
    """By candidate source, ascending: the in-degree of the destination of each of its edges."""
    columns = {}
    for node in destinations:
        for source in in_edges[node]:
            columns.setdefault(source, []).append(len(in_edges[node]))
    return dict(sorted(columns.items()))


def edges_from(in_edges, destinations, columns):
    """By destination, then file order: offsets, the position of the source in `columns`, edge id."""
    offsets, positions, ids = [0], [], []
    for node in destinations:
        before = sum(len(of_other) for of_other in in_edges[:node])
        for p, source in enumerate(in_edges[node]):
            if source in columns:
                positions.append(columns.index(source))
                ids.append(before + p)
        offsets.append(len(ids))
    return offsets, positions, ids


def out_degrees(in_edges, sources):
    counts = [0] * sources
    for of_node in in_edges:
        for source in of_node:
            counts[source] += 1
    return counts


def drawn_columns(relation, destinations, sources, rule, key):
    """What `rule` (kind, probability, nodes) draws of a relation: [(source, factor)], as picked."""
    kind, probability, nodes = rule
    if kind == "fastgcn":
        candidates = list(range(sources))
        weights = out_degrees(relation["in_edges"], sources)
    else:
        columns = column_degrees(relation["in_edges"], destinations)
        candidates = list(columns)
        weights = [candidate_weight(probability, degrees) for degrees in columns.values()]
    some = sum(weight > 0 for weight in weights) if nodes < 0 else nodes
    positions, factors = draw_candidates(weights, some, key)
    return [(candidates[position], factor) for position, factor in zip(positions, factors)]


def layer_wise_block(relation, destinations, drawn, position, estimate, left_out):
    """The edges from `drawn` sources ({source: factor}) that are not in `left_out`."""
    block = {"indptr": [0], "indices": [], "edge_ids": [], "coefficients": [], "degrees": []}
    for node in destinations:
        in_edges = relation["in_edges"][node]
        before = sum(len(of_other) for of_other in relation["in_edges"][:node])
        kept = [p for p, source in enumerate(in_edges) if (source, node) not in left_out]
        edges = [p for p in kept if in_edges[p] in drawn]
        summed = 0.0
        for p in edges:
            summed += drawn[in_edges[p]]
        for p in edges:
            factor = to_float(drawn[in_edges[p]])
            if estimate == "normalized":
                factor = to_float(factor * (float(len(kept)) / summed))
            block["indices"].append(position(relation["source"], in_edges[p]))
            block["edge_ids"].append(before + p)
            block["coefficients"].append(float_bits(factor))
        block["indptr"].append(len(block["indices"]))
        block["degrees"].append(len(kept))
    return block


def layer_wise_minibatch(type_names, counts, relations, seeds, rule, nodes, estimate, seed, exclude):
    """rule: (kind, probability). nodes: a number a layer, of every relation, from the seeds outward."""
    lists = {name: [] for name in type_names}

    def position(name, node):
        if node not in lists[name]:
            lists[name].append(node)
        return lists[name].index(node)

    for name, ids in seeds:
        for node in ids:
            position(name, node)
    layers = []
    for l, some in enumerate(nodes):
        destinations = {name: list(ids) for name, ids in lists.items()}
        blocks = []
        for r, relation in enumerate(relations):
            of_layer = destinations[relation["destination"]]
            drawn = drawn_columns(relation, of_layer, counts[relation["source"]], (*rule, some),
                                  column_key(seed, l, len(relations), r))
            for source, _ in drawn:  # before any edge is looked at
                position(relation["source"], source)
            blocks.append(layer_wise_block(relation, of_layer, dict(drawn), position, estimate,
                                           exclude.get(relation["triple"], ())))
        layers.append(blocks)
    return {"layers": layers, "nodes": [lists[name] for name in type_names]}


# ---- graph-wise draws -------------------------------------------------------------------------


def subgraph_key(batch_seed_value):
    return node_key(mix(batch_seed_value), MASK - 1)


def among(total_value, key, i):
    return (column_draw(key, i) * total_value) >> 128


def draw_by_degree(degrees, draws, key):
    """Nodes, repeats kept, in the order drawn."""
    drawn = []
    for i in range(draws):
        target = among(sum(degrees), key, i)
        node = 0
        while target >= degrees[node]:
            target -= degrees[node]
            node += 1
        drawn.append(node)
    return drawn


def draw_uniformly(nodes, draws, key):
    return [among(nodes, key, i) for i in range(draws)]


def counted(drawn):
    """Node to count, in order of first appearance."""
    counts = {}
    for node in drawn:
        counts[node] = counts.get(node, 0) + 1
    return counts


def picked_from(in_edges, walkers, key):
    """Sources that the nodes pick with replacement, as often as they were drawn, in order."""
    picked = []
    for node, count in walkers.items():
        positions = pick_positions(len(in_edges[node]), count, True, node_key(key, node))
        picked += [in_edges[node][position] for position in positions]
    return picked


def subgraph(kind, in_edges, draws, length, seed, relations, relation):
    """The walkers at each step (of an edge, its two ends), and the list of nodes."""
    if kind == "walk":
        first = draw_uniformly(len(in_edges), draws, subgraph_key(seed))
    else:
        first = draw_by_degree([len(sources) for sources in in_edges], draws, subgraph_key(seed))
    steps = [counted(first)]
    for layer in range({"node": 0, "edge": 1, "walk": length}[kind]):
        key = layer_key(seed, layer, relations, relation)
        steps.append(counted(picked_from(in_edges, steps[-1], key)))
    return steps, list(dict.fromkeys(node for step in steps for node in step))


def draw_clusters(bounds, some, key):
    """The clusters' numbers over all parts, in the order drawn, and the list of their nodes."""
    clusters = [range(begin, end) for part in bounds for begin, end in zip(part, part[1:])]
    drawn, _ = draw_candidates([1] * len(clusters), some, key)
    return drawn, [node for cluster in drawn for node in clusters[cluster]]


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
        in_weights = [[] for _ in destinations]
        edges = relation["edges"]
        weights = relation.get("weights", [hexadecimal(0)] * len(edges))
        for (source, destination), weight in zip(edges, weights):  # ascending original edge id
            in_edges[destinations[destination]].append(sources[source])
            in_weights[destinations[destination]].append(from_bits(weight))
        relations.append({"triple": triple(relation), "source": relation["source"],
                          "destination": relation["destination"], "in_edges": in_edges,
                          "weights": in_weights})
    return ids, relations


def minibatch(type_names, relations, seeds, layers, replace, seed, weighted=False,
              columns=(), exclude=None, labor=False, one_key=False, source_degrees=False):
    """layers: a list of {triple: fanout}, from the seeds outward. seeds: (type, global ids) each.
    columns: "edge_ids", "weights" or both. exclude: {triple: [(source, destination), ...]}."""
    exclude = exclude or {}
    lists = {name: [] for name in type_names}

    def position(name, node):
        if node not in lists[name]:
            lists[name].append(node)
        return lists[name].index(node)

    seed_positions = [[position(name, node) for node in nodes] for name, nodes in seeds]
    result, edges = [], 0
    for l, fanouts in enumerate(layers):
        destinations = {name: list(nodes) for name, nodes in lists.items()}
        blocks = []
        for r, relation in enumerate(relations):
            if relation["triple"] not in fanouts:
                continue
            key = layer_key(seed, 0 if one_key else l, len(relations), r)
            block = {"relation": r, "indptr": [0], "indices": [], **{name: [] for name in columns}}
            estimates = labor and fanouts[relation["triple"]] != 0
            if labor:
                block.update({"coefficients": [], "degrees": []})
            for node in destinations[relation["destination"]]:
                in_edges = relation["in_edges"][node]
                fanout, of_node = fanouts[relation["triple"]], node_key(key, node)
                if weighted:
                    picks = pick_weighted(relation["weights"][node], fanout, replace, of_node)
                elif labor:
                    picks = pick_labor(in_edges, fanout, key)
                else:
                    picks = pick_positions(len(in_edges), fanout, replace, of_node)
                for p in picks:
                    if (in_edges[p], node) in exclude.get(relation["triple"], ()):
                        SEEN.add("left out")
                        continue
                    block["indices"].append(position(relation["source"], in_edges[p]))
                    if "edge_ids" in columns:  # edges are numbered by destination, then position
                        before = sum(len(of_other) for of_other in relation["in_edges"][:node])
                        block["edge_ids"].append(before + p)
                    if "weights" in columns:
                        block["weights"].append(float_bits(relation["weights"][node][p]))
                    if estimates:
                        factor = labor_coefficient(len(in_edges), fanout)
                        block["coefficients"].append(float_bits(factor))
                if estimates:
                    out = exclude.get(relation["triple"], ())
                    left = [source for source in in_edges if (source, node) not in out]
                    block["degrees"].append(float_bits(float(len(left))))
                block["indptr"].append(len(block["indices"]))
            edges += len(block["indices"])
            blocks.append(block)
        for block in blocks:
            relation = relations[block["relation"]]
            if (not source_degrees or not fanouts[relation["triple"]]
                    or relation["source"] != relation["destination"]):
                continue
            for node in lists[relation["source"]][len(destinations[relation["source"]]):]:
                block["degrees"].append(float_bits(float(len(relation["in_edges"][node]))))
        result.append({"blocks": blocks,
                       "num_destinations": [len(destinations[name]) for name in type_names],
                       "num_sources": [len(lists[name]) for name in type_names]})
    return {"layers": result, "nodes": [lists[name] for name in type_names],
            "seed_positions": seed_positions, "sampled_edges": edges}


# ---- golden vectors ---------------------------------------------------------------------------


def hexadecimal(value):
    return f"{value:016x}"


def float_bits(value):
    """Of the nearest float, ties to even."""
    return f"{struct.unpack('<I', struct.pack('<f', value))[0]:08x}"


def to_float(value):
    """The nearest float."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def to_bits(value):
    return hexadecimal(struct.unpack("<Q", struct.pack("<d", value))[0])


def from_bits(text):
    return struct.unpack("<d", struct.pack("<Q", int(text, 16)))[0]


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


# Name, seed type, seeds, layers, replace, batch seed. A layer is the fanout of all relations, a list
# of fanouts by relation, or those of some.
UNIFORM_CASES = [
    ("one layer", "a", [3, 0, 7], [2], False, 1),
    ("duplicate seeds", "a", [5, 1, 5, 5, 1, 30], [3, 2], False, 2),
    ("no seeds", "a", [], [3, 2], False, 3),
    ("all seeds, two layers", "a", list(range(39, -1, -1)), [4, 3], False, 4),
    ("full neighbourhood", "a", [0, 12], [-1, -1], False, 5),
    ("full then sampled", "b", [2, 5, 0], [-1, 2, 1], False, 6),
    ("fanout 0 between", "a", [4, 9], [2, 0, 2], False, 7),
    ("with replacement", "a", [0, 1, 2, 39], [5, 3], True, 8),
    ("full with replacement", "a-", [16, 0], [-1, 4], True, 9),
    ("fanout over every degree", "a", [0, 8, 21], [1 << 20, 500], False, 10),
    ("some relations", "a", [0, 2, 11],
     [{"a:r:a": 3, "b:r:a": 2}, {"a:r:a": 2, "a:s:b": 4}, {"a-:r:a": 1}], False, 11),
    ("differing fanouts", "a", [0, 2, 11, 0],
     [[0, 1, 2, 3, 4, 5], 2], False, MASK),
]


def sorted_types(graph):
    return sorted((t["name"] for t in graph["node_types"]), key=lambda n: n.encode("utf-8"))


def fanouts_of(layer, triples):
    if isinstance(layer, dict):
        return layer
    return dict(zip(triples, layer if isinstance(layer, list) else [layer] * len(triples)))


def golden_minibatches(graph, cases, weighted=False):
    type_names = sorted_types(graph)
    _, relations = renumber(graph)
    triples = [relation["triple"] for relation in relations]
    rows = []
    for name, seed_type, seeds, layers, replace, seed in cases:
        layers = [fanouts_of(layer, triples) for layer in layers]
        rows.append({"name": name, "seed_type": seed_type, "seeds": seeds,
                     "layers": [[{"relation": t, "fanout": layer[t]} for t in triples if t in layer]
                                for layer in layers],
                     "replace": replace, "batch_seed": hexadecimal(seed),
                     "expected": minibatch(type_names, relations, [(seed_type, seeds)], layers,
                                           replace, seed, weighted)})
        positions = rows[-1]["expected"]["seed_positions"]
        rows[-1]["expected"]["seed_positions"] = positions[0]  # of the only list
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
        "minibatches": golden_minibatches(graph, UNIFORM_CASES),
    }


def heavy_tail(key, count):
    """Small integers over small integers, their fourth powers, and some zeros."""
    weights = []
    for i in range(count):
        over, under = (float(1 + bounded(draw(key, 2 * i + n), 40)) for n in (0, 1))
        squared = (over / under) * (over / under)
        weights.append(0.0 if i % 9 == 4 else squared * squared)
    return weights


def golden_weights():
    """Name and weights of one node's in-edges."""
    return [
        ("none", []),
        ("one", [3.5]),
        ("one zero", [0.0]),
        ("all zero", [0.0] * 5),
        ("one of five", [0.0, 0.0, 1e-300, 0.0, 0.0]),
        ("all equal", [0.1] * 10),
        ("ascending", [float(i) for i in range(12)]),
        ("zeros between", [float(i % 3) for i in range(30)]),
        ("one dominant", [1e-30] * 6 + [1e30] + [1e-30] * 6),
        ("powers", [float(1 << (4 * i)) for i in range(14)]),
        ("geometric", [10.0 ** -(20 * i) for i in range(15)]),
        ("denormal", [5e-324 * float(1 + i % 4) for i in range(9)]),
        ("denormal beside a dominant", [1.0] + [5e-324 * float(i) for i in range(1, 6)]),
        ("smallest and largest", [5e-324, 1e307, 5e-324, 1e307, 2.5e-308]),
        ("heavy tail, a block and one", heavy_tail(21, 65)),
        ("heavy tail, 400", heavy_tail(22, 400)),
        ("dominant among 2000", [1e18 if i == 1234 else float(1 + i % 5) for i in range(2000)]),
        ("two blocks matter", [1e12 if i in (3, 170) else 1e-12 * float(i % 2)
                               for i in range(200)]),
        ("heavy tail, one below a block", heavy_tail(23, 63)),
        ("heavy tail, a block", heavy_tail(24, 64)),
        ("equal, a block", [0.3] * 64),
        ("equal, 100", [1.0] * 100),
        ("ten as heavy as the others", [27.0 if i % 6 == 5 and i < 60 else 5.0 for i in range(64)]),
        ("ten less heavy than the others", [27.0 if i % 6 == 5 and i < 60 else 5.0 + float(i == 63)
                                            for i in range(64)]),
        ("ten of 90", [float(1 + i) if i % 9 == 2 else 0.0 for i in range(90)]),
        ("eleven of 99", [float(1 << i % 37) if i % 9 == 2 else 0.0 for i in range(99)]),
        ("600 decades", [1.5 * 10.0 ** (300 - 6 * (37 * i % 101)) for i in range(101)]),
        ("powers, 70", [2.0 ** (10 * (11 * i % 70)) for i in range(70)]),
        ("denormal, 70", [5e-324 * float(1 + (1000 if i % 8 == 3 else i % 5)) for i in range(70)]),
        ("tiny beside dominants", [1e30 if i in (2, 68) else 1e-290 * 10.0 ** -(i % 19)
                                   for i in range(70)]),
        ("squares, 4096", [(4096.0 / float(1 + 1597 * i % 4096)) * (4096.0 / float(1 + 1597 * i % 4096))
                           for i in range(4096)]),
    ]


def random_weights(seed):
    """Name and weights of one node's in-edges: sizes about the borders, up to 600 decades."""
    rng = random.Random(seed)
    degree = rng.choice([rng.randrange(1, 40), 63, 64, 65, 128, rng.randrange(64, 400), 1000])
    power = rng.choice([0.0, 0.5, 1.0, 2.0, 8.0, 60.0])
    unit = 10.0 ** rng.choice([0, 0, 100, -100, -300, -318])
    zeros = rng.choice([0.0, 0.0, 0.2, 0.9])
    weights = [0.0 if rng.random() < zeros else min(unit * (1.0 - rng.random()) ** -power, 1e300)
               for _ in range(degree)]
    for _ in range(rng.choice([0, 0, 1, 3, 12])):
        weights[rng.randrange(degree)] = 1e18 * unit if unit < 1e200 else 1e300
    return f"random {seed}", weights


def golden_tables(nodes):
    rows = []
    for name, weights in nodes:
        heavy = set_apart(weights)
        rest = others(weights, heavy)
        table = alias_table(rest)
        rows.append({"name": name, "weights": [to_bits(weight) for weight in weights],
                     "heavy": heavy, "rest": to_bits(total(rest)),
                     "drawable": sum(weight > 0.0 for weight in weights),
                     "thresholds": [threshold for threshold, _ in table],
                     "aliases": [alias for _, alias in table]})
    return rows


def golden_weighted_picks(nodes):
    rows = []
    for table, (_, weights) in enumerate(nodes):
        fanouts = sorted({-1, 0, 1, 2, 5, 10, len(weights) // 2, max(0, len(weights) - 1),
                          len(weights)})
        for fanout in (f for f in fanouts if f <= 100):
            for replace in (False, True):
                for seed, node in ((7, 0), (8, 1)):
                    key = node_key(layer_key(seed, 1, 3, 2), node)
                    rows.append({"table": table, "fanout": fanout, "replace": replace,
                                 "node_key": hexadecimal(key),
                                 "positions": pick_weighted(weights, fanout, replace, key)})
    return rows


def golden_weighted_graph():
    graph = golden_graph()
    for i, relation in enumerate(graph["relations"]):
        weights = heavy_tail(31 + i, len(relation["edges"]))
        relation["weights"] = [to_bits(weight) for weight in weights]
    return graph


WEIGHTED_CASES = [
    ("without replacement", "a", list(range(39, -1, -1)), [4, 3], False, 21),
    ("with replacement", "a", [0, 1, 2, 39, 1], [5, 3], True, 22),
    ("full neighbourhood", "a", [0, 12], [-1, -1], False, 23),
    ("fanout over every degree", "b", [2, 5, 0], [500, 1 << 20], False, 24),
    ("some relations", "a", [0, 2, 11],
     [{"a:r:a": 9, "b:r:a": 2}, {"a:r:a": 0, "a:s:b": 4}, {"a-:r:a": 1}], False, 25),
]


def golden_weighted():
    graph = golden_weighted_graph()
    picks = golden_weighted_picks(golden_weights())
    assert SEEN == {"alias", "repeat", "rest", "tiny rest", "heavy edge", "heavy edges only",
                    "other edge", "tiny heavy", "rest of a top-heavy node"}, SEEN
    return {
        "contract": 1,
        "tables": golden_tables(golden_weights()),
        "picks": picks,
        "graph": graph,
        "minibatches": golden_minibatches(graph, WEIGHTED_CASES, weighted=True),
    }


def some_edges(relations, name, every, first=0):
    """Every so many-th edge of a relation in global ids, as (source, destination)."""
    in_edges = next(r["in_edges"] for r in relations if r["triple"] == name)
    return [(s, d) for d, sources in enumerate(in_edges) for s in sources][first::every]


def with_reverses(edges):
    return edges + [(d, s) for s, d in edges]


def ends_of(edges):
    return [end for edge in edges for end in edge]


def edge_cases(relations):
    """Name, seeds by type, layers, replace, batch seed, whether by weight, columns, edges left out."""
    ids, both = ("edge_ids",), ("edge_ids", "weights")
    link = some_edges(relations, "a:r:a", 23)
    into_a = some_edges(relations, "a-:r:a", 4, 1)
    all_into = {name: [(s, d) for s, d in some_edges(relations, name, 1) if d in (0, 3)]
                for name in ("a:r:a", "a-:r:a", "b:r:a")}
    nowhere = [(s, s) for s in range(17)]
    everything = {r["triple"]: some_edges(relations, r["triple"], 1) for r in relations}
    return [
        ("several seed types", [("a", [3, 0, 3]), ("a-", []), ("b", [5, 2])], [3, 2], False, 41,
         False, (), {}),
        ("edge ids", [("a", [3, 0, 7])], [2, 3], False, 42, False, ids, {}),
        ("edge ids of every edge", [("a", list(range(40)))], [-1], False, 43, False, ids, {}),
        ("edge ids with replacement", [("a", [0, 1, 39]), ("b", [0])], [5, 3], True, 44, False, ids,
         {}),
        ("edge ids by weight", [("a", list(range(39, -1, -1)))], [4, 3], False, 45, True, ids, {}),
        ("weights", [("a", [0, 12])], [-1, 4], False, 46, True, ("weights",), {}),
        ("edge ids and weights with replacement", [("a", [0, 1, 2]), ("a-", [4])], [5, 3], True, 47,
         True, both, {}),
        ("edge ids and weights where some relations are not drawn", [("a", [0, 2, 11])],
         [{"a:r:a": 9, "b:r:a": 2}, {"a:r:a": 0, "a:s:b": 4}], False, 48, True, both, {}),
        ("seed edges and their reverses left out", [("a", ends_of(link))], [6, 3], False, 49, False,
         ids, {"a:r:a": with_reverses(link)}),
        ("left out of every in-edge", [("a", ends_of(link))], [-1, -1], False, 50, False, (),
         {"a:r:a": with_reverses(link)}),
        ("left out of several relations", [("a", [d for _, d in into_a]), ("b", [1])], [4, 4], True,
         51, False, ids, {"a-:r:a": into_a, "a:r:a": with_reverses(link)}),
        ("left out by weight", [("a", ends_of(link))], [5, 4], False, 52, True, both,
         {"a:r:a": with_reverses(link), "b:r:a": some_edges(relations, "b:r:a", 2)}),
        ("all in-edges of two nodes left out", [("a", [0, 3, 5])], [-1, 2], False, 53, False, ids,
         all_into),
        ("left out what there is not", [("a", [1, 4])], [3, 3], False, 54, False, ids,
         {"a-:r:a": nowhere, "b:empty:b": [(0, 0)]}),
        ("everything left out", [("a", list(range(8)))], [3, -1], False, 55, False, ids, everything),
    ]


def golden_edges():
    graph = golden_weighted_graph()
    type_names = sorted_types(graph)
    _, relations = renumber(graph)
    triples = [relation["triple"] for relation in relations]
    rows = []
    for name, seeds, layers, replace, seed, weighted, columns, exclude in edge_cases(relations):
        layers = [fanouts_of(layer, triples) for layer in layers]
        SEEN.discard("left out")
        expected = minibatch(type_names, relations, seeds, layers, replace, seed, weighted, columns,
                             exclude)
        assert ("left out" in SEEN) == (bool(exclude) and "there is not" not in name), name
        rows.append({"name": name,
                     "seeds": [{"type": of, "ids": nodes} for of, nodes in seeds],
                     "layers": [[{"relation": t, "fanout": layer[t]} for t in triples if t in layer]
                                for layer in layers],
                     "replace": replace, "batch_seed": hexadecimal(seed), "weighted": weighted,
                     "columns": columns,
                     "exclude": [{"relation": t, "sources": [s for s, _ in exclude[t]],
                                  "destinations": [d for _, d in exclude[t]]}
                                 for t in triples if t in exclude],
                     "expected": expected})
    return {"contract": 1, "graph": graph, "minibatches": rows}


def labor_cases(relations):
    """Name, seeds by type, layers, batch seed, one key, source degrees, edge ids, edges left out."""
    link = some_edges(relations, "a:r:a", 23)
    everything = {r["triple"]: some_edges(relations, r["triple"], 1) for r in relations}
    return [
        ("two layers", [("a", [3, 0, 7, 3])], [2, 3], 91, False, False, False, {}),
        ("three layers by one key", [("a", [3, 0, 7])], [2, 2, 2], 92, True, True, True, {}),
        ("many seeds of several types", [("a", list(range(39, -1, -1))), ("b", [5, 2])], [1, 2], 93,
         False, True, False, {}),
        ("every edge", [("a", [0, 1, 39])], [-1, 100], MASK, False, True, True, {}),
        ("one edge a node", [("a", list(range(40)))], [1, 1], 94, True, False, True, {}),
        ("some relations only", [("a", [0, 2, 11])],
         [{"a:r:a": 2, "b:r:a": 1}, {"a:r:a": 0, "a:s:b": 1}], 95, False, True, False, {}),
        ("no seeds", [("a", [])], [2], 96, False, True, True, {}),
        ("seed edges and their reverses left out", [("a", ends_of(link))], [2, 3], 97, False, True,
         True, {"a:r:a": with_reverses(link)}),
        ("everything left out", [("a", list(range(8)))], [2, -1], 98, True, True, False, everything),
    ]


def golden_labor():
    graph = golden_weighted_graph()
    for relation in graph["relations"]:
        relation.pop("weights", None)
    type_names = sorted_types(graph)
    _, relations = renumber(graph)
    triples = [relation["triple"] for relation in relations]
    rows = []
    for name, seeds, layers, seed, one_key, sources, edge_ids, exclude in labor_cases(relations):
        layers = [fanouts_of(layer, triples) for layer in layers]
        columns = ("edge_ids",) if edge_ids else ()
        expected = minibatch(type_names, relations, seeds, layers, False, seed, False, columns, exclude,
                             True, one_key, sources)
        rows.append({"name": name,
                     "seeds": [{"type": of, "ids": nodes} for of, nodes in seeds],
                     "layers": [[{"relation": t, "fanout": layer[t]} for t in triples if t in layer]
                                for layer in layers],
                     "replace": False, "batch_seed": hexadecimal(seed), "sampler": "labor",
                     "one_key": one_key, "source_degrees": sources, "columns": columns,
                     "exclude": [{"relation": t, "sources": [s for s, _ in exclude[t]],
                                  "destinations": [d for _, d in exclude[t]]}
                                 for t in triples if t in exclude],
                     "expected": expected})
    assert "labor" in SEEN
    return {"contract": 1, "graph": graph, "minibatches": rows}


PROBABILITIES = ("degree", "sqrt", "count", "count2")


def golden_candidate_lists():
    """Name and W of a list of candidates; 0: none."""
    powers = [1 << (7 * i % 64) for i in range(300)]
    return [
        ("none", []),
        ("one", [5]),
        ("squares", [e * e for e in (1, 3, 2, 2, 7, 1, 1, 4)]),
        ("equal, a block", [1] * 64),
        ("equal, a block and one", [3] * 65),
        ("two levels and one", [1 + i % 5 for i in range(4097)]),
        ("three levels", [1 + bounded(draw(71, i), 9) ** 2 for i in range(9000)]),
        ("zeros between", [0 if i % 3 == 1 else 1 + i for i in range(200)]),
        ("powers: a sum of more than 64 bits", powers),
        ("all bits", [MASK] * 130),
        ("all bits beside ones", [MASK if i % 50 == 7 else 1 for i in range(140)]),
        ("a sum of 64 bits", [1 << 57] * 127 + [(1 << 57) - 1]),
        ("a sum of 65 bits", [1 << 57] * 128),
        ("one dominant", [1 << 50 if i == 77 else 1 for i in range(150)]),
    ]


def golden_candidate_draws():
    rows = []
    for index, (_, weights) in enumerate(golden_candidate_lists()):
        count = sum(weight > 0 for weight in weights)
        sizes = {0, 1, 4, min(count // 2, 40)}
        if count <= 300:  # the oracle is slow
            sizes |= {max(0, count - 1), count, count + 3}
        for nodes in sorted(sizes):
            for seed, layer, relations, relation in ((7, 1, 1, 0), (MASK, 0, 6, 5)):
                key = column_key(seed, layer, relations, relation)
                positions, factors = draw_candidates(weights, nodes, key)
                rows.append({"list": index, "nodes": nodes, "batch_seed": hexadecimal(seed), "layer": layer,
                             "num_relations": relations, "relation": relation,
                             "column_key": hexadecimal(key), "positions": positions,
                             "factors": [to_bits(factor) for factor in factors]})
    return rows


def golden_roots():
    numbers = {0, 1, 2, 3, 5, 1 << 32, MASK, MASK - 1, (1 << 63) + 12345}
    for i in range(60):
        numbers.add(draw(72, i) >> i)
        square = bounded(draw(73, i), 1 << 32) ** 2
        numbers.update(n & MASK for n in (square, square - 1, square + 1))
    return [{"x": hexadecimal(x), "root": root(x << 32)} for x in sorted(numbers)]


def golden_layer(relations, index, destinations, probability, nodes, layer, seed):
    in_edges = relations[index]["in_edges"]
    columns = column_degrees(in_edges, destinations)
    weights = [candidate_weight(probability, degrees) for degrees in columns.values()]
    key = column_key(seed, layer, len(relations), index)
    positions, factors = draw_candidates(weights, nodes, key)
    candidates = list(columns)
    picked = sorted(candidates[position] for position in positions)
    offsets, edge_columns, ids = edges_from(in_edges, destinations, picked)
    return {"relation": index, "destinations": destinations, "probability": probability,
            "nodes": nodes, "layer": layer, "batch_seed": hexadecimal(seed),
            "candidates": candidates,
            "sums": [sum(map(degree_share, degrees)) if probability == "degree" else len(degrees)
                     for degrees in columns.values()],
            "weights": weights, "positions": positions,
            "factors": [to_bits(factor) for factor in factors],
            "columns": picked, "offsets": offsets, "edge_columns": edge_columns, "edge_ids": ids,
            "degrees": [len(in_edges[node]) for node in destinations]}


def golden_layers(relations):
    rows = []
    for index, relation in enumerate(relations):
        count = len(relation["in_edges"])
        for step, probability in enumerate(PROBABILITIES):
            for some, nodes in ((list(range(count - 1, -1, -1)), 5), (list(range(0, count, 3)), 2),
                                ([count // 2], 100), ([], 4)):
                rows.append(golden_layer(relations, index, some, probability, nodes, step % 3,
                                         80 + step))
    return rows


def golden_layer_wise_minibatches(graph, relations):
    type_names = sorted_types(graph)
    counts = {t["name"]: len(t["owners"]) for t in graph["node_types"]}
    rows = []
    for step, (kind, probability, estimate, nodes) in enumerate((
            ("ladies", "degree", "unbiased", [3, 4]), ("ladies", "sqrt", "normalized", [2, -1]),
            ("ladies", "count", "unbiased", [5, 2, 3]), ("ladies", "count2", "normalized", [4]),
            ("fastgcn", "count", "unbiased", [6, 5]), ("fastgcn", "count", "normalized", [-1, 4]))):
        seeds = [(name, list(range(step % 3, counts[name], 7))) for name in type_names]
        exclude = {}
        for relation in relations[step % 2::2]:  # every fourth edge of some
            pairs = [(source, node) for node, of_node in enumerate(relation["in_edges"])
                     for source in of_node]
            exclude[relation["triple"]] = pairs[step::4]
        rows.append({"kind": kind, "probability": probability, "estimate": estimate,
                     "nodes": nodes, "batch_seed": hexadecimal(900 + step),
                     "seeds": [ids for _, ids in seeds],
                     "exclude": [{"relation": r, "pairs": exclude[relation["triple"]]}
                                 for r, relation in enumerate(relations)
                                 if relation["triple"] in exclude],
                     "expected": layer_wise_minibatch(type_names, counts, relations, seeds,
                                                      (kind, probability), nodes, estimate,
                                                      900 + step, exclude)})
    return rows


def golden_layer_wise():
    graph = golden_graph()
    _, relations = renumber(graph)
    return {
        "contract": 1,
        "roots": golden_roots(),
        "shares": [{"degree": d, "share": degree_share(d)}
                   for d in (1, 2, 3, 10, 1000, 46341, 65535, 65536, 65537, 1 << 31, 1 << 40)],
        "lists": [{"name": name, "weights": weights} for name, weights in golden_candidate_lists()],
        "draws": golden_candidate_draws(),
        "graph": graph,
        "layers": golden_layers(relations),
        "layer_wise_minibatches": golden_layer_wise_minibatches(graph, relations),
        "minibatches": [],
    }


def rows_of(drawn):
    counts = counted(drawn)
    return {"drawn_nodes": list(counts), "counts": list(counts.values())}


def golden_degree_lists():
    return [
        ("none", []),
        ("one", [3]),
        ("no edges", [0, 0]),
        ("zeros before, between and after", [0, 0, 2, 0, 5, 1, 0]),
        ("a block", [1] * 64),
        ("zeros up to a block", [0] * 64 + [4, 0, 1]),
        ("blocks of zeros", [0 if 60 <= i < 200 else 1 + i % 3 for i in range(300)]),
        ("largest", [(1 << 32) - 1] * 3 + [1] + [(1 << 32) - 1] * 70),
        ("squares", [bounded(draw(91, i), 60) ** 2 for i in range(500)]),
    ]


def golden_degree_draws():
    rows = []
    for index, (_, degrees) in enumerate(golden_degree_lists()):
        for draws, seed in ((0, 5), (1, 6), (40, 7), (200, MASK)):
            if draws and not sum(degrees):
                continue
            drawn = draw_by_degree(degrees, draws, subgraph_key(seed))
            rows.append({"list": index, "draws": draws, "batch_seed": hexadecimal(seed), **rows_of(drawn)})
    return rows


def golden_uniform_draws():
    return [{"nodes": nodes, "draws": draws, "batch_seed": hexadecimal(seed),
             **rows_of(draw_uniformly(nodes, draws, subgraph_key(seed)))}
            for nodes, draws, seed in ((1, 3, 1), (7, 30, 2), (1000, 50, 3), (1 << 40, 20, MASK), (9, 0, 4))]


def golden_subgraphs(relations):
    rows = []
    index = [relation["triple"] for relation in relations].index("a:r:a")
    in_edges = relations[index]["in_edges"]
    for seed, (kind, draws, length) in enumerate([
            ("node", 25, 0), ("edge", 1, 0), ("edge", 12, 0), ("edge", 300, 0), ("walk", 5, 0), ("walk", 6, 1),
            ("walk", 8, 2), ("walk", 3, 7), ("walk", 200, 3), ("walk", 0, 2),
            ("walk", 12, 4)]):  # walkers meet
        steps, nodes = subgraph(kind, in_edges, draws, length, seed, len(relations), index)
        rows.append({"kind": kind, "draws": draws, "batch_seed": hexadecimal(seed), "relation": index,
                     "steps": [{"nodes": list(step), "counts": list(step.values())} for step in steps],
                     "nodes": nodes})
    assert not all(in_edges), "no walk can end"
    return rows


def golden_cluster_draws():
    rows = []
    for seed, (bounds, some) in enumerate([
            ([[0, 3, 5, 9], [9, 10, 14, 17, 20]], 2), ([[0, 3, 5, 9], [9, 10, 14, 17, 20]], 6),
            ([[0, 3, 5, 9], [9, 10, 14, 17, 20]], 7), ([[0, 3, 5, 9], [9, 10, 14, 17, 20]], 50),
            ([[0, 40]], 1), ([[0, 5, 12, 30], [30], [30, 40]], 3),  # a part without nodes
            ([list(range(0, 40, 2)) + [40]], 5), ([list(range(41))], 30)]):
        drawn, nodes = draw_clusters(bounds, some, subgraph_key(seed))
        rows.append({"bounds": bounds, "draws": some, "batch_seed": hexadecimal(seed),
                     "clusters": drawn, "nodes": nodes})
    return rows


def golden_graph_wise():
    graph = golden_graph()
    _, relations = renumber(graph)
    return {
        "contract": 1,
        "keys": [{"batch_seed": hexadecimal(seed), "subgraph_key": hexadecimal(subgraph_key(seed))}
                 for seed in (0, 1, 7, MASK, 0x0123456789ABCDEF)],
        "lists": [{"name": name, "degrees": degrees} for name, degrees in golden_degree_lists()],
        "degree_draws": golden_degree_draws(),
        "uniform_draws": golden_uniform_draws(),
        "graph": graph,
        "subgraphs": golden_subgraphs(relations),
        "clusters": golden_cluster_draws(),
        "minibatches": [],
    }


def write_or_check(path, value, check):
    lines = []
    for key, part in value.items():  # one line a case: small, and diffs say which case
        if isinstance(part, list):
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in part)
            lines.append(f"{json.dumps(key)}:[\n{rows}]")
        else:
            lines.append(f"{json.dumps(key)}:{json.dumps(part, separators=(',', ':'))}")
    text = "{" + ",\n".join(lines) + "}\n"
    if not check:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        sys.exit(f"{path.name} is not what the oracle gives")


def fuzz(seed, folder):
    nodes = [random_weights(seed * 1000 + i) for i in range(300)]
    path = folder / "sampling" / "golden_weighted_v1.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_or_check(path, {"tables": golden_tables(nodes), "picks": golden_weighted_picks(nodes)},
                   False)


def main():
    if sys.argv[1:2] == ["--fuzz"]:
        fuzz(int(sys.argv[2]), pathlib.Path(sys.argv[3]))
        return
    check = sys.argv[1:] == ["--check"]
    here = pathlib.Path(__file__)
    write_or_check(here.with_name("golden_v1.json"), golden(), check)
    write_or_check(here.with_name("golden_weighted_v1.json"), golden_weighted(), check)
    write_or_check(here.with_name("golden_edges_v1.json"), golden_edges(), check)
    write_or_check(here.with_name("golden_labor_v1.json"), golden_labor(), check)
    write_or_check(here.with_name("golden_layer_wise_v1.json"), golden_layer_wise(), check)
    write_or_check(here.with_name("golden_graph_wise_v1.json"), golden_graph_wise(), check)


if __name__ == "__main__":
    main()
