#!/usr/bin/env python3
"""Two servers for each of two parts: training goes on, with the same numbers, while one of each pair
is left."""
import signal

from harness import programs
from harness.cora_in_two import CoraInTwoTest
from harness.programs import seconds
from harness.training import num_epochs, options, read_log

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


if __name__ == "__main__":
    programs.main()
