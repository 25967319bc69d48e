#!/usr/bin/env python3
"""Partitioning real graphs: what went in is found again, counted by other code than made it."""
import bisect
import gzip
import json
import random
import re
import shutil
import signal
import unittest

from harness import datasets, minibatches, npy, programs
from harness.folder import PartitionFolder
from harness.programs import must


def partition(box, source, output, *options, parts=2, method="metis"):
    return box.run("halograph-partition", "run", "--input", source, "--output", output, "--parts",
                   parts, "--method", method, "--seed", 1, *options)


class PartitionBase(programs.ProgramTest):
    def made(self, source, *options, **keywords):
        """A new partition folder of `source`."""
        path = self.box.folder / f"graph{len(self.box.processes)}"
        must(partition(self.box, source, path, *options, **keywords))
        return PartitionFolder(path)

    def verified(self, source, folder):
        self.assertCode(0, self.box.run("halograph-partition", "verify", "--input", source,
                                        "--graph", folder.path))

    def inspected(self, folder):
        result = must(self.box.run("halograph-partition", "inspect", "--graph", folder.path, "--json"))
        return json.loads(result.out)


def on_each_graph(test):
    """Runs `test(self, folder, parts)` on every graph of the class."""
    def run(self):
        for (method, parts), folder in self.graphs.items():
            with self.subTest(method=method, parts=parts):
                test(self, folder, parts)
    return run


class CoraTest(PartitionBase):
    """The graph that the repository carries."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.input = datasets.GraphBolt(datasets.cora())
        cls.graphs = {}
        for method, parts in (("metis", 2), ("metis", 4), ("random", 2), ("random", 4)):
            path = cls.shared.folder / f"{method}{parts}"
            must(partition(cls.shared, datasets.cora(), path, parts=parts, method=method))
            cls.graphs[method, parts] = PartitionFolder(path)

    @on_each_graph
    def test_verify_finds_everything(self, folder, parts):
        self.verified(datasets.cora(), folder)

    @on_each_graph
    def test_every_node_has_one_owner(self, folder, parts):
        self.assertEqual(parts, len(folder.parts))
        self.assertEqual(list(range(2708)), sorted(folder.original()))

    @on_each_graph
    def test_every_edge_is_with_the_owner_of_its_destination(self, folder, parts):
        wanted = sorted((i, u, v) for i, (u, v) in enumerate(self.input.edge_list()))
        self.assertEqual(wanted, sorted(folder.edges()))

    @on_each_graph
    def test_in_edges_of_a_node_ascend_by_original_edge_id(self, folder, parts):
        last = {}
        for edge, _, node in folder.edges():
            self.assertLess(last.get(node, -1), edge)
            last[node] = edge

    @on_each_graph
    def test_halo_nodes_are_the_foreign_sources(self, folder, parts):
        owners, original = folder.owners(), folder.original()
        position = {v: i for i, v in enumerate(original)}
        for p in range(parts):
            foreign = {position[u] for _, u, v in folder.edges()
                       if owners[v] == p and owners[u] != p}
            self.assertEqual(sorted(foreign), folder.halo(p))

    def test_feature_rows_follow_their_nodes(self):
        wanted = npy.load(self.input.features["node", "feat"])
        folder = self.graphs["metis", 2]
        for p, core in enumerate(folder.core()):
            found = npy.load(folder.node_folder(p) / "features" / "feat.npy")
            self.assertEqual((len(core), 1433), found.shape)
            self.assertEqual(wanted.descr, found.descr)
            for row, node in enumerate(core):
                self.assertEqual(wanted.row(node), found.row(row))

    @on_each_graph
    def test_labels_follow_their_seeds_in_input_order(self, folder, parts):
        original, owners = folder.original(), folder.owners()
        for (name, _), paths in self.input.tasks.items():
            pairs = list(zip(npy.load(paths["seeds"]).values, npy.load(paths["labels"]).values))
            seeds = folder.task("node_classification", name, "seeds")
            labels = folder.task("node_classification", name, "labels")
            for p in range(parts):
                found = list(zip((original[g] for g in seeds[p].values), labels[p].values))
                self.assertEqual([pair for pair in pairs if owners[pair[0]] == p], found)

    @on_each_graph
    def test_edge_cut_of_inspect_is_the_number_of_crossing_edges(self, folder, parts):
        self.assertEqual(folder.edge_cut(), self.inspected(folder)["edge_cut"])

    @on_each_graph
    def test_inspect_counts_core_halo_edges_and_train_nodes(self, folder, parts):
        text = must(self.box.run("halograph-partition", "inspect", "--graph", folder.path)).out
        core = [len(part) for part in folder.core()]
        halo = [len(folder.halo(p)) for p in range(parts)]
        owners, edges = folder.owners(), [0] * parts
        for _, _, v in folder.edges():
            edges[owners[v]] += 1
        train = [len(seeds) for seeds in folder.task("node_classification", "train", "seeds")]
        numbers = text.replace(",", "")
        for counts in (core, halo, edges, train):
            for count in counts:
                self.assertRegex(numbers, rf"\b{count}\b")

    def test_metis_cuts_less_than_random(self):
        for parts in (2, 4):
            self.assertLess(self.graphs["metis", parts].edge_cut(),
                            self.graphs["random", parts].edge_cut() / 2)

    def test_same_seed_gives_the_same_files(self):
        first, again = self.graphs["metis", 2], self.made(datasets.cora())
        for path in sorted(p for p in first.path.rglob("*.npy")):
            other = again.path / path.relative_to(first.path)
            self.assertEqual(path.read_bytes(), other.read_bytes(), str(path))
        self.assertEqual(first.manifest["identity"], again.manifest["identity"])

    def test_a_folder_that_is_whole_is_done_where_stdout_is_closed(self):
        output = self.box.folder / "graph"
        result = self.box.run("halograph-partition", "run", "--input", datasets.cora(), "--output",
                              output, "--parts", 2, out=programs.CLOSED)
        self.assertEqual(0, result.code, str(result))
        self.assertRegex(result.err, "warning .*writing to stdout: .*the work is done")
        inspected = self.box.run("halograph-partition", "inspect", "--graph", output,
                                 out=programs.CLOSED)
        self.assertEqual(1, inspected.code, str(inspected))
        self.assertIn("writing to stdout", inspected.err)

    def verified_with(self, path, change):
        """Verifies the graph against a copy of its input in which `change` was made to a file."""
        changed = datasets.copy_of(datasets.cora(), self.box.folder / "cora")
        array = npy.load(changed / path)
        change(array.values)
        npy.save(changed / path, array.descr, array.shape, array.values)
        return self.box.run("halograph-partition", "verify", "--input", changed, "--graph",
                            self.graphs["metis", 2].path)

    def test_verify_names_a_changed_feature(self):
        def change(values):
            values[1433 * 17 + 3] ^= 1
        self.assertCode(1, self.verified_with("features/feat.npy", change), "feat", "17")

    def test_verify_names_a_changed_label(self):
        def change(values):
            values[5] = (values[5] + 1) % 7
        self.assertCode(1, self.verified_with("tasks/train_labels.npy", change), "label", "train")

    def test_verify_names_a_changed_edge(self):
        def change(values):
            values[1234] = (values[1234] + 1) % 2708
        self.assertCode(1, self.verified_with("edges/edge.npy", change), "1234")

    def test_verify_names_a_changed_split(self):
        def change(values):
            values[0] = 3
        self.assertCode(1, self.verified_with("tasks/test_seeds.npy", change), "test")


class QualityTest(PartitionBase):
    """METIS into four parts: the cut against that of random owners, and the balance."""

    def check(self, source, most):
        metis, random = (self.made(source, parts=4, method=method) for method in ("metis", "random"))
        self.assertLessEqual(metis.edge_cut(), most * random.edge_cut())
        core = metis.core()
        self.balanced([len(part) for part in core], 1.05)
        owners, edges = metis.owners(), [0] * 4
        for _, _, v in metis.edges():
            edges[owners[v]] += 1
        self.balanced(edges, 1.12)
        return metis

    def balanced(self, counts, most):
        self.assertLessEqual(max(counts) * len(counts), most * sum(counts), counts)

    def test_amazon_photo(self):
        metis = self.check(datasets.real("amazon-photo"), 0.30)
        train = metis.task("node_classification", "train", "seeds")
        self.balanced([len(seeds) for seeds in train], 1.05)

    def test_email_enron(self):
        self.check(datasets.real("snap") / "email-Enron.txt.gz", 0.40)


class SubPartsTest(PartitionBase):
    """Parts that are divided among the trainers of their machine."""

    def counted(self, folder, ranks):
        """Every node is a seed: a minibatch of few seeds shares hardly any remote row either way."""
        nodes = range(sum(len(part) for part in folder.core()))
        return [minibatches.count(folder, nodes, ranks, batch_size=50, fanouts=[5, 5], seed=draw)
                for draw in range(3)]

    def test_minibatches_have_fewer_input_nodes_and_remote_rows(self):
        for method in ("metis", "stream-metis"):
            for each in (2, 4):
                with self.subTest(method=method, trainers_per_part=each):
                    whole = self.made(datasets.cora(), method=method)
                    divided = self.made(datasets.cora(), "--trainers-per-part", each, method=method)
                    self.assertEqual(whole.owners(), divided.owners())
                    self.verified(datasets.cora(), divided)
                    before, after = (self.counted(folder, 2 * each) for folder in (whole, divided))
                    for what, most in (("minibatches", 1), ("input_nodes", 0.9), ("remote_rows", 0.98)):
                        with self.subTest(what):
                            was, now = (sum(getattr(counts, what) for counts in side)
                                        for side in (before, after))
                            self.assertLessEqual(now, most * was)

    def test_sub_parts_are_ranges_with_even_training_nodes(self):
        folder = self.made(datasets.cora(), "--trainers-per-part", 4)
        options = folder.manifest["options"]
        self.assertEqual(4, options["trainers_per_part"])
        sizes = options["report"]["sub_parts"]["nodes"]["node"]
        train = folder.task("node_classification", "train", "seeds")
        start = 0
        for part, core in enumerate(folder.core()):
            self.assertEqual(len(core), sum(sizes[part]))
            seeds = []
            for size in sizes[part]:
                ids = range(start, start + size)
                here = core[:size]
                self.assertEqual(sorted(here), here)
                seeds.append(sum(v in ids for v in train[part].values))
                core, start = core[size:], start + size
            self.assertLessEqual(max(seeds), 1.05 * sum(seeds) / 4 + 1, seeds)

    def test_one_trainer_a_part_changes_no_byte(self):
        whole, one = self.made(datasets.cora()), self.made(datasets.cora(), "--trainers-per-part", 1)
        files = sorted(path.relative_to(whole.path) for path in whole.path.rglob("*.*"))
        self.assertEqual(files, sorted(path.relative_to(one.path) for path in one.path.rglob("*.*")))
        for path in files:
            if path.is_file():
                self.assertEqual((whole.path / path).read_bytes(), (one.path / path).read_bytes(), path)

    def test_what_cannot_be_divided_is_refused(self):
        for options, code, said in (
                (["--trainers-per-part", 0], 2, "trainers-per-part"),
                (["--trainers-per-part", "two"], 2, "trainers-per-part"),
                (["--trainers-per-part", 2, "--method", "random"], 2, "method random"),
                (["--trainers-per-part", 200, "--parts", 20], 1, "nodes; give at most as many")):
            with self.subTest(options):
                output = self.box.folder / "refused"
                parts = [] if "--parts" in options else ["--parts", 2]
                result = self.box.run("halograph-partition", "run", "--input", datasets.cora(),
                                      "--output", output, *parts, *options)
                self.assertCode(code, result)
                self.assertIn(said, result.text)
                self.assertFalse(output.exists())


class BatchClustersTest(PartitionBase):
    """Clusters inside the parts, for minibatches of whole clusters."""

    def bounds(self, folder):
        return [list(npy.load(folder.node_folder(p) / "clusters.npy").values)
                for p in range(len(folder.parts))]

    def share_within(self, folder):
        """Of the edges, those whose ends are in one cluster."""
        starts = sorted(start for of_part in self.bounds(folder) for start in of_part[:-1])
        cluster = {node: bisect.bisect(starts, i) for i, node in enumerate(folder.original())}
        edges = folder.edges()
        return sum(cluster[u] == cluster[v] for _, u, v in edges) / len(edges)

    def test_clusters_are_runs_of_a_part_which_keep_most_edges(self):
        for options in ([], ["--trainers-per-part", 3], ["--order", "cluster"]):
            with self.subTest(options):
                method = "lp-metis" if options[:1] == ["--order"] else "metis"
                folder = self.made(datasets.cora(), "--batch-clusters", 12, *options, parts=4,
                                   method=method)
                self.verified(datasets.cora(), folder)
                self.assertEqual(12, folder.manifest["options"]["batch_clusters"])
                self.assertEqual(2, folder.manifest["feature_bits"])
                first = 0
                for core, bounds in zip(folder.core(), self.bounds(folder)):
                    self.assertEqual(13, len(bounds))
                    self.assertEqual([first, first + len(core)], [bounds[0], bounds[-1]])
                    self.assertEqual(sorted(set(bounds)), bounds)
                    first += len(core)
                share = self.share_within(folder)
                self.assertGreater(share, 0.72)
                clusters = self.inspected(folder)["clusters"]
                self.assertEqual(48, clusters["count"])
                self.assertAlmostEqual(share, clusters["edges_within_share"], 9)

    def test_parts_of_any_owners_have_clusters_as_their_nodes_allow(self):
        owners = self.box.folder / "owners.npy"
        npy.save(owners, "<i4", (2708,), [2 if node < 5 else 0 for node in range(2708)])
        output = self.box.folder / "graph"
        result = must(self.box.run("halograph-partition", "run", "--input", datasets.cora(), "--output",
                                   output, "--owners", owners, "--parts", 3, "--batch-clusters", 20))
        self.assertIn("2 of 3 parts have fewer", result.text)
        folder = PartitionFolder(output)
        self.verified(datasets.cora(), folder)
        bounds = self.bounds(folder)
        self.assertEqual([21, 1, 2], [len(of_part) for of_part in bounds])
        self.assertEqual([2703, 2703, 2708], [bounds[1][0], bounds[2][0], bounds[2][1]])

    def test_owners_and_files_without_the_option_stay_as_they_are(self):
        whole = self.made(datasets.cora())
        divided = self.made(datasets.cora(), "--batch-clusters", 6)
        self.assertEqual(whole.owners(), divided.owners())
        self.assertEqual(0, whole.manifest["feature_bits"])
        self.assertFalse(list(whole.path.rglob("clusters.npy")))

    def test_what_cannot_be_is_refused_or_told(self):
        for options, code, said in (
                (["--batch-clusters", 0], 2, "batch-clusters"),
                (["--batch-clusters", 65537], 2, "batch-clusters"),
                (["--batch-clusters", 2, "--trainers-per-part", 4], 2, "at least 4 clusters"),
                (["--batch-clusters", 2, "--memory", "36MiB"], 1, "--memory")):
            with self.subTest(options):
                output = self.box.folder / "refused"
                result = self.box.run("halograph-partition", "run", "--input", datasets.cora(),
                                      "--output", output, "--parts", 2, *options)
                self.assertCode(code, result)
                self.assertIn(said, result.text)
                self.assertFalse(output.exists())
        output = self.box.folder / "fewer"
        result = self.box.run("halograph-partition", "run", "--input", datasets.cora(), "--output",
                              output, "--parts", 2, "--batch-clusters", 1000)
        self.assertCode(0, result)
        self.assertIn("2 of 2 parts have fewer", result.text)

    def test_typed_graphs_are_refused_by_name(self):
        output = self.box.folder / "refused"
        result = self.box.run("halograph-partition", "run", "--input",
                              datasets.real("imdb-hetero"), "--output", output, "--parts", 2,
                              "--batch-clusters", 2)
        self.assertCode(1, result)
        self.assertIn("--batch-clusters: clusters are ranges of the nodes of one type", result.text)
        self.assertFalse(output.exists())


class TypedGraphTest(PartitionBase):
    """Node types and relations."""

    def round_trip(self, name, parts):
        source = datasets.GraphBolt(datasets.real(name))
        folder = self.made(source.folder, parts=parts)
        self.verified(source.folder, folder)
        self.assertEqual(sorted(source.nodes), folder.named("nodes"))
        self.assertEqual(sorted(source.edges), folder.named("edges"))
        for node_type, count in source.nodes.items():
            self.assertEqual(list(range(count)), sorted(folder.original(node_type)))
        return source, folder

    def check_edges(self, source, folder, relations):
        for relation in relations:
            wanted = sorted((i, u, v) for i, (u, v) in enumerate(source.edge_list(relation)))
            self.assertEqual(wanted, sorted(folder.edges(relation)), relation)

    def test_aifb(self):
        source, folder = self.round_trip("aifb", 2)
        self.check_edges(source, folder, source.edges)
        self.assertEqual(folder.edge_cut(), self.inspected(folder)["edge_cut"])

    def test_imdb_hetero(self):
        source, folder = self.round_trip("imdb-hetero", 3)
        self.check_edges(source, folder, source.edges)
        self.assertEqual(folder.edge_cut(), self.inspected(folder)["edge_cut"])
        features = npy.load(source.features["movie", "feat"])
        for p, core in enumerate(folder.core("movie")):
            found = npy.load(folder.node_folder(p, "movie") / "features" / "feat.npy")
            self.assertEqual([features.row(node) for node in core], found.rows())

    def test_fb15k_237(self):
        source, folder = self.round_trip("fb15k-237", 2)
        relations = sorted(source.edges)
        self.check_edges(source, folder, relations[::40])
        relation = next(r for r in relations if ("valid", r) in source.tasks)
        pairs = npy.load(source.tasks["valid", relation]["seeds"]).rows()
        original, owners = folder.original("entity"), folder.owners("entity")
        seeds = folder.task("link_prediction", "valid", "seeds", relation)
        for p in range(2):
            found = [[original[g] for g in row] for row in seeds[p].rows()]
            self.assertEqual([list(row) for row in pairs if owners[row[1]] == p], found)


class EdgeOptionTest(PartitionBase):
    """Reverse edges, self-loops and parallel edges: kept or dropped, and counted."""

    EDGES = [(0, 1), (0, 1), (1, 0), (2, 2), (2, 3), (3, 2), (2, 2), (4, 0), (5, 4), (0, 1)]

    def edges_of(self, *options):
        source = self.box.folder / "made"
        if not source.exists():
            datasets.write(source, 6, self.EDGES)
        folder = self.made(source, *options)
        self.verified(source, folder)
        return sorted(folder.edges())

    def numbered(self, keep):
        return [(i, u, v) for i, (u, v) in enumerate(self.EDGES) if keep(i, u, v)]

    def test_all_are_kept_unless_told(self):
        self.assertEqual(self.numbered(lambda i, u, v: True), self.edges_of())

    def test_self_loops_dropped(self):
        self.assertEqual(self.numbered(lambda i, u, v: u != v), self.edges_of("--self-loops", "drop"))

    def test_duplicates_dropped_keep_the_first(self):
        self.assertEqual(self.numbered(lambda i, u, v: i not in (1, 6, 9)),
                         self.edges_of("--duplicates", "drop"))

    def test_undirected_gives_each_edge_its_reverse(self):
        wanted = [(2 * i, u, v) for i, (u, v) in enumerate(self.EDGES)]
        wanted += [(2 * i + 1, v, u) for i, (u, v) in enumerate(self.EDGES) if u != v]
        self.assertEqual(sorted(wanted), self.edges_of("--undirected"))
        wanted = [edge for edge in wanted if edge[1] != edge[2]]
        self.assertEqual(sorted(wanted), self.edges_of("--undirected", "--self-loops", "drop"))

    def test_inspect_counts_what_a_run_reads(self):
        source = datasets.write(self.box.folder / "made", 6, self.EDGES)
        for options, edges in (((), 10), (("--undirected",), 18), (("--self-loops", "drop"), 8),
                               (("--undirected", "--self-loops", "drop"), 16)):
            result = must(self.box.run("halograph-partition", "inspect", "--input", source,
                                       "--json", *options))
            relations = json.loads(result.out)["schema"]["relations"]
            self.assertEqual([edges], [relation["count"] for relation in relations])

    def test_dropped_edges_are_counted(self):
        source = datasets.write(self.box.folder / "made", 6, self.EDGES)
        result = must(partition(self.box, source, self.box.folder / "g", "--self-loops", "drop",
                                "--duplicates", "drop"))
        manifest = (self.box.folder / "g" / "manifest.json").read_text()
        self.assertRegex(result.text + manifest, r"self.loops?\D{0,40}2|2 self.loops?")
        self.assertRegex(result.text + manifest, r"duplicates?\D{0,40}2|2 (parallel|duplicate)")


class EdgeListTest(PartitionBase):
    """SNAP's files: text or gzip, `#` comments, ids with gaps."""

    def lines(self, name):
        path = datasets.real("snap") / name
        opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
        with opened as handle:
            return path, datasets.read_edge_list(handle)

    def check(self, name, *options):
        path, wanted = self.lines(name)
        folder = self.made(path, *options)
        self.verified(path, folder)
        return wanted, folder

    def test_gaps_in_ids(self):
        for name, nodes in (("ca-GrQc.txt", 5242), ("wiki-Vote.txt", 7115)):
            with self.subTest(name):
                wanted, folder = self.check(name)
                self.assertEqual(nodes, len(folder.original()))
                self.assertEqual({v for edge in wanted for v in edge}, set(folder.original()))
                self.assertEqual([(i, *edge) for i, edge in enumerate(wanted)], sorted(folder.edges()))

    def test_gzip(self):
        wanted, folder = self.check("email-Enron.txt.gz")
        self.assertEqual(367662, len(wanted))
        self.assertEqual([(i, *edge) for i, edge in enumerate(wanted)], sorted(folder.edges()))

    def test_self_loops_of_ca_grqc(self):
        wanted, folder = self.check("ca-GrQc.txt", "--self-loops", "drop")
        self.assertEqual(12, sum(u == v for u, v in wanted))
        self.assertEqual(28980 - 12, len(folder.edges()))

    def test_undirected_without_duplicates_is_the_symmetric_closure(self):
        wanted, folder = self.check("wiki-Vote.txt", "--undirected", "--duplicates", "drop")
        closure = {(u, v) for u, v in wanted} | {(v, u) for u, v in wanted}
        found = [(u, v) for _, u, v in folder.edges()]
        self.assertEqual(len(closure), len(found))
        self.assertEqual(closure, set(found))

    def test_edges_on_both_ends_of_a_line_and_no_last_newline(self):
        path = self.box.folder / "small.txt"
        path.write_text("# comment\r\n7 3\r\n\r\n3\t7\n# another\n3 9")
        folder = self.made(path)
        self.assertEqual([(0, 7, 3), (1, 3, 7), (2, 3, 9)], sorted(folder.edges()))

    def test_further_columns_become_edge_features_and_sampling_weights(self):
        path = self.box.folder / "ratings.csv"
        path.write_text("source,target,rating,time\n7,3,0.5,1289241911\n3,7,2,1289241912\n3,9,1,-1\n")
        self.assertCode(1, partition(self.box, path, self.box.folder / "none"), "ratings.csv:1",
                        "--skip-lines 1")
        folder = self.made(path, "--skip-lines", 1, "--edge-columns", "weight,time",
                           "--sampling-weights", "weight", method="random")
        self.verified(path, folder)
        self.assertEqual([(0, 7, 3), (1, 3, 7), (2, 3, 9)], sorted(folder.edges()))
        found = {}
        for part in range(2):
            edges = folder.edge_folder(part)
            ids = npy.load(edges / "original_ids.npy").values
            columns = (npy.load(edges / "features" / f"{name}.npy").values
                       for name in ("weight", "time"))
            found.update(zip(ids, zip(*columns)))
        self.assertEqual({0: (0.5, 1289241911), 1: (2, 1289241912), 2: (1, -1)}, found)


class CountedFormatTest(PartitionBase):
    """MatrixMarket and METIS files: through every method, with ids from 1 and nodes without edges."""

    METHODS = ("auto", "metis", "lp-metis", "stream-metis", "spring", "2ps-l", "hdrf", "greedy", "dbh",
               "random")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        numbers = random.Random(1)
        pairs = {tuple(sorted(numbers.sample(range(1, 58), 2))) for _ in range(200)}
        cls.weights = {pair: numbers.randrange(1, 9) for pair in pairs}  # 58 to 60: without edges

    def matrix(self, kind="integer symmetric"):
        path = self.box.folder / "g.mtx.gz"
        with gzip.open(path, "wt") as handle:
            handle.write(f"%%MatrixMarket matrix coordinate {kind}\n% made\n60 60 {len(self.weights)}\n")
            handle.writelines(f"{v} {u} {w}\n" for (u, v), w in self.weights.items())
        return path

    def metis(self):
        path = self.box.folder / "g.graph"
        with open(path, "w") as handle:
            handle.write(f"60 {len(self.weights)} 011 2\n")
            for node in range(1, 61):
                entries = sorted((u + v - node, w) for (u, v), w in self.weights.items() if node in (u, v))
                handle.write(" ".join(["7 8", *(f"{u} {w}" for u, w in entries)]) + "\n")
        return path

    def both_ways(self):
        return sorted([(u, v, w) for (u, v), w in self.weights.items()]
                      + [(v, u, w) for (u, v), w in self.weights.items()])

    def weighted_edges(self, folder, feature):
        found = []
        for part in range(2):
            ids = npy.load(folder.edge_folder(part) / "original_ids.npy").values
            values = npy.load(folder.edge_folder(part) / "features" / f"{feature}.npy").values
            found += zip(ids, values)
        weights = dict(found)
        return sorted((u, v, weights[i]) for i, u, v in folder.edges())

    def test_symmetric_matrix_goes_through_every_method(self):
        path = self.matrix()
        for method in self.METHODS:
            with self.subTest(method):
                folder = self.made(path, method=method)
                self.verified(path, folder)
                self.assertEqual(self.both_ways(), self.weighted_edges(folder, "value"))
                self.assertEqual(list(range(1, 61)), sorted(folder.original()))

    def test_metis_graph_goes_through_every_method(self):
        path = self.metis()
        self.assertCode(1, partition(self.box, path, self.box.folder / "none"), "METIS",
                        "--format metis")
        for method in self.METHODS:
            with self.subTest(method):
                folder = self.made(path, "--format", "metis", "--sampling-weights", "weight",
                                   method=method)
                self.verified(path, folder)
                self.assertEqual(self.both_ways(), self.weighted_edges(folder, "weight"))
                self.assertEqual(list(range(1, 61)), sorted(folder.original()))

    def test_inspect_and_plan_read_them(self):
        for source, format_name in ((self.matrix(), "matrixmarket"), (self.metis(), "metis")):
            given = ("--input", source, "--format", format_name)
            result = must(self.box.run("halograph-partition", "inspect", "--json", *given))
            report = json.loads(result.out)
            self.assertEqual(format_name, report["format"])
            self.assertEqual([60], [each["count"] for each in report["schema"]["node_types"]])
            self.assertEqual([2 * len(self.weights)],
                             [each["count"] for each in report["schema"]["relations"]])
            must(self.box.run("halograph-partition", "plan", "--parts", 2, *given))

    def test_both_ways_are_not_doubled(self):
        for source, format_name in ((self.matrix(), "auto"), (self.metis(), "metis")):
            self.assertCode(1, partition(self.box, source, self.box.folder / "none", "--format",
                                         format_name, "--undirected"), "--undirected")
        folder = self.made(self.matrix("integer general"), "--undirected")
        self.assertEqual(self.both_ways(), self.weighted_edges(folder, "value"))


class OgbTest(PartitionBase):
    """OGB's raw CSV folder: Cora written that way is Cora."""

    def test_raw_folder(self):
        path = datasets.real("cora-ogb-raw")
        folder = self.made(path)
        self.verified(path, folder)
        self.assertEqual(5278, len(folder.edges()))

    def test_undirected_gives_the_edges_of_cora(self):
        path = datasets.real("cora-ogb-raw")
        folder = self.made(path, "--undirected")
        self.verified(path, folder)
        cora = datasets.GraphBolt(datasets.cora())
        self.assertEqual(sorted(cora.edge_list()), sorted((u, v) for _, u, v in folder.edges()))
        rows = [len(seeds) for name in ("train", "valid", "test")
                for seeds in folder.task(next((folder.parts[0] / "tasks").iterdir()).name, name, "seeds")]
        self.assertEqual(140 + 500 + 1000, sum(rows))

    def test_missing_edge_file_is_named(self):
        path = datasets.real("ogbn-arxiv-partial")
        output = self.box.folder / "g"
        self.assertCode(1, partition(self.box, path, output), "edge.csv.gz")
        self.assertFalse(output.exists())


class OutputTest(PartitionBase):
    def test_an_existing_output_is_left_alone(self):
        output = self.box.folder / "g"
        output.mkdir()
        (output / "mine").write_text("kept")
        self.assertCode(1, partition(self.box, datasets.cora(), output), output)
        self.assertEqual(["mine"], [entry.name for entry in output.iterdir()])

    def test_a_moved_folder_still_verifies(self):
        folder = self.made(datasets.cora())
        moved = self.box.folder / "moved"
        shutil.move(folder.path, moved)
        self.verified(datasets.cora(), PartitionFolder(moved))

    def test_nothing_else_is_left_beside_the_output(self):
        folder = self.made(datasets.cora())
        beside = {entry.name for entry in self.box.folder.iterdir()
                  if not entry.name.startswith("halograph-partition-")}
        self.assertEqual({folder.path.name}, beside)


class MemoryTest(PartitionBase):
    """--memory: refused with what would do, and kept where it is given. A million nodes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.input = cls.shared.folder / "input"
        must(cls.shared.run("halograph-partition", "generate", "rmat", "--output", cls.input,
                            "--log2-nodes", 20, "--edges", 3000000))

    def arguments(self, output, memory):
        return ("run", "--quiet", "--input", self.input, "--output", output, "--parts", 4,
                "--method", "random", "--memory", memory)

    def least(self):
        """Bytes that a run with 1 MiB is told to ask for."""
        output = self.box.folder / "refused"
        result = self.box.run("halograph-partition", *self.arguments(output, "1MiB"))
        self.assertCode(1, result, "--memory 1.0 MiB", "give at least")
        self.assertFalse(output.exists())
        return int(re.search(r"\((\d+) bytes\)", result.text).group(1))

    def measured(self, output, memory):
        """Identity of the graph, and the most anonymous memory that its run was seen with."""
        process = self.box.start("halograph-partition", *self.arguments(output, memory))
        peak = 0
        while process.running():
            try:
                with open(f"/proc/{process.pid}/status") as handle:
                    found = re.search(r"RssAnon:\s+(\d+) kB", handle.read())
            except OSError:  # gone
                continue
            peak = max(peak, int(found.group(1)) * 1024 if found else 0)
        must(programs.Result(process, process.wait()))
        return json.loads((output / "manifest.json").read_text())["identity"], peak

    @unittest.skipIf(programs.TIME_SCALE > 1, "a sanitizer's own memory would be counted")
    def test_least_memory_is_enough_and_is_what_the_run_takes(self):
        least = self.least()
        identity, peak = self.measured(self.box.folder / "tight", least)
        self.assertLessEqual(peak, least)
        self.assertGreaterEqual(peak, 0.8 * (least - (32 << 20)))  # without the program itself
        ample, _ = self.measured(self.box.folder / "ample", "4GiB")
        self.assertEqual(identity, ample)

    def test_killed_run_leaves_nothing_whole_and_the_next_one_clears_up(self):
        output = self.box.folder / "graph"
        process = self.box.start("halograph-partition", *self.arguments(output, self.least()))
        waiting = "graph.tmp-*/scratch/edge-buckets"
        programs.wait_until(lambda: list(self.box.folder.glob(waiting)), "edges to wait on disk")
        process.signal(signal.SIGKILL)
        process.wait()
        self.assertFalse(output.exists())
        self.assertTrue(list(self.box.folder.glob("graph.tmp-*")))
        must(self.box.run("halograph-partition", *self.arguments(output, "4GiB")))
        self.assertEqual([], list(self.box.folder.glob("graph.tmp-*")))
        self.assertFalse((output / "scratch").exists())

    def stopped(self, process, number, waiting):
        """A process that gets a signal when a path like `waiting` is there; it must end by it."""
        programs.wait_until(lambda: list(self.box.folder.glob(waiting)), waiting)
        process.signal(number)
        self.assertEqual(-number, process.wait(), process.text)
        programs.wait_until(lambda: not self.box.leftovers(), "no process")
        self.assertEqual([], list(self.box.folder.glob("*.tmp-*")))

    def test_a_signal_ends_a_run_without_a_trace(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number):
                output = self.box.folder / "graph"
                process = self.box.start("halograph-partition", *self.arguments(output, self.least()))
                self.stopped(process, number, "graph.tmp-*/scratch/edge-buckets")
                self.assertFalse(output.exists())

    def test_a_signal_ends_compare_with_its_child_without_a_trace(self):
        process = self.box.start("halograph-partition", "compare", "--input", self.input, "--scratch",
                                 self.box.folder, "--methods", "lp-metis", "--parts", 4)
        self.stopped(process, signal.SIGTERM, "halograph-compare.tmp-*/run-lp-metis.tmp-*")


class UsageTest(PartitionBase):
    def test_wrong_usage_exits_2(self):
        for arguments in ([], ["run"], ["run", "--no-such-option"], ["no-such-command"],
                          ["run", "--input", datasets.cora(), "--output", self.box.folder / "g",
                           "--parts", "many"]):
            with self.subTest(arguments):
                self.assertCode(2, self.box.run("halograph-partition", *arguments))

    def test_unknown_method_names_those_that_exist(self):
        result = partition(self.box, datasets.cora(), self.box.folder / "g", method="magic")
        self.assertIn(result.code, (1, 2), str(result))
        self.assertIn("metis", result.text)
        self.assertIn("random", result.text)

    def test_help_exits_0(self):
        for arguments in (["--help"], ["run", "--help"], ["generate", "--help"]):
            self.assertCode(0, self.box.run("halograph-partition", *arguments))


if __name__ == "__main__":
    programs.main()
