"""Servers and trainers of one run, with a cause planted, and what `why` says of them."""
import json
import pathlib
import subprocess
import sys
import tempfile

from hosts.processes import Group, ProcessError

TRAINERS, SERVERS = 0, (1, 2)  # hosts
SERVER_PORT, PROXY_PORT, MASTER_PORT = 7000, 7100, 7200
START_S = 60
LOOK_S = 60
BURN = "while True: pass"
TRAIN = ("--threads", "1", "--sample-threads", "2", "--batch-size", "256", "--fanouts", "10,10", "--epochs",
         "1000000", "--eval-every", "0", "--seed", "1", "--timeout", "60s", "--quiet", "--log-level", "warning")


class Cluster:
    def __init__(self, options, network, cause):
        self.options, self.network, self.cause = options, network, cause
        self.graph = cause.graph(options)
        # As trainers call them.
        self.addresses = [f"{network.address(host)}:{SERVER_PORT}" for host in SERVERS]
        if cause.delay_us:
            self.addresses[1] = f"127.0.0.1:{PROXY_PORT}"

    def culprit(self):
        return self.cause.culprit(self)

    def look(self):
        """What `why` says, as JSON."""
        with tempfile.TemporaryDirectory(dir=self.options.work) as folder:
            self.folder = pathlib.Path(folder)
            with Group(self.network, self.folder) as self.group:
                self._plant()
                for number in range(len(SERVERS)):
                    self._serve(number)
                trainers = self._train()
                return self._ask(trainers)

    def _start(self, host, name, command, **how):
        return self.group.start(host, name, command, cores=self.cause.cores.get(name, set(self.group.cores)),
                                **how)

    def _plant(self):
        cause = self.cause
        if cause.bits_per_s:
            self.network.set_rate(cause.bits_per_s, [SERVERS[1]])
        if cause.send_buffer:
            self.network.set_send_buffers(cause.send_buffer, [SERVERS[1]])
        for number, core in enumerate(cause.burners):
            self.group.start(TRAINERS, f"burner{number}", [sys.executable, "-c", BURN],
                             cores={self.group.core(core)})
        if cause.delay_us:
            proxy = self.group.start(TRAINERS, "proxy", [
                self.options.bin / "delay_proxy", "--listen", self.addresses[1], "--connect",
                f"{self.network.address(SERVERS[1])}:{SERVER_PORT}", "--delay-us", cause.delay_us], real_time=True)
            self.group.wait_for_text(proxy, "listening", START_S)

    def _serve(self, number):
        cause, slow = self.cause, number == 1
        command = [self.options.bin / "halograph-server", "--graph", self.graph, "--part", number, "--listen",
                   f"{self.network.address(SERVERS[number])}:{SERVER_PORT}", "--insecure", "--verify", "headers",
                   *cause.server]
        if slow:
            command += cause.slow_server
        if cause.state:
            command += ["--state", self.folder / f"state{number}"]
        if slow and cause.slow_sync_ms:
            command = ["env", f"LD_PRELOAD={self.options.slow_sync}", f"SLOW_SYNC_MS={cause.slow_sync_ms}",
                       *command]
        server = self._start(SERVERS[number], f"server{number}", command)
        self.group.wait_for_text(server, "listening on", START_S)

    def _train(self):
        """The addresses of the ranks' HTTP ports, once they train."""
        ranks = [self._start(TRAINERS, f"rank{rank}", self._words(rank)) for rank in range(self.cause.ranks)]
        several = self.cause.ranks > 1  # then each has a file of its own
        files = [self.folder / (f"http.rank{rank}" if several else "http") for rank in range(self.cause.ranks)]
        self.group.wait_until(lambda: all(file.exists() and file.read_text() for file in files), START_S,
                              "the trainers' HTTP ports", ranks)
        begun = self._trains if self.cause.early else self._ended_an_epoch
        self.group.wait_until(begun, START_S, "the first steps", ranks)
        return [file.read_text().strip() for file in files]

    def _words(self, rank):
        words = [self.options.bin / "halograph-train", "--servers", ",".join(self.addresses), "--rank", rank,
                 "--world-size", self.cause.ranks, "--http-listen", "127.0.0.1:0", "--http-address-file",
                 self.folder / "http", *TRAIN, *self.cause.train]
        if self.cause.ranks > 1:
            words += ["--master-addr", self.network.address(TRAINERS), "--master-port", MASTER_PORT]
        if "--topology" in self.cause.train:
            words += ["--cache-dir", self.folder / "cache"]
        return words + ["--log", self.folder / "log"] if rank == 0 else words

    def _log_lines(self):
        log = self.folder / "log"
        return log.read_bytes().count(b"\n") if log.exists() else 0

    def _trains(self):
        return self._log_lines() >= 1  # that of the configuration

    def _ended_an_epoch(self):
        return self._log_lines() >= 2

    def _ask(self, trainers):
        command = [*self.network.prefix(TRAINERS), str(self.options.bin / "halograph-ctl"), "why", "--servers",
                   ",".join(self.addresses), "--trainer", ",".join(trainers), "--seconds",
                   f"{self.options.seconds:g}s", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              timeout=LOOK_S + self.options.seconds)
        if done.returncode != 0:
            raise ProcessError(f"{' '.join(command)}:\n{done.stderr[-2000:]}")
        return json.loads(done.stdout)
