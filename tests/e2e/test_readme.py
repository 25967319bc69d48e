#!/usr/bin/env python3
"""The README's commands for the four programs, run one after the other as they stand there."""
import os
import pathlib
import re

from harness import programs
from harness.programs import Result, seconds

ROOT = pathlib.Path(__file__).parents[2]


def commands():
    """The shell blocks of the section "The four programs"."""
    text = (ROOT / "README.md").read_text()
    section = text.partition("\n## The four programs\n")[2].partition("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


class FourProgramsTest(programs.ProgramTest):
    def test_commands_work_as_written(self):
        folder = self.box.folder / "clone"
        (folder / "build" / "release").mkdir(parents=True)
        (folder / "build" / "release" / "bin").symlink_to(os.path.abspath(os.environ["HALOGRAPH_BIN"]))
        (folder / "tests").symlink_to(ROOT / "tests")
        blocks = commands()
        self.assertGreaterEqual(len(blocks), 6)
        script = "".join(blocks)
        for port in sorted(set(re.findall(r"\b(?:127\.0\.0\.1:|--master-port )(\d+)", script))):
            script = script.replace(port, str(programs.free_port()))  # another test may use those
        for program in ("partition", "server", "train", "ctl"):
            self.assertIn(f"halograph-{program} ", script)
        process = self.box.start("/bin/bash", "-ec", f"cd '{folder}'\n{script}\nwait")
        result = Result(process, process.wait(seconds(200)))
        self.assertCode(0, result, "edge cut", "test accuracy", "SERVER")
        self.assertNothingRuns()


if __name__ == "__main__":
    programs.main()
