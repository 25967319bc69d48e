#!/usr/bin/env python3
"""What is said before a graph is partitioned (plan, compare), and the options of methods, memory and
parts: held against what a run then gives."""
import json
import os
import shutil

from harness import datasets, npy, programs
from harness.folder import PartitionFolder
from harness.programs import must

METHODS = ("2ps-l", "dbh", "greedy", "hdrf", "lp-metis", "metis", "random", "spring", "stream-metis")


class ToolsBase(programs.ProgramTest):
    def tool(self, name, *args):
        return self.box.run("halograph-partition", name, *args)

    def run_to(self, name, source, *args):
        path = self.box.folder / name
        return path, self.tool("run", "--input", source, "--output", path, *args)

    def inspected(self, path):
        return json.loads(must(self.tool("inspect", "--graph", path, "--json")).out)


class CompareTest(ToolsBase):
    def compared(self, *args):
        return json.loads(must(self.tool("compare", "--input", datasets.cora(), "--scratch",
                                         self.box.folder, "--json", *args)).out)

    def test_every_method_has_the_figures_that_inspect_gives_of_its_folder(self):
        report = self.compared("--parts", 3, "--seed", 1)
        self.assertLessEqual(set(METHODS), {row["method"] for row in report["runs"]})
        for row in report["runs"]:
            with self.subTest(method=row["method"]):
                path, result = self.run_to(row["method"], datasets.cora(), "--parts", 3, "--seed", 1,
                                           "--method", row["method"])
                must(result)
                found = self.inspected(path)
                for key in ("edge_cut", "replication_factor", "balance"):
                    self.assertEqual(found[key], row[key], key)

    def test_remote_bytes_are_remote_rows(self):
        for row in self.compared("--parts", 2, "--methods", "metis,random", "--fanouts", "5,5",
                                 "--batch-size", 20)["runs"]:
            self.assertAlmostEqual(1433 * row["remote_nodes_per_minibatch"],
                                   row["remote_bytes_per_minibatch"], delta=1)
            self.assertLess(row["remote_nodes_per_minibatch"], row["input_nodes_per_minibatch"])
            self.assertGreater(row["minibatches"], 0)

    def test_a_cache_leaves_fewer_bytes_an_epoch(self):
        options = ("--parts", 2, "--methods", "metis", "--fanouts", "5,5", "--batch-size", 20)
        (without,) = self.compared(*options)["runs"]
        (cached,) = self.compared(*options, "--cache-memory", "100KiB")["runs"]
        self.assertNotIn("remote_bytes_per_epoch_with_cache", without)
        self.assertEqual(without["remote_bytes_per_epoch"], cached["remote_bytes_per_epoch"])
        self.assertLess(0, cached["remote_bytes_per_epoch_with_cache"])
        self.assertLess(cached["remote_bytes_per_epoch_with_cache"],
                        cached["remote_bytes_per_epoch"])

    def test_nothing_stays_and_a_killed_one_is_cleaned_up_after(self):
        left = self.box.folder / "halograph-compare.tmp-4194304-0"  # of a process that is gone
        left.mkdir()
        (left / "file").write_text("left over")
        self.compared("--parts", 2, "--methods", "random")
        self.assertEqual([], list(self.box.folder.glob("halograph-compare*")))

    def test_a_budget_that_only_some_fit_gives_rows_with_reasons(self):
        report = self.compared("--parts", 2, "--methods", "metis,random", "--memory", "33MiB")
        metis, random = report["runs"]
        self.assertIn("give at least --memory", metis["failure"])
        self.assertNotIn("failure", random)

    def test_an_edge_beyond_the_nodes_ends_it(self):
        source = datasets.write(self.box.folder / "bad", 4, [(0, 1), (2, 3), (1, 9)])
        result = self.tool("compare", "--input", source, "--scratch", self.box.folder)
        self.assertCode(1, result, "edges.npy", "9")


class PlanTest(ToolsBase):
    def planned(self, *args):
        return json.loads(must(self.tool("plan", "--scratch", self.box.folder, "--json", *args)).out)

    def test_every_method_fits_a_small_graph(self):
        report = self.planned("--input", datasets.cora(), "--parts", 2)
        self.assertEqual((2708, 10556), (report["nodes"], report["edges"]))
        self.assertLessEqual(set(METHODS), {row["method"] for row in report["methods"]})
        for row in report["methods"]:
            self.assertTrue(row["fits"], row)
            self.assertNotIn("failure", row)

    def test_a_run_with_the_planned_memory_starts_and_with_less_does_not(self):
        for row in self.planned("--input", datasets.cora(), "--parts", 2, "--methods",
                                "metis,dbh")["methods"]:
            with self.subTest(method=row["method"]):
                # A plan that knows the edges may promise less than one that knows their number.
                need = max(row["memory_bytes"], 48 << 20)
                path, result = self.run_to(f"{row['method']}-fits", datasets.cora(), "--parts", 2,
                                           "--method", row["method"], "--memory", need)
                must(result)
                path, result = self.run_to(f"{row['method']}-less", datasets.cora(), "--parts", 2,
                                           "--method", row["method"], "--memory", "1MiB")
                self.assertCode(1, result, "--memory 1.0 MiB", "give at least --memory")
                self.assertFalse(path.exists())
                self.assertEqual([], list(self.box.folder.glob("*.tmp-*")))

    def test_a_graph_to_come(self):
        report = self.planned("--nodes", 50_000_000, "--edges", 2_000_000_000, "--feature-bytes",
                              512, "--parts", 8, "--memory", "8GiB", "--methods", "random,dbh")
        self.assertEqual("stream-metis", report["auto"]["method"])
        self.assertGreater(report["output_bytes"], 50_000_000 * 512 + 2_000_000_000 * 12)


class RunOptionsTest(ToolsBase):
    def test_auto_says_what_it_took_and_why(self):
        path, result = self.run_to("auto", datasets.cora(), "--parts", 2)
        self.assertCode(0, result, "METIS fits")
        report = self.inspected(path)["options"]["report"]
        self.assertEqual("metis", report["method"])
        self.assertIn("METIS fits", report["why"])

    def test_parts_from_the_memory_of_one_machine(self):
        path, result = self.run_to("parts", datasets.cora(), "--parts", "auto",
                                   "--memory-per-part", "2MB", "--method", "random")
        self.assertCode(0, result, "--parts auto: 3 partitions")
        self.assertEqual(3, len(self.inspected(path)["parts"]))

    def test_owners_of_a_file_own(self):
        owners = self.box.folder / "owners.npy"
        wanted = [v % 3 for v in range(2708)]
        npy.save(owners, "<i8", (2708,), wanted)
        path, result = self.run_to("owners", datasets.cora(), "--owners", owners)
        must(result)
        found = PartitionFolder(path).owners()
        self.assertTrue(wanted == [found[v] for v in range(2708)])
        self.assertCode(0, self.tool("verify", "--input", datasets.cora(), "--graph", path))

    def test_order_of_clusters_keeps_owners_and_is_the_same_on_any_number_of_cores(self):
        cores = os.sched_getaffinity(0)
        for method in ("lp-metis", "stream-metis"):
            options = ("--parts", 3, "--method", method)
            plain, result = self.run_to("plain", datasets.cora(), *options, "--force")
            must(result)
            identities = {self.inspected(plain)["identity"]}
            for allowed in ({min(cores)}, cores):
                os.sched_setaffinity(0, allowed)
                try:
                    path, result = self.run_to("ordered", datasets.cora(), *options, "--order",
                                               "cluster", "--force")
                finally:
                    os.sched_setaffinity(0, cores)
                must(result)
                must(self.tool("verify", "--input", datasets.cora(), "--graph", path))
                identities.add(self.inspected(path)["identity"])
                self.assertEqual(PartitionFolder(plain).owners(), PartitionFolder(path).owners())
            self.assertEqual(2, len(identities), "one in input order, one in that of clusters")

    def test_order_of_clusters_needs_a_method_that_finds_them(self):
        _, result = self.run_to("none", datasets.cora(), "--parts", 2, "--method", "metis",
                                "--order", "cluster")
        self.assertCode(2, result, "--order cluster", "lp-metis")

    def test_owners_of_the_wrong_length_or_range_fail(self):
        for name, values in (("short", [0] * 2707), ("beyond", [0] * 2707 + [2])):
            with self.subTest(name):
                owners = self.box.folder / f"{name}.npy"
                npy.save(owners, "<i8", (len(values),), values)
                path, result = self.run_to(name, datasets.cora(), "--owners", owners, "--parts", 2)
                self.assertCode(1, result, f"{name}.npy")
                self.assertFalse(path.exists())

    def test_a_disk_without_room_is_told_before_owners_are_computed(self):
        source = datasets.write(self.box.folder / "wide", 4096, [(0, 1)])
        owners = self.box.folder / "beyond.npy"
        npy.save(owners, "<i8", (4096,), [2] * 4096)  # of two partitions: computing them fails
        given = ["g", source, "--owners", owners, "--parts", 2]
        self.assertCode(1, self.run_to(*given)[1], owners.name)
        too_much = shutil.disk_usage(self.box.folder).free + 2 ** 36
        npy.save_sparse(source / "feat.npy", "<f4", (4096, too_much // 4 // 4096))
        path, result = self.run_to(*given)
        self.assertCode(1, result, "are needed", "make room")
        self.assertNotIn(owners.name, result.text)
        self.assertFalse(path.exists())

    def test_options_of_other_methods_are_wrong_usage(self):
        for option, value in (("--clusters", 5), ("--hdrf-lambda", 2), ("--owner", "random")):
            path, result = self.run_to("never", datasets.cora(), "--parts", 2, "--method", "metis",
                                       option, value)
            self.assertCode(2, result, option, "metis")


if __name__ == "__main__":
    programs.main()
