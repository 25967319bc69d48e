"""Cora in two METIS partitions, made once a class."""
from harness import datasets, programs


class CoraInTwoTest(programs.ProgramTest):
    """The partition folder is `self.graph`."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graph = cls.shared.folder / "cora"
        programs.must(cls.shared.run("halograph-partition", "run", "--input", datasets.cora(),
                                     "--output", cls.graph, "--parts", 2, "--seed", 1))
