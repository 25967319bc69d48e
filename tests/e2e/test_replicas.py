#!/usr/bin/env python3
"""Two servers for each of two parts: training goes on, with the same numbers, while one of each pair
is left; and as a grid, of which each rank asks one column. And servers that went away and come back,
killed or restarted one after another: training waits for them, and goes on with the same numbers. Runs
that are disturbed have no end of their own, so that none is over before it is disturbed."""
import json
import re
import signal

from harness import certificates, datasets, programs, service
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must, wait_until
from harness.training import ENDLESS, num_epochs, options, read_log, start_ranks, train

RUN = dict(hidden=16, fanouts="5,3", batch_size=50, seed=3, threads=1)


def numbers(epochs):
    return [(line["loss"], line["valid_acc"], line["test_acc"], line["sampled_edges"])
            for line in epochs]


class DisturbedBase(CoraInTwoTest):
    def await_epochs(self, log, trainers, count):
        """Until the log has more than `count`; how many it has."""
        wait_until(lambda: num_epochs(log) > count or not all(one.running() for one in trainers), "epochs")
        for trainer in trainers:
            self.assertTrue(trainer.running(), trainer.text)
        return num_epochs(log)

    def assertAsUndisturbed(self, log, epochs, **run):
        """The first epochs of a log are those of a run in one process that nothing happens to."""
        wanted = numbers(train(self.box, epochs=epochs, **run)[1])
        self.assertEqual(epochs, len(wanted))
        self.assertEqual(wanted, numbers(read_log(log)[1][:epochs]))


class ReplicaTest(DisturbedBase):
    AT_ONCE = 3

    def setUp(self):
        super().setUp()
        self.servers, self.addresses = self.box.servers(self.graph, [0, 1, 0, 1])
        self.log = self.box.folder / "log.jsonl"

    def start(self, **given):
        return self.box.start("halograph-train", *options(
            servers=",".join(self.addresses), log=self.log, **RUN, **given))

    def disturbed(self, timeout, **given):
        """A trainer in the middle of its run. The time-out bounds calls that are answered too."""
        trainer = self.start(epochs=ENDLESS, timeout=timeout, **given)
        self.await_epochs(self.log, [trainer], 1)
        self.assertNotIn("is lost", trainer.err)
        return trainer

    def lose_one(self, number, timeout):
        trainer = self.disturbed(timeout)
        self.servers[0].signal(number)
        lost = (f"part 0: {self.addresses[2]} is asked from now on, {self.addresses[0]} is lost (")
        wait_until(lambda: lost in trainer.err or not trainer.running(), lost)
        epochs = self.await_epochs(self.log, [trainer], num_epochs(self.log) + 1)
        trainer.end()
        self.assertAsUndisturbed(self.log, epochs, graph=self.graph, **RUN)

    def test_a_server_that_is_killed_changes_no_number(self):
        self.lose_one(signal.SIGKILL, "10m")  # the other is asked at once

    def test_a_server_that_hangs_changes_no_number(self):
        self.lose_one(signal.SIGSTOP, "10s")  # the other is asked after half of it

    def test_both_servers_of_a_part_lost_are_named_in_time(self):
        trainer = self.disturbed("10m", server_timeout="2s")
        for server in (self.servers[1], self.servers[3]):
            server.end()
        self.assertEqual(1, trainer.wait(), trainer.text)
        last = trainer.err.splitlines()[-1]
        for word in (self.addresses[1], self.addresses[3], "part 1"):
            self.assertIn(word, last)
        within = re.search(r"no answer within (\d+\.\d) s", last)  # `10 min 00 s` is not seconds
        self.assertTrue(within and float(within[1]) >= 2, last)

    def test_status_shows_the_servers_of_a_part_and_who_is_down(self):
        def status(*args):
            return self.box.run("halograph-ctl", "status", "--servers", ",".join(self.addresses), *args)
        self.assertCode(0, status(), f"1     {self.addresses[1]}, {self.addresses[3]}")
        self.servers[3].end()
        self.assertCode(1, status("--timeout", "10s"), f"1     {self.addresses[1]}\n",
                        f"not known, since down: what {self.addresses[3]} serves",
                        f"{self.addresses[3]} is down (gone)",
                        "servers that are down: 1 of 4; those that answer serve every part")

    def test_training_starts_without_a_server_whose_part_another_serves(self):
        self.servers[2].end()
        trainer = self.start(epochs=3)
        self.assertEqual(0, trainer.wait(), trainer.text)
        self.assertIn(f"{self.addresses[2]} does not answer", trainer.err)
        self.assertAsUndisturbed(self.log, 3, graph=self.graph, **RUN)


class GridTest(DisturbedBase):
    """Rows are the parts; the columns, by address, are `self.grid[part][column]`."""
    AT_ONCE = 3

    def setUp(self):
        super().setUp()
        self.servers, self.addresses = self.box.servers(self.graph, [0, 1, 0, 1])
        self.grid = [sorted(self.addresses[part::2]) for part in range(2)]
        self.log = self.box.folder / "log.jsonl"

    def taken(self):
        """By server: calls of samples and of pulls that it has taken, and those for another column."""
        status = must(self.box.run("halograph-ctl", "status", "--servers", ",".join(self.addresses),
                                   "--timeout", "60s", "--json"))
        taken = {}
        for server in json.loads(status.out):
            calls = {method["method"]: method["calls"] for method in server["methods"]}
            taken[server["address"]] = (calls.get("GraphService/Sample", 0), calls.get("KVService/Pull", 0),
                                        server["failovers"])
        return taken

    def test_each_rank_asks_its_column_and_no_number_changes(self):
        wanted = numbers(train(self.box, graph=self.graph, epochs=3, **RUN)[1])
        as_today, samples, all_reads = (
            dict(), dict(columns=True), dict(columns=True, column_pulls=True))
        for given in (as_today, samples, all_reads):
            before = self.taken()
            config, epochs, _ = train(self.box, servers=",".join(self.addresses), epochs=3,
                                      cache="off", **RUN, **given)
            self.assertEqual(wanted, numbers(epochs), given)
            self.assertEqual([0] * 3, [line["failovers"] for line in epochs])
            self.assertEqual(("columns" in given, "column_pulls" in given),
                             (config["columns"], config["column_pulls"]))
            more = {at: [now - then for now, then in zip(taken, before[at])]
                    for at, taken in self.taken().items()}
            for row in self.grid:
                self.assertGreater(more[row[0]][0], 0)
                self.assertEqual("columns" not in given, more[row[1]][0] > 0, (given, more))
                # The least busy server is often the one of which no samples are asked.
                self.assertEqual("column_pulls" not in given, more[row[1]][1] > 0, (given, more))
                if given is all_reads:
                    self.assertGreater(more[row[0]][1], 0)

    def test_two_ranks_ask_two_columns_and_no_number_changes(self):
        ranks = start_ranks(self.box, 2, servers=",".join(self.addresses), epochs=3, columns=True,
                            column_pulls=True, **RUN)
        for number, rank in enumerate(ranks):
            self.assertEqual(0, rank.wait(), rank.text)
            self.assertIn(f"column {number} of 2 for samples, column {number} of 2 for features", rank.err)
        self.assertAsUndisturbed(self.box.folder / "rank0.jsonl", 3, graph=self.graph,
                                 logical_ranks=2, **RUN)
        self.assertEqual(0, sum(failovers for _, _, failovers in self.taken().values()))

    def test_a_server_of_the_column_that_is_killed_changes_no_number_and_is_counted(self):
        trainer = self.box.start("halograph-train", *options(
            servers=",".join(self.addresses), log=self.log, epochs=ENDLESS, timeout="10m", columns=True,
            column_pulls=True, cache="off", **RUN))
        self.await_epochs(self.log, [trainer], 1)
        self.assertNotIn("is lost", trainer.err)
        lost, other = self.grid[1]
        self.servers[self.addresses.index(lost)].end()
        text = f"part 1: {other} is asked from now on, {lost} is lost ("
        wait_until(lambda: text in trainer.err or not trainer.running(), text)
        epochs = self.await_epochs(self.log, [trainer], num_epochs(self.log) + 2)
        trainer.end()
        self.assertAsUndisturbed(self.log, epochs, graph=self.graph, **RUN)
        self.assertEqual(1, trainer.err.count("is lost ("), trainer.err)
        counted = [line["failovers"] for line in read_log(self.log)[1]]
        self.assertEqual(0, counted[0])
        # An epoch that began after that: each step's calls to part 1.
        self.assertGreaterEqual(counted[epochs - 1], 1)

    def test_what_is_no_grid_is_refused(self):
        def refused(code, *words, servers=self.addresses, **given):
            result = self.box.run("halograph-train", *options(epochs=1, servers=",".join(servers),
                                                              **RUN, **given))
            self.assertCode(code, result, *words)
        refused(1, "--columns needs the same number of servers for each part",
                "2 servers for part 0, 1 server for part 1", servers=self.addresses[:3], columns=True)
        refused(2, "--column-pulls needs --columns", column_pulls=True)

    def test_one_column_is_told_and_trained_on(self):
        trainer = self.box.start("halograph-train", *options(
            servers=",".join(self.addresses[:2]), log=self.log, epochs=2, columns=True,
            column_pulls=True, **RUN))
        self.assertEqual(0, trainer.wait(), trainer.text)
        told = "--columns and --column-pulls: every part has one server"
        self.assertEqual(1, trainer.err.count(told), trainer.err)
        self.assertAsUndisturbed(self.log, 2, graph=self.graph, **RUN)


class RestartTest(DisturbedBase):
    """The trainer's --timeout is shorter than its server is away: the server is started again when the
    trainer says that it waited for longer."""
    AT_ONCE = 3
    TIMEOUT = 8  # within which calls are answered on any machine
    RUN = dict(RUN, batch_size=20, embed="node:8")

    def serve(self, number, listen="127.0.0.1:0"):
        """Server `number`: of part 0, 1, and a replica of 0, which has no mutable tensors."""
        state = [] if number == 2 else ["--state", self.box.folder / "state"]
        return self.box.start_server(self.graph, number % 2, *state, listen=listen)

    def restart_one(self, lose, number, world_size=1):
        """Kills all servers of `lose`, and restarts `number` of them once the trainers waited longer
        than --timeout."""
        servers = [self.serve(number) for number in range(3)]
        addresses = [programs.address(server) for server in servers]
        ranks = start_ranks(self.box, world_size, servers=",".join(addresses), epochs=ENDLESS,
                            timeout=f"{self.TIMEOUT}s", server_timeout="10m", **self.RUN)
        log = self.box.folder / "rank0.jsonl"
        self.await_epochs(log, ranks, 1)
        for lost in lose:
            servers[lost].end()
        names = "|".join(re.escape(addresses[lost]) for lost in lose)
        waits = re.compile(rf"waiting for (?:{names}): \S+ has taken (\d+ min|\d+\.\d s)")

        def long_enough():
            times = [time.split() for rank in ranks for time in waits.findall(rank.err)]
            return any(unit == "min" or float(time) > self.TIMEOUT for time, unit in times) or \
                not all(rank.running() for rank in ranks)
        wait_until(long_enough, "a trainer that waits for longer than --timeout")
        before = num_epochs(log)
        servers[number] = self.serve(number, addresses[number])
        epochs = self.await_epochs(log, ranks, before + 1)
        for rank in ranks:
            rank.end()
        self.assertAsUndisturbed(log, epochs, servers=",".join(addresses[:2]), embed_begin="fresh",
                                 logical_ranks=world_size, **self.RUN)

    def test_a_server_that_is_killed_and_restarted_changes_no_number(self):
        self.restart_one([1], 1)

    def test_of_two_servers_that_are_killed_the_one_with_the_state_is_enough(self):
        self.restart_one([0, 2], 0)

    def test_ranks_wait_for_the_one_that_waits_for_a_server(self):
        self.restart_one([1], 1, world_size=2)


class RollingRestartTest(DisturbedBase):
    """Four parts with a server each, so that no other server hides a loss, and learned rows, so that a
    push that is lost or applied twice shows. All of it over TLS, by the command of systemd's unit."""
    RUN = RestartTest.RUN

    def serve(self, part, listen="127.0.0.1:0"):
        address_file = self.box.folder / f"halograph-server-{part}" / "address"
        address_file.parent.mkdir(exist_ok=True)
        command = service.Unit(service.SERVER).command(
            {"HALOGRAPH_GRAPH": str(self.graph), "HALOGRAPH_LISTEN": listen, "HALOGRAPH_HTTP_LISTEN": "127.0.0.1:0",
             "HALOGRAPH_TLS": f"--tls-dir {self.tls}", "HALOGRAPH_OPTIONS": "--drain-delay 100ms"},
            i=part, t=self.box.folder, S=self.box.folder)
        server = self.box.start("halograph-server", *command[1:])
        server.address_file = address_file
        return server

    def test_servers_that_are_restarted_one_after_another_change_no_number(self):
        self.graph, self.tls = self.box.folder / "parts", certificates.make(self.box.folder / "tls")
        must(self.box.run("halograph-partition", "run", "--input", datasets.cora(), "--output", self.graph,
                          "--parts", 4, "--seed", 1))
        servers = [self.serve(part) for part in range(4)]
        addresses = [programs.address(server) for server in servers]
        run = dict(self.RUN, servers=",".join(addresses), tls_dir=self.tls)
        log = self.box.folder / "rank0.jsonl"
        ranks = start_ranks(self.box, 1, epochs=ENDLESS, timeout=f"{RestartTest.TIMEOUT}s", server_timeout="10m",
                            **run)
        self.await_epochs(log, ranks, 1)
        for part, address in enumerate(addresses):
            servers[part].signal(signal.SIGTERM)
            self.assertEqual(0, servers[part].wait(), servers[part].text)
            before = num_epochs(log)
            servers[part] = self.serve(part, address)
            self.assertEqual(address, programs.address(servers[part]))
            epochs = self.await_epochs(log, ranks, before + 1)
            self.assertIn("rank 0: first call", servers[part].err)
        for rank in ranks:
            rank.end()
        self.assertEqual(list(range(epochs)), [line["epoch"] for line in read_log(log)[1][:epochs]])
        self.assertAsUndisturbed(log, epochs, embed_begin="fresh", **run)


class MovedTest(DisturbedBase):
    def listed(self, addresses):
        """--servers of a file that lists them, whole at every moment."""
        path = self.box.folder / "servers"
        path.with_suffix(".new").write_text("\n".join(addresses))
        path.with_suffix(".new").rename(path)
        return f"@{path}"

    def test_a_server_that_comes_back_elsewhere_changes_no_number(self):
        servers, addresses = self.box.servers(self.graph, [0, 1])
        log = self.box.folder / "log.jsonl"
        trainer = self.box.start("halograph-train", *options(
            servers=self.listed(addresses), log=log, epochs=ENDLESS, timeout="10m", server_timeout="10m", **RUN))
        self.await_epochs(log, [trainer], 1)
        servers[1].signal(signal.SIGKILL)
        servers[1].wait()
        (moved,) = self.box.servers(self.graph, [1])[1]
        words = self.listed([moved, addresses[0]])
        wait_until(lambda: f"has moved to {moved}" in trainer.err or not trainer.running(), "the move")
        epochs = self.await_epochs(log, [trainer], num_epochs(log) + 1)
        status = must(self.box.run("halograph-ctl", "status", "--servers", words, "--json"))
        self.assertEqual([moved, addresses[0]], [server["address"] for server in json.loads(status.out)])
        trainer.end()
        self.assertAsUndisturbed(log, epochs, graph=self.graph, **RUN)


if __name__ == "__main__":
    programs.main()
