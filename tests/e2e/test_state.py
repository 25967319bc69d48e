#!/usr/bin/env python3
"""Mutable tensors as an operator meets them: servers that are killed, snapshots, files."""
import json
import math
import pathlib
import shutil
import signal
import struct

from harness import datasets, npy, programs, raw_http2
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must

NODES = 2708  # of Cora
DIM = 3
NODE_TENSOR = ("--type", "node", "--tensor", "emb")


class StateBase(CoraInTwoTest):
    AT_ONCE = 2  # they wait for the disk

    def setUp(self):
        super().setUp()
        self.state = self.box.folder / "state"
        self.addresses = []

    def serve(self, *options, graph=None, parts=(0, 1)):
        """Servers of the parts, at the addresses that they had before."""
        servers = []
        for i, part in enumerate(parts):
            listen = self.addresses[i] if i < len(self.addresses) else "127.0.0.1:0"
            servers.append(self.box.start_server(graph or self.graph, part, "--state", self.state,
                                                 *options, listen=listen))
        self.addresses = [programs.address(server) for server in servers]
        return servers

    def ctl(self, command, *args):
        return self.box.run("halograph-ctl", "state", command, "--servers", ",".join(self.addresses), *args)

    def create(self, *options):
        must(self.ctl("create", *NODE_TENSOR, "--dim", DIM, *options))

    def export(self, name):
        folder = self.box.folder / name
        must(self.ctl("export", *NODE_TENSOR, "--output", folder))
        return folder

    def rows(self, name):
        return npy.load(self.export(name) / "rows.npy").values

    def set_rows(self, name, values):
        """Sets all rows, by way of a folder as export makes it."""
        folder = self.export(name)
        npy.save(folder / "rows.npy", "<f4", (NODES, DIM), values)
        (folder / "checksums.json").unlink()  # it was changed on purpose
        must(self.ctl("import", "--input", folder))


def values(seed):
    return [float((i * 7 + seed) % 1000) for i in range(NODES * DIM)]


class KillTest(StateBase):
    def kill_and_restart(self, *options):
        servers = self.serve(*options)
        self.create()
        self.set_rows("new", values(1))
        for server in servers:
            server.signal(signal.SIGKILL)
        for server in servers:
            server.wait()
        servers = self.serve(*options)
        self.assertEqual(values(1), list(self.rows("kept")))
        self.assertIn("pushes replayed", servers[0].text)

    def test_what_was_acknowledged_is_there_with_sync_always(self):
        self.kill_and_restart("--sync", "always")

    def test_what_was_acknowledged_is_there_with_sync_interval(self):
        self.kill_and_restart("--sync", "interval", "--sync-interval", "1h")

    def test_a_stopped_server_keeps_all(self):
        servers = self.serve("--sync", "never")
        self.create()
        self.set_rows("new", values(2))
        for server in servers:
            server.signal(signal.SIGTERM)
            self.assertEqual(0, server.wait(), server.text)
        self.serve()
        self.assertEqual(values(2), list(self.rows("kept")))


class SnapshotTest(StateBase):
    def test_a_snapshot_is_listed_restored_and_deleted(self):
        self.serve()
        self.create()
        self.set_rows("first", values(3))
        must(self.ctl("snapshot", "--name", "before"))
        self.set_rows("second", values(4))
        listed = json.loads(must(self.ctl("snapshots", "--json")).out)
        self.assertEqual([("before", 0), ("before", 1)],
                         [(snapshot["name"], snapshot["part"]) for snapshot in listed])
        must(self.ctl("restore", "--name", "before"))
        self.assertEqual(values(3), list(self.rows("restored")))
        must(self.ctl("delete", "--name", "before"))
        self.assertCode(1, self.ctl("restore", "--name", "before"), "before", "partition 0, 1")
        self.assertCode(1, self.ctl("delete", "--name", "before"), "before")

    def test_a_missing_part_is_an_error_and_nothing_is_restored(self):
        servers = self.serve()
        self.create()
        must(self.ctl("snapshot", "--name", "before"))
        self.set_rows("new", values(5))
        servers[1].signal(signal.SIGTERM)
        servers[1].wait()
        shutil.rmtree(self.state / "part-0001")
        addresses, self.addresses = self.addresses, self.addresses[1:]
        self.serve(parts=[1])
        self.addresses = [addresses[0], self.addresses[0]]
        self.create()
        self.assertCode(1, self.ctl("restore", "--name", "before"), "partition 1", "nothing")
        # Part 0 is as it was pushed.
        found = list(self.rows("found"))
        self.assertIn(values(5)[:DIM], [found[:DIM], found[DIM:2 * DIM]] +
                      [found[i:i + DIM] for i in range(0, len(found), DIM)])


class FilesTest(StateBase):
    def serve_three_parts(self):
        three = self.box.folder / "three"
        must(self.box.run("halograph-partition", "run", "--input", datasets.cora(), "--output", three,
                          "--parts", 3, "--seed", 2))
        self.state = self.box.folder / "state-of-three"
        self.addresses = []
        self.serve(graph=three, parts=(0, 1, 2))

    def test_rows_go_to_another_number_of_partitions(self):
        self.serve()
        self.create("--init", "normal", "--init-b", "1", "--seed", "5")
        expected = self.export("from-two")
        self.serve_three_parts()
        must(self.ctl("import", "--input", expected))
        self.assertEqual(npy.load(expected / "rows.npy").values, self.rows("from-three"))
        # They begin the same under their original ids, too.
        must(self.ctl("drop", *NODE_TENSOR))
        self.create("--init", "normal", "--init-b", "1", "--seed", "5")
        self.assertEqual(npy.load(expected / "rows.npy").values, self.rows("begun-in-three"))
        self.assertEqual(list(range(NODES)),
                         list(npy.load(self.box.folder / "from-three" / "ids.npy").values))

    def test_rows_of_edges_are_written_under_original_edge_ids(self):
        tensor = ("--type", "node:edge:node", "--tensor", "weight")

        def create():
            must(self.ctl("create", *tensor, "--placement", "edges", "--dim", 2, "--init", "uniform",
                          "--init-a", "-1", "--init-b", "1", "--seed", 3, "--optimizer", "adagrad"))

        def rows(name, *options):
            folder = self.box.folder / name
            must(self.ctl("export", *tensor, "--output", folder, *options))
            if options:
                folder /= "tensor-0000"
            edges = npy.load(folder / "ids.npy").values
            self.assertEqual(list(range(len(edges))), list(edges))
            return list(npy.load(folder / "rows.npy").values)

        self.serve()
        create()
        begun = rows("begun")
        self.assertGreater(len(set(begun)), len(begun) // 2)
        # Every row is what its edge was in the input.
        edges = len(begun) // 2
        npy.save(self.box.folder / "begun" / "rows.npy", "<f4", (edges, 2),
                 [float(edge * 2 + column) for edge in range(edges) for column in (0, 1)])
        (self.box.folder / "begun" / "checksums.json").unlink()
        must(self.ctl("import", "--input", self.box.folder / "begun"))
        must(self.ctl("snapshot", "--name", "kept"))
        kept = rows("kept", "--name", "kept")
        self.assertEqual([float(i) for i in range(2 * edges)], kept)
        self.serve_three_parts()
        must(self.ctl("import", "--input", self.box.folder / "kept"))
        self.assertEqual(kept, rows("from-three"))
        must(self.ctl("drop", *tensor))
        create()
        self.assertEqual(begun, rows("begun-in-three"))
        self.assertCode(1, self.ctl("create", "--type", "node:none:node", "--tensor", "weight",
                                    "--placement", "edges"), "node:none:node")

    def test_a_snapshot_of_all_tensors_goes_through_files(self):
        self.serve()
        self.create("--init", "normal", "--init-b", "1", "--optimizer", "adam")
        must(self.ctl("create", "--tensor", "table", "--placement", "range", "--rows", 10, "--dim", 2))
        must(self.ctl("snapshot", "--name", "kept"))
        folder = self.box.folder / "snapshot"
        result = must(self.ctl("export", "--name", "kept", "--output", folder))
        self.assertIn("2 tensors", result.out)
        one = json.loads((folder / "tensor-0001" / "tensor.json").read_text())
        self.assertEqual(["m.npy", "v.npy", "updates.npy"], one["state"])
        self.assertEqual((NODES,), npy.load(folder / "tensor-0001" / "updates.npy").shape)
        rows = list(self.rows("as-they-are"))
        self.set_rows("new", values(6))
        must(self.ctl("import", "--input", folder))
        self.assertEqual(rows, list(self.rows("imported")))
        (folder / "tensor-0001" / "v.npy").unlink()
        self.assertCode(1, self.ctl("import", "--input", folder), "v.npy")
        self.assertCode(1, self.ctl("export", "--name", "none", "--output", folder), "none")
        self.assertCode(1, self.ctl("export", "--output", folder), "--name", "--tensor")
        only = self.box.folder / "only"
        must(self.ctl("export", "--name", "kept", "--tensor", "table", "--output", only))
        self.assertFalse((only / "tensor-0001").exists())

    def test_files_that_do_not_fit_are_refused(self):
        self.serve()
        self.create()
        folder = self.export("files")
        npy.save(folder / "rows.npy", "<f4", (NODES, DIM + 1), [0.0] * (NODES * (DIM + 1)))
        self.assertCode(1, self.ctl("import", "--input", folder), "rows.npy", f"[{NODES}, {DIM}]")
        npy.save(folder / "rows.npy", "<f4", (1, DIM), [0.0] * DIM)
        npy.save(folder / "ids.npy", "<i8", (1,), [NODES])
        self.assertCode(1, self.ctl("import", "--input", folder), "ids.npy", "remove", "checksums.json")
        (folder / "checksums.json").unlink()
        self.assertCode(1, self.ctl("import", "--input", folder), "ids.npy", f"id {NODES}")
        self.assertCode(1, self.ctl("export", *NODE_TENSOR, "--output", folder), str(folder))


    def test_what_export_wrote_is_taken_back_bit_for_bit_also_infinite_and_nan_rows(self):
        self.serve()
        self.create("--optimizer", "adagrad")
        result = must(self.ctl("import", "--input", self.export("finite")))
        self.assertNotIn("not finite", result.out)
        self.assertNotIn("checksums", result.out)
        odd = values(3)
        odd[5], odd[6], odd[DIM * 9] = math.inf, math.nan, -math.inf  # rows 1, 2 and 9
        folder = self.export("odd")
        npy.save(folder / "rows.npy", "<f4", (NODES, DIM), odd)
        (folder / "checksums.json").unlink()
        result = must(self.ctl("import", "--input", folder))
        self.assertIn("3 of these rows are not finite", result.out)
        self.assertIn("no checksums", result.out)
        wanted = (folder / "rows.npy").read_bytes()[-4 * NODES * DIM:]
        again = self.export("again")
        self.assertEqual(wanted, (again / "rows.npy").read_bytes()[-4 * NODES * DIM:])
        parts = json.loads(must(self.ctl("list", "--json")).out)
        self.assertEqual(3, sum(part["tensors"][0]["not_finite_rows"] for part in parts))
        # With the optimizer's state.
        must(self.ctl("snapshot", "--name", "kept"))
        kept = self.box.folder / "kept"
        must(self.ctl("export", "--name", "kept", "--output", kept))
        must(self.ctl("drop", *NODE_TENSOR))
        result = must(self.ctl("import", "--input", kept))
        self.assertIn("3 of these rows are not finite", result.out)
        self.assertNotIn("checksums", result.out)
        self.assertEqual(wanted, (self.export("last") / "rows.npy").read_bytes()[-4 * NODES * DIM:])

    def test_a_folder_that_was_damaged_is_refused_and_the_tensor_stays_readable(self):
        self.serve()
        self.create("--optimizer", "adagrad")
        must(self.ctl("snapshot", "--name", "kept"))
        folder = self.box.folder / "kept"
        must(self.ctl("export", "--name", "kept", "--output", folder))
        for name in ("snapshot.json", "tensor-0000/ids.npy", "tensor-0000/sum.npy",
                     "tensor-0000/tensor.json", "tensor-0000/checksums.json"):
            path = folder / name
            data = bytearray(path.read_bytes())
            data[-2] ^= 1
            path.write_bytes(data)
            self.assertCode(1, self.ctl("import", "--input", folder), name)
            data[-2] ^= 1
            path.write_bytes(data)
            must(self.ctl("export", *NODE_TENSOR, "--output", self.box.folder / name.replace("/", "-")))
        must(self.ctl("import", "--input", folder))
        (folder / "checksums.json").unlink()
        (folder / "tensor-0000" / "checksums.json").unlink()
        npy.save(folder / "tensor-0000" / "sum.npy", "<f4", (NODES, DIM), [-1.0] * NODES * DIM)
        self.assertCode(1, self.ctl("import", "--input", folder), "sum of squares", "id 0")
        self.assertNotIn("importing", must(self.ctl("list")).out)


class StartTest(StateBase):
    """What a server says at its start of a folder in which not all is as it should be. Part 0 owns the
    rows 0 to 9 of the tensor "table", part 1 those from 10 on."""
    ROW = 12

    def make_table(self):
        must(self.ctl("create", "--tensor", "table", "--placement", "range", "--rows", 20, "--dim", 1))
        self.clients = 0

    def push(self, value, part=1, step=None):
        """Adds it to a row of the part; whether that was acknowledged."""
        self.clients += 1
        connection = raw_http2.Connection(self.addresses[part])
        try:
            return connection.call("KVService/Push", raw_http2.add_request(
                "table", part, self.ROW - 10 * (1 - part), value, self.clients, step)) is not None
        finally:
            connection.close()

    def table(self, name):
        """The two rows that are pushed to."""
        folder = self.box.folder / name
        must(self.ctl("export", "--tensor", "table", "--output", folder))
        rows = npy.load(folder / "rows.npy").values
        return [rows[self.ROW - 10], rows[self.ROW]]

    def stop(self, servers, how=signal.SIGTERM):
        for server in servers:
            server.signal(how)
            self.assertEqual(0 if how == signal.SIGTERM else -how, server.wait(), server.text)

    def line(self, server, words):
        """The one line with these words of what a server said that has opened its state."""
        found = [line for line in server.text.splitlines() if str(words) in line]
        self.assertEqual(1, len(found), server.text)
        return found[0]

    def flip(self, part, lsn):
        """A bit of the value in a record of the log. Gives the segment."""
        for segment in (self.state / f"part-{part:04}" / "log").iterdir():
            data = bytearray(segment.read_bytes())
            for at in range(4096, len(data), 4096):
                magic, _, found = struct.unpack_from("<8sQQ", data, at + 8)
                if magic == b"HALGREC1" and found == lsn:
                    data[at + 256] ^= 1  # behind the header, and the one id
                    segment.write_bytes(data)
                    return segment
        raise AssertionError(f"no record has LSN {lsn}")

    def test_a_damaged_log_is_refused_until_accept_loss_says_how_many_pushes_are_gone(self):
        servers = self.serve()
        self.make_table()
        for value in (1, 2, 4, 8, 16, 32):
            self.assertTrue(self.push(value, part=0) and self.push(value, part=1))
        self.stop(servers)
        segment = self.flip(part=1, lsn=4)
        for _ in range(2):
            refused = self.box.start_server(self.graph, 1, "--state", self.state)
            self.assertCode(1, programs.Result(refused, refused.wait()), segment, "offset",
                            "3 pushes from LSN 4 on", "--accept-loss")
        servers = self.serve("--accept-loss")
        said = self.line(servers[1], "are gone")
        for words in ("warning halograph-server: state of part 1", "3 pushes are gone", "--accept-loss",
                      str(segment)):
            self.assertIn(words, said)
        self.assertNotIn("are gone", servers[0].text)
        self.assertEqual([63, 7], self.table("without"))
        self.assertTrue(self.push(64))
        self.stop(servers, signal.SIGKILL)
        servers = self.serve()
        self.assertNotIn("are gone", servers[1].text)
        self.assertEqual([63, 71], self.table("later"))

    def test_pushes_that_were_not_synced_and_are_damaged_are_told(self):
        servers = self.serve("--sync", "never")
        self.make_table()
        for value in (1, 2, 4, 8):
            self.assertTrue(self.push(value))
        self.stop(servers, signal.SIGKILL)
        segment = self.flip(part=1, lsn=2)
        servers = self.serve("--sync", "never")
        said = self.line(servers[1], "are gone")
        for words in ("warning halograph-server: state of part 1", "3 records of the push log are gone",
                      "look at the disk", str(segment)):
            self.assertIn(words, said)
        self.assertNotIn("are gone", servers[0].text)
        self.assertEqual([0, 1], self.table("rest"))

    def test_a_file_that_it_does_not_know_is_moved_aside_and_told(self):
        servers = self.serve()
        self.make_table()
        self.assertTrue(self.push(1))
        self.stop(servers)
        folder = self.state / "part-0001"
        files = [folder / "checkpoints" / name for name in ("notes.txt", "copy-of-checkpoint-00000001")]
        for file in files:
            file.write_text(f"about {file.name}")
        servers = self.serve()
        for file in files:
            said = self.line(servers[1], file)
            before, now = said.split(" is no file that it knows, and is now ")
            self.assertIn("warning halograph-server: state of part 1", before)
            self.assertTrue(now.startswith(str(folder / "aside")), said)
            self.assertEqual(f"about {file.name}", pathlib.Path(now).read_text())
            self.assertFalse(file.exists())
        self.assertNotIn("aside", servers[0].text)
        self.assertEqual([0, 1], self.table("kept"))
        self.stop(servers)
        servers = self.serve()
        self.assertNotIn("aside", servers[1].text)

    def test_pushes_that_wait_and_have_no_room_are_given_up_and_told(self):
        servers = self.serve()
        self.make_table()
        for value, step, rank in ((1, 0, 0), (2, 0, 1), (4, 1, 0), (8, 2, 0), (16, 3, 0)):
            self.assertTrue(self.push(value, step=(step, rank, 2)))
        self.stop(servers, signal.SIGKILL)
        servers = self.serve("--state-waiting", "64KiB")
        self.assertNotIn("given up", servers[1].text)
        self.stop(servers, signal.SIGKILL)
        servers = self.serve("--state-waiting", "1KiB")
        said = self.line(servers[1], "are given up")
        for words in ("warning halograph-server: state of part 1: 3 pushes to", "/ table,",
                      "of steps 1 to 3,", "their run is over", "--state-waiting 1.0 KiB"):
            self.assertIn(words, said)
        self.assertNotIn("given up", servers[0].text)
        self.stop(servers, signal.SIGKILL)
        servers = self.serve()
        self.assertNotIn("given up", servers[1].text)
        self.assertFalse(self.push(32, step=(1, 1, 2)), "it would complete a step of that run")
        self.assertEqual([0, 3], self.table("without"))


class CommandTest(StateBase):
    def test_tensors_are_created_listed_and_dropped(self):
        self.serve()
        self.create("--optimizer", "adagrad", "--learning-rate", "0.5")
        self.create("--optimizer", "adagrad", "--learning-rate", "0.5")
        result = self.ctl("create", *NODE_TENSOR, "--dim", DIM + 1)
        self.assertCode(1, result, "dim")
        parts = json.loads(must(self.ctl("list", "--json")).out)
        self.assertEqual([0, 1], [part["part"] for part in parts])
        self.assertEqual(NODES, sum(part["tensors"][0]["rows"] for part in parts))
        self.assertIn("node node / emb", must(self.ctl("list")).out)
        status = must(self.box.run("halograph-ctl", "status", "--servers",
                                   ",".join(self.addresses))).out
        self.assertIn("node node / emb", status)
        self.assertIn("topology,features,tasks,state", status)
        must(self.ctl("drop", *NODE_TENSOR))
        self.assertCode(1, self.ctl("drop", *NODE_TENSOR), "emb")

    def test_what_a_server_has_no_room_for_is_told_and_listed(self):
        self.serve("--max-message-bytes", "64KiB", "--state-tensors", 130, "--state-snapshots", 1)
        names = [f"table-{i:03}-" + "x" * 150 for i in range(129)]
        for name in names:
            must(self.ctl("create", "--tensor", name, "--placement", "range", "--rows", 2))
        self.create()
        refused = self.ctl("create", "--tensor", "one-more", "--placement", "range", "--rows", 2)
        self.assertCode(1, refused, "130 mutable tensors", "--state-tensors")
        must(self.ctl("snapshot", "--name", "kept"))
        self.assertCode(1, self.ctl("snapshot", "--name", "next"), "1 snapshots", "--state-snapshots")

        parts = json.loads(must(self.ctl("list", "--json")).out)
        for part in parts:
            self.assertEqual(names, [tensor["spec"]["ref"]["name"] for tensor in part["tensors"]
                                     if tensor["spec"]["ref"]["name"] != "emb"])
        small = ("halograph-ctl", "status", "--servers", ",".join(self.addresses),
                 "--max-message-bytes", "32KiB")
        told = json.loads(must(self.box.run(*small, "--json")).out)
        for server in told:
            shown = sum(len(part["tensors"]) for part in server["state"])
            self.assertGreater(server["tensors_left_out"], 0)
            self.assertEqual(130, shown + server["tensors_left_out"])
        table = must(self.box.run(*small)).out
        self.assertIn(f"{told[0]['tensors_left_out']} tensors of parts had no room in its answer", table)
        self.assertIn("halograph-ctl state list", table)
        must(self.box.run("halograph-ctl", "state", "export", "--servers", ",".join(self.addresses),
                          "--name", "kept", *NODE_TENSOR, "--output", self.box.folder / "one"))
        must(self.ctl("restore", "--name", "kept"))

    def test_a_server_without_a_state_folder_says_what_to_do(self):
        _, self.addresses = self.box.servers(self.graph, ["all"])
        self.assertCode(1, self.ctl("create", *NODE_TENSOR), "--state DIR")
        self.assertCode(1, self.ctl("list"), "--state DIR")

    def test_a_second_server_on_the_same_folder_is_refused(self):
        self.serve()
        second = self.box.start_server(self.graph, 0, "--state", self.state)
        result = programs.Result(second, second.wait())
        self.assertCode(1, result, str(self.state / "part-0000"))


if __name__ == "__main__":
    programs.main()
