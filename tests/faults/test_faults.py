#!/usr/bin/env python3
"""What breaks while training: the trainers end within their deadline, with an error that names the
server and the call (or the rank), a non-zero code, and no process left behind on any rank.

--timeout bounds the calls that are answered too, and the meeting of ranks. So it is longer than a test
waits, but where something is silent: that is waited for so long, whatever the machine. A server that is
gone has --server-timeout, which bounds nothing else."""
import json
import re
import signal
import socket

from harness import datasets, programs
from harness.cora_in_two import CoraInTwoTest
from harness.programs import wait_until
from harness.training import ENDLESS, num_epochs, options, start_ranks

CALL = re.compile(r"Describe|Sample|ReadTaskSet|Pull|Health")
LONG = dict(epochs=ENDLESS, hidden=16, fanouts="5,3", batch_size=10, seed=1, threads=1)
SILENT = dict(timeout="10s")
IN_TIME = r"no answer within 10\.0 s"
GONE = dict(server_timeout="1s")
SOON = r"no answer within ([1-9]|[1-5]\d)\.\d s"  # from a second on; a minute would be `1 min 00 s`


class FaultBase(CoraInTwoTest):
    AT_ONCE = 4  # they wait for what does not answer

    def setUp(self):
        super().setUp()
        self.servers, self.addresses = self.box.servers(self.graph, [0, 1])

    def start(self, world_size, addresses=None, **given):
        return start_ranks(self.box, world_size, servers=",".join(addresses or self.addresses),
                           **{**LONG, **given})

    def in_the_middle(self, ranks):
        """Waits until the run has written its second epoch."""
        def going():
            for rank in ranks:
                self.assertTrue(rank.running(), rank.text)
            return num_epochs(self.box.folder / "rank0.jsonl") >= 2
        wait_until(going, "two epochs")

    def end(self, ranks):
        """Every rank's error, after it ended in time."""
        for rank in ranks:
            code = rank.wait()
            self.assertNotEqual(0, code, rank.text)
            self.assertGreater(code, 0, f"ended by a signal:\n{rank.text}")
        return [rank.err for rank in ranks]

    def nothing_left(self):
        for server in self.servers:
            server.end()
        self.assertNothingRuns()

    def check(self, ranks, address, how):
        """All end; at least one names the server, the call and how it ended, the others that or a
        rank."""
        errors = self.end(ranks)
        self.assertTrue(any(address in error and CALL.search(error) and re.search(how, error)
                            for error in errors), "\n".join(errors))
        for error in errors:
            self.assertRegex(error, re.escape(address) + r"|\b[Rr]ank", error)
        self.nothing_left()


class AbsentServerTest(FaultBase):
    def test_nobody_listens(self):
        self.servers[1].end()
        self.check(self.start(1, **GONE), self.addresses[1], SOON)

    def test_a_listener_that_never_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = f"127.0.0.1:{listener.getsockname()[1]}"
            self.check(self.start(1, [self.addresses[0], address], **SILENT), address, IN_TIME)

    def test_a_listener_that_closes_every_connection(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(0.1)
            address = f"127.0.0.1:{listener.getsockname()[1]}"
            ranks = self.start(1, [self.addresses[0], address], **GONE)

            def ended():
                try:
                    listener.accept()[0].close()
                except TimeoutError:
                    pass
                return not ranks[0].running()
            wait_until(ended, "the end of the trainer")
            self.check(ranks, address, SOON)

    def test_two_ranks_both_end(self):
        self.servers[1].end()
        self.check(self.start(2, **GONE), self.addresses[1], SOON)


class ServerFaultTest(FaultBase):
    def test_killed_in_the_middle_one_rank(self):
        ranks = self.start(1, **GONE)
        self.in_the_middle(ranks)
        self.servers[1].end()
        self.check(ranks, self.addresses[1], SOON)

    def test_killed_in_the_middle_two_ranks(self):
        ranks = self.start(2, **GONE)
        self.in_the_middle(ranks)
        self.servers[0].end()
        self.check(ranks, self.addresses[0], SOON)

    def test_stopped_in_the_middle_one_rank(self):
        ranks = self.start(1, **SILENT)
        self.in_the_middle(ranks)
        self.servers[0].signal(signal.SIGSTOP)
        self.check(ranks, self.addresses[0], IN_TIME)

    def test_stopped_in_the_middle_two_ranks(self):
        ranks = self.start(2, **SILENT, server_timeout="10m")  # in which, with --timeout, they meet
        self.in_the_middle(ranks)
        self.servers[1].signal(signal.SIGSTOP)
        self.check(ranks, self.addresses[1], IN_TIME)

    def test_drained_in_the_middle(self):
        ranks = self.start(1, **GONE)
        self.in_the_middle(ranks)
        self.servers[1].signal(signal.SIGTERM)
        self.assertEqual(0, self.servers[1].wait(), self.servers[1].text)
        self.check(ranks, self.addresses[1], SOON)

    def test_a_server_that_comes_back_in_time_is_used_again(self):
        ranks = self.start(1)
        self.in_the_middle(ranks)
        self.servers[1].end()
        before = num_epochs(self.box.folder / "rank0.jsonl")
        again = self.box.start_server(self.graph, 1, listen=self.addresses[1])
        programs.address(again)
        wait_until(lambda: not ranks[0].running() or
                   num_epochs(self.box.folder / "rank0.jsonl") > before + 3, "training to go on")
        self.assertTrue(ranks[0].running(), ranks[0].text)

    def test_a_server_that_comes_back_with_another_graph_ends_the_run(self):
        other = self.box.folder / "other"
        programs.must(self.box.run("halograph-partition", "run", "--input", datasets.cora(),
                                   "--output", other, "--parts", 2, "--seed", 2))
        ours, theirs = (json.loads((graph / "manifest.json").read_text())["identity"]
                        for graph in (self.graph, other))
        self.assertNotEqual(ours, theirs)
        ranks = self.start(1)
        self.in_the_middle(ranks)
        self.servers[1].end()
        self.servers[1] = self.box.start_server(other, 1, listen=self.addresses[1])
        self.check(ranks, self.addresses[1],
                   f"this server serves graph {theirs}, the call is for graph {ours}")


class RankFaultTest(FaultBase):
    def test_killed_rank_ends_the_other(self):
        for victim in (0, 1):
            with self.subTest(killed=victim):
                ranks = self.start(2)
                self.in_the_middle(ranks)
                ranks[victim].end()
                error, = self.end([ranks[1 - victim]])
                self.assertRegex(error, rf"\brank {victim}\b")
                (self.box.folder / "rank0.jsonl").unlink()
        self.nothing_left()

    def test_stopped_rank_ends_the_other(self):
        ranks = self.start(2, timeout="15s")  # in which they meet, too
        self.in_the_middle(ranks)
        ranks[1].signal(signal.SIGSTOP)
        error, = self.end(ranks[:1])
        self.assertRegex(error, r"\brank 1\b")
        ranks[1].end()
        self.nothing_left()

    def test_a_rank_that_never_comes(self):
        """It waits for nothing else: it reads the graph itself."""
        rank = self.box.start("halograph-train", *options(**{
            **LONG, **SILENT, "graph": self.graph, "rank": 0, "world_size": 2,
            "master_addr": "127.0.0.1", "master_port": programs.free_port()}))
        error, = self.end([rank])
        self.assertRegex(error, r"of 2 processes these did not join at .* in time: rank 1\b")
        self.nothing_left()

    def test_sigterm_stops_a_trainer_cleanly(self):
        ranks = self.start(1)
        self.in_the_middle(ranks)
        ranks[0].signal(signal.SIGTERM)
        code = ranks[0].wait()
        self.assertGreaterEqual(code, 0, f"ended by a signal:\n{ranks[0].text}")
        for line in (self.box.folder / "rank0.jsonl").read_text().splitlines():
            self.assertTrue(line.startswith("{") and line.endswith("}"), line)
        self.nothing_left()


if __name__ == "__main__":
    programs.main()
