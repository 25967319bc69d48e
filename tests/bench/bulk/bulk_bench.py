#!/usr/bin/env python3
"""What sampling in bulk saves where servers are far away.

    tests/bench/bulk/bulk_bench.py --work DIR --graph GRAPH -- --sampler ladies --bulk 16

GRAPH is a partition folder of one node type and one relation. Each of its parts has a server on a host
of its own, and bulk_bench, whose options stand behind `--`, is on another one. Hosts are network
namespaces joined by veth; a proxy in front of each server delays every byte. Needs root and iproute2.
All that is made is removed at the end. A round runs bulk_bench twice: by proxies that do not delay, and
by those that do. Prints a line of JSON, medians over rounds:
  r                 ms that a minibatch alone waits for the delay: what the delay adds to it
  c                 ms that it takes besides, in all programs
  exchanges         of a minibatch, alone and in bulk
  speed             of bulk, relative to alone, with the delay; least and most
  predicted         (r + c) / (r / k + c), k minibatches of a bulk
  beside            speed of the calls under way beside each other, likewise
Exit codes: 0 done, 1 failed, 2 wrong usage, or not possible here.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from hosts import bench, link  # noqa: E402
from hosts.network import Network, why_not  # noqa: E402
from hosts.processes import Group, ProcessError  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
SERVER_PORT, PROXY_PORT = 7000, 7100  # the first of each
START_TIMEOUT_S = 60


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--work", type=pathlib.Path, required=True, help="folder for what a run writes")
    add("--bin", type=pathlib.Path, default=REPOSITORY / "build/release/bin")
    add("--graph", type=pathlib.Path, required=True)
    add("--delay-us", type=float, default=250, help="each way (default: 250)")
    add("--rounds", type=int, default=5)
    add("--run-timeout", type=float, default=300, help="seconds")
    add("options", nargs="*", help="of bulk_bench")
    args = parser.parse_args()
    args.graph = args.graph.resolve()
    args.parts = len(list(args.graph.glob("part-*")))
    if args.parts == 0:
        parser.error(f"--graph {args.graph}: no parts")
    if reason := why_not():
        parser.error(reason)
    args.work.mkdir(parents=True, exist_ok=True)
    return args


class Servers:
    """One a part, each behind two proxies on the client's host: one that delays, and one that does not."""

    def __init__(self, args, network, group):
        self.args, self.network, self.group = args, network, group
        addresses = [self._serve(part) for part in range(args.parts)]
        self.near, self.far = ([self._proxy(f"{name}{part}", address, delay)
                                for part, address in enumerate(addresses)]
                               for name, delay in (("near", 0), ("far", args.delay_us)))

    def _serve(self, part):
        address = f"{self.network.address(part + 1)}:{SERVER_PORT + part}"
        server = self.group.start(part + 1, f"server{part}", [
            self.args.bin / "halograph-server", "--graph", self.args.graph, "--part", part,
            "--listen", address, "--insecure", "--verify", "headers", "--log-level", "warning"])
        self.group.wait_for_text(server, "listening on", START_TIMEOUT_S)
        return address

    def _proxy(self, name, target, delay):
        own = f"127.0.0.1:{PROXY_PORT + len(self.group.processes)}"
        proxy = self.group.start(0, name, [self.args.bin / "delay_proxy", "--listen", own,
                                           "--connect", target, "--delay-us", delay], real_time=True)
        self.group.wait_for_text(proxy, "listening", START_TIMEOUT_S)
        return own


def measure_once(args, network, servers):
    """The lines of bulk_bench by their way."""
    command = [*network.prefix(0), args.bin / "bulk_bench", "--servers", ",".join(servers), "--rounds", 3,
               *args.options]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          timeout=args.run_timeout)
    if done.returncode != 0:
        raise ProcessError(f"bulk_bench:\n{done.stderr[-3000:]}")
    return {line["way"]: line for line in map(json.loads, done.stdout.splitlines())}


def summary(args, link_found, near, far):
    """`near`, `far`: what each round measured."""
    def seconds(runs, way):
        return statistics.median(run[way]["wall_s"]["median"] for run in runs)

    def speed(way):
        ratios = [run["alone"]["wall_s"]["median"] / run[way]["wall_s"]["median"] for run in far]
        return {"median": round(statistics.median(ratios), 2), "min": round(min(ratios), 2),
                "max": round(max(ratios), 2)}

    first = far[0]
    k = first["bulk"]["together"]
    c = seconds(near, "alone")
    r = max(seconds(far, "alone") - c, 0)
    return {"build": first["alone"]["build"], "cpu": first["alone"]["cpu"],
            "command": first["alone"]["command"].replace(",".join(args.far), "..."),
            "delay_us": args.delay_us, "round_trip_ms": round(1e3 * link_found["round_trip_s"], 3),
            "rounds": len(far), "r": round(1e3 * r, 3), "c": round(1e3 * c, 3),
            "exchanges": [first[way]["exchanges"] for way in ("alone", "bulk")],
            "ms": {way: round(1e3 * seconds(far, way), 3) for way in first},
            "speed": speed("bulk"), "predicted": round((r + c) / (r / k + c), 2), "beside": speed("beside")}


def measure(args):
    near, far = [], []
    with Network(args.parts + 1) as network:
        found = link.measure(network, args.work, args.delay_us, args.bin / "delay_proxy")
        with tempfile.TemporaryDirectory(dir=args.work) as folder, Group(network, folder) as group:
            servers = Servers(args, network, group)
            args.far = servers.far
            for _ in range(args.rounds):
                near.append(measure_once(args, network, servers.near))
                far.append(measure_once(args, network, servers.far))
        print(json.dumps(summary(args, found, near, far)))


if __name__ == "__main__":
    options = parse()
    sys.exit(bench.run("bulk_bench", lambda: measure(options)))
