#!/usr/bin/env python3
"""`halograph-ctl why` and `doctor` beside real servers, and beside ports that tell what a trainer would."""
import http.server
import json
import pathlib
import signal
import socket
import threading
import time

from harness import datasets, programs
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must

TOKEN = "a-token-that-is-long"


def counter(name, value, **labels):
    return {"name": name, "kind": "COUNTER", "unit": "", "help": "", "bounds": [], "series": [
        {"labels": [{"name": key, "value": text} for key, text in sorted(labels.items())],
         "value": value, "count": 0, "sum": 0, "counts": []}]}


class FakeTrainer:
    """The HTTP port of a trainer: each look is five seconds and 50 steps after the one before."""

    def __init__(self, test, computing, waiting, token=None, clock=0.0):
        self.looks, self.computing, self.waiting, self.clock = 0, computing, waiting, clock
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                allowed = token is None or self.headers["Authorization"] == f"Bearer {token}"
                code, body = (200, fake.page()) if allowed else (401, b"show the token\n")
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        test.addCleanup(thread.join)
        test.addCleanup(server.server_close)
        test.addCleanup(server.shutdown)
        self.address = f"127.0.0.1:{server.server_address[1]}"

    def page(self):
        self.looks += 1
        # What a rank does in a second, that a test need not wait for: shares are of the time between
        # the readings, so the stage alone says them.
        stages = [counter("halograph_trainer_stage_seconds_total", self.looks * share, rank="0", stage=stage,
                          state=state)["series"][0]
                  for stage, shares in {"sample": (0.2, 0, 0.8), "gather": (0.9, 0, 0.1),
                                        "train": (self.computing, self.waiting, 0)}.items()
                  for state, share in zip(("busy", "starved", "blocked"), shares)]
        family = counter("halograph_trainer_stage_seconds_total", 0)
        family["series"] = stages
        return json.dumps({
            "program": "halograph-train", "build_version": "1", "uptime_seconds": 1000.0 * self.looks,
            "unix_seconds": time.time() + self.clock, "phase": "training", "rank": 0, "world_size": 1,
            "host_name": "h", "pid": 1, "servers": [], "epoch": 1, "step": 50 * self.looks,
            "metrics": [family, counter("halograph_trainer_steps_total", 50 * self.looks, rank="0")],
        }).encode()


class DiagnosisBase(CoraInTwoTest):
    def ctl(self, command, *words):
        return self.box.run("halograph-ctl", command, *words)

    def found(self, command, servers, *words):
        """Code and what --json prints."""
        result = self.ctl(command, "--servers", ",".join(servers), "--json", "--seconds", "100ms", "--timeout",
                          f"{programs.PATIENCE:.0f}s", *words)
        return result.code, json.loads(result.out)

    def two(self):
        return self.box.servers(self.graph, [0, 1])


class WhyTest(DiagnosisBase):
    AT_ONCE = 4

    def test_servers_alone_say_what_a_trainer_would_add(self):
        _, addresses = self.two()
        code, verdict = self.found("why", addresses)
        self.assertEqual(0, code)
        self.assertTrue(any("--trainer" in line for line in verdict["unknown"]), verdict)

    def test_trainer_that_computes_is_bound_by_computing(self):
        _, addresses = self.two()
        trainer = FakeTrainer(self, computing=0.95, waiting=0.02)
        code, verdict = self.found("why", addresses, "--trainer", trainer.address)
        self.assertEqual(0, code)
        self.assertEqual("computing", verdict["findings"][0]["cause"], verdict)
        self.assertEqual("rank 0", verdict["findings"][0]["culprit"], verdict)

    def test_trainer_that_waits_names_the_stage(self):
        _, addresses = self.two()
        trainer = FakeTrainer(self, computing=0.1, waiting=0.9)
        result = self.ctl("why", "--servers", ",".join(addresses), "--seconds", "100ms", "--trainer",
                          trainer.address)
        self.assertCode(0, result, "stage gather bounds them", "To do: ")

    def test_token_is_shown_and_never_printed(self):
        _, addresses = self.two()
        trainer = FakeTrainer(self, 0.95, 0.02, token=TOKEN)
        _, refused = self.found("why", addresses, "--trainer", trainer.address)
        self.assertTrue(any("show the token" in line for line in refused["unknown"]), refused)
        token = pathlib.Path(self.box.folder) / "token"
        token.write_text(TOKEN + "\n", encoding="ascii")
        result = self.ctl("why", "--servers", addresses[0], "--seconds", "100ms", "--trainer", trainer.address,
                          "--trainer-token-file", token)
        self.assertCode(0, result, "computing bounds the step")
        self.assertNotIn(TOKEN, result.text)

    def test_server_that_is_down_is_named_and_the_rest_is_judged(self):
        servers, addresses = self.two()
        servers[1].end()
        code, verdict = self.found("why", addresses, "--timeout", "2s")
        self.assertEqual(0, code)
        self.assertTrue(any(addresses[1] in line and "did not answer" in line
                            for line in verdict["unknown"]), verdict)

    def test_nobody_answers(self):
        servers, addresses = self.two()
        for server in servers:
            server.end()
        result = self.ctl("why", "--servers", ",".join(addresses), "--timeout", "200ms", "--seconds", "100ms")
        self.assertCode(1, result, "nobody answered", *addresses)

    def test_wrong_usage(self):
        for words in ([], ["--servers", "a:1", "--trainer", "no port"], ["--servers", "a:1", "--seconds", "0s"]):
            with self.subTest(words):
                self.assertCode(2, self.ctl("why", *words))
                self.assertCode(2, self.ctl("doctor", *words))


class DoctorTest(DiagnosisBase):
    AT_ONCE = 4

    def lines(self, servers, *words):
        """Code, and what each check says: (severity, sentence)."""
        code, lines = self.found("doctor", servers, *words)
        by_check = {}
        for line in lines:
            by_check.setdefault(line["check"], []).append((line["severity"], line["what"]))
        return code, by_check

    def assertSaid(self, said, severity, *words):
        self.assertTrue(any(level == severity and all(word in what for word in words)
                            for level, what in said), said)

    def test_all_is_well(self):
        _, addresses = self.two()
        code, lines = self.lines(addresses)
        self.assertEqual(0, code, lines)
        self.assertFalse([what for said in lines.values() for level, what in said if level == "fault"])
        self.assertSaid(lines["parts"], "ok", "all 2 parts are served")
        self.assertSaid(lines["answers"], "ok", "2 of 2 answer")

    def test_part_that_nobody_serves(self):
        _, addresses = self.two()
        code, lines = self.lines(addresses[:1])
        self.assertEqual(1, code)
        self.assertSaid(lines["parts"], "fault", "part 1 of 2")

    def test_hung_and_gone_are_told_apart(self):
        servers, addresses = self.two()
        servers[0].signal(signal.SIGSTOP)
        servers[1].end()
        code, lines = self.lines(addresses, "--timeout", "500ms")
        self.assertEqual(1, code)
        self.assertSaid(lines["answers"], "fault", addresses[0], "hangs")
        self.assertSaid(lines["answers"], "fault", addresses[1], "is gone")

    def test_servers_of_different_graphs(self):
        whole = self.box.folder / "whole"
        must(self.box.run("halograph-partition", "run", "--input", datasets.cora(), "--output", whole,
                          "--parts", 1))
        _, (one,) = self.box.servers(self.graph, ["all"])
        _, (other,) = self.box.servers(whole, ["all"])
        code, lines = self.lines([one, other])
        self.assertEqual(1, code)
        self.assertSaid(lines["graphs"], "fault", one, other)

    def test_replicas_are_no_fault(self):
        _, addresses = self.box.servers(self.graph, ["all", 0])
        code, lines = self.lines(addresses)
        self.assertEqual(0, code, lines)
        self.assertSaid(lines["parts"], "ok", f"part 0 by {addresses[0]}, {addresses[1]}")

    def test_clock_that_is_off(self):
        _, addresses = self.two()
        for clock, severity, code in ((30, "look", 0), (-400, "fault", 1)):
            with self.subTest(clock):
                trainer = FakeTrainer(self, 0.9, 0.1, clock=clock)
                got, lines = self.lines(addresses, "--trainer", trainer.address)
                self.assertEqual(code, got, lines)
                self.assertSaid(lines["clocks"], severity, trainer.address, "ahead" if clock > 0 else "behind")

    def test_port_that_is_no_trainers(self):
        _, addresses = self.two()
        code, lines = self.lines(addresses, "--trainer", addresses[0])
        self.assertEqual(1, code)
        self.assertSaid(lines["answers"], "fault", f"trainer {addresses[0]}", "does not speak HTTP")

    def test_port_that_takes_connections_and_says_nothing(self):
        _, addresses = self.two()
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            code, lines = self.lines(addresses, "--trainer", address, "--timeout", "500ms")
        self.assertEqual(1, code)
        self.assertSaid(lines["answers"], "fault", address, "hangs")

    def test_name_that_is_none(self):
        _, addresses = self.two()
        code, lines = self.lines([*addresses, "no-such-host.invalid:7000"], "--timeout", "500ms")
        self.assertEqual(1, code)
        self.assertSaid(lines["addresses"], "fault", "no-such-host.invalid:7000")


if __name__ == "__main__":
    programs.main()
