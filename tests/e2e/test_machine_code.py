#!/usr/bin/env python3
"""What must be in the machine code of a program, since no result shows where it is missing."""
import os
import platform
import re
import shutil
import subprocess
import unittest

from harness import programs

# Functions that hold the loops, each with arrays larger than the cache.
LOOPS = ("EndCounter::CountRange", "StreamClusters::JoinEach", "Merger::Vote", "BuildCoarseGraph",
         "NeighbourCounts::Count", "Placing::Run", "Dbh::PlaceChunk", "Greedy::PlaceChunk",
         "Hdrf::PlaceChunk", "Spring::PlaceChunk", "TwoPhase::PlaceChunk", "Spring::Start",
         "ScatterEntries", "BucketEdges", "Propagation::Rate", "GatherRows", "FusedNodes::Compact")


class PrefetchTest(unittest.TestCase):
    """GCC drops calls of functions that only prefetch (common/base/prefetch.h)."""

    def setUp(self):
        if platform.machine() != "x86_64":
            self.skipTest("knows the instructions of x86-64 only")
        if os.environ.get("HALOGRAPH_TIME_SCALE", "1") != "1":
            self.skipTest("sanitizers leave loops in other functions")
        if not shutil.which("objdump"):
            self.skipTest("objdump is not here")

    def test_loops_over_large_arrays_ask_ahead(self):
        listing = subprocess.run(["objdump", "--disassemble", "--demangle", "--no-show-raw-insn",
                                  programs.binary("halograph-partition")],
                                 check=True, capture_output=True, text=True).stdout
        asking, function = set(), ""
        for line in listing.splitlines():
            if line.endswith(">:"):
                function = line
            elif re.search(r"\tprefetch", line):
                asking.add(function)
        for loop in LOOPS:
            with self.subTest(loop):
                self.assertTrue(any(loop in name for name in asking))


if __name__ == "__main__":
    programs.main()
