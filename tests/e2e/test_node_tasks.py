#!/usr/bin/env python3
"""Multi-label classification, regression, class weights and metrics with the programs: two ranks
learn what one does, and predictions give the figures of the log."""
import csv
import math
import random

from harness import npy, programs
from harness.programs import must
from harness.training import options, read_log, start_ranks, train

NODES, WIDTH = 240, 4
SETS = {"train_set": range(0, NODES, 2), "validation_set": range(1, NODES, 4),
        "test_set": range(3, NODES, 4)}
METADATA = """dataset_name: labelled
graph:
  nodes:
    - num: {nodes}
  edges:
    - format: numpy
      path: edges.npy
feature_data:
  - domain: node
    name: feat
    format: numpy
    path: feat.npy
tasks:
  - name: task
{extra}{sets}"""
SET = """    {name}:
      - data:
          - {{name: seeds, format: numpy, path: {name}_seeds.npy}}
          - {{name: labels, format: numpy, path: {name}_labels.npy}}
"""
# Nothing is drawn, and a step is an epoch: all ranks together see what one sees.
WHOLE = dict(hidden=16, fanouts="-1,-1", dropout=0, lr=0.05, threads=1, epochs=12)


def write(folder, descr, label_of, columns=0, extra=""):
    """Nodes with random features and in-edges; `label_of` of a node's features: a list, or one."""
    draw = random.Random(3)
    folder.mkdir()
    features = [[draw.random() for _ in range(WIDTH)] for _ in range(NODES)]
    edges = [(draw.randrange(NODES), node) for node in range(NODES) for _ in range(3)]
    (folder / "metadata.yaml").write_text(METADATA.format(
        nodes=NODES, extra=extra, sets="".join(SET.format(name=name) for name in SETS)))
    npy.save(folder / "edges.npy", "<i8", (2, len(edges)),
             [u for u, _ in edges] + [v for _, v in edges])
    npy.save(folder / "feat.npy", "<f4", (NODES, WIDTH), [x for row in features for x in row])
    labels = [label_of(row) for row in features]
    for name, seeds in SETS.items():
        npy.save(folder / f"{name}_seeds.npy", "<i8", (len(seeds),), list(seeds))
        values = [labels[seed] for seed in seeds]
        if columns:
            npy.save(folder / f"{name}_labels.npy", descr, (len(seeds), columns),
                     [x for row in values for x in row])
        else:
            npy.save(folder / f"{name}_labels.npy", descr, (len(seeds),), values)
    return labels


class NodeTaskBase(programs.ProgramTest):
    AT_ONCE = 3

    def partition(self, descr, label_of, columns=0, extra=""):
        self.labels = write(self.box.folder / "input", descr, label_of, columns, extra)
        self.graph = self.box.folder / "graph"
        self.said = must(self.box.run("halograph-partition", "run", "--input",
                                      self.box.folder / "input", "--output", self.graph,
                                      "--parts", 2, "--method", "random")).text

    def alone_and_together(self, *keys, **given):
        """One rank's run; two ranks' has the same figures of these keys."""
        alone = train(self.box, graph=self.graph, batch_size=120, eval_batch_size=60,
                      **WHOLE, **given)
        given.pop("predict", None)
        for rank in start_ranks(self.box, 2, graph=self.graph, batch_size=60, eval_batch_size=60,
                                **WHOLE, **given):
            self.assertEqual(0, rank.wait(), rank.text)
        together = read_log(self.box.folder / "rank0.jsonl")
        self.assertEqual(len(alone[1]), len(together[1]))
        for one, two in zip(alone[1], together[1]):
            for key in ("loss", "valid_loss", *keys):
                self.assertAlmostEqual(one[key], two[key], delta=2e-3 * max(1, abs(one[key])),
                                       msg=f"{key} of epoch {one['epoch']}")
        return alone

    def refused(self, *mentioned, **given):
        self.assertCode(1, self.box.run("halograph-train", *options(
            graph=self.graph, **{**WHOLE, "epochs": 1}, **given)), *mentioned)


def area(scores, labels):
    """The share of pairs of a 1 and a 0 that are in order."""
    ones = [s for s, label in zip(scores, labels) if label]
    zeros = [s for s, label in zip(scores, labels) if not label]
    return sum((a > b) + (a == b) / 2 for a in ones for b in zeros) / (len(ones) * len(zeros))


class MultiLabelTest(NodeTaskBase):
    def test_two_ranks_learn_what_one_does_and_predictions_give_the_metrics(self):
        self.partition("|u1", lambda row: [int(x > 0.6) for x in row[:3]], columns=3)
        path = self.box.folder / "labels.csv"
        config, epochs, final = self.alone_and_together(
            "valid_micro_f1", "test_macro_f1", metric="micro-f1,macro-f1,roc-auc", predict=path)
        self.assertEqual(("multi-label", 3), (config["task_kind"], config["num_labels"]))
        self.assertEqual(max(line["valid_micro_f1"] for line in epochs), final["valid_micro_f1"])
        self.assertGreater(final["test_micro_f1"], 0.5)
        self.assertIsNone(final["most_frequent_class"])

        with open(path, newline="") as handle:
            header, *rows = csv.reader(handle)
        self.assertEqual(["original_id"] + [f"prediction_{i}" for i in range(3)], header)
        predicted = {int(row[0]): list(map(int, row[1:])) for row in rows}
        self.assertEqual(set(range(NODES)), set(predicted))
        pairs = [pair for seed in SETS["test_set"]
                 for pair in zip(predicted[seed], self.labels[seed])]
        both = sum(p and y for p, y in pairs)
        f1 = 2 * both / (2 * both + sum(p != y for p, y in pairs))
        self.assertAlmostEqual(f1, final["test_micro_f1"], delta=0.01)

        path = self.box.folder / "logits.npy"
        _, _, final = train(self.box, graph=self.graph, batch_size=120, metric="roc-auc",
                            predict=path, predict_what="logits", **WHOLE)
        logits = list(npy.load(path).rows())
        areas = [area([logits[seed][i] for seed in SETS["test_set"]],
                      [self.labels[seed][i] for seed in SETS["test_set"]]) for i in range(3)]
        self.assertAlmostEqual(sum(areas) / 3, final["test_roc_auc"], delta=0.005)


class RegressionTest(NodeTaskBase):
    def test_two_ranks_learn_what_one_does_and_predictions_give_the_error(self):
        self.partition("<f4", lambda row: 3 * row[0] - row[1])
        path = self.box.folder / "values.npy"
        config, epochs, final = self.alone_and_together("valid_rmse", "test_mae",
                                                        metric="rmse,mae", predict=path)
        self.assertEqual("regression", config["task_kind"])
        self.assertEqual("values", config["predict_what"])
        self.assertLess(epochs[-1]["loss"], epochs[0]["loss"] / 2)
        self.assertEqual(min(line["valid_rmse"] for line in epochs), final["valid_rmse"])
        for line in epochs:
            self.assertAlmostEqual(line["valid_loss"], line["valid_rmse"] ** 2, delta=1e-4)
        values = npy.load(path)
        self.assertEqual((NODES, 1), values.shape)
        errors = [values.row(seed)[0] - self.labels[seed] for seed in SETS["test_set"]]
        self.assertAlmostEqual(math.sqrt(sum(e * e for e in errors) / len(errors)),
                               final["test_rmse"], delta=0.01)
        self.assertNotIn("for other programs", self.said)

    def test_what_the_task_has_not_is_refused(self):
        self.partition("<f8", lambda row: row[0])
        self.refused("--metric accuracy: task 'task' is regression", metric="accuracy")
        self.refused("only classification has them", class_weights="balanced")
        self.refused("--predict-what logits", predict=self.box.folder / "p.npy",
                     predict_what="logits")
        self.refused("expected a class", task_kind="classification")

    def test_an_infinite_label_is_refused_by_all_ranks(self):
        infinite = iter([math.inf] + [1.0] * NODES)
        self.partition("<f8", lambda row: next(infinite))
        ranks = start_ranks(self.box, 2, graph=self.graph, batch_size=60, **WHOLE)
        for rank in ranks:
            self.assertEqual(1, rank.wait(), rank.text)
            self.assertIn("original id 0 is inf", rank.text)


class ClassWeightsTest(NodeTaskBase):
    def test_weighted_losses_of_two_ranks_are_those_of_one(self):
        """Of a rare class; and they are others than without weights."""
        self.partition("<i8", lambda row: int(row[0] > 0.85), extra="    num_classes: 2\n")
        plain = train(self.box, graph=self.graph, batch_size=120, metric="macro-f1,accuracy",
                      **WHOLE)[1]
        for weights in ("balanced", "1,20"):
            _, epochs, _ = self.alone_and_together(
                "train_macro_f1", metric="macro-f1,accuracy,roc-auc", class_weights=weights)
            self.assertNotAlmostEqual(plain[-1]["loss"], epochs[-1]["loss"], delta=1e-3)
            self.assertIn("test_acc", epochs[-1])
        self.refused("3 weights, expected one for each of 2 classes", class_weights="1,2,3")

    def test_what_leaves_a_run_without_a_best_epoch_or_its_rate_is_said(self):
        labels = iter([0, -1, 1, -1] * NODES)  # none in the validation and test sets
        self.partition("<i8", lambda row: next(labels), extra="    num_classes: 2\n")
        result = self.box.run("halograph-train", *options(
            graph=self.graph, batch_size=120, warmup_steps=12, **WHOLE))
        self.assertCode(0, result, "no row of its validation set has a label",
                        "the last one counts as that", "--warmup-steps 12: the run takes 12 steps")
        enough = self.box.run("halograph-train", *options(
            graph=self.graph, batch_size=120, warmup_steps=11, **WHOLE))
        self.assertNotIn("--warmup-steps 11", enough.err)

    def test_unlabelled_rows_count_in_no_loss_with_class_weights_or_without(self):
        unlabelled = iter([-1, -1, 1, 0, 0, -1, 1] * NODES)
        self.partition("<i8", lambda row: next(unlabelled), extra="    num_classes: 2\n")
        losses = [self.alone_and_together(**given)[1][-1] for given in ({}, {"class_weights": "1,1"})]
        for key in ("loss", "valid_loss", "test_loss"):
            self.assertAlmostEqual(losses[0][key], losses[1][key], delta=1e-5)

    def test_a_train_set_without_a_label_is_refused_by_all_ranks(self):
        self.partition("<i8", lambda row: -1, extra="    num_classes: 2\n")
        self.assertIn("no seed has a label", self.said)
        for rank in start_ranks(self.box, 2, graph=self.graph, batch_size=60, **WHOLE):
            self.assertEqual(1, rank.wait(), rank.text)
            self.assertIn("no row of the train set has a label", rank.text)

    def test_a_set_of_one_class_has_no_area_and_training_goes_on(self):
        self.partition("<i8", lambda row: 0, extra="    num_classes: 2\n")
        log = self.box.folder / "log.jsonl"
        result = self.box.run("halograph-train", *options(
            graph=self.graph, batch_size=120, metric="roc-auc,accuracy", log=log, **WHOLE))
        self.assertCode(0, result, "--metric roc-auc: all labels of the valid set",
                        "all 120 labels of the train set are class 0")
        self.assertNotIn("advice", result.out)
        _, epochs, final = read_log(log)
        self.assertIsNone(final["test_roc_auc"])
        self.assertEqual(1, final["test_acc"])
        self.assertEqual(len(epochs) - 1, final["best_epoch"], "nothing says which is better")


if __name__ == "__main__":
    programs.main()
