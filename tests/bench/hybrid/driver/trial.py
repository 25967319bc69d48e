"""One training run of one variant over one network: started, watched, and measured by the epoch."""
import json
import pathlib
import shutil
import sys
import tempfile
import time

from driver import variants
from harness import certificates
from hosts.disk import own_part
from hosts.processes import Group, ProcessError

MEASURE_EVERY_S = 0.1  # memory
POLL_S = 0.02  # the log, for the end of an epoch
START_TIMEOUT_S = 120
FIRST_PORT = 7000
PORTS_A_TRIAL = 200  # servers; proxies; where ranks meet
PROXY_PORTS = 80
MEET_PORT = 199
MAX_PORT = 60000


class Trial:
    """`condition`: has network (Network), delay_us (each way), name."""
    count = 0

    def __init__(self, options, graph, condition, variant, epochs):
        self.options, self.graph, self.condition = options, graph, condition
        self.variant, self.epochs = variant, epochs
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="trial-", dir=options.work))
        first = FIRST_PORT + Trial.count * PORTS_A_TRIAL
        self.port = FIRST_PORT + (first - FIRST_PORT) % (MAX_PORT - FIRST_PORT)
        Trial.count += 1
        self.log = self.folder / "log.jsonl"
        self.tls = self._certificates() if variant.tls else None
        self.lines = []
        self.marks = []  # a snapshot at the start of the training and at the end of each epoch

    def run(self):
        try:
            with Group(self.condition.network, self.folder) as self.group:
                servers = self._start_servers()
                self._start_trainers(servers)
                self._watch()
                self._expect_success()
                self.group.end()
                return self._result()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _certificates(self):
        """One for all programs, good for the hosts and for the proxies in front of them."""
        hosts = "".join(f",IP:{self.condition.network.address(host)}" for host in range(self.options.hosts))
        return certificates.make(self.folder / "tls", "bench", certificates.LOOPBACK + hosts)

    def _start_servers(self):
        """Their addresses as each host is to use them."""
        network, hosts = self.condition.network, range(self.options.hosts)
        if self.variant.serve is None:
            return [[] for _ in hosts]
        addresses = [f"{network.address(host)}:{self.port + host}" for host in hosts]
        started = [self.group.start(host, f"server{host}", variants.server_command(
            self.variant, self.options, self.graph, host, addresses[host], self.tls)) for host in hosts]
        for server in started:
            self.group.wait_for_text(server, "listening on", START_TIMEOUT_S)
        if self.condition.delay_us == 0:
            return [addresses for _ in hosts]
        return [[addresses[part] if part == host else self._start_proxy(host, part, addresses[part])
                 for part in hosts] for host in hosts]

    def _start_proxy(self, host, part, address):
        """A part of the wire, so it gets the processor first."""
        listen = f"127.0.0.1:{self.port + PROXY_PORTS + part}"
        proxy = self.group.start(host, f"proxy{host}-{part}", [
            self.options.bin / "delay_proxy", "--listen", listen, "--connect", address,
            "--delay-us", self.condition.delay_us], real_time=True)
        self.group.wait_for_text(proxy, "listening on", START_TIMEOUT_S)
        return listen

    def _start_trainers(self, servers):
        meet = (self.condition.network.address(0), self.port + MEET_PORT)
        self.started = self._snapshot()
        self.trainers = [self._start_trainer(rank, servers, meet)
                         for rank in range(self.options.hosts * self.options.trainers)]

    def _start_trainer(self, rank, servers, meet):
        host = rank // self.options.trainers
        return self.group.start(host, f"trainer{rank}", variants.trainer_command(
            self.variant, self.options, self.graph, own_part(self.graph, host, self.folder), rank,
            servers[host], meet, self.folder, self.epochs, self.tls))

    def _watch(self):
        next_measure = 0
        while any(trainer.running() for trainer in self.trainers):
            now = time.monotonic()
            if now > self.started["time"] + self.options.trial_timeout:
                raise ProcessError(f"{self.variant.name}: not done within "
                                   f"{self.options.trial_timeout} s")
            if now >= next_measure:
                self.group.watch()
                next_measure = now + MEASURE_EVERY_S
            self._read_log()
            time.sleep(POLL_S)
        self._read_log()

    def _read_log(self):
        if not self.log.exists():
            return
        lines = [line for line in self.log.read_text().splitlines(keepends=True)
                 if line.endswith("\n")]
        for line in lines[len(self.lines):]:
            parsed = json.loads(line)
            self.lines.append(parsed)
            if "config" in parsed or "epoch" in parsed:
                self.marks.append(self._snapshot())

    def _snapshot(self):
        """Time, bytes by host, processor seconds by process (all threads, the first thread)."""
        network = self.condition.network
        return {"time": time.monotonic(),
                "traffic": [network.traffic(host) for host in range(self.options.hosts)],
                "cpu": {name: process.cpu_seconds()
                        for name, process in self.group.processes.items()}}

    def _expect_success(self):
        for trainer in self.trainers:
            if trainer.popen.returncode != 0:
                raise trainer.failure()
        if not self.lines or "final" not in self.lines[-1]:
            raise ProcessError(f"{self.variant.name}: the log ends early")

    def _result(self):
        epochs = [line for line in self.lines if "epoch" in line]
        result = {"variant": self.variant.name, "network": self.condition.name,
                  "delay_us": self.condition.delay_us, "setup": self._setup(),
                  "used": self._used(), "losses": [e["loss"] for e in epochs],
                  "config": self.lines[0]["config"], "memory": self._memory()}
        result["graph"] = str(self.graph)
        # Of all epochs, the first and the last included.
        result["run_s"] = sum(e["seconds"] for e in epochs)
        result["waits"] = (sum(e["sample_wait_s"] + e["feature_wait_s"] for e in epochs)
                           / sum(e["seconds"] for e in epochs))
        # The first epoch waits for the pipeline to fill, in the last there is no next to prepare.
        # What is sampled epochs ahead is so in the first, unless --prefetch-memory forbids it.
        result["epochs"] = [self._epoch(epochs, number) for number in range(1, self.epochs - 1)]
        return result

    def _setup(self):
        """From the start of the trainers to the start of the training."""
        before, after = self.started, self.marks[0]
        return {"seconds": after["time"] - before["time"],
                "received_bytes": [end[1] - start[1] for start, end in
                                   zip(before["traffic"], after["traffic"])]}

    def _epoch(self, epochs, number):
        """The log's line, and what was used between the ends of the epoch before and of this."""
        before, after = self.marks[number], self.marks[number + 1]
        cpu = {name: [end - start for end, start in zip(after["cpu"][name], used)]
               for name, used in before["cpu"].items()}
        hosts = range(self.options.hosts)
        trainers = [used for name, used in cpu.items() if name.startswith("trainer")]
        computing = sum(first for _, first in trainers)
        return {**epochs[number], "wall_s": after["time"] - before["time"],
                "sent_bytes": [after["traffic"][h][0] - before["traffic"][h][0] for h in hosts],
                "received_bytes": [after["traffic"][h][1] - before["traffic"][h][1] for h in hosts],
                "cpu_compute_s": computing / self.options.hosts,
                "cpu_prepare_s": (self._sum(cpu, "trainer") - computing) / self.options.hosts,
                "cpu_server_s": self._sum(cpu, "server") / self.options.hosts,
                "cpu_proxy_s": self._sum(cpu, "proxy") / self.options.hosts}

    @staticmethod
    def _sum(cpu, kind):
        return sum(total for name, (total, _) in cpu.items() if name.startswith(kind))

    def _memory(self):
        return {name: {"anonymous": process.peaks["RssAnon"], "file": process.peaks["RssFile"],
                       "resident": process.peaks["VmRSS"]}
                for name, process in self.group.processes.items()}

    def _used(self):
        """What programs of the benchmark say at their end of what they do otherwise."""
        used = {}
        for name, process in self.group.processes.items():
            for line in process.output().splitlines():
                if line.startswith("used: "):
                    _, count, what = line.split(" ", 2)
                    used[f"{name} {what}"] = int(count)
        return used


def note(text):
    print(text, file=sys.stderr, flush=True)
