#!/usr/bin/env python3
"""Broken input and broken partition folders: a clear error that names the file, and nothing that
looks whole."""
import gzip
import json
import os
import shutil
import struct

from harness import datasets, npy, programs
from harness.folder import PartitionFolder
from harness.programs import must

EDGES = [(i, (i * 7 + 1) % 30) for i in range(30)] + [((i * 3) % 30, i) for i in range(30)]


class BrokenInputTest(programs.ProgramTest):
    """`halograph-partition run` on a small graph with one thing wrong."""

    def setUp(self):
        super().setUp()
        self.input = datasets.write(self.box.folder / "input", 30, EDGES)

    def refused(self, *mentioned, source=None):
        output = self.box.folder / "graph"
        result = self.box.run("halograph-partition", "run", "--input", source or self.input,
                              "--output", output, "--parts", 2, "--method", "random")
        self.assertCode(1, result, *mentioned)
        self.assertFalse(output.exists(), "an output folder was left")
        beside = [path for path in self.box.folder.iterdir() if path.is_dir() and
                  path.name != "input" and not path.name.startswith("halograph-partition-")]
        self.assertEqual([], beside, "a temporary folder was left")
        return result

    def edit_metadata(self, old, new):
        path = self.input / "metadata.yaml"
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1))

    def truncate(self, name, count):
        os.truncate(self.input / name, (self.input / name).stat().st_size - count)

    def test_the_input_is_good_before_it_is_broken(self):
        must(self.box.run("halograph-partition", "run", "--input", self.input, "--output",
                          self.box.folder / "graph", "--parts", 2, "--method", "random"))

    def test_truncated_edges(self):
        self.truncate("edges.npy", 8)
        self.refused("edges.npy")

    def test_truncated_features(self):
        self.truncate("feat.npy", 1)
        self.refused("feat.npy")

    def test_header_cut_off(self):
        os.truncate(self.input / "edges.npy", 20)
        self.refused("edges.npy")

    def test_empty_file(self):
        os.truncate(self.input / "train_labels.npy", 0)
        self.refused("train_labels.npy")

    def test_not_npy(self):
        (self.input / "edges.npy").write_text("source,destination\n1,2\n")
        self.refused("edges.npy")

    def test_header_that_lies_about_its_length(self):
        data = bytearray((self.input / "feat.npy").read_bytes())
        data[8:10] = struct.pack("<H", 65535)
        (self.input / "feat.npy").write_bytes(data)
        self.refused("feat.npy")

    def test_edges_of_floats(self):
        npy.save(self.input / "edges.npy", "<f4", (2, 2), [0, 1, 1, 0])
        self.refused("edges.npy")

    def test_edges_of_three_rows(self):
        npy.save(self.input / "edges.npy", "<i8", (3, 2), [0, 1, 1, 0, 0, 0])
        self.refused("edges.npy")

    def test_edge_beyond_the_node_count(self):
        npy.save(self.input / "edges.npy", "<i8", (2, 3), [0, 30, 2, 1, 2, 3])
        self.refused("edges.npy", "30")

    def test_negative_edge(self):
        npy.save(self.input / "edges.npy", "<i8", (2, 3), [0, 1, 2, 1, -7, 3])
        self.refused("edges.npy", "-7")

    def test_too_few_feature_rows(self):
        npy.save(self.input / "feat.npy", "<f4", (29, 3), [0] * 87)
        self.refused("feat.npy", "29", "30")

    def test_nan_feature(self):
        values = [float(i) for i in range(90)]
        values[3 * 23 + 1] = float("nan")
        npy.save(self.input / "feat.npy", "<f4", (30, 3), values)
        result = self.refused("feat.npy", "23")
        self.assertIn("nan", result.text.lower())

    def test_seed_beyond_the_node_count(self):
        npy.save(self.input / "train_seeds.npy", "<i8", (10,), [*range(9), 999])
        self.refused("train_seeds.npy", "999")

    def test_labels_of_another_length(self):
        npy.save(self.input / "valid_labels.npy", "<i8", (9,), [0] * 9)
        self.refused("valid_labels.npy")

    def test_missing_file(self):
        (self.input / "feat.npy").unlink()
        self.refused("feat.npy")

    def test_metadata_without_nodes(self):
        self.edit_metadata("  nodes:\n    - num: 30\n", "")
        self.refused("metadata.yaml", "nodes")

    def test_metadata_without_num(self):
        self.edit_metadata("num: 30", "number: 30")
        self.refused("metadata.yaml", "num")

    def test_metadata_with_a_wrong_num(self):
        self.edit_metadata("num: 30", "num: many")
        self.refused("metadata.yaml", "num", "many")

    def test_metadata_with_a_negative_num(self):
        self.edit_metadata("num: 30", "num: -30")
        self.refused("metadata.yaml", "num", "-30")

    def test_metadata_with_an_unknown_format(self):
        self.edit_metadata("format: numpy\n      path: edges.npy",
                           "format: parquet\n      path: edges.npy")
        self.refused("metadata.yaml", "format", "parquet")

    def test_metadata_without_a_path(self):
        self.edit_metadata("      path: edges.npy\n", "")
        self.refused("metadata.yaml", "path")

    def test_metadata_that_is_not_yaml(self):
        self.edit_metadata("graph:", "graph: [")
        self.refused("metadata.yaml")

    def test_metadata_with_a_feature_of_an_unknown_domain(self):
        self.edit_metadata("domain: node", "domain: planet")
        self.refused("metadata.yaml", "domain", "planet")

    def test_no_metadata(self):
        (self.input / "metadata.yaml").unlink()
        self.refused(self.input)

    def test_input_that_is_not_there(self):
        self.refused("nowhere", source=self.box.folder / "nowhere")

    def test_edge_list_with_a_word(self):
        path = self.box.folder / "edges.txt"
        path.write_text("# two lines\n1 2\n3 four\n")
        self.refused("edges.txt", "3", "four", source=path)

    def test_edge_list_with_one_column(self):
        path = self.box.folder / "edges.txt"
        path.write_text("1 2\n3\n")
        self.refused("edges.txt", source=path)

    def test_edge_list_beyond_64_bits(self):
        path = self.box.folder / "edges.txt"
        path.write_text("1 99999999999999999999\n")
        self.refused("edges.txt", "99999999999999999999", source=path)

    def test_truncated_gzip(self):
        path = self.box.folder / "edges.txt.gz"
        with gzip.open(path, "wt") as handle:
            handle.writelines(f"{i} {i * i}\n" for i in range(20000))
        os.truncate(path, path.stat().st_size // 2)
        self.refused("edges.txt.gz", source=path)

    def test_flipped_byte_in_gzip(self):
        path = self.box.folder / "edges.txt.gz"
        with gzip.open(path, "wt") as handle:
            handle.writelines(f"{i} {i * i}\n" for i in range(20000))
        data = bytearray(path.read_bytes())
        data[-6] ^= 0x10  # the checksum at its end
        path.write_bytes(data)
        self.refused("edges.txt.gz", source=path)


class BrokenFolderTest(programs.ProgramTest):
    """A partition folder with one thing wrong: neither served, nor trained on, nor verified. The
    trainer, which takes long to start, is asked where something is wrong in a way of its own."""
    ALWAYS_TRAIN = False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.input = datasets.write(cls.shared.folder / "input", 30, EDGES)
        for name, seed in (("good", 1), ("foreign", 2)):
            must(cls.shared.run("halograph-partition", "run", "--input", cls.input, "--output",
                                cls.shared.folder / name, "--parts", 2, "--method", "random",
                                "--seed", seed))

    def setUp(self):
        super().setUp()
        self.graph = datasets.copy_of(self.shared.folder / "good", self.box.folder / "graph")
        self.part = self.graph / "part-0000"

    def server(self, part="0"):
        """The exit of a server on the folder."""
        process = self.box.start_server(self.graph, part)
        return programs.Result(process, process.wait())

    def trainer(self):
        return self.box.run("halograph-train", "--graph", self.graph, "--epochs", 1, "--threads", 1)

    def refused(self, *mentioned, part="0", train=False):
        """By the server, verify and the trainer; what they say."""
        results = [self.server(part),
                   self.box.run("halograph-partition", "verify", "--input", self.input, "--graph",
                                self.graph)]
        if train or self.ALWAYS_TRAIN:
            results.append(self.trainer())
        for result in results:
            self.assertCode(1, result, *mentioned)
        return results

    @staticmethod
    def flip(path, position):
        data = bytearray(path.read_bytes())
        data[position] ^= 1
        path.write_bytes(data)

    def arrays(self):
        return sorted(path for path in self.part.rglob("*.npy"))

    def test_a_flipped_byte_in_any_array_is_found_by_the_server(self):
        found = self.arrays()
        self.assertGreaterEqual(len(found), 12)
        for path in found:
            with self.subTest(path.relative_to(self.part)):
                self.flip(path, -1)
                self.assertCode(1, self.server(), path.name)
                self.flip(path, -1)

    def test_flipped_byte_in_indices(self):
        path = PartitionFolder(self.graph).edge_folder(0) / "indices.npy"
        self.flip(path, -2)
        self.refused("indices.npy", train=True)

    def test_flipped_byte_in_a_header(self):
        path = PartitionFolder(self.graph).node_folder(0) / "features" / "feat.npy"
        self.flip(path, 60)
        self.refused("feat.npy")

    def test_truncated_array(self):
        path = PartitionFolder(self.graph).edge_folder(0) / "indptr.npy"
        os.truncate(path, path.stat().st_size - 8)
        self.refused("indptr.npy")

    def test_lengthened_array(self):
        path = PartitionFolder(self.graph).edge_folder(0) / "indices.npy"
        with open(path, "ab") as handle:
            handle.write(b"\0" * 64)
        self.refused("indices.npy")

    def test_missing_array(self):
        path = PartitionFolder(self.graph).node_folder(0) / "original_ids.npy"
        path.unlink()
        self.refused("original_ids.npy")

    def test_missing_manifest(self):
        (self.part / "manifest.json").unlink()
        self.refused("manifest.json", train=True)

    def test_truncated_manifest(self):
        path = self.part / "manifest.json"
        os.truncate(path, path.stat().st_size // 2)
        self.refused("manifest.json")

    def test_edited_manifest(self):
        path = self.part / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["identity"] = "0" * 32
        path.write_text(json.dumps(manifest))
        self.refused("manifest.json")

    def test_foreign_part(self):
        shutil.rmtree(self.graph / "part-0001")
        shutil.copytree(self.shared.folder / "foreign" / "part-0001", self.graph / "part-0001")
        for result in self.refused(part="all", train=True):
            self.assertRegex(result.text, r"\bpart[- ]0*1\b", str(result))

    def test_missing_part(self):
        shutil.rmtree(self.graph / "part-0001")
        self.refused("part-0001", part="all", train=True)

    def test_part_copied_under_another_name(self):
        shutil.rmtree(self.graph / "part-0001")
        shutil.copytree(self.graph / "part-0000", self.graph / "part-0001")
        self.refused("part-0001", part="all")

    def test_one_part_alone_is_enough_to_serve_it(self):
        shutil.rmtree(self.graph / "part-0001")
        (self.graph / "manifest.json").unlink()
        server = self.box.start_server(self.graph, 0)
        programs.address(server)

    def test_part_that_the_graph_does_not_have(self):
        self.assertCode(1, self.server("7"), "7")

    def test_folder_that_is_no_partition_folder(self):
        self.graph = self.input
        self.assertCode(1, self.server(), self.input)
        self.assertCode(1, self.trainer(), self.input)


class BrokenFolderLongTest(BrokenFolderTest):
    ALWAYS_TRAIN = True


if __name__ == "__main__":
    programs.main()
