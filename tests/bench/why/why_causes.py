#!/usr/bin/env python3
"""Whether `halograph-ctl why` names what makes a step slow: real servers and trainers, with a cause
planted.

    tests/bench/why/why_causes.py --work DIR [--cause NAME,...] [--runs 3]

Hosts are network namespaces joined by veth: trainers on the first, a server of one part on each of
the two others. Every run starts all programs anew, plants its cause, lets them train, and asks `why`
as an operator would, beside the trainers. It prints a line for each run: what was named first, with
its culprit and its share of a step, and what came next. `healthy` has no cause, and is expected to
say that computing bounds the step. What a cause is planted by stands in driver/causes.py.

The verdict depends on the machine: on one that others use, a healthy run may not be healthy. Needs
root, iproute2, two processors, and the programs built with HALOGRAPH_BENCH. All that is made is
removed at the end; the graph stays in --work.

Exit codes: 0 every run named its cause and its culprit first; 1 one did not, or failed; 2 wrong
usage, or not possible here.
"""
import argparse
import json
import os
import pathlib
import sys

sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[:2])

from driver import causes  # noqa: E402
from driver.cluster import Cluster  # noqa: E402
from hosts import bench  # noqa: E402
from hosts.network import Network, why_not  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = ("halograph-server", "halograph-train", "halograph-ctl", "halograph-partition", "delay_proxy")


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    names = [cause.name for cause in causes.CAUSES]
    add("--work", type=pathlib.Path, required=True, help="folder for the graph, and for what runs write")
    add("--bin", type=pathlib.Path, default=REPOSITORY / "build/release/bin")
    add("--slow-sync", type=pathlib.Path, default=REPOSITORY / "build/release/tests/bench/why/libslow_sync.so",
        help="the library that makes fsync slow")
    add("--data", type=pathlib.Path, help="folder of amazon-photo (default: that of HALOGRAPH_DATA)")
    add("--cause", type=lambda text: text.split(","), default=names, help="of " + ", ".join(names))
    add("--runs", type=int, default=3)
    add("--seconds", type=float, default=5, help="between the two looks of `why`")
    add("--output", type=pathlib.Path, help="file for a JSON line a run, with all that `why` said")
    add("--text", action="store_true", help="print all that `why` says, too")
    options = parser.parse_args()
    for name in options.cause:
        if name not in names:
            parser.error(f"--cause: '{name}' is none of {', '.join(names)}")
    missing = [str(options.bin / name) for name in PROGRAMS if not (options.bin / name).exists()]
    if not options.slow_sync.exists():
        missing.append(str(options.slow_sync))
    if missing:
        parser.error(f"{', '.join(missing)}: missing; build with -DHALOGRAPH_BENCH=ON")
    if options.data is None and os.environ.get("HALOGRAPH_DATA"):
        options.data = pathlib.Path(os.environ["HALOGRAPH_DATA"]) / "amazon-photo"
    if options.data is None or not options.data.exists():
        parser.error(f"--data: there is no folder of amazon-photo ({options.data})")
    if len(os.sched_getaffinity(0)) < 2:
        parser.error("two processors are needed: of one, everything is busy")
    if reason := why_not():
        parser.error(reason)
    options.work.mkdir(parents=True, exist_ok=True)
    return options


def shown(finding):
    return f"{finding['cause']} ({finding['culprit']}) {100 * finding['share']:.0f} %"


def one_run(options, network, cause, run, output):
    cluster = Cluster(options, network, cause)
    verdict = cluster.look()
    findings = verdict["findings"]
    named = [(finding["cause"], finding["culprit"]) for finding in findings]
    right = named[:1] == [(cause.named, cluster.culprit())]
    print(f"{cause.name:20} {run + 1}  {'right' if right else 'WRONG'}  load {os.getloadavg()[0]:4.1f}  "
          + "; ".join(map(shown, findings[:3])), flush=True)
    if not right:
        print(f"    expected {cause.named} ({cluster.culprit()})\n    {verdict['summary']}")
    if options.text:
        print(json.dumps(verdict, indent=1), flush=True)
    if output:
        print(json.dumps({"cause": cause.name, "run": run, "right": right, "load": os.getloadavg()[0],
                          "expected": [cause.named, cluster.culprit()], "why": verdict}),
              file=output, flush=True)
    return right


def measure(options):
    for name in options.cause:
        causes.by_name(name).graph(options)  # none is made while others run
    wrong = 0
    output = open(options.output, "w", encoding="utf-8") if options.output else None
    for name in options.cause:
        cause = causes.by_name(name)
        for run in range(options.runs):
            with Network(3) as network:
                wrong += not one_run(options, network, cause, run, output)
    print(f"{len(options.cause) * options.runs - wrong} of {len(options.cause) * options.runs} runs are right")
    return wrong


def main():
    options = parse()
    result = []
    code = bench.run("why_causes", lambda: result.append(measure(options)))
    return code or (1 if result[0] else 0)


if __name__ == "__main__":
    sys.exit(main())
