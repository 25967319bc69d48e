#!/usr/bin/env python3
"""Seconds an epoch, bytes, rounds and memory of partitioned and hybrid training over networks of
several speeds, beside sampling in two steps (FastSample's vanilla).

Hosts are network namespaces joined by veth; each runs one server and its trainer ranks, pinned to
one core. Rates are set with tbf, latency comes from delay_proxy. Needs root, iproute2, and the
programs built with HALOGRAPH_BENCH. All that is made is removed at the end; the graph stays in
--work.

Exit codes: 0 done; 1 failed, or variants did not train alike; 2 wrong usage, or not possible here.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = map(str, (BENCH / "hybrid", BENCH, BENCH.parent / "e2e"))

from driver import graph as graphs  # noqa: E402
from driver import report, variants  # noqa: E402
from driver.trial import Trial, note  # noqa: E402
from hosts import link  # noqa: E402
from hosts.network import Network, NetworkError, why_not  # noqa: E402
from hosts.processes import ProcessError  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
RATES = {"1gbit": 10**9, "10gbit": 10**10, "unlimited": None}
SMOKE = {"nodes": 5000, "edges": 50000, "features": 16, "classes": 8, "train_share": 0.2,
         "hidden": 16, "batch_size": 100, "epochs": 1, "repeats": 1, "networks": ["10gbit"],
         "delays_us": [250.0]}


@dataclasses.dataclass(frozen=True)
class Condition:
    network: Network
    rate: str
    delay_us: float

    @property
    def name(self):
        return self.rate if self.delay_us == 0 else f"{self.rate} + {2 * self.delay_us / 1000:g} ms"


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--work", type=pathlib.Path, required=True, help="folder for the graph; kept")
    add("--bin", type=pathlib.Path, default=REPOSITORY / "build/release/bin",
        help="folder of the programs (default: build/release/bin)")
    add("--output", type=pathlib.Path, help="file for the JSON lines")
    add("--smoke", action="store_true", help="everything once, tiny, in half a minute")
    add("--hosts", type=int, default=2)
    add("--networks", type=lambda text: text.split(","), default=list(RATES),
        help="of " + ", ".join(RATES))
    add("--delays-us", type=lambda text: [float(word) for word in text.split(",")],
        default=[0.0, 250.0], help="latency to add each way, microseconds (default 0,250)")
    add("--variants", type=lambda text: text.split(","),
        default=[variant.name for variant in variants.VARIANTS],
        help=variants.HELP)
    add("--before", type=pathlib.Path,
        help="folder of the programs of an older build, of a variant that is named VARIANT@before")
    add("--trainers", type=int, default=1, help="ranks a host")
    add("--nodes", type=int, default=400_000)
    add("--edges", type=int, default=20_000_000, help="directed")
    add("--features", type=int, default=100, help="a node, float32")
    add("--classes", type=int, default=47)
    add("--homophily", type=float, default=0.8)
    add("--train-share", type=float, default=0.04)
    add("--fanouts", type=lambda text: [int(word) for word in text.split(",")],
        default=[15, 10, 5])
    add("--hidden", type=int, default=256)
    add("--dropout", type=float, default=0.5)
    add("--batch-size", type=int, default=1000, help="seeds a rank")
    add("--sample-threads", type=int, default=2)
    add("--prefetch", type=int, default=4)
    add("--eval-every", type=int, default=0, help="epochs; 0: never")
    add("--valid-share", type=float, default=0.0, help="of the nodes, to evaluate")
    add("--train-options", type=str.split, default=[],
        help="more options of today's trainer, one text")
    add("--cache-memory", help="of variants with a cache (default: the trainer's)")
    add("--epochs", type=int, default=3, help="measured; one before and one after are not")
    add("--repeats", type=int, default=2, help="of all variants, in turn")
    add("--seed", type=int, default=1)
    add("--trial-timeout", type=float, default=600, help="seconds")
    add("--no-fetch", action="store_true", help="do not measure --topology local")
    options = parser.parse_args(arguments)
    if options.variants == ["ablation"]:
        options.variants = [variant.name for variant in variants.ABLATION]
    if options.smoke:
        vars(options).update(SMOKE)
    check(parser, options)
    return options


def check(parser, options):
    needed = {options.bin / "halograph-partition", options.bin / "delay_proxy"}
    for name in options.variants:
        try:
            variant = variants.by_name(name)
        except KeyError:
            known = [variant.name for variant in variants.VARIANTS + variants.ABLATION]
            parser.error(f"--variants: '{name}' is none of {', '.join(known)}, nor one of the "
                         f"trainer itself, without a cache, with {variants.BEFORE} behind it")
        if variant.before and options.before is None:
            parser.error(f"--variants: '{name}' needs --before")
        if variant.levels > 1 and options.trainers < 2:
            parser.error(f"--variants: '{name}' divides parts among --trainers, 2 at least")
        needed.add(variants.program(variant, options, variant.trainer))
        if variant.serve:
            needed.add(variants.program(variant, options, variant.server))
    for name in options.networks:
        if name not in RATES:
            parser.error(f"--networks: '{name}' is none of {', '.join(RATES)}")
    if not 2 <= options.hosts <= 64:
        parser.error(f"--hosts is {options.hosts}, expected 2 to 64")
    if min(options.epochs, options.repeats, options.trainers) < 1:
        parser.error("--epochs, --repeats and --trainers must be at least 1")
    missing = [str(path) for path in sorted(needed) if not path.exists()]
    if missing:
        parser.error(f"{', '.join(missing)}: missing; build with -DHALOGRAPH_BENCH=ON")
    reason = why_not()
    if reason:
        parser.error(reason)


class Output:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8") if path else None

    def write(self, kind, value):
        if self.file:
            print(json.dumps({kind: value}), file=self.file, flush=True)


def machine():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {"cpu": models[0] if models else platform.machine(), "kernel": platform.release(),
            "cores": sorted(os.sched_getaffinity(0)), "load": os.getloadavg()}


def version(options):
    return subprocess.run([options.bin / "halograph-train", "--version"], capture_output=True,
                          text=True, check=False).stdout.strip()


def measure_condition(options, condition, output):
    measured = link.measure(condition.network, options.work, condition.delay_us,
                            options.bin / "delay_proxy")
    output.write("link", {"condition": condition.name, **measured})
    note(f"{condition.name}: round trip {1e3 * measured['round_trip_s']:.3f} ms, "
         f"{8e-9 * measured['bytes_per_s']:.2f} Gbit/s")
    trials = []
    for repeat in range(options.repeats):
        for name in options.variants:
            variant = variants.by_name(name)
            trial = Trial(options, graphs.prepare(options, variant), condition, variant,
                          options.epochs + 2)
            result = {"repeat": repeat, "load": os.getloadavg()[0], **trial.run()}
            note(f"{condition.name}, {name}: {report.seconds(result):.2f} s an epoch, load "
                 f"{result['load']:.1f}")
            output.write("trial", result)
            trials.append(result)
    rows = report.summarise(trials, RATES[condition.rate], options.hosts)
    output.write("summary", {"condition": condition.name, "rows": rows})
    return trials, report.table(condition.name, rows)


def fetch_topology(options, condition, output):
    """The topology fetched from the servers by all trainers at once, against mapped."""
    graph = graphs.prepare(options, variants.FETCH)
    hybrid = Trial(options, graph, condition, variants.by_name("hybrid"), 3).run()
    fetched = Trial(options, graph, condition, variants.FETCH, 3).run()
    output.write("fetch", {"condition": condition.name, "hybrid": hybrid, "fetched": fetched})
    more = fetched["setup"]["seconds"] - hybrid["setup"]["seconds"]
    received = fetched["setup"]["received_bytes"][0] / report.MIB
    return [hybrid, fetched], (f"{condition.name}: --topology local takes {more:.1f} s more to "
                               f"start; host 0 receives {received:.0f} MiB before it trains")


def compare(trials, short_trials):
    """None, or how variants differ that must train alike, or that they are not what they say."""
    for alike in (trials, short_trials):
        losses = {(trial["graph"], json.dumps(trial["losses"])) for trial in alike}
        if len(losses) > len({trial["graph"] for trial in alike}):
            return "variants trained differently: their losses are not the same"
    for trial in trials:
        for program, what in variants.USES.get(variants.by_name(trial["variant"]).trainer, []):
            names = [name for name in trial["memory"] if name.startswith(program)]
            if any(trial["used"].get(f"{name} {what}", 0) == 0 for name in names):
                return f"{trial['variant']}: a {program} made no {what}, so it was another program"
    return None


def run(options, output):
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    for name in options.variants:
        graphs.prepare(options, variants.by_name(name))
    told = {key: str(value) if isinstance(value, pathlib.Path) else value
            for key, value in vars(options).items()}
    output.write("config", {"command": sys.argv, "build": version(options), "machine": machine(),
                            "options": told})
    trials, tables, fetches, alike = [], [], [], []
    with Network(options.hosts) as network:
        for rate in options.networks:
            network.set_rate(RATES[rate])
            for delay_us in options.delays_us:
                condition = Condition(network, rate, delay_us)
                more, text = measure_condition(options, condition, output)
                trials += more
                tables.append(text)
            if not options.no_fetch:
                more, text = fetch_topology(options, Condition(network, rate, 0), output)
                fetches.append(text)
                alike += more
    print("\n\n".join(tables + ["\n".join(fetches), report.LEGEND]))
    difference = compare(trials, alike)
    if difference:
        note(difference)
    return 1 if difference else 0


def main():
    options = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that everything is undone
    try:
        return run(options, Output(options.output))
    except (NetworkError, ProcessError, graphs.GraphError) as error:
        note(f"hybrid_bench: {error}")
        return 1
    except KeyboardInterrupt:
        return 1


if __name__ == "__main__":
    sys.exit(main())
