#!/usr/bin/env python3
"""README.md and the pages of docs: their commands run as they stand there, but with three epochs for ten
or more and on ports that are free, and what they name is there.

Every block that begins with ```sh is run, except those that begin with ```sh by-hand.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

from harness import programs
from harness.programs import Result, must, seconds
from harness.training import model_names

ROOT = pathlib.Path(__file__).parents[2]
FIRST = ["README.md", "docs/partitioning.md"]  # in this order: they make build/cora
ALONE = ["docs/tasks.md", "docs/link-prediction.md", "docs/typed-graphs.md"]  # which these do not read
THEN = ["docs/training.md", "docs/runs.md", "docs/models.md", "docs/samplers.md", "docs/communication.md",
        "docs/operating.md"]
RUN = FIRST + ALONE + THEN
PAGES = RUN + ["docs/catgnn.md", "docs/checkpoints.md", "docs/gpu.md", "docs/inference.md", "docs/metrics.md",
               "docs/performance.md", "docs/release-notes.md", "docs/security.md", "CONTRIBUTING.md"]
README_LINES = 150
FOLDERS = "client|cmake|common|deploy|docs|partitioner|proto|server|tests|trainer"


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def commands(page):
    """The page as one script, on ports that are free: another test may use those of the page."""
    script = "".join(re.findall(r"^```sh\n(.*?)^```", text_of(page), re.DOTALL | re.MULTILINE))
    for port in sorted(set(re.findall(r"\b(?:127\.0\.0\.1:|--master-port )(\d+)", script))):
        script = script.replace(port, str(programs.free_port()))
    return re.sub(r"--epochs \d\d+", "--epochs 3", script)


class CommandsTest(programs.ProgramTest):
    def test_commands_work_as_written(self):
        folder = self.box.folder / "clone"
        (folder / "build" / "release").mkdir(parents=True)
        bin_folder = os.path.abspath(os.environ["HALOGRAPH_BIN"])
        (folder / "build" / "release" / "bin").symlink_to(bin_folder)
        for name in ("deploy", "tests"):
            (folder / name).symlink_to(ROOT / name)

        def run(page):
            script = f"cd '{folder}'\n{commands(page)}\nwait"
            process = self.box.start("/bin/bash", "-ec", script)
            return Result(process, process.wait(seconds(600)))

        shown = ""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            first, second = FIRST
            results = {page: pool.submit(run, page) for page in [first, *ALONE]}
            for before, pages in ((first, [second]), (second, THEN)):
                concurrent.futures.wait([results[before]])
                results.update({page: pool.submit(run, page) for page in pages})
        for page, result in results.items():
            with self.subTest(page=page):
                shown += must(result.result()).text
        for words in ("edge cut", "test accuracy", "SERVER"):
            self.assertIn(words, shown)
        self.assertNothingRuns()

    def test_every_program_is_run(self):
        script = commands("README.md")
        for program in ("partition", "server", "train", "ctl"):
            self.assertIn(f"halograph-{program} ", script)


class PagesTest(programs.ProgramTest):
    def test_readme_is_short(self):
        self.assertLessEqual(len(text_of("README.md").splitlines()), README_LINES)

    def test_links_lead_to_files(self):
        for page in PAGES:
            for link in re.findall(r"\]\(([^)#]+)", text_of(page)):
                self.assertTrue((ROOT / page).parent.joinpath(link).exists(), f"{page}: {link}")

    def test_paths_named_are_there(self):
        for page in PAGES:
            for path in re.findall(rf"`((?:{FOLDERS})/[\w./-]+)`", text_of(page)):
                self.assertTrue((ROOT / path).exists(), f"{page}: {path}")

    def test_options_named_are_options(self):
        """An option of a page is one of the programs, of a script or of a benchmark."""
        known = set()
        for program in ("partition", "server", "train", "ctl"):
            for words in self.commands(f"halograph-{program}"):
                known |= self.options_of(*words)
        for name in model_names(self.box):
            known |= self.options_of("halograph-train", "--model", name)
        for script in [*ROOT.glob("deploy/*.sh"), ROOT / "deploy/plot-log", *ROOT.glob("tests/bench/**/*.cc"),
                       *ROOT.glob("tests/bench/**/*.h"), *ROOT.glob("tests/bench/**/*.py")]:
            known |= set(re.findall(r"--[a-z0-9-]+", script.read_text(encoding="utf-8")))
        for page in RUN:
            named = set(re.findall(r"--[a-z][a-z0-9-]+", text_of(page)))
            self.assertEqual([], sorted(named - known), page)

    def help(self, *words):
        return must(self.box.run(*words, "--help")).out

    def options_of(self, *words):
        return set(re.findall(r"--[a-z0-9-]+", self.help(*words)))

    def commands(self, *words):
        """The command of these words, and all below it."""
        text = self.help(*words)
        table = re.split(r"^(?:Subc|C)ommands\b.*:\n", text, maxsplit=1, flags=re.MULTILINE)[1:]
        found = [words]
        for word in re.findall(r"^  ([a-z]+) ", "".join(table), re.MULTILINE):
            found += self.commands(*words, word)
        return found

    def report(self, *words):
        return subprocess.run([sys.executable, ROOT / "tests/bench/report.py", *words],
                              capture_output=True, text=True, check=False)

    def test_performance_is_made_from_the_figures(self):
        done = self.report("check")
        self.assertEqual(0, done.returncode, done.stderr)

    def test_report_takes_medians_of_what_benchmarks_print(self):
        outputs = []
        for ratio in (0.5, 0.75, 0.625):
            outputs.append(self.box.folder / f"{ratio}.json")
            outputs[-1].write_text(f'{{"bench": "pull", "pull_gb_per_s": 2, "ratio_median": {ratio}}}')
        done = self.report("show", *outputs)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("channels and calls: 0.625 times (0.500 to 0.750)", done.stdout)

    def test_report_names_a_file_that_is_no_output(self):
        wrong = self.box.folder / "wrong.json"
        wrong.write_text("{}")
        done = self.report("show", wrong)
        self.assertEqual(1, done.returncode)
        self.assertIn(str(wrong), done.stderr)


if __name__ == "__main__":
    programs.main()
