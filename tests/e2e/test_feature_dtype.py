#!/usr/bin/env python3
"""--feature-dtype, from float32 features in the input folder to equal losses in every mode. What is
stored is counted by other code than made it."""
import json
import math
import random
import shutil
import struct

from harness import datasets, npy, programs
from harness.folder import PartitionFolder
from harness.programs import must
from harness.training import train

WIDTH = 24
SMALL = dict(hidden=16, fanouts="5,3", batch_size=50, seed=3, threads=1, epochs=2, lr=0.01)
NARROW = {"float16": 2 * WIDTH, "bfloat16": 2 * WIDTH, "int8": WIDTH + 4}  # bytes a row


def project(words):
    """Dense rows of float32 out of rows of words: sums of random vectors."""
    numbers = random.Random(1)
    vectors = [[numbers.gauss(0, 1) for _ in range(WIDTH)] for _ in range(words.width)]
    values = []
    for v in range(len(words)):
        row = [0.0] * WIDTH
        for word, count in enumerate(words.row(v)):
            if count:
                row = [a + b for a, b in zip(row, vectors[word])]
        values += row
    return values


def write_input(folder, values):
    """Cora with these features in the place of its words."""
    datasets.copy_of(datasets.cora(), folder)
    npy.save(datasets.GraphBolt(folder).features["node", "feat"], "<f4",
             (len(values) // WIDTH, WIDTH), values)
    return folder


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def as_bfloat16(value):
    bits, = struct.unpack("<I", struct.pack("<f", value))
    below, above = bits >> 16 << 16, (bits >> 16) + 1 << 16
    if bits - below != above - bits:
        return (below if bits - below < above - bits else above) >> 16
    return below >> 16 if (below >> 16) % 2 == 0 else above >> 16


def stored_row(dtype, row):
    """The bytes of a row, by the letter of the format."""
    if dtype == "float16":
        return struct.pack(f"<{WIDTH}e", *row)
    if dtype == "bfloat16":
        return struct.pack(f"<{WIDTH}H", *map(as_bfloat16, row))
    scale = float32(max(map(abs, row)) / 127)
    return struct.pack(f"<{WIDTH}bf", *(round(x / scale) if scale else 0 for x in row), scale)


class FeatureDTypeBase(programs.ProgramTest):
    AT_ONCE = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        words = npy.load(datasets.GraphBolt(datasets.cora()).features["node", "feat"])
        cls.values = [float32(x) for x in project(words)]
        cls.input = write_input(cls.shared.folder / "input", cls.values)
        cls.graphs = {"float32": cls.shared.folder / "float32"}
        must(cls.partition("float32"))
        for dtype in NARROW:
            cls.graphs[dtype] = cls.shared.folder / dtype
            must(cls.partition(dtype, "--feature-dtype", dtype))

    @classmethod
    def partition(cls, name, *options, source=None):
        return cls.shared.run("halograph-partition", "run", "--input", source or cls.input, "--output",
                              cls.shared.folder / name, "--parts", 2, "--seed", 1, *options)

    def losses(self, **given):
        _, epochs, _ = train(self.box, **{**SMALL, **given})
        return [(line["loss"], line["valid_acc"], line["sampled_edges"]) for line in epochs]

    def equal(self, dtype, places):
        """Losses are equal in the first `places` of those where the topology may be, beside servers,
        and near those of float32."""
        wide = self.once("wide", lambda: self.losses(graph=self.graphs["float32"]))
        graph = self.graphs[dtype]
        wanted = self.losses(graph=graph)
        own = datasets.copy_of(graph, self.box.folder / f"own-{dtype}")
        shutil.rmtree(own / "part-0000")
        servers = ",".join(self.box.servers(graph, [0, 1])[1])
        for where in (dict(), dict(local=own), dict(topology=graph),
                      dict(topology="local", cache_dir=self.box.folder / "cache"))[:places]:
            with self.subTest(dtype=dtype, where=where):
                self.assertEqual(wanted, self.losses(servers=servers, **where))
        self.assertNotEqual(wide, wanted)
        for (loss, *_, edges), (near, *_, drawn) in zip(wide, wanted):
            self.assertEqual(edges, drawn)
            self.assertTrue(math.isclose(loss, near, rel_tol=0.03), (dtype, loss, near))


class FeatureDTypeTest(FeatureDTypeBase):
    def test_rows_are_stored_as_the_format_says(self):
        for dtype, row_bytes in NARROW.items():
            with self.subTest(dtype):
                folder = PartitionFolder(self.graphs[dtype])
                for part, core in enumerate(folder.core()):
                    path = folder.node_folder(part) / "features" / "feat.npy"
                    data = path.read_bytes()[-len(core) * row_bytes:]
                    for i, node in enumerate(core):
                        row = self.values[node * WIDTH:(node + 1) * WIDTH]
                        self.assertEqual(stored_row(dtype, row),
                                         data[i * row_bytes:(i + 1) * row_bytes])

    def test_verify_finds_everything_and_a_changed_row(self):
        for dtype in NARROW:
            must(self.box.run("halograph-partition", "verify", "--input", self.input, "--graph",
                              self.graphs[dtype]))
        values = list(self.values)
        values[100 * WIDTH] = 50.0
        other = write_input(self.box.folder / "other", values)
        for dtype in NARROW:
            self.assertCode(1, self.box.run("halograph-partition", "verify", "--input", other,
                                            "--graph", self.graphs[dtype]), "node 100 ")

    def test_inspect_names_the_dtype(self):
        for dtype in NARROW:
            result = must(self.box.run("halograph-partition", "inspect", "--graph",
                                       self.graphs[dtype]))
            shown = "scaled_int8" if dtype == "int8" else dtype
            self.assertIn(f"feat {shown}[{WIDTH}]", result.out)

    def test_only_int8_is_for_newer_readers(self):
        for dtype, graph in self.graphs.items():
            for folder in (graph, graph / "part-0000"):
                manifest = json.loads((folder / "manifest.json").read_text())
                self.assertEqual(1 if dtype == "int8" else 0, manifest["feature_bits"], dtype)

    def test_without_effect_the_graph_is_the_same(self):
        must(self.partition("again", "--feature-dtype", "float32"))
        first, again = (json.loads((path / "manifest.json").read_text())
                        for path in (self.graphs["float32"], self.shared.folder / "again"))
        self.assertEqual(first["identity"], again["identity"])
        self.assertNotIn("feature_dtype", first["options"])

    def test_losses_are_equal_in_every_mode_and_near_those_of_float32(self):
        self.equal("int8", 4)

    def test_so_are_those_of_float16_with_servers(self):
        self.equal("float16", 2)

    def test_so_are_those_of_bfloat16_with_servers(self):
        self.equal("bfloat16", 2)

    def test_less_is_planned_for(self):
        nodes = len(self.values) // WIDTH
        planned = {}
        for dtype in ("input", *NARROW):
            plan = must(self.box.run("halograph-partition", "plan", "--input", self.input, "--parts", 2,
                                     "--methods", "random", "--feature-dtype", dtype, "--json"))
            planned[dtype] = json.loads(plan.out)["output_bytes"]
        for dtype, row_bytes in NARROW.items():
            self.assertEqual(nodes * (4 * WIDTH - row_bytes), planned["input"] - planned[dtype])
        self.assertCode(2, self.box.run("halograph-partition", "plan", "--nodes", 10, "--edges", 10,
                                        "--parts", 2, "--feature-dtype", "int8"), "--feature-bytes")

    def test_less_crosses_the_wire_in_compare(self):
        found = {}
        for dtype in ("input", "int8"):
            report = must(self.box.run(
                "halograph-partition", "compare", "--input", self.input, "--parts", 2, "--methods",
                "random", "--batches", 2, "--feature-dtype", dtype, "--json"))
            found[dtype] = json.loads(report.out)["runs"][0]["remote_bytes_per_minibatch"]
        self.assertAlmostEqual(4 * WIDTH / NARROW["int8"], found["input"] / found["int8"], places=3)

    def test_numbers_that_do_not_fit_are_refused(self):
        values = list(self.values)
        values[7 * WIDTH + 5] = 70000.0
        large = write_input(self.box.folder / "large", values)
        self.assertCode(1, self.partition("none", "--feature-dtype", "float16", source=large),
                        "feat.npy", "70000", "row 7, column 5", "bfloat16")
        must(self.partition("large", "--feature-dtype", "bfloat16", source=large))
        values[7 * WIDTH + 5] = math.nan
        nan = write_input(self.box.folder / "nan", values)
        self.assertCode(1, self.partition("none", "--feature-dtype", "int8", source=nan), "NaN",
                        "--allow-nan")
        self.assertCode(1, self.partition("none", "--feature-dtype", "int8", "--allow-nan",
                                          source=nan), "nan at row 7, column 5", "bfloat16")
        must(self.partition("nan", "--feature-dtype", "bfloat16", "--allow-nan", source=nan))
        self.assertCode(2, self.partition("none", "--feature-dtype", "int4"), "bfloat16 or int8")


class FeatureDTypeLongTest(FeatureDTypeBase):
    def test_losses_are_equal_in_every_mode_whatever_the_dtype(self):
        for dtype in NARROW:
            self.equal(dtype, 4)


if __name__ == "__main__":
    programs.main()
