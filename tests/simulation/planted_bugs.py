#!/usr/bin/env python3
"""Plants bugs in copies of the state engine, and checks that the simulation finds each.

Usage: planted_bugs.py [--build DIR] [--seeds N] [--list] [NAME...]

A bug is a patch of one source, in planted/. Each is compiled alone and linked with the rest of a
finished build: the simulation must fail within N seeds (default 500), or the crashes while segments
are made. Without names all are tried.
Exit code: 0 each was found, 1 one was not, or a patch, named or not, no longer applies, 2 wrong usage.
"""
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

import planted  # noqa: E402


def main():
    parser, arguments = planted.arguments_of(
        __doc__, lambda parser: parser.add_argument("--seeds", type=int, default=500))

    def simulate(program, folder):
        ran = planted.run([str(program), "--gtest_filter=SimulationTest.EverySeed*:SegmentCrashTest.*"], folder,
                          limit=10 * arguments.seeds,
                          env={**os.environ, "HALOGRAPH_SIM_SEEDS": str(arguments.seeds)})
        found = re.search(r"seed (\d+) \(.*?\): (.*)", ran.stdout)
        of_segments = re.search(r"^\[  FAILED  \] (SegmentCrashTest\.\w+)", ran.stdout, re.MULTILINE)
        how = (f"seed {found[1]}: {found[2][:150]}" if found else
               of_segments[1] if of_segments else ran.stdout.strip()[-200:])
        return ran.returncode != 0 and bool(found or of_segments or ran.returncode < 0), how

    return planted.check(HERE / "planted", "simulation_test", simulate, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
