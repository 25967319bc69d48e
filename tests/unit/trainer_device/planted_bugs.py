#!/usr/bin/env python3
"""Leaves out one of the four orders that copies must keep, and checks that the tests turn red.

Usage: planted_bugs.py [--build DIR] [--list] [NAME...]

A bug is a patch of one source of trainer/device, in planted/: one at least for each order that
trainer/device/batch_copier.h lists. With it the tests of trainer_device_test must fail where nothing
runs before somebody must have it (FakeOrder::Runs::kWhenAsked). Without names all are tried.
Exit code: 0 each was found, 1 one was not, or a patch no longer applies, 2 wrong usage.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "support"))

import planted  # noqa: E402


def try_it(program, folder):
    ran = planted.run([str(program), "--gtest_filter=Orders/BatchCopierTest.*/WhenAsked:"
                       "Orders/LateFiguresTest.*/WhenAsked:"
                       "Orders/DeviceTrainingTest.EveryModel*/WhenAsked"], folder)
    red = sorted(set(re.findall(r"^\[  FAILED  \] \S*?/(\S+)/\w+", ran.stdout, re.M)))
    return ran.returncode != 0 and bool(red), ", ".join(red) or ran.stdout.strip()[-200:]


if __name__ == "__main__":
    sys.exit(planted.check(HERE / "planted", "trainer_device_test", try_it,
                           *planted.arguments_of(__doc__)))
