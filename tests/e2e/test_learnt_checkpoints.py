#!/usr/bin/env python3
"""Checkpoints of runs that learn inputs: killed runs that go on learn the same rows as undisturbed
ones, in a trainer's own state folder and on servers."""
import json
import re
import shutil
import signal

from harness import checkpoints, npy, programs
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must
from harness.training import ENDLESS, options, start_ranks

RUN = dict(embed="node:16", hidden=16, fanouts="5,5", batch_size=20, seed=3, threads=1)
MEASURES = ("valid_acc", "test_acc", "valid_loss", "test_loss")


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def evaluations(log):
    """What each epoch was evaluated to; of two lines of one epoch the later counts."""
    return {line["epoch"]: [line[key] for key in MEASURES]
            for line in lines_of(log) if "valid_loss" in line and "final" not in line}


class LearntCheckpointsTest(CoraInTwoTest):
    AT_ONCE = 3

    def setUp(self):
        super().setUp()
        self.folder = self.box.folder / "checkpoints"
        self.log = self.box.folder / "log.jsonl"
        self.servers = []

    def names(self):
        return checkpoints.names(self.folder)

    def newest(self):
        """The one of the beginning, if no other."""
        return max(checkpoints.newest(self.folder), "step-000000000")

    def named_snapshots(self, folder):
        """What the checkpoints of a folder name: at their moments, and of the best evaluations."""
        manifests = [checkpoints.manifest(folder, name) for name in checkpoints.names(folder)]
        return {manifest[key]["name"] for manifest in manifests
                for key in ("snapshot", "best_snapshot") if key in manifest}

    def serve(self, state, listen=("127.0.0.1:0",) * 2):
        self.servers = [self.box.start_server(self.graph, part, "--state", state, listen=listen[part])
                        for part in (0, 1)]
        return [programs.address(server) for server in self.servers]

    def end_servers(self, how):
        for server in self.servers:
            server.signal(how)
        for server in self.servers:
            server.wait()

    def ctl(self, command, servers, *args):
        return must(self.box.run("halograph-ctl", "state", command, "--servers", ",".join(servers), *args))

    def rows(self, servers, name):
        """All learnt rows, by original id."""
        folder = self.box.folder / name
        self.ctl("export", servers, "--type", "node", "--tensor", "embedding", "--output", folder)
        return npy.load(folder / "rows.npy").values

    def snapshots(self, servers):
        found = json.loads(self.ctl("snapshots", servers, "--json").out)
        return {snapshot["name"] for snapshot in found}

    def test_a_killed_run_goes_on_in_its_own_state_folder(self):
        def run(state, log, predicted, **more):
            return options(**{**RUN, "graph": self.graph, "state": state, "log": log,
                              "predict": predicted, "predict_what": "logits", **more})

        states = [self.box.folder / name for name in ("state-of-whole", "state")]
        whole, predicted = self.box.folder / "whole.jsonl", self.box.folder / "predicted.npy"

        def goes_on(epochs):
            return run(states[1], self.log, predicted, checkpoint=self.folder, checkpoint_every="4",
                       resume=True, epochs=epochs)

        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
            before = self.newest()
            process = self.box.start("halograph-train", *goes_on(ENDLESS))
            checkpoints.await_one(self.folder, [process], before)
            process.signal(how)
            killed = how == signal.SIGKILL
            self.assertEqual(-how if killed else 1, process.wait(), process.text)
            if not killed:
                self.assertIn("stopped by signal", process.err)
        epochs = checkpoints.epochs_to_go(self.folder)
        must(self.box.run("halograph-train", *goes_on(epochs)))
        must(self.box.run("halograph-train",
                          *run(states[0], whole, self.box.folder / "whole.npy", epochs=epochs,
                               checkpoint=self.box.folder / "of-whole")))
        self.assertEqual(evaluations(whole), evaluations(self.log))
        self.assertEqual((self.box.folder / "whole.npy").read_bytes(), predicted.read_bytes())
        found = []
        for state in states:
            servers = self.serve(state)
            found.append(self.rows(servers, state.name + "-rows"))
            if state == states[1]:
                self.assertEqual(self.named_snapshots(self.folder), self.snapshots(servers))
            self.end_servers(signal.SIGTERM)
        self.assertEqual(found[0], found[1])

    def test_a_run_without_state_keeps_its_rows_with_its_checkpoints(self):
        """Killed and gone on with, it learns what one with --state learns; then it is asked."""
        predicted, whole = (self.box.folder / name for name in ("predicted.npy", "whole.npy"))

        def run(**more):
            return options(**{**RUN, "graph": self.graph, "log": self.log, "checkpoint": self.folder,
                              "checkpoint_every": "4", "resume": True, "predict": predicted,
                              "predict_what": "logits", "eval_fanouts": "-1,-1", **more})

        process = self.box.start("halograph-train", *run(epochs=ENDLESS))
        checkpoints.await_one(self.folder, [process], self.newest())
        process.signal(signal.SIGKILL)
        process.wait()
        epochs = checkpoints.epochs_to_go(self.folder)
        done = must(self.box.run("halograph-train", *run(epochs=epochs)))
        self.assertIn(f"learnt inputs are kept in {self.folder / 'state'}, with the checkpoints",
                      done.err)
        self.assertIn("going on from", done.err)
        of_whole = self.box.folder / "whole.jsonl"
        must(self.box.run("halograph-train", *run(
            epochs=epochs, state=self.box.folder / "state", checkpoint=self.box.folder / "of-whole",
            log=of_whole, predict=whole)))
        self.assertEqual(evaluations(of_whole), evaluations(self.log))
        self.assertEqual(whole.read_bytes(), predicted.read_bytes())
        # infer and evaluate find the rows, of the folder and of one checkpoint.
        rows = npy.load(predicted).values
        for checkpoint in (self.folder, self.folder / self.newest()):
            inferred = self.box.folder / "inferred.npy"
            must(self.box.run("halograph-train", "infer", *options(
                graph=self.graph, checkpoint=checkpoint, predict=inferred, predict_what="logits",
                exact=True, threads=1, quiet=True)))
            for a, b in zip(rows, npy.load(inferred).values, strict=True):
                self.assertAlmostEqual(a, b, delta=1e-3 * (1 + abs(a)))
        must(self.box.run("halograph-train", "evaluate", *options(
            graph=self.graph, checkpoint=self.folder, quiet=True)))
        # What belongs to the checkpoints is missed by name.
        shutil.move(self.folder / "state", self.box.folder / "moved")
        self.assertCode(1, self.box.run("halograph-train", *run(epochs=epochs + 1)),
                        f"{self.folder / 'state'}, with the rows that belong to them, is not there",
                        "--state FOLDER or --servers")
        asked = dict(graph=self.graph, checkpoint=self.folder, quiet=True)
        self.assertCode(1, self.box.run("halograph-train", "evaluate", *options(**asked)),
                        f"{self.folder / 'state'} is not there", "--state folder of the run")
        must(self.box.run("halograph-train", "evaluate", *options(
            **asked, state=self.box.folder / "moved")))
        must(self.box.run("halograph-train", *run(epochs=epochs + 1,
                                                  state=self.box.folder / "moved")))

    def test_a_damaged_state_folder_leads_to_the_checkpoint_before_it(self):
        state = self.box.folder / "state"

        def run(epochs, **given):
            return self.box.run("halograph-train", *options(**{
                **RUN, "graph": self.graph, "state": state, "epochs": epochs, "log": self.log,
                "checkpoint": self.folder, "checkpoint_every": "3", "checkpoint_keep": 20,
                "resume": True, **given}))

        def files():
            return set((state / "part-0001" / "checkpoints").iterdir())

        must(run(1))
        before, kept = files(), self.names()
        must(run(2))
        for path in files() - before:
            damaged = bytearray(path.read_bytes())
            damaged[len(damaged) // 2] ^= 1
            path.write_bytes(damaged)
        refused = run(3)
        self.assertCode(1, refused, "part-0001", "does not fit its checksum")
        advice = re.search("Or go back to the first of its snapshots that is whole, and lose what was "
                           "pushed since: --state-fall-back ([^ ]+)$", refused.err.strip())
        result = must(run(3, state_fall_back=advice[1]))
        self.assertRegex(result.err, "state of part 1 in .*: its files are damaged, so it goes back to "
                                     "snapshot ")
        self.assertRegex(result.err, "cannot resume from checkpoint .*using the previous one")
        self.assertIn(f"going on from {self.folder / kept[-1]}", result.err)
        whole = self.box.folder / "whole.jsonl"
        must(run(3, state=self.box.folder / "of-whole", checkpoint=self.box.folder / "whole", log=whole))
        self.assertEqual(evaluations(whole), evaluations(self.log))

    def test_ranks_go_on_although_a_rank_and_the_servers_are_killed(self):
        servers = self.serve(self.box.folder / "state")

        def run(epochs, **more):
            return start_ranks(self.box, 2, **{**RUN, "servers": ",".join(servers), "epochs": epochs,
                                               "predict_what": "logits", "embed_begin": "fresh",
                                               **more})

        def end(ranks):
            return [rank.wait() for rank in ranks]

        given = dict(checkpoint=self.folder, checkpoint_every="3", resume=True,
                     predict=self.box.folder / "predicted.npy")
        for kill_servers in (False, True):
            before = self.newest()
            ranks = run(ENDLESS, **given)
            checkpoints.await_one(self.folder, ranks, before)
            if kill_servers:
                for rank in ranks:
                    rank.signal(signal.SIGKILL)
                self.end_servers(signal.SIGKILL)
                self.serve(self.box.folder / "state", servers)
            else:
                ranks[1].signal(signal.SIGKILL)
                self.assertEqual(1, ranks[0].wait())
                self.assertIn("the last good checkpoint is", ranks[0].err)
            end(ranks)
        epochs = checkpoints.epochs_to_go(self.folder)
        ranks = run(epochs, **given)
        self.assertEqual([0, 0], end(ranks), ranks[0].text)
        self.assertIn("going on from", ranks[0].err)
        rows = self.rows(servers, "rows")
        of_whole, whole = self.box.folder / "of-whole", self.box.folder / "whole.jsonl"
        must(self.box.run("halograph-train", *options(
            **RUN, servers=",".join(servers), epochs=epochs, logical_ranks=2, predict_what="logits",
            embed_begin="fresh", predict=self.box.folder / "whole.npy", checkpoint=of_whole,
            log=whole)))
        self.assertEqual(evaluations(whole), evaluations(self.box.folder / "rank0.jsonl"))
        self.assertEqual((self.box.folder / "whole.npy").read_bytes(),
                         (self.box.folder / "predicted.npy").read_bytes())
        self.assertEqual(self.rows(servers, "rows-of-whole"), rows)
        self.assertEqual(self.named_snapshots(self.folder) | self.named_snapshots(of_whole),
                         self.snapshots(servers), "each folder has its own")

    def test_a_refused_start_changes_nothing_in_the_store(self):
        given = {**RUN, "graph": self.graph, "state": self.box.folder / "state", "epochs": 1}
        must(self.box.run("halograph-train", *options(**given, checkpoint=self.folder)))
        result = self.box.run("halograph-train", *options(
            **given, checkpoint=self.box.folder / "other", embed_name="other", embed_begin="fresh"))
        self.assertCode(1, result, "the store keeps node node / embedding beside this run's learnt inputs")
        again = {**given, "epochs": 2}
        must(self.box.run("halograph-train", *options(**again, checkpoint=self.folder, resume=True)))

    def test_what_is_missing_is_named_and_the_one_before_it_taken(self):
        servers = self.serve(self.box.folder / "state")
        words = options(**{**RUN, "servers": ",".join(servers), "epochs": 2, "log": self.log,
                           "checkpoint": self.folder, "checkpoint_every": "3", "resume": True})
        must(self.box.run("halograph-train", *words))
        newest, before = self.names()[-1], self.names()[-2]
        gone = checkpoints.manifest(self.folder, newest)["snapshot"]["name"]
        self.ctl("delete", servers, "--name", gone)
        result = must(self.box.run("halograph-train", *words))
        self.assertRegex(result.err, rf"cannot resume from checkpoint .*{newest}: .*{gone}.*"
                                     "not in partition 0, 1.*using the previous one")
        self.assertIn(f"going on from {self.folder / before}", result.err)
        self.ctl("create", servers, "--type", "node", "--tensor", "of-others", "--dim", 2)
        result = self.box.run("halograph-train", *words)
        self.assertCode(1, result, "node node / of-others", "halograph-ctl state drop")
        self.ctl("drop", servers, "--type", "node", "--tensor", "of-others")
        other = [word if word != "node:16" else "node:24" for word in map(str, words)]
        self.assertCode(1, self.box.run("halograph-train", *other),
                        '--embed was ["node:16"], is ["node:24"]')


if __name__ == "__main__":
    programs.main()
