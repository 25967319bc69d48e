#!/usr/bin/env python3
"""Two servers for each of two parts: training goes on, with the same numbers, while one of each pair
is left. And servers that went away and come back: training waits for them, and ends with the same
numbers."""
import signal

from harness import programs
from harness.cora_in_two import CoraInTwoTest
from harness.programs import seconds
from harness.training import num_epochs, options, read_log, start_ranks

RUN = dict(hidden=16, fanouts="5,3", batch_size=50, seed=3, threads=1, epochs=40)
TIMEOUT = 6


class ReplicaTest(CoraInTwoTest):
    def setUp(self):
        super().setUp()
        self.servers, self.addresses = self.box.servers(self.graph, [0, 1, 0, 1])

    def numbers(self, log):
        _, epochs, final = read_log(log)
        self.assertEqual(RUN["epochs"], len(epochs))
        return [(line["loss"], line["valid_acc"], line["sampled_edges"]) for line in epochs], \
            final["test_acc"]

    def start(self, name, **more):
        log = self.box.folder / name
        return log, self.box.start("halograph-train", *options(
            servers=",".join(self.addresses), timeout=f"{TIMEOUT}s", log=log, **{**RUN, **more}))

    def undisturbed(self):
        log, trainer = self.start("undisturbed.jsonl")
        self.assertEqual(0, trainer.wait(seconds(120)), trainer.text)
        self.assertNotIn("is lost", trainer.err)
        return self.numbers(log)

    def in_the_middle(self, log, trainer):
        programs.wait_until(lambda: num_epochs(log) >= 2 or not trainer.running(), seconds(60),
                            "two epochs")
        self.assertTrue(trainer.running(), trainer.text)

    def lose_one(self, number):
        wanted = self.undisturbed()
        log, trainer = self.start("disturbed.jsonl")
        self.in_the_middle(log, trainer)
        self.servers[0].signal(number)
        done = num_epochs(log)
        self.assertEqual(0, trainer.wait(seconds(120)), trainer.text)
        self.assertLess(done, RUN["epochs"], "it had ended: the test shows nothing")
        self.assertEqual(wanted, self.numbers(log))
        self.assertIn(f"part 0: {self.addresses[2]} is asked from now on, {self.addresses[0]} is "
                      "lost (", trainer.err)

    def test_a_server_that_is_killed_changes_no_number(self):
        self.lose_one(signal.SIGKILL)

    def test_a_server_that_hangs_changes_no_number(self):
        self.lose_one(signal.SIGSTOP)

    def test_both_servers_of_a_part_lost_are_named_in_time(self):
        log, trainer = self.start("lost.jsonl", epochs=100000)
        self.in_the_middle(log, trainer)
        for server in (self.servers[1], self.servers[3]):
            server.end()
        self.assertEqual(1, trainer.wait(seconds(TIMEOUT + 10)), trainer.text)
        for word in (self.addresses[1], self.addresses[3], "part 1", "no answer within"):
            self.assertIn(word, trainer.err.splitlines()[-1])

    def test_status_shows_the_servers_of_a_part_and_who_is_down(self):
        def status():
            return self.box.run("halograph-ctl", "status", "--servers", ",".join(self.addresses))
        self.assertCode(0, status(), f"1     {self.addresses[1]}, {self.addresses[3]}")
        self.servers[3].end()
        self.assertCode(1, status(), f"1     {self.addresses[1]}\n",
                        f"not known, since down: what {self.addresses[3]} serves",
                        f"{self.addresses[3]} is down (gone)",
                        "servers that are down: 1 of 4; those that answer serve every part")

    def test_training_starts_without_a_server_whose_part_another_serves(self):
        self.servers[2].end()
        log, trainer = self.start("without.jsonl")
        self.assertEqual(0, trainer.wait(seconds(120)), trainer.text)
        self.assertIn(f"{self.addresses[2]} does not answer", trainer.err)
        self.numbers(log)


class RestartTest(CoraInTwoTest):
    """The trainer's --timeout is shorter than its server is away."""
    TIMEOUT = 2
    RUN = dict(hidden=16, fanouts="5,3", batch_size=20, seed=3, threads=1, epochs=15,
               timeout=f"{TIMEOUT}s", server_timeout="100s", embed="node:8")

    def serve(self, number, folder, listen="127.0.0.1:0"):
        """Server `number`: of part 0, 1, and a replica of 0, which has no mutable tensors."""
        state = [] if number == 2 else ["--state", self.box.folder / folder]
        return self.box.start_server(self.graph, number % 2, *state, listen=listen)

    def train(self, name, disturb=None, world_size=1):
        """Losses of each epoch and the accuracy, of a trainer that `disturb(servers, addresses,
        ranks)` disturbs once it is within its third epoch or a later one."""
        servers = [self.serve(number, name) for number in range(3)]
        addresses = [programs.address(server) for server in servers]
        ranks = start_ranks(self.box, world_size, servers=",".join(addresses), **self.RUN)
        log = self.box.folder / "rank0.jsonl"
        if disturb:
            programs.wait_until(lambda: num_epochs(log) >= 2 or not ranks[0].running(), seconds(60),
                                "two epochs")
            disturb(servers, addresses, ranks)
        for rank in ranks:
            self.assertEqual(0, rank.wait(seconds(150)), rank.text)
        _, epochs, final = read_log(log)
        self.assertEqual(self.RUN["epochs"], len(epochs))
        log.unlink()
        for server in servers:
            server.end()
        return [(line["loss"], line["valid_acc"], line["sampled_edges"]) for line in epochs], \
            final["test_acc"]

    def restart_one(self, lose, number, name):
        """Kills all servers of `lose`, and restarts `number` of them once the trainers wait."""
        def disturb(servers, addresses, ranks):
            for lost in lose:
                servers[lost].signal(signal.SIGKILL)
                servers[lost].end()
            waits = [f"waiting for {addresses[lost]}: " for lost in lose]
            programs.wait_until(lambda: any(text in rank.err for text in waits for rank in ranks) or
                                not all(rank.running() for rank in ranks),
                                seconds(self.TIMEOUT + 20), "a trainer to say that it waits")
            for rank in ranks:
                self.assertTrue(rank.running(), rank.text)
                self.assertLess(num_epochs(self.box.folder / "rank0.jsonl"), self.RUN["epochs"])
            servers[number] = self.serve(number, name, addresses[number])
        return disturb

    def test_a_server_that_is_killed_and_restarted_changes_no_number(self):
        wanted = self.train("undisturbed")
        self.assertEqual(wanted, self.train("killed", self.restart_one([1], 1, "killed")))
        self.assertEqual(wanted, self.train("pair", self.restart_one([0, 2], 0, "pair")))

    def test_ranks_wait_for_the_one_that_waits_for_a_server(self):
        wanted = self.train("undisturbed", world_size=2)
        self.assertEqual(wanted, self.train("killed", self.restart_one([1], 1, "killed"),
                                            world_size=2))


if __name__ == "__main__":
    programs.main()
