#!/usr/bin/env python3
"""Graphs of several node types and relations: R-GCN with learnt inputs beside features, the same in
every mode; fanouts by relation; and what such graphs are refused for."""
import signal

from harness import checkpoints, datasets, npy, programs
from harness.programs import must
from harness.training import ENDLESS, options, read_log, start_ranks, train

RUN = dict(hidden=8, embed="author:8,unused:8", batch_size=10, epochs=4, lr=0.02,
           seed=3, threads=1)
# Nothing is drawn, and a step is of all seeds: any number of ranks computes the same sums.
WHOLE = dict(RUN, fanouts="-1,-1", dropout=0, batch_size=1000, epochs=6)
# Features are there, and are not read.
ONE_HOT = {name: value for name, value in RUN.items() if name != "embed"}
ONE_HOT.update(rgcn_input="featureless", embed_lr=0.02, embed_weight_decay=0.0005)


class TypedBase(programs.ProgramTest):
    AT_ONCE = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graph = cls.shared.folder / "typed"
        must(cls.shared.run("halograph-partition", "run", "--input",
                            datasets.write_typed(cls.shared.folder / "input"), "--output", cls.graph,
                            "--parts", 2, "--method", "random", "--seed", 1))

    def state(self):
        return self.box.folder / f"state{len(self.box.processes)}"

    def served(self):
        servers = [self.box.start_server(self.graph, part, "--state", self.state())
                   for part in (0, 1)]
        return ",".join(programs.address(server) for server in servers)


class SameEverywhereTest(TypedBase):
    def numbers(self, **given):
        _, epochs, final = train(self.box, **given)
        return [(line["loss"], line["valid_acc"], line["test_acc"], line["sampled_edges"])
                for line in epochs], final["test_acc"]

    def test_servers_change_no_bit(self):
        for more in (dict(fanouts="writes=2:1,cites=1:0,*=3:3"), dict(fanouts="3,2", bases=2),
                     dict(fanouts="3,2", blocks=2, eval_fanouts="*=-1:-1")):
            with self.subTest(more):
                alone = self.numbers(graph=self.graph, state=self.state(), **RUN, **more)
                servers = self.served()
                self.assertEqual(alone, self.numbers(servers=servers, **RUN, **more))
                hybrid = dict(servers=servers, topology=self.graph, embed_begin="fresh")
                self.assertEqual(alone, self.numbers(**hybrid, **RUN, **more))

    def alone(self):
        """Epochs of one rank's run of all seeds and all neighbours in a step."""
        return self.once("alone", lambda: train(self.box, graph=self.graph, state=self.state(),
                                                **WHOLE)[1])

    def test_two_ranks_are_one_but_for_rounding(self):
        alone = self.alone()
        for rank in start_ranks(self.box, 2, servers=self.served(), **WHOLE):
            self.assertEqual(0, rank.wait(), rank.text)
        _, together, _ = read_log(self.box.folder / "rank0.jsonl")
        self.assertEqual(len(alone), len(together))
        for one, two in zip(alone, together):
            self.assertAlmostEqual(one["loss"], two["loss"], delta=1e-4 * one["loss"])
        self.assertLess(alone[-1]["loss"], 0.95 * alone[0]["loss"])

    def test_a_full_batch_has_the_nodes_of_all_types_and_the_same_loss(self):
        """R-GCN's mean over in-edges is known in any minibatch of all neighbours."""
        some = self.alone()
        run = {name: value for name, value in WHOLE.items() if name not in ("fanouts", "batch_size")}
        _, whole, _ = train(self.box, graph=self.graph, state=self.state(), full_batch=True, **run)
        for one, two in zip(some, whole, strict=True):
            self.assertAlmostEqual(one["loss"], two["loss"], delta=1e-4 * one["loss"])
            self.assertGreater(two["sampled_edges"], one["sampled_edges"])

    def test_authors_are_learnt_and_papers_predicted(self):
        """Features say nothing of a class: authors that are learnt do."""
        config, _, final = train(self.box, graph=self.graph, state=self.state(),
                                 **dict(RUN, epochs=40, fanouts="5,5", embed_lr=0.05))
        found = final["test_acc"]
        self.assertEqual("rgcn", config["model"], "what the default is for typed graphs")
        alone = train(self.box, graph=self.graph, state=self.state(),
                      **dict(RUN, epochs=40, fanouts="0,0", embed_lr=0.05))[2]["test_acc"]
        print(f"  accuracy {found:.2f}, without neighbours {alone:.2f}")
        self.assertGreater(found, 0.8)
        self.assertLess(alone, 0.6)


class OneHotInputsTest(TypedBase):
    """R-GCN's first layer of one-hot inputs: each node has rows of its own in every basis."""

    def run_of(self, **given):
        config, epochs, final = train(self.box, **{**ONE_HOT, **given})
        return config, [(line["loss"], line["valid_acc"], line["test_acc"])
                        for line in epochs] + [final["test_acc"]]

    def test_servers_change_no_bit(self):
        # Four relations, hidden 8: a row has a basis each, or two, and its own.
        for more, width in ((dict(fanouts="3,2"), 40), (dict(fanouts="-1,-1", bases=2), 24)):
            with self.subTest(more):
                config, alone = self.run_of(graph=self.graph, state=self.state(), **more)
                self.assertEqual({"author": width, "paper": width, "unused": width},
                                 config["learnt_inputs"])
                self.assertEqual([], config["features"])
                servers = self.served()
                self.assertEqual(alone, self.run_of(servers=servers, **more)[1])
                hybrid = dict(servers=servers, topology=self.graph, embed_begin="fresh")
                self.assertEqual(alone, self.run_of(**hybrid, **more)[1])

    def test_classes_are_learnt_of_neighbours(self):
        found = self.run_of(graph=self.graph, state=self.state(), fanouts="5,5", epochs=40,
                            embed_lr=0.05)[1][-1]
        print(f"  accuracy {found:.2f}")
        self.assertGreater(found, 0.8)

    def test_a_killed_run_goes_on_and_is_inferred_as_it_was_trained(self):
        def run(name, **more):
            return {**ONE_HOT, "graph": self.graph, "state": self.box.folder / f"rows-{name}",
                    "checkpoint": self.box.folder / name, "fanouts": "3,2", "eval_fanouts": "-1,-1",
                    "predict": self.box.folder / f"{name}.npy", "predict_what": "logits",
                    "bases": 2, **more}

        killed = run("killed", checkpoint_every="4", resume=True)
        process = self.box.start("halograph-train", *options(**{**killed, "epochs": ENDLESS}))
        checkpoints.await_one(killed["checkpoint"], [process], "step-000000000")
        process.signal(signal.SIGKILL)
        process.wait()
        epochs = checkpoints.epochs_to_go(killed["checkpoint"])
        train(self.box, **{**killed, "epochs": epochs})
        whole = run("whole", epochs=epochs)
        train(self.box, **whole)
        self.assertEqual(whole["predict"].read_bytes(), killed["predict"].read_bytes())
        wanted = npy.load(whole["predict"])
        for exact in ({}, dict(exact=True)):
            found = self.box.folder / f"inferred-{len(exact)}.npy"
            must(self.box.run("halograph-train", "infer", *options(
                graph=self.graph, state=whole["state"], checkpoint=whole["checkpoint"],
                predict=found, predict_what="logits", quiet=True, threads=1, **exact)))
            found = npy.load(found)
            self.assertEqual(wanted.shape, found.shape)
            for a, b in zip(wanted.values, found.values):
                self.assertAlmostEqual(a, b, delta=1e-4 * (1 + abs(a)), msg=str(exact))
        # What the weights mean is not changed afterwards.
        self.assertCode(2, self.box.run("halograph-train", "infer", *options(
            graph=self.graph, state=whole["state"], checkpoint=whole["checkpoint"],
            predict=self.box.folder / "p.npy", rgcn_input="rows")),
            "--rgcn-input is rows, not featureless")

    def test_what_cannot_be_is_refused(self):
        for code, words, message in (
                (2, dict(embed="author:8"), "--embed and --rgcn-input featureless"),
                (2, dict(features="feat"), "--features and --rgcn-input featureless"),
                (1, dict(hidden=16384), "81920 in all, and 65536 is the most; give --bases")):
            result = self.box.run("halograph-train", *options(
                graph=self.graph, state=self.state(), **{**ONE_HOT, **words}))
            self.assertCode(code, result, message)


class SeveralTypesTest(programs.ProgramTest):
    """A task whose rows are papers and authors, of the same classes."""
    AT_ONCE = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = cls.source = datasets.write_typed(cls.shared.folder / "input")
        text = (source / "metadata.yaml").read_text()
        cls.tested = {}
        for i, name in enumerate(datasets.SETS):
            own = datasets.TYPED_SET.format(name=name)
            rows = own[own.index("      - type"):]
            text = text.replace(own, own + rows.replace("paper", "author")
                                .replace(f"{name}_", f"{name}_author_"))
            seeds = [v for v in range(60) if v // 3 % 3 == i]
            npy.save(source / f"{name}_author_seeds.npy", "<i8", (len(seeds),), seeds)
            npy.save(source / f"{name}_author_labels.npy", "<i8", (len(seeds),),
                     [v % 3 for v in seeds])
        cls.tested = {"paper": [v for v in range(90) if v // 3 % 3 == 2], "author": seeds}
        (source / "metadata.yaml").write_text(text)
        cls.graph = cls.shared.folder / "graph"
        must(cls.shared.run("halograph-partition", "run", "--input", source, "--output", cls.graph,
                            "--parts", 2, "--method", "random", "--seed", 1))

    def predicted(self, path):
        """{node type: {original id: class}}"""
        found = {}
        for node_type in self.tested:
            lines = path.with_name(f"predicted.{node_type}.csv").read_text().splitlines()
            self.assertEqual("original_id,prediction", lines[0])
            rows = [tuple(map(int, line.split(","))) for line in lines[1:]]
            self.assertEqual(len(rows), len(dict(rows)))
            found[node_type] = dict(rows)
        return found

    def accuracy(self, predicted):
        right = [predicted[node_type][v] == v % 3 for node_type, seeds in self.tested.items()
                 for v in seeds]
        return sum(right) / len(right)

    def test_every_node_type_is_trained_on_and_predicted(self):
        path = self.box.folder / "predicted.csv"
        config, epochs, _ = train(self.box, graph=self.graph, state=self.box.folder / "state",
                                  predict=path, **dict(RUN, fanouts="5,5", epochs=10))
        self.assertEqual(30 + 21, config["train_rows"])
        self.assertLess(epochs[-1]["loss"], epochs[0]["loss"])
        predicted = self.predicted(path)
        self.assertEqual(set(range(90)), set(predicted["paper"]))
        self.assertEqual(set(range(60)), set(predicted["author"]))
        self.assertFalse(path.exists())
        self.assertFalse(path.with_name("predicted.unused.csv").exists())
        whole = dict(WHOLE, epochs=8, lr=0.05)
        servers = ",".join(programs.address(self.box.start_server(
            self.graph, part, "--state", self.box.folder / f"state{part}")) for part in (0, 1))
        for rank in start_ranks(self.box, 2, servers=servers, predict=path, predict_nodes="test",
                                **whole):
            self.assertEqual(0, rank.wait(), rank.text)
        predicted = self.predicted(path)
        for node_type, seeds in self.tested.items():
            self.assertEqual(set(seeds), set(predicted[node_type]))
        # Learnt inputs are not set back to the best epoch's: predictions are the last one's.
        _, epochs, _ = read_log(self.box.folder / "rank0.jsonl")
        self.assertAlmostEqual(epochs[-1]["test_acc"], self.accuracy(predicted), places=6)


    def infer(self, name, **given):
        """What stands beside --predict, {node type: file}."""
        folder = self.box.folder / name
        folder.mkdir()
        words = dict(predict=folder / "p.npy", predict_what="logits", quiet=True, threads=1)
        must(self.box.run("halograph-train", "infer", *options(**{**words, **given})))
        return {path.name.split(".")[1]: npy.load(path) for path in folder.iterdir()
                if not path.name.endswith(".ids.npy")}

    def assertClose(self, wanted, found):
        self.assertEqual(wanted.keys(), found.keys())
        for node_type, rows in wanted.items():
            self.assertEqual(rows.shape, found[node_type].shape)
            for a, b in zip(rows.values, found[node_type].values):
                self.assertAlmostEqual(a, b, delta=1e-3 * (1 + abs(a)), msg=node_type)

    def test_every_node_type_is_inferred_into_a_file_of_its_own(self):
        state, checkpoint = self.box.folder / "state", self.box.folder / "run"
        folder = self.box.folder / "trained"
        folder.mkdir()
        train(self.box, graph=self.graph, state=state, checkpoint=checkpoint, predict=folder / "p.npy",
              predict_what="logits", **dict(RUN, fanouts="5,5", eval_fanouts="-1,-1"))
        wanted = {name: npy.load(folder / f"p.{name}.npy") for name in self.tested}
        here = dict(graph=self.graph, state=state, checkpoint=checkpoint)
        self.assertClose(wanted, self.infer("sampled", **here))
        self.assertClose(wanted, self.infer("exact", exact=True, **here))
        for exact in ({}, dict(exact=True)):
            name = "exact" if exact else "sampled"
            tested = self.infer(f"tested-{name}", nodes="test", **exact, **here)
            for node_type, seeds in self.tested.items():
                ids = self.box.folder / f"tested-{name}" / f"p.{node_type}.ids.npy"
                self.assertEqual(seeds, list(npy.load(ids).values))
                self.assertEqual([len(seeds), 3], list(tested[node_type].shape))
            # One type: the file has the name that was given.
            one = self.infer(f"one-{name}", node_type="author", **exact, **here)
            self.assertClose({"npy": wanted["author"]}, one)
            listed = self.box.folder / "nodes.txt"
            listed.write_text("7\n59\n")
            some = self.infer(f"some-{name}", node_type="author", nodes=listed, **exact, **here)
            for row, node in zip(some["npy"].rows(), (7, 59)):
                for a, b in zip(row, wanted["author"].row(node)):
                    self.assertAlmostEqual(a, b, delta=1e-3 * (1 + abs(b)))
        for words, message in (
                (dict(nodes=listed), "--node-type: paper, author"),
                (dict(node_type="unused"), "nodes of other types: paper, author")):
            result = self.box.run("halograph-train", "infer", *options(
                predict=self.box.folder / "p.npy", quiet=True, **words, **here))
            self.assertEqual(1, result.code, str(result))
            self.assertRegex(result.text, message.replace("paper, author",
                                                          "(paper, author|author, paper)"))

    def test_inputs_of_another_step_than_the_weights_are_warned_of(self):
        given = dict(graph=self.graph, state=self.box.folder / "state")
        run = dict(RUN, fanouts="5,5", epochs=1)
        train(self.box, checkpoint=self.box.folder / "run", **given, **run)
        again = dict(checkpoint=self.box.folder / "run", predict=self.box.folder / "p.csv", **given)
        said = must(self.box.run("halograph-train", "infer", *options(**again))).err
        self.assertNotIn("learnt inputs in this store", said)
        train(self.box, embed_begin="continue", **given, **run)
        said = must(self.box.run("halograph-train", "infer", *options(**again))).err
        self.assertRegex(said, r"learnt inputs in this store are of step \d+, and the weights in .* "
                               r"halograph-ctl state restore --name checkpoints-")

    def test_servers_infer_every_node_type(self):
        folder, checkpoint = self.box.folder / "trained", self.box.folder / "run"
        folder.mkdir()
        servers = ",".join(programs.address(self.box.start_server(
            self.graph, part, "--state", self.box.folder / f"state{part}")) for part in (0, 1))
        train(self.box, servers=servers, checkpoint=checkpoint, predict=folder / "p.npy",
              predict_what="logits", **dict(RUN, fanouts="5,5", eval_fanouts="-1,-1"))
        wanted = {name: npy.load(folder / f"p.{name}.npy") for name in self.tested}
        for exact in ({}, dict(exact=True)):
            self.assertClose(wanted, self.infer("exact" if exact else "sampled", servers=servers,
                                                checkpoint=checkpoint, **exact))

    def test_a_step_whose_rows_have_nothing_to_learn_is_no_error(self):
        """Papers' features are as wide as the outputs, so a step of a paper alone has no gradient."""
        source = datasets.copy_of(self.source, self.box.folder / "input")
        metadata = source / "metadata.yaml"
        metadata.write_text(metadata.read_text().replace("num_classes: 3", "num_classes: 5"))
        graph = self.box.folder / "graph"
        must(self.box.run("halograph-partition", "run", "--input", source, "--output", graph,
                          "--parts", 1))
        _, epochs, _ = train(self.box, graph=graph, state=self.box.folder / "state", batch_size=1,
                             model="embedding", embed="author:5,unused:4", embed_lr=0.1, epochs=3)
        self.assertLess(epochs[-1]["loss"], epochs[0]["loss"])


class RefusalTest(TypedBase):
    def refused(self, code, *mentioned, **given):
        result = self.box.run("halograph-train", *options(
            **{"graph": self.graph, "model": "rgcn", "epochs": 1, **given}))
        self.assertCode(code, result, *mentioned)

    def test_what_does_not_fit_the_graph_is_named(self):
        state = dict(state=self.state())
        self.refused(1, "--fanouts: no relation 'sites'", "'author:writes:paper'",
                     fanouts="sites=2:2,*=1:1", **state)
        self.refused(1, "--eval-fanouts: no fanout for", "add *=0:0",
                     eval_fanouts="cites=2:2", **state)
        self.refused(2, "--fanouts is cites=2: 1 fanouts", fanouts="cites=2,*=1:1", **state)
        self.refused(2, "--blocks 3 does not divide --hidden 64", blocks=3, **state)
        self.refused(1, "node type 'author' has no features", "--embed author",
                     embed="unused:8", **state)
        self.refused(1, "for 2 ranks start halograph-server with --state DIR", logical_ranks=2)
        self.refused(1, "--model sage needs a graph of one node type", "give --model rgcn",
                     model="sage", **state)

    def test_seeds_that_no_edge_leads_to_are_warned_of(self):
        source = datasets.copy_of(datasets.write_typed(self.box.folder / "whole"),
                                  self.box.folder / "input")
        text = (source / "metadata.yaml").read_text()
        for relation in ("author:writes:paper", "paper:cites:paper"):
            text = text.replace(datasets.TYPED_EDGE.format(
                relation=relation, name=relation.split(":")[1]), "")
        (source / "metadata.yaml").write_text(text)
        graph = self.box.folder / "graph"
        must(self.box.run("halograph-partition", "run", "--input", source, "--output", graph,
                          "--parts", 1))
        done = must(self.box.run("halograph-train", *options(graph=graph, state=self.state(),
                                                             **{**RUN, "epochs": 1})))
        self.assertIn("no edge leads into node type 'paper' of task 'classes'", done.err)
        done = must(self.box.run("halograph-train", *options(graph=self.graph, state=self.state(),
                                                             **{**RUN, "epochs": 1})))
        self.assertNotIn("no edge leads", done.err)
        # Nor is what no minibatch reads passed over in silence.
        self.assertIn("relations without edges: 'paper:retracts:paper'.", done.err)
        self.assertIn("node types in no relation with edges: 'unused'.", done.err)


if __name__ == "__main__":
    programs.main()
