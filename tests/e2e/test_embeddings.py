#!/usr/bin/env python3
"""Inputs that are learnt: pulled from their owners, and pushed to them."""
from harness import datasets, programs
from harness.programs import must
from harness.training import read_log, start_ranks, train

SETTINGS = dict(embed="node:16", hidden=16, fanouts="5,5", batch_size=50, epochs=2, seed=3,
                threads=1)


class LearntInputsTest(programs.ProgramTest):
    AT_ONCE = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graph = cls.shared.folder / "cora"
        must(cls.shared.run("halograph-partition", "run", "--input", datasets.cora(), "--output",
                            cls.graph, "--parts", 4, "--seed", 1))

    def served(self, groups):
        """Addresses of a server a group of parts, each with a state folder of its own."""
        servers = [self.box.start_server(self.graph, parts, "--state",
                                         self.box.folder / f"state-{len(groups)}-{i}")
                   for i, parts in enumerate(groups)]
        return ",".join(programs.address(server) for server in servers)

    def losses(self, **where):
        _, epochs, final = train(self.box, **where, **SETTINGS)
        return [epoch["loss"] for epoch in epochs], final["test_acc"]

    def test_any_number_of_servers_learns_the_same(self):
        """And so does a trainer that keeps the rows itself."""
        alone = self.losses(graph=self.graph, state=self.box.folder / "state")
        self.assertLess(alone[0][1], alone[0][0])
        for groups in (["all"], ["0,1", "2,3"], ["0", "1", "2", "3"]):
            self.assertEqual(alone, self.losses(servers=self.served(groups)), groups)

    def test_two_ranks_learn_the_same_twice(self):
        found = []
        for _ in range(2):
            servers = self.served(["0,1", "2,3"]) if not found else servers
            for rank in start_ranks(self.box, 2, servers=servers, embed_begin="fresh", **SETTINGS):
                self.assertEqual(0, rank.wait(), rank.text)
            _, epochs, _ = read_log(self.box.folder / "rank0.jsonl")
            found.append([epoch["loss"] for epoch in epochs])
        self.assertEqual(found[0], found[1])

    def test_what_was_learnt_is_not_lost_by_chance(self):
        state = self.box.folder / "state"
        self.losses(graph=self.graph, state=state)
        again = self.box.run("halograph-train", "--graph", self.graph, "--state", state, "--embed",
                             "node:16", "--seed", 3)
        self.assertEqual(1, again.code)
        self.assertIn("node node / embedding was trained before", again.err)
        self.assertIn("--embed-begin continue", again.err)
        _, epochs, _ = train(self.box, graph=self.graph, state=state, embed_begin="continue",
                             **SETTINGS)
        first, _ = self.losses(graph=self.graph, state=self.box.folder / "other")
        self.assertLess(epochs[0]["loss"], first[0])

    def test_stale_rows_learn_too(self):
        _, epochs, _ = train(self.box, graph=self.graph, state=self.box.folder / "state",
                             staleness=3, **{**SETTINGS, "epochs": 20})
        self.assertLess(epochs[-1]["loss"], epochs[0]["loss"] - 0.1)

    def test_a_trainer_without_state_says_what_to_do(self):
        done = self.box.run("halograph-train", "--graph", self.graph, "--embed", "node")
        self.assertEqual(1, done.code)
        self.assertIn("--state DIR", done.err)


if __name__ == "__main__":
    programs.main()
