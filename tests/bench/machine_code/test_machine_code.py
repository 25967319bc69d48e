#!/usr/bin/env python3
"""What must be in the machine code of a program, since no result shows where it is missing."""
import collections
import pathlib
import platform
import re
import shutil
import subprocess
import unittest

from harness import programs

# Programs, functions in them that hold loops over arrays larger than the cache, and how many
# prefetches these have at least, all instances of a template together: an array at both ends of an
# edge has two. A program that the build does not have is left out.
LOOPS = {
    "halograph-partition": {
        "EndCounter::CountRange(": 1, "::JoinEach<": 8, "Merger::Vote(": 2, "BuildCoarseGraph(": 2,
        "PairSample::Prefetch(": 1, "NeighbourCounts::Count(": 12, "Placing::Run(": 2,
        "Dbh::PlaceChunk(": 4, "Greedy::PlaceChunk(": 6, "Hdrf::PlaceChunk(": 4,
        "Spring::Start(": 4, "Spring::PlaceChunk(": 4, "TwoPhase::PlaceChunk(": 12,
        "ScatterEntries(": 4, "CountEntries(": 4, "BucketEdges<": 8, "Propagation::Rate(": 1,
        "halograph::Refine(": 1, "halograph::Repair(": 1, "GatherRows(": 2, "GatherRowsTo(": 2,
        "FusedNodes::Compact(": 2, "Renumbering::Create(": 4, "PartGraphs::WriteEdges(": 4,
    },
    "halograph-train-torch": {"ScatteredMean(": 2, "ScatteredMeanBf16(": 2},
    "stacked_bench": {"AddNarrow(": 2, "AddWide(": 2, "::FindRowEdges<": 2},
    "push_bench": {"Entries::AskAfter(": 4, "GatherStridedRows(": 2},
}


class PrefetchTest(unittest.TestCase):
    """GCC drops calls of functions that only prefetch (common/base/prefetch.h)."""

    def setUp(self):
        if platform.machine() != "x86_64":
            self.skipTest("knows the instructions of x86-64 only")
        if programs.TIME_SCALE > 1:
            self.skipTest("sanitizers leave loops in other functions")
        if not shutil.which("objdump"):
            self.skipTest("objdump is not here")

    def test_loops_over_large_arrays_ask_ahead(self):
        for program, loops in LOOPS.items():
            path = programs.binary(program)
            if pathlib.Path(path).exists():
                asking = self.prefetches(path)
                for loop, least in loops.items():
                    with self.subTest(program=program, loop=loop):
                        found = sum(count for name, count in asking.items() if loop in name)
                        self.assertGreaterEqual(found, least)

    def prefetches(self, path):
        """How many each function of a program has."""
        listing = subprocess.run(["objdump", "--disassemble", "--demangle", "--no-show-raw-insn",
                                  path], check=True, capture_output=True, text=True).stdout
        if "<halograph::PrefetchToWrite(" in listing:
            self.skipTest("this build is not optimised")
        asking, function = collections.Counter(), ""
        for line in listing.splitlines():
            if line.endswith(">:"):
                function = line
            elif re.search(r"\tprefetch", line):
                asking[function] += 1
        return asking


if __name__ == "__main__":
    programs.main()
