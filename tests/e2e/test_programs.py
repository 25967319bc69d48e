"""What all programs have alike: --help, --version, how they refuse wrong usage and report failure."""
import pathlib
import re
import shutil
import unittest

from harness import programs
from harness.programs import ProgramTest
from harness.training import model_names

SOURCES = pathlib.Path(__file__).resolve().parents[2]


class Case:
    """A command: words that are valid usage of it but fail for want of a graph or server, an option
    that takes whole numbers with one beyond its range, and one that must be given."""

    def __init__(self, name, words, number, beyond, required):
        self.name, self.program = name, name.split()[0]
        self.command, self.words = name.split()[1:], words
        self.number, self.beyond, self.required = number, beyond, required


CASES = (
    Case("halograph-server", ["--graph", "none", "--part", "0", "--listen", "127.0.0.1:0"],
         "--queue", "0", "--part"),
    Case("halograph-ctl status", ["--servers", "127.0.0.1:1", "--timeout", "100ms"],
         "--calls-in-flight", "0", "--servers"),
    Case("halograph-ctl why",
         ["--servers", "127.0.0.1:1", "--timeout", "100ms", "--seconds", "100ms"], "--calls-in-flight",
         "0", "--servers"),
    Case("halograph-ctl doctor",
         ["--servers", "127.0.0.1:1", "--timeout", "100ms", "--seconds", "10ms"], "--calls-in-flight",
         "0", "--servers"),
    Case("halograph-ctl state create",
         ["--servers", "127.0.0.1:1", "--timeout", "100ms", "--type", "node", "--tensor", "emb"],
         "--dim", "0", "--servers"),
    Case("halograph-ctl state export",
         ["--servers", "127.0.0.1:1", "--timeout", "100ms", "--name", "s", "--output", "none"],
         "--calls-in-flight", "0", "--servers"),
    Case("halograph-train", ["--graph", "none"], "--layers", "17", "--graph"),
    Case("halograph-train infer",
         ["--graph", "none", "--checkpoint", "none", "--predict", "none.npy"], "--layers", "17",
         "--checkpoint"),
    Case("halograph-train evaluate", ["--graph", "none", "--checkpoint", "none"], "--layers", "17",
         "--checkpoint"),
    Case("halograph-partition run", ["--input", "none", "--output", "g", "--parts", "2"],
         "--refinement-rounds", "17", "--input"),
    Case("halograph-partition inspect", ["--graph", "none"], None, None, "--graph"),
    Case("halograph-partition verify", ["--input", "none", "--graph", "none"], None, None, "--graph"),
    Case("halograph-partition halo", ["--graph", "none"], "--hops", "17", "--graph"),
    Case("halograph-partition compare", ["--input", "none"], "--batches", "0", "--input"),
    Case("halograph-partition plan", ["--input", "none", "--parts", "2"], "--parts", "5000",
         "--parts"),
    Case("halograph-partition generate rmat", ["--output", "/dev/null/x", "--edges", "100"],
         "--log2-nodes", "32", "--output"),
    Case("halograph-partition generate sbm", ["--output", "/dev/null/x", "--nodes", "100"],
         "--classes", "0", "--output"),
    Case("halograph-partition generate hierarchical",
         ["--output", "/dev/null/x", "--nodes", "5000"], "--edges", "-1", "--output"),
)
ONE_EACH = {case.program: case for case in CASES}.values()  # of each program


def without(option, words):
    at = words.index(option)
    return words[:at] + words[at + 2:]


class CommandsTest(ProgramTest):
    def call(self, case, words, **streams):
        return self.box.run(case.program, *case.command, *words, **streams)

    def assertRefused(self, case, words, message):
        """Exit code 2, and one line that ends with the way to the command's help."""
        result = self.call(case, words)
        self.assertEqual(2, result.code, str(result))
        self.assertEqual("", result.out)
        self.assertRegex(result.err, rf"\A{case.program}: {message}[^\n]* "
                                     rf"\(see {case.name} --help\)\n\Z", str(result))

    def test_help_is_for_the_command_and_fits_the_screen(self):
        for case in CASES:
            result = self.call(case, ["--help"])
            self.assertEqual((0, ""), (result.code, result.err))
            self.assertTrue(result.out.startswith(f"Usage: {case.name} [options]\n"), result.out)
            for option in (case.required, "--log-level", "--help", "--version"):
                self.assertIn(f"\n  {option}", result.out)
            self.assertLessEqual(max(map(len, result.out.splitlines())), 100)
            self.assertEqual(result.out, self.call(case, [*case.words, "-h", "--no-such"]).out)

    def test_version_names_the_program(self):
        for case in CASES:
            result = self.call(case, ["--version"])
            self.assertEqual((0, ""), (result.code, result.err))
            self.assertRegex(result.out, rf"\A{case.program} \d+\.\d+\.\d+\+\w+\n\Z")

    def test_unknown_options_suggest_the_nearest(self):
        for case in CASES:
            self.assertRefused(case, [*case.words, "--log-levle", "off"],
                               r"unknown option --log-levle; did you mean --log-level\?")
        for case in ONE_EACH:
            self.assertRefused(case, [*case.words, "--zzzzzzzz"], r"unknown option --zzzzzzzz(?!;)")

    def test_words_that_are_no_options_are_refused(self):
        for case in CASES:
            self.assertRefused(case, ["word", *case.words], "unexpected word 'word'")

    def test_values_must_be_there_and_allowed(self):
        for case in CASES:
            self.assertRefused(case, [*case.words, case.required], f"{case.required} has no value")
            self.assertRefused(case, [*case.words, case.required, ""], f"{case.required} is empty")
            self.assertRefused(case, [*case.words, "--log-level", "loud"],
                               "--log-level is 'loud', expected trace, debug")
        for case in ONE_EACH:
            self.assertRefused(case, [*case.words, "--log-level"], "--log-level has no value")
            self.assertRefused(case, [*case.words, "--log-level", ""], "--log-level is empty")

    def test_numbers_must_be_numbers_in_range(self):
        for case in [case for case in CASES if case.number]:
            self.assertRefused(case, [*case.words, case.number, "ten"],
                               f"{case.number} is 'ten', expected a whole number")
            self.assertRefused(case, [*case.words, f"{case.number}={case.beyond}"],
                               f"{case.number} is {case.beyond}, expected ")

    def test_a_required_option_that_is_missing_is_named(self):
        for case in CASES:
            self.assertRefused(case, without(case.required, case.words),
                               f"(give either )?{case.required}")

    def test_of_an_option_given_twice_the_last_counts(self):
        for case in CASES:
            once = self.call(case, case.words)
            self.assertEqual(1, once.code, str(once))
            other = "127.0.0.1:9" if case.required == "--servers" else \
                "3" if case.required in ("--part", "--parts") else "other"
            twice = self.call(case, ["--log-level", "debug", case.required, other, *case.words,
                                     "--log-level", "off"])
            self.assertEqual(1, twice.code, str(twice))
            self.assertEqual(self.errors(case, once), self.errors(case, twice))

    def test_a_log_that_nobody_reads_ends_no_program(self):
        for case in ONE_EACH:
            with programs.unread_pipe() as pipe:
                result = self.call(case, [*case.words, "--log-level", "debug"], err=pipe)
            self.assertEqual(1, result.code, str(result))

    def test_help_that_its_reader_leaves_is_no_failure_and_a_full_disk_is(self):
        for case in ONE_EACH:
            with programs.unread_pipe() as pipe:
                left = self.call(case, ["--help"], out=pipe)
            self.assertEqual((0, ""), (left.code, left.err), str(left))
            with open("/dev/full", "wb") as full:
                result = self.call(case, ["--help"], out=full)
            self.assertEqual(1, result.code, str(result))
            self.assertEqual(f"{case.program}: writing to stdout: No space left on device\n",
                             result.err)

    def test_failure_is_one_line_in_the_same_form(self):
        for case in CASES:
            quiet = ["--quiet"] if case.program == "halograph-partition" else []
            result = self.call(case, [*case.words, *quiet, "--log-level", "off"])
            self.assertEqual(1, result.code, str(result))
            lines = result.err.splitlines()
            self.assertTrue(all(line.startswith(f"{case.program}: ") for line in lines), result.err)
            self.assertLessEqual(len(lines), 2 if case.program == "halograph-ctl" else 1, result.err)
            self.assertNotIn("--help", result.err)

    @staticmethod
    def errors(case, result):
        """What is reported as wrong, without how a call went, which differs from call to call."""
        lines = [line for line in result.err.splitlines() if line.startswith(f"{case.program}: ")]
        return [re.split(r"(?: \((?:gone|hung)\))?: (?:UNAVAILABLE|DEADLINE_EXCEEDED)|; last of | \(request ",
                         line)[0] for line in lines]


class CommandNamesTest(ProgramTest):
    def test_commands_that_are_missing_or_unknown_are_refused(self):
        for words, message in (
                (["halograph-ctl"], "no command is given, expected status, why, doctor or state"),
                (["halograph-ctl", "statsu"],
                 "unknown command 'statsu', expected status, why, doctor or state; did "),
                (["halograph-partition"], "no command is given, expected run, "),
                (["halograph-partition", "generate"], "no command is given, expected rmat, "),
                (["halograph-partition", "dance"], "unknown command 'dance', expected run, ")):
            with self.subTest(words):
                result = self.box.run(*words)
                self.assertEqual((2, ""), (result.code, result.out))
                self.assertTrue(result.err.startswith(f"{words[0]}: {message}"), result.err)
                self.assertEqual(1, result.err.count("\n"))


class AdvisedOptionsTest(ProgramTest):
    """Messages and help name only options that a program has."""

    def options(self):
        found = set()
        calls = [[case.program, *case.command] for case in CASES]
        calls += [["halograph-train", "--model", name] for name in model_names(self.box)]
        for call in calls:
            help_text = self.box.run(*call, "--help").out
            found.update(re.findall(r"^  (--[a-z][a-z0-9-]*)", help_text, re.MULTILINE))
        return found

    def test_options_named_in_messages_exist(self):
        options = self.options()
        literal = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
        files = [path for folder in ("common", "client", "server", "trainer", "partitioner")
                 for path in sorted((SOURCES / folder).rglob("*"))
                 if path.suffix in (".cc", ".h")]
        self.assertGreater(len(files), 100)
        named = 0
        for path in files:
            code = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE)
            for text in literal.findall(code):
                for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", text):
                    named += 1
                    self.assertIn(option, options, f"{path.relative_to(SOURCES)}: \"{text}\"")
        self.assertGreater(named, 50)


class TrainerWithoutTorchTest(ProgramTest):
    def test_the_command_line_is_read_before_libtorch_is_loaded(self):
        def loaded(program):
            return self.box.run("/usr/bin/env", "LD_TRACE_LOADED_OBJECTS=1", programs.binary(program)).out

        self.assertIn("libstdc++", loaded("halograph-train"))
        self.assertNotIn("torch", loaded("halograph-train"))
        self.assertIn("libtorch", loaded("halograph-train-torch"))

    def test_both_executables_have_one_help(self):
        self.assertEqual(self.box.run("halograph-train", "--help").out,
                         self.box.run("halograph-train-torch", "--help").out)

    def test_a_program_that_lacks_its_second_part_says_so(self):
        alone = self.box.folder / "halograph-train"
        shutil.copy(programs.binary("halograph-train"), alone)
        result = self.box.run(alone, "--graph", "none")
        self.assertEqual(1, result.code, str(result))
        self.assertRegex(result.err, r"\Ahalograph-train: cannot start the program that trains, which "
                                     r"belongs beside this one: \S+/halograph-train-torch: No such")


@unittest.skipIf(programs.TIME_SCALE != 1, "a sanitizer maps more than any limit allows")
class LittleMemoryTest(ProgramTest):
    """What `ulimit -v` does to programs: an error that says so, soon."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graph = cls.shared.folder / "g"
        for words in (["generate", "sbm", "--output", cls.shared.folder / "in", "--nodes", "200"],
                      ["run", "--input", cls.shared.folder / "in", "--output", cls.graph,
                       "--parts", "1"]):
            result = cls.shared.run("halograph-partition", *words)
            assert result.code == 0, str(result)

    def assertEndsForWantOfMemory(self, mebibytes, program, *words):
        limit = f"--as={mebibytes << 20}"
        result = self.box.run("/usr/bin/prlimit", limit, programs.binary(program), *words)
        self.assertEqual(1, result.code, str(result))
        last = result.err.splitlines()[-1]
        self.assertRegex(last, rf"\A{program}: (rank 0: )?(\w+: )?(out of|no) memory")

    def test_a_server_says_that_memory_ran_out(self):
        for mebibytes in (100, 120):
            self.assertEndsForWantOfMemory(mebibytes, "halograph-server", "--graph", self.graph,
                                           "--part", "0", "--listen", "127.0.0.1:0")

    def test_a_trainer_says_that_memory_ran_out(self):
        for mebibytes in (400, 976):
            self.assertEndsForWantOfMemory(mebibytes, "halograph-train", "--graph", self.graph)


if __name__ == "__main__":
    programs.main()
