#!/usr/bin/env python3
"""Epochs an hour of models averaged, against gradients summed in every step, over a slow network.

    tests/bench/averaging/two_hosts_bench.py --work DIR --graph GRAPH --options \\
        "--hidden 670 --fanouts 10,5 --lr 0.005 --batch-size 100 --epochs 10"

GRAPH is a partition folder of as many parts as hosts, with halos. Hosts are network namespaces
joined by veth at --rate; each runs one rank, and what else a variant needs, on one core. Needs root
and iproute2. All that is made is removed at the end. A round runs every variant once, in turn, with
a seed of its own:
  gradients         in every step; each host maps the whole graph, so nothing but gradients crosses
  gradients-served  in every step; each host maps its own part, and asks the other host's server
  averaged          models every --average-every epochs; each host has its own part, with its halo
Prints a row for each, medians over rounds but for accuracy, which is the mean:
  epochs/hour  from the end of the first epoch, or round of epochs, to the end of the last before
               evaluation: opening parts is in it, starting and evaluation are not
  speed        relative to each variant of gradients, of the same round; least and most
  accuracy     of the test set after the last epoch, the only one that is evaluated
  cpu s        of an epoch: processor seconds of a host, mean over hosts, in the same time. Other
               programs on the machine change it little, but epochs/hour much
  sync s       of an epoch: all-reduce of gradients, or averaging, with the wait for the other rank
  MiB          of an epoch: sent by host 0, all of the run
Exit codes: 0 done, 1 failed, 2 wrong usage, or not possible here.
"""
import argparse
import json
import os
import pathlib
import shlex
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from hosts import bench, link  # noqa: E402
from hosts.disk import own_part  # noqa: E402
from hosts.network import Network, why_not  # noqa: E402
from hosts.processes import Group, ProcessError  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
RATES = {"1gbit": 10**9, "10gbit": 10**10, "unlimited": None}
GRADIENTS = ("gradients", "gradients-served")
VARIANTS = (*GRADIENTS, "averaged")
FIRST_PORT, PORTS_A_RUN = 7000, 100
START_TIMEOUT_S = 60
MIB = 1 << 20


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--work", type=pathlib.Path, required=True, help="folder for what a run writes")
    add("--bin", type=pathlib.Path, default=REPOSITORY / "build/release/bin")
    add("--graph", type=pathlib.Path, required=True)
    add("--options", default="", help="of halograph-train, for all variants; --epochs among them")
    add("--hosts", type=int, default=2)
    add("--rate", choices=RATES, default="1gbit")
    add("--average-every", type=int, default=1)
    add("--variants", type=lambda text: text.split(","), default=list(VARIANTS))
    add("--rounds", type=int, default=5)
    add("--run-timeout", type=float, default=600, help="seconds")
    args = parser.parse_args()
    args.graph = args.graph.resolve()
    unknown = [name for name in args.variants if name not in VARIANTS]
    if unknown:
        parser.error(f"--variants: '{unknown[0]}' is none of {', '.join(VARIANTS)}")
    if len(list(args.graph.glob("part-*"))) != args.hosts:
        parser.error(f"--graph {args.graph}: needs {args.hosts} parts, one a host")
    if reason := why_not():
        parser.error(reason)
    args.work.mkdir(parents=True, exist_ok=True)
    return args


class Run:
    """One training run: all hosts' programs, started and waited for."""
    count = 0

    def __init__(self, args, network, variant, seed):
        self.args, self.network, self.variant, self.seed = args, network, variant, seed
        self.port = FIRST_PORT + Run.count * PORTS_A_RUN
        Run.count += 1

    def measure(self):
        with tempfile.TemporaryDirectory(dir=self.args.work) as folder:
            self.folder = pathlib.Path(folder)
            before = self.network.traffic(0)[0]
            self.cpu = []  # processor seconds of all programs when the log got its next line
            with Group(self.network, self.folder) as self.group:
                self._train(self._serve())
            lines = [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]
        epochs, final = [line for line in lines if "epoch" in line], lines[-1]
        # Averages come at the ends of rounds; behind the last one is evaluation.
        every = self.args.average_every if self.variant == "averaged" else 1
        ends = [line["time"] for line in epochs[every - 1::every]][:-1]
        cpu = self.cpu[1:][every - 1::every]  # behind the line of the configuration
        if len(ends) < 2:
            raise ProcessError("--epochs: too few, give three times --average-every or more")
        measured = (len(ends) - 1) * every
        return {"epochs_an_hour": 3600 * measured / (ends[-1] - ends[0]),
                "cpu_s": (cpu[len(ends) - 1] - cpu[0]) / measured / self.args.hosts,
                "accuracy": final["test_acc"], "steps": final["steps"],
                "sync_s": statistics.mean(line["sync_wait_s"] for line in epochs),
                "sent_mib": (self.network.traffic(0)[0] - before) / len(epochs) / MIB}

    def _serve(self):
        """Addresses of the servers, if there are any."""
        if self.variant != "gradients-served":
            return []
        hosts = range(self.args.hosts)
        addresses = [f"{self.network.address(host)}:{self.port + 1 + host}" for host in hosts]
        servers = [self.group.start(host, f"server{host}", [
            self.args.bin / "halograph-server", "--graph", self.args.graph, "--part", host,
            "--listen", addresses[host], "--insecure", "--verify", "headers", "--log-level", "warning"])
            for host in hosts]
        for server in servers:
            self.group.wait_for_text(server, "listening on", START_TIMEOUT_S)
        return addresses

    def _train(self, servers):
        ranks = [self.group.start(rank, f"rank{rank}", self._words(rank, servers))
                 for rank in range(self.args.hosts)]
        self.group.wait_until(lambda: self._note_cpu() and not any(r.running() for r in ranks),
                              self.args.run_timeout, self.variant)
        for rank in ranks:
            if rank.popen.returncode != 0:
                raise rank.failure()

    def _note_cpu(self):
        log = self.folder / "log"
        lines = log.read_bytes().count(b"\n") if log.exists() else 0
        if lines > len(self.cpu):
            used = sum(process.cpu_seconds()[0] for process in self.group.processes.values())
            self.cpu += [used] * (lines - len(self.cpu))
        return True

    def _words(self, rank, servers):
        words = [self.args.bin / "halograph-train", "--rank", rank, "--world-size", self.args.hosts,
                 "--master-addr", self.network.address(0), "--master-port", self.port,
                 "--timeout", "300s", "--threads", 1, "--seed", self.seed, "--eval-every", 0,
                 "--verify", "headers", "--quiet", "--log-level", "warning",
                 *shlex.split(self.args.options)]
        if rank == 0:
            words += ["--log", self.folder / "log"]
        if self.variant == "gradients":
            return words + ["--graph", self.args.graph]
        mine = own_part(self.args.graph, rank, self.folder)
        if servers:
            return words + ["--servers", ",".join(servers), "--local", mine]
        return words + ["--graph", mine, "--part-only", "--average-every", self.args.average_every]


def table(runs):
    """`runs`: results of each variant by round."""
    yield "| run | epochs/hour | speed | accuracy | cpu s | sync s | MiB | steps |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, results in runs.items():
        speeds = []
        for base in (base for base in GRADIENTS if base in runs and base != name):
            ratios = [own["epochs_an_hour"] / other["epochs_an_hour"]
                      for own, other in zip(results, runs[base])]
            speeds.append(f"{statistics.median(ratios):.2f} times {base} "
                          f"({min(ratios):.2f} to {max(ratios):.2f})")
        median = {key: statistics.median(result[key] for result in results) for key in results[0]}
        accuracies = [result["accuracy"] for result in results]
        yield (f"| {name} | {median['epochs_an_hour']:,.0f} | {'; '.join(speeds)} | "
               f"{statistics.mean(accuracies):.4f} ({min(accuracies):.4f} to "
               f"{max(accuracies):.4f}) | {median['cpu_s']:.3f} | {median['sync_s']:.3f} | "
               f"{median['sent_mib']:.1f} | {median['steps']:.0f} |")


def measure(args):
    runs = {name: [] for name in args.variants}
    with Network(args.hosts) as network:
        network.set_rate(RATES[args.rate])
        found = link.measure(network, args.work)
        print(f"{args.rate}: round trip {1e3 * found['round_trip_s']:.3f} ms, "
              f"{8e-9 * found['bytes_per_s']:.2f} Gbit/s", file=sys.stderr)
        for seed in range(args.rounds):
            for name in args.variants:
                load = os.getloadavg()[0]
                result = Run(args, network, name, seed).measure()
                runs[name].append(result)
                print(f"round {seed}, {name}: {result['epochs_an_hour']:,.0f} epochs an hour, "
                      f"accuracy {result['accuracy']:.4f}, {result['cpu_s']:.3f} cpu s; load before "
                      f"it {load:.1f}",
                      file=sys.stderr, flush=True)
    print("\n".join(table(runs)))


if __name__ == "__main__":
    options = parse()
    sys.exit(bench.run("two_hosts_bench", lambda: measure(options)))
