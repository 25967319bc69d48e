#!/usr/bin/env python3
"""deploy/systemd: the units as systemd's own tools read them, and the programs as systemd runs them, with a
socket of the test in its place. No systemd is started."""
import re
import shutil
import signal
import subprocess

from harness import programs, service
from harness.cora_in_two import CoraInTwoTest
from harness.service import SERVER, SYSTEMD, TRAINER
from harness.tools import tool
from harness.training import ENDLESS, options

MOST_EXPOSED = {SERVER: 1.5, TRAINER: 1.5}  # of 10; systemd-analyze calls up to 2 safe


class UnitsTest(programs.ProgramTest):
    def analyze(self, *words):
        return subprocess.run([tool("systemd-analyze", package="systemd"), *map(str, words)], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    def copy(self, unit, change=None):
        """The unit with a program that is on this machine, and one text replaced."""
        folder = self.box.folder / f"units{len(list(self.box.folder.iterdir()))}"
        folder.mkdir()
        text = unit.read_text(encoding="utf-8")
        if change:
            self.assertEqual(1, text.count(change[0]), change[0])
            text = text.replace(*change)
        copied = folder / unit.name
        copied.write_text(re.sub(r"/opt/halograph/bin/(\S+)", lambda match: programs.binary(match[1]), text))
        return copied

    def verify(self, path):
        done = self.analyze("verify", path)
        self.assertIn(done.returncode, (0, 1), done.stdout)
        return done.stdout

    def test_systemd_has_nothing_to_say_about_them(self):
        for unit in (SERVER, TRAINER):
            self.assertEqual("", self.verify(self.copy(unit)))

    def test_it_would_tell_of_what_is_misspelt(self):
        """As it ends with 0 all the same."""
        for change in (("LimitNOFILE=", "LimitNoFile="), ("WatchdogSec=2min", "WatchdogSec=soon"),
                       ("Type=notify", "Type=notified"), ("halograph-server --graph", "halograph-sever --graph")):
            self.assertNotEqual("", self.verify(self.copy(SERVER, change)), change)

    def test_drop_ins_fit_their_units(self):
        for name, unit in (("memory.conf", SERVER), ("tls.conf", SERVER), ("memory.conf", TRAINER),
                           ("gpu.conf", TRAINER)):
            copied = self.copy(unit)
            folder = copied.with_name(copied.name + ".d")
            folder.mkdir()
            shutil.copy(SYSTEMD / "drop-ins" / name, folder)
            self.assertEqual("", self.verify(copied))
            (folder / name).write_text((SYSTEMD / "drop-ins" / name).read_text() + "MemoryMaximum=1\n")
            self.assertIn("MemoryMaximum", self.verify(copied), "drop-ins are not read")
        self.assertEqual({"memory.conf", "tls.conf", "gpu.conf"},
                         {path.name for path in (SYSTEMD / "drop-ins").iterdir()})

    def test_they_are_shut_in(self):
        for unit, most in MOST_EXPOSED.items():
            asked = ("security", "--offline=true", f"--threshold={int(most * 10)}")
            done = self.analyze(*asked, self.copy(unit))
            self.assertEqual(0, done.returncode, done.stdout)
            open_wide = self.copy(unit, ("CapabilityBoundingSet=\n", ""))
            self.assertEqual(1, self.analyze(*asked, open_wide).returncode, "it finds nothing")

    def test_libtorch_may_write_code_and_a_server_may_not(self):
        self.assertEqual(["yes"], service.Unit(SERVER).all("MemoryDenyWriteExecute"))
        self.assertEqual([], service.Unit(TRAINER).all("MemoryDenyWriteExecute"))

    def test_systemd_waits_longer_than_the_programs_do(self):
        for unit, program, names in (
                (SERVER, "halograph-server", ("drain-delay", "drain-timeout", "stop-timeout")),
                (TRAINER, "halograph-train", ("stop-timeout",))):
            with self.subTest(unit=unit.name):
                read = service.Unit(unit)
                own = service.defaults(self.box, program, *names)
                for times in (own, service.given(read.command(i=0, t="/run", S="/var/lib"), own)):
                    self.assertGreater(service.seconds_of(read.one("TimeoutStopSec")), sum(times.values()) + 5, times)
                self.assertEqual("65536", read.one("LimitNOFILE"))
                self.assertEqual("main", read.one("NotifyAccess"))
                self.assertTrue(read.one("MemoryMax"))
        server = service.Unit(SERVER)
        self.assertGreaterEqual(service.seconds_of(server.one("TimeoutStartSec")), 1800)
        self.assertGreaterEqual(service.seconds_of(server.one("WatchdogSec")), 20)


class NotifyTest(CoraInTwoTest):
    AT_ONCE = 2

    def manager(self, **how):
        manager = service.Manager(self.box, **how)
        self.addCleanup(manager.close)
        return manager

    def start(self, manager, *words, **environment):
        return self.box.start("halograph-server", "--graph", self.graph, "--part", "all", "--listen", "127.0.0.1:0",
                              *words, env=manager.environment(**environment))

    def test_the_command_of_the_unit_is_one_of_the_server(self):
        manager = self.manager(abstract=True)
        (self.box.folder / "halograph-server-1").mkdir()
        words = service.Unit(SERVER).command(
            {"HALOGRAPH_GRAPH": str(self.graph), "HALOGRAPH_LISTEN": "127.0.0.1:0",
             "HALOGRAPH_HTTP_LISTEN": "127.0.0.1:0", "HALOGRAPH_OPTIONS": "--threads 1 --queue 16"},
            i=1, t=self.box.folder, S=self.box.folder)
        server = self.box.start("halograph-server", *words[1:], env=manager.environment())
        manager.wait_for("READY=1", server)
        address = (self.box.folder / "halograph-server-1/address").read_text()
        self.assertIn(f"serving at {address}", manager.said[-1])
        self.assertIn("part 1 of 2", server.err)
        self.assertTrue((self.box.folder / "halograph/server-1").is_dir())

    def test_ready_is_said_when_it_serves_and_stopping_when_it_is_told_to(self):
        manager = self.manager()
        server = self.start(manager)
        before = manager.wait_for("READY=1", server)
        self.assertEqual("STATUS=opening the partitions", before[0])
        self.assertEqual(2, len(before))
        address = re.search(r"STATUS=serving at (\S+)", before[1]).group(1)
        self.assertCode(0, self.box.run("halograph-ctl", "status", "--servers", address))
        server.signal(signal.SIGTERM)
        self.assertEqual(["STOPPING=1\nSTATUS=draining"], manager.wait_for("STOPPING=1", server))
        self.assertEqual(0, server.wait(), server.text)
        self.assertTrue(manager.has_nothing_more(), manager.said)

    def test_with_a_drain_delay_stopping_is_said_first(self):
        manager = self.manager()
        server = self.start(manager, "--drain-delay", "1h")
        manager.wait_for("READY=1", server)
        server.signal(signal.SIGTERM)
        manager.wait_for("STOPPING=1", server)
        programs.wait_until(lambda: "unhealthy from now on" in server.err, "the delay")

    def test_a_server_that_does_not_come_to_serve_is_never_ready(self):
        manager = self.manager()
        damaged = self.box.folder / "damaged"
        shutil.copytree(self.graph, damaged)
        (damaged / "part-0000/manifest.json").write_text("{}")
        server = self.box.start("halograph-server", "--graph", damaged, "--part", "0", "--listen", "127.0.0.1:0",
                                env=manager.environment())
        self.assertEqual(1, server.wait(), server.text)
        self.assertEqual(["STATUS=opening the partitions"], manager.wait_for("STATUS=opening the partitions", server))
        self.assertTrue(manager.has_nothing_more(), manager.said)

    def test_it_says_that_it_lives_as_often_as_it_is_asked_to(self):
        manager = self.manager()
        server = self.start(manager, WATCHDOG_USEC="100000")
        manager.wait_for("READY=1", server)
        for _ in range(3):
            manager.wait_for("WATCHDOG=1", server)
        server.signal(signal.SIGSTOP)  # all its threads
        programs.wait_until(lambda: manager.has_nothing_more(within=0.5), "silence, by which systemd knows it")
        self.assertTrue(server.running())
        server.signal(signal.SIGCONT)
        manager.wait_for("WATCHDOG=1", server)

    def test_a_watchdog_for_another_process_is_not_its_own(self):
        manager = self.manager()
        server = self.start(manager, WATCHDOG_USEC="100000", WATCHDOG_PID="1")
        manager.wait_for("READY=1", server)
        server.signal(signal.SIGTERM)
        self.assertEqual(1, len(manager.wait_for("STOPPING=1", server)))

    def test_a_socket_that_cannot_be_one_is_told_and_the_server_serves(self):
        server = self.box.start("halograph-server", "--graph", self.graph, "--part", "0", "--listen", "127.0.0.1:0",
                                env={"NOTIFY_SOCKET": "/" + 200 * "x"})
        programs.wait_until(lambda: "listening on" in server.out, "the server")
        self.assertEqual(1, server.err.count("NOTIFY_SOCKET"), server.err)
        self.assertIn("the service manager is told nothing", server.err)

    def test_a_trainer_is_ready_when_it_trains(self):
        manager = self.manager()
        trainer = self.box.start("halograph-train", *options(graph=self.graph, epochs=ENDLESS, hidden=8, threads=1),
                                 env=manager.environment())
        self.assertEqual(["STATUS=preparing", "READY=1\nSTATUS=training"], manager.wait_for("READY=1", trainer))
        trainer.signal(signal.SIGTERM)
        trainer.wait()


if __name__ == "__main__":
    programs.main()
