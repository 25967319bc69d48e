#!/usr/bin/env python3
"""The server as an operator meets it: addresses, signals, status, garbage."""
import concurrent.futures
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import time
import unittest
import urllib.request

from harness import datasets, npy, programs, raw_http2, training
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must


class ServerBase(CoraInTwoTest):
    def one(self, *options, part="all"):
        servers, addresses = self.box.servers(self.graph, [part], *options)
        return servers[0], addresses[0]

    def status(self, *addresses, options=()):
        return self.box.run("halograph-ctl", "status", "--servers", ",".join(addresses), *options)


class AddressTest(ServerBase):
    def test_address_file_holds_exactly_host_and_port(self):
        _, address = self.one()
        self.assertRegex(address, r"\A127\.0\.0\.1:[1-9]\d{0,4}\Z")
        host, port = address.split(":")
        socket.create_connection((host, int(port)), programs.PATIENCE).close()

    def test_address_file_of_a_wildcard_holds_what_others_reach(self):
        started = {listen: self.box.start_server(self.graph, "all", *options, listen=listen)
                   for listen, options in (("0.0.0.0:0", ("--insecure",)),
                                           ("[::]:0", ("--insecure", "--advertise", "[::1]")))}
        named, loopback = (programs.address(server) for server in started.values())
        self.assertRegex(named, rf"\A({self.called()}):[1-9]\d{{0,4}}\Z")
        self.assertRegex(loopback, r"\A\[::1\]:[1-9]\d{0,4}\Z")
        port = loopback.rpartition(":")[2]
        self.assertCode(0, self.status(f"127.0.0.1:{named.rpartition(':')[2]}", f" ::1:{port}"))
        self.assertIn(f"[::]:{port}, which others reach at {loopback}",
                      started["[::]:0"].out)

    def test_beyond_loopback_needs_tls_or_a_word(self):
        result = self.box.run("halograph-server", "--graph", self.graph, "--part", "all", "--listen", "0.0.0.0:0")
        self.assertCode(2, result)
        for way_out in ("--tls-dir", "--insecure"):
            self.assertIn(way_out, result.err)

    @staticmethod
    def called():
        """The machine's name, or where nobody finds it by that an address."""
        name = socket.gethostname()
        try:
            socket.getaddrinfo(name, None, socket.AF_INET)
        except OSError:
            return r"[\d.]+"
        return r"[\d.]+" if name == "localhost" else re.escape(name)

    def test_address_is_printed_as_one_line(self):
        server, address = self.one()
        programs.wait_until(lambda: address in server.text, "the line")
        self.assertEqual(1, sum(address in line for line in server.text.splitlines()), server.text)

    def test_two_servers_on_port_0_get_two_ports(self):
        _, addresses = self.box.servers(self.graph, [0, 1])
        self.assertEqual(2, len(set(addresses)))

    def test_port_in_use(self):
        _, address = self.one()
        second = self.box.start_server(self.graph, "all", listen=address)
        result = programs.Result(second, second.wait())
        self.assertCode(1, result, address)
        self.assertFalse(second.address_file.exists())

    def test_an_old_address_file_is_replaced(self):
        path = self.box.folder / "address"
        path.write_text("10.0.0.1:1")
        server = self.box.start("halograph-server", "--graph", self.graph, "--part", "0", "--listen",
                                "127.0.0.1:0", "--address-file", path)
        programs.wait_until(lambda: path.exists() and path.read_text().startswith("127.0.0.1:"),
                            "a new address file")
        self.assertTrue(server.running())
        self.assertEqual([], [entry.name for entry in self.box.folder.iterdir()
                              if entry.name.startswith("address") and entry != path])


    def test_the_address_file_goes_with_the_server(self):
        server, _ = self.one()
        server.signal(signal.SIGTERM)
        self.assertEqual(0, server.wait(), server.text)
        self.assertFalse(server.address_file.exists())

    def test_the_address_of_another_server_stays(self):
        server, _ = self.one()
        server.address_file.write_text("10.0.0.1:1")
        server.signal(signal.SIGTERM)
        self.assertEqual(0, server.wait(), server.text)
        self.assertEqual("10.0.0.1:1", server.address_file.read_text())


class LogTest(ServerBase):
    def test_says_what_it_serves_who_comes_and_who_was_there(self):
        server, address = self.one(part="0")
        connection = raw_http2.Connection(address)
        self.assertIsNotNone(connection.call("KVService/Pull",
                                             raw_http2.pull_request("node", "feat", [0])))
        self.assertIsNone(connection.call("KVService/Pull",
                                          raw_http2.pull_request("node", "no\x1b[31m", [0])))
        connection.close()
        server.signal(signal.SIGTERM)
        self.assertEqual(0, server.wait(), server.text)
        self.assertRegex(server.err, rf"serving part 0 of 2 of graph .* from {self.graph}: topology, "
                                     "features, tasks; ")
        self.assertEqual(1, server.err.count("first call"), server.err)
        self.assertRegex(server.err, r"client 127\.0\.0\.1 rank -: last call; 2 calls, 1 errors")
        self.assertIn("NOT_FOUND", server.err)
        self.assertNotIn("\x1b", server.text)
        for line in server.err.splitlines():
            self.assertRegex(line, r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (info|warning) "
                                   r"halograph-server: ")


class SignalTest(ServerBase):
    def test_sigterm_ends_an_idle_server_at_once(self):
        server, _ = self.one("--drain-timeout", "10m")
        server.signal(signal.SIGTERM)
        self.assertEqual(0, server.wait(), server.text)

    def test_sigint_ends_it_as_well(self):
        server, _ = self.one("--drain-timeout", "10m")
        server.signal(signal.SIGINT)
        self.assertEqual(0, server.wait(), server.text)

    def test_a_server_whose_log_nobody_reads_goes_on_and_drains(self):
        with programs.unread_pipe() as pipe:
            server = self.box.start_server(self.graph, "all", err=pipe)
            self.assertCode(0, self.status(programs.address(server)))
            server.signal(signal.SIGTERM)
            self.assertEqual(0, server.wait(), server.text)
        self.assertFalse(server.address_file.exists())

    def test_with_a_drain_delay_it_is_unhealthy_first_and_closed_then(self):
        server, address = self.one("--drain-delay", "1h")
        server.signal(signal.SIGTERM)
        programs.wait_until(lambda: "unhealthy from now on" in server.err, "the line")
        self.assertFalse(server.address_file.exists())
        self.assertCode(0, self.status(address))
        server.signal(signal.SIGTERM)
        self.assertEqual(1, server.wait(), server.text)
        server, _ = self.one("--drain-delay", "1ms")
        server.signal(signal.SIGTERM)
        self.assertEqual(0, server.wait(), server.text)
        self.assertLess(server.err.index("unhealthy"), server.err.index("draining for at most"))

    def test_port_is_free_again_afterwards(self):
        server, address = self.one("--drain-timeout", "10m")
        server.signal(signal.SIGTERM)
        self.assertEqual(0, server.wait(), server.text)
        again = self.box.start_server(self.graph, "all", listen=address)
        self.assertEqual(address, programs.address(again))


class UsageTest(ServerBase):
    def test_wrong_usage_exits_2(self):
        graph = ["--graph", self.graph]
        for arguments in ([], [*graph, "--part", "one", "--listen", "127.0.0.1:0"],
                          [*graph, "--part", "0", "--listen", "127.0.0.1:0", "--no-such-option"],
                          [*graph, "--part", "0", "--listen", "127.0.0.1:0", "--threads", "-3"],
                          [*graph, "--part", "0", "--listen", "no port"]):
            with self.subTest(arguments):
                self.assertCode(2, self.box.run("halograph-server", *arguments))
        for arguments in ([], ["status"], ["no-such-command"]):
            with self.subTest(arguments):
                self.assertCode(2, self.box.run("halograph-ctl", *arguments))

    def test_help_exits_0(self):
        for program in ("halograph-server", "halograph-ctl", "halograph-train"):
            self.assertCode(0, self.box.run(program, "--help"), "Usage")


class StatusTest(ServerBase):
    AT_ONCE = 4  # they wait for what does not answer

    def test_lists_every_server(self):
        _, addresses = self.box.servers(self.graph, [0, 1])
        self.assertCode(0, self.status(*addresses), *addresses)

    def test_names_the_server_that_is_down(self):
        servers, addresses = self.box.servers(self.graph, [0, 1])
        servers[1].end()
        result = self.status(*addresses, options=("--timeout", "1s"))
        self.assertCode(1, result, *addresses)
        row = [line for line in result.text.splitlines() if addresses[1] in line]
        self.assertTrue(any("down" in line.lower() or "unreach" in line.lower() or "refused" in
                            line.lower() for line in row), str(result))

    def test_watch_prints_again_until_it_is_stopped(self):
        servers, addresses = self.box.servers(self.graph, [0, 1])
        watch = self.box.start("halograph-ctl", "status", "--servers", ",".join(addresses),
                               "--watch", "50ms", "--timeout", "10s")
        programs.wait_until(lambda: watch.out.count("UPTIME") >= 3, "three tables")
        self.assertEqual("", watch.err)
        servers[1].end()
        programs.wait_until(lambda: f"{addresses[1]} is down" in watch.err, "a server that goes")
        self.assertTrue(watch.running(), watch.text)
        watch.signal(signal.SIGTERM)
        self.assertEqual(-signal.SIGTERM, watch.wait())

    def test_server_that_never_answers_is_down_within_the_deadline(self):
        servers, addresses = self.box.servers(self.graph, [0, 1])
        servers[0].signal(signal.SIGSTOP)
        start = time.monotonic()
        result = self.status(*addresses, options=("--timeout", "500ms"))
        self.assertLess(time.monotonic() - start, programs.seconds(30))
        self.assertCode(1, result, addresses[0], "no answer within 0.5 s")


class CutShortTest(ServerBase):
    def test_a_file_that_is_cut_short_ends_the_server_with_its_name(self):
        graph = self.box.folder / "graph"
        shutil.copytree(self.graph, graph)
        server = self.box.start_server(graph, "all", "--threads", 8)
        address = programs.address(server)
        features = graph / "part-0001/nodes/node/features/feat.npy"
        os.truncate(features, 0)  # mapped since the start
        # Many minibatches in the making, so that several threads of the server read the file at once.
        self.box.start("halograph-train", *training.options(
            servers=address, epochs=1, hidden=16, fanouts="5,3", batch_size=10, threads=1,
            sample_threads=8, prefetch=16))
        self.assertEqual(1, server.wait(), server.text)
        self.assertRegex(server.text, rf"halograph-server: .*{features.name}: cut short")


class GarbageTest(ServerBase):
    def test_random_bytes_do_not_end_the_server(self):
        server, address = self.one()
        host, port = address.split(":")
        source = random.Random(5)
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        for i in range(60):
            start = (b"", preface, b"GET / HTTP/1.1\r\n\r\n")[i % 3]
            with socket.create_connection((host, int(port)), programs.PATIENCE) as stream:
                try:
                    stream.sendall(start + source.randbytes(source.randrange(1, 4096)))
                except OSError:  # closed on us: its right
                    pass
        self.assertTrue(server.running())
        self.assertCode(0, self.status(address))


class FeatureServerTest(ServerBase):
    def test_it_needs_no_topology_on_its_disk_and_says_what_it_serves(self):
        graph = self.box.folder / "features-only"
        shutil.copytree(self.graph, graph)
        for path in graph.glob("part-*/edges/*/ind*.npy"):
            path.unlink()
        _, addresses = self.box.servers(graph, ["all"], "--serve", "features")
        status = self.status(*addresses)
        self.assertCode(0, status, "features,tasks")
        self.assertNotIn("topology", status.out)

    def test_without_the_option_the_missing_file_is_named(self):
        graph = self.box.folder / "features-only"
        shutil.copytree(self.graph, graph)
        next(graph.glob("part-0001/edges/*/indices.npy")).unlink()
        server = self.box.start_server(graph, "all")
        self.assertEqual(1, server.wait(), server.text)
        self.assertIn("indices.npy", server.text)


def anonymous_bytes(server):
    with open(f"/proc/{server.pid}/status") as handle:
        return 1024 * next(int(line.split()[1]) for line in handle if line.startswith("RssAnon"))


def rested(server):
    """A function: whether the server has computed nothing since the last call, and none of its threads
    waits for a processor."""
    folder, before = pathlib.Path("/proc") / str(server.pid), None

    def stat(path):
        return path.read_text().rpartition(") ")[2].split()

    def is_so():
        nonlocal before
        last, before = before, stat(folder / "stat")[11:13]  # time in user mode, and in the kernel
        try:
            waits = any(stat(path)[0] == "R" for path in folder.glob("task/*/stat"))
        except OSError:  # the thread has ended
            return False
        return last == before and not waits
    return is_so


class StarvationTest(ServerBase):
    """Clients that ask and never read, beside one that behaves."""
    AT_ONCE = 3  # they wait for what is not read
    GREEDY = 20
    CALLS = 250  # of each

    def greedy(self, address, rows, large_windows):
        """Connections that have sent all their calls; nobody reads the replies."""
        connections = []
        for _ in range(self.GREEDY):
            connection = raw_http2.Connection(address, large_windows)
            self.addCleanup(connection.close)
            request = raw_http2.pull_request("node", "feat", range(rows))
            connection.socket.sendall(b"".join(
                connection.call_bytes("KVService/Pull", request) for _ in range(self.CALLS)))
            connections.append(connection)
        return connections

    def pull_well_behaved(self, address, rows):
        """Pulls as clients do: again after a refusal."""
        start = time.monotonic()
        connection = raw_http2.Connection(address)
        request = raw_http2.pull_request("node", "feat", range(rows))
        reply = programs.wait_until(lambda: connection.call("KVService/Pull", request),
                                    "a pull that is not refused")
        self.assertLess(time.monotonic() - start, programs.seconds(10), "refused all the time")
        connection.close()
        self.assertGreater(len(reply), rows * 1433)  # bytes of 0 and 1

    def starve(self, rows, large_windows):
        file = self.box.folder / f"http-{rows}"
        server, address = self.one("--reply-timeout", "3s", "--http-listen", "127.0.0.1:0",
                                   "--http-address-file", file)
        greedy = self.greedy(address, rows, large_windows)
        for _ in range(50):
            self.pull_well_behaved(address, 160)
        self.assertCode(0, self.status(address))
        # Its memory comes back, though they still do not read.
        programs.wait_until(lambda: anonymous_bytes(server) < 100e6, "less than 100 MB of memory")
        programs.wait_until(lambda: "not read" in server.text, "a line about it")
        pull = 'grpc_method="halograph.v1.KVService/Pull"'

        def counted():
            with urllib.request.urlopen(f"http://{file.read_text().strip()}/metrics", timeout=60) as reply:
                lines = dict(line.rsplit(" ", 1) for line in reply.read().decode().splitlines()
                             if not line.startswith("#"))
            unread = float(lines["halograph_server_unread_replies_total"])
            cancelled = float(lines.get(
                f'grpc_server_call_duration_seconds_count{{{pull},grpc_status="CANCELLED"}}', 0))
            return unread > 0 and cancelled > 0
        programs.wait_until(counted, "replies counted that nobody read, and their calls as cancelled")
        for connection in greedy:
            connection.close()
        return server

    @unittest.skipIf(programs.TIME_SCALE > 1, "a sanitizer's own memory would be counted")
    def test_many_tiny_pulls_that_nobody_reads(self):
        self.starve(rows=1, large_windows=False)

    @unittest.skipIf(programs.TIME_SCALE > 1, "a sanitizer's own memory would be counted")
    def test_many_large_pulls_into_full_sockets_that_nobody_reads(self):
        self.starve(rows=24, large_windows=True)

    def test_sigterm_does_not_wait_for_clients_that_do_not_read(self):
        for rows, large_windows in ((1, False), (24, True)):
            with self.subTest(rows=rows):
                server, address = self.one("--reply-timeout", "10m", "--drain-timeout", "10m")
                self.greedy(address, rows, large_windows)
                self.pull_well_behaved(address, 1)
                server.signal(signal.SIGTERM)
                self.assertEqual(0, server.wait(), server.text)


class UnfinishedRequestsTest(ServerBase):
    @unittest.skipIf(programs.TIME_SCALE > 1, "a sanitizer's own memory would be counted")
    def test_requests_that_never_end_take_bounded_memory_and_stop_nobody(self):
        server, address = self.one()

        def send(_):
            connection = raw_http2.Connection(address)
            self.addCleanup(connection.close)
            sent = 0
            with contextlib.suppress(OSError):  # it is shut down, for bytes that belong to no call
                for _ in range(15):
                    sent += connection.send_unfinished("KVService/Pull", 3000000, rested(server))
            return sent
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            self.assertGreater(sum(pool.map(send, range(3))), 30e6, "the test shows nothing")
        self.assertLess(anonymous_bytes(server), 100e6)
        programs.wait_until(lambda: self.pulls(address), "a second without new connections of this address")

    def pulls(self, address):
        """Whether a new connection is served: those of an address that was shut out are closed."""
        with contextlib.suppress(OSError):
            connection = raw_http2.Connection(address)
            self.addCleanup(connection.close)
            return connection.call("KVService/Pull", raw_http2.pull_request("node", "feat", [0])) is not None
        return False


class MemoryTest(ServerBase):
    @unittest.skipIf(programs.TIME_SCALE > 1, "a sanitizer's own memory would be counted")
    def test_features_are_mapped_not_copied(self):
        source = datasets.write(self.box.folder / "input", 60000,
                                [(i, (i * 7 + 1) % 60000) for i in range(60000)], width=1)
        header = npy.load(source / "feat.npy")
        self.assertEqual((60000, 1), header.shape)
        text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (60000, 1000), }}"
        text += " " * (-(len(text) + 11) % 64) + "\n"
        with open(source / "feat.npy", "wb") as handle:  # 240 MB, a hole in the file
            handle.write(npy.MAGIC + b"\x01\x00" + len(text).to_bytes(2, "little") + text.encode())
            handle.truncate(handle.tell() + 60000 * 1000 * 4)
        graph = self.box.folder / "graph"
        must(self.box.run("halograph-partition", "run", "--input", source, "--output", graph,
                          "--parts", 1, "--method", "random"))
        servers, _ = self.box.servers(graph, ["all"])
        self.assertLess(anonymous_bytes(servers[0]), 100e6)


if __name__ == "__main__":
    programs.main()
