#!/usr/bin/env python3
"""--trace: what each stage of each step and each call took, as Chrome's trace viewers read it."""
import json
import pathlib
import re
import signal
import tempfile

from harness import programs
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must, wait_until
from harness.training import ENDLESS, num_epochs, options, read_log, start_ranks

SMALL = dict(hidden=16, fanouts="5,3", batch_size=50, seed=3, threads=1)
STAGES = ["schedule", "sample", "gather", "move", "train"]
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
PURPOSES = {"train": 0, "valid": 1, "test": 2, "predict": 3}


def complete(path, category):
    return [event for event in json.loads(path.read_text())
            if event["ph"] == "X" and event["cat"] == category]


def stages_of_training(path):
    """(stage, epoch, step) of each event of a stage of a step of training."""
    return sorted((event["name"], event["args"]["epoch"], event["args"]["step"])
                  for event in complete(path, "stage")
                  if event["args"].get("purpose") == "train")


class TraceTest(CoraInTwoTest):
    AT_ONCE = 2

    def folder(self):
        return pathlib.Path(tempfile.mkdtemp(dir=self.box.folder))

    def each_step_once(self, log, stages):
        """What stages_of_training is of a run of one rank."""
        _, epochs, _ = read_log(log)
        return sorted((stage, line["epoch"], step) for stage in stages for line in epochs
                      for step in range(line["steps"]))

    def calls_of_steps(self, trace, traceparent):
        """A run with servers, whose logs have the ids of its trace: its calls for steps."""
        servers, addresses = self.box.servers(self.graph, [0, 1], "--log-level", "debug")
        log = trace.with_suffix(".log")
        must(self.box.run("halograph-train", *options(
            servers=",".join(addresses), epochs=2, log=log, trace=trace, **SMALL),
            env={"TRACEPARENT": traceparent}))
        self.assertEqual(self.each_step_once(log, STAGES + ["plan"]), stages_of_training(trace))
        for server in servers:
            server.signal(signal.SIGTERM)
            server.wait()
        answered = {address: dict(re.findall(r"request (\S+) rank 0 trace (\S+) from", server.text))
                    for address, server in zip(addresses, servers)}
        calls = [call for call in complete(trace, "call") if call["args"]["answered"]]
        for call in calls:
            args = call["args"]
            found = answered[args["server"]].get(args["request"])
            self.assertIsNotNone(found, call)
            self.assertEqual(args["trace"] or "-", found)
        of_steps = [call for call in calls if call["args"]["trace"]]
        self.assertEqual({"GraphService/Sample", "KVService/Pull"},
                         {call["name"] for call in of_steps})
        spans = {call["args"]["span"] for call in of_steps}
        self.assertEqual(len(spans), len(of_steps))
        for span in spans:
            self.assertRegex(span, "^[0-9a-f]{16}$")
        return of_steps

    def test_it_has_each_stage_of_each_step_and_each_call_under_the_ids_of_the_servers_logs(self):
        trace = self.folder() / "trace.json"
        calls = self.calls_of_steps(trace, "")
        steps = {}
        for event in complete(trace, "stage"):
            args = event["args"]
            if args.get("trace"):
                step = (PURPOSES[args["purpose"]], args["epoch"], args["step"])
                self.assertEqual(steps.setdefault(args["trace"], step), step)
        run, = {step[:16] for step in steps}
        self.assertEqual(set(steps), {f"{run}0000{purpose:x}{epoch:04x}{step:07x}"
                                      for purpose, epoch, step in steps.values()})
        self.assertLessEqual({call["args"]["trace"] for call in calls}, set(steps))
        self.assertGreater(len(calls), len(steps) / 2)

    def test_a_run_that_is_part_of_a_trace_goes_on_with_it(self):
        trace = self.folder() / "trace.json"
        calls = self.calls_of_steps(trace, TRACEPARENT)
        self.assertEqual({TRACE}, {call["args"]["trace"] for call in calls})
        self.assertEqual({TRACE}, {stage["args"]["trace"] for stage in complete(trace, "stage")
                                   if "trace" in stage["args"]})

    def test_events_of_a_line_do_not_overlap_and_lines_are_named(self):
        folder = self.folder()
        trace, log = folder / "trace.json", folder / "log"
        must(self.box.run("halograph-train", *options(
            graph=self.graph, epochs=3, log=log, trace=trace, sample_threads=3, **SMALL)))
        self.assertEqual(self.each_step_once(log, STAGES), stages_of_training(trace))
        events = json.loads(trace.read_text())
        names = {event["tid"]: event["args"]["name"] for event in events
                 if event["name"] == "thread_name"}
        lines = {}
        for event in events:
            if event["ph"] == "X":
                self.assertEqual(event["name"] if event["name"] != "evaluate" else "train",
                                 names[event["tid"]].split(" ")[0])
                lines.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
        for line in lines.values():
            line.sort()
            for (_, end), (begin, _) in zip(line, line[1:]):
                self.assertLessEqual(end, begin)
        self.assertEqual(3, sum(event["name"] == "evaluate" for event in events))

    def test_several_ranks_write_one_each_whether_in_one_process_or_two(self):
        folder = self.folder()
        ranks = start_ranks(self.box, 2, lambda rank: dict(log=folder / f"{rank}.jsonl"),
                            graph=self.graph, epochs=1, trace=folder / "two.json", **SMALL)
        for rank in ranks:
            self.assertEqual(0, rank.wait(), rank.text)
        must(self.box.run("halograph-train", *options(
            graph=self.graph, epochs=1, logical_ranks=2, trace=folder / "one", **SMALL)))
        for rank in range(2):
            in_two, in_one = folder / f"two.rank{rank}.json", folder / f"one.rank{rank}"
            self.assertEqual({rank}, {event["pid"] for event in json.loads(in_two.read_text())})
            self.assertEqual(stages_of_training(in_two), stages_of_training(in_one))
            self.assertTrue(stages_of_training(in_two))
        self.assertEqual(4, len(list(folder.glob("*.rank*"))), list(folder.iterdir()))
        self.assertFalse((folder / "one").exists())

    def test_parts_that_are_trained_alone_are_in_it_too(self):
        trace = self.folder() / "trace.json"
        must(self.box.run("halograph-train", *options(
            graph=self.graph, epochs=1, average_every=1, trace=trace, **SMALL)))
        self.assertEqual(set(STAGES), {stage for stage, _, _ in stages_of_training(trace)})

    def test_a_run_that_a_signal_stops_leaves_a_whole_array(self):
        folder = self.folder()
        trace, log = folder / "trace.json", folder / "log"
        trainer = self.box.start("halograph-train", *options(
            graph=self.graph, epochs=ENDLESS, log=log, trace=trace, **SMALL))
        wait_until(lambda: num_epochs(log) > 2, "three epochs")
        trainer.signal(signal.SIGTERM)
        self.assertEqual(1, trainer.wait(), trainer.text)
        taken = [event for event in stages_of_training(trace) if event[0] == "train"]
        done = sum(line.get("steps", 0) for line in read_log(log)[1])
        self.assertGreaterEqual(len(taken), done)

    def test_a_file_that_cannot_be_written_is_refused_before_the_log_is_begun_anew(self):
        folder = self.folder()
        log = folder / "log"
        log.write_text("kept\n")
        for path, said in ((folder / "no" / "trace.json", "no folder"), ("/dev/null", "no regular"),
                           (folder, "Is a directory")):
            self.assertCode(1, self.box.run("halograph-train", *options(
                graph=self.graph, epochs=1, log=log, trace=path, **SMALL)), "--trace", path, said)
        self.assertEqual("kept\n", log.read_text())
        self.assertCode(2, self.box.run("halograph-train", "infer", *options(
            graph=self.graph, checkpoint=folder, trace=folder / "t", predict=folder / "p.csv")),
            "--trace")


if __name__ == "__main__":
    programs.main()
