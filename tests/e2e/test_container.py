#!/usr/bin/env python3
"""deploy/Containerfile without a container engine: what it copies is enough to build, and what it installs is
enough to run."""
import functools
import os
import pathlib
import re
import shutil
import subprocess

from harness import programs

ROOT = pathlib.Path(__file__).parents[2]
FILE = ROOT / "deploy/Containerfile"
PROGRAMS = ("halograph-partition", "halograph-server", "halograph-ctl", "halograph-train", "halograph-train-torch")



def command(*words, **how):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **how)
    if done.returncode != 0:
        raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def stages():
    """Of each stage its instructions: (name, words)."""
    found = []
    for line in re.sub(r"\\\n\s*", "", FILE.read_text(encoding="utf-8")).splitlines():
        if not line or line.startswith("#"):
            continue
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append([])
        found[-1].append((name, rest.split()))
    return found


def copied(stage):
    """(source, target) of what comes from the repository."""
    return [(source, words[-1]) for name, words in stage if name == "COPY" and not words[0].startswith("--")
            for source in words[:-1]]


def section(name):
    text = (ROOT / "deploy/packages.txt").read_text(encoding="utf-8")
    body = re.search(rf"^\[{name}\].*?\n(.*?)(?=^\[|\Z)", text, re.M | re.S).group(1)
    return {line.split("#")[0].strip() for line in body.splitlines() if line.split("#")[0].strip()}


@functools.lru_cache(None)
def depends():
    """What each installed package needs, whichever of alternatives; one that it is or provides."""
    needs, provided = {}, {}
    for line in command("dpkg-query", "-W", "-f", "${Package}\t${Depends},${Pre-Depends}\t${Provides}\n").splitlines():
        package, wanted, gives = line.split("\t")
        needs[package] = {re.split(r"[ :(]", one.strip())[0] for one in re.split(r"[,|]", wanted) if one.strip()}
        for one in gives.split(","):
            provided.setdefault(re.split(r"[ (]", one.strip())[0], package)
    return needs, provided


def with_dependencies(packages):
    needs, provided = depends()
    found, left = set(), set(packages)
    while left:
        package = left.pop()
        package = package if package in needs else provided.get(package)
        if package and package not in found:
            found.add(package)
            left |= needs[package]
    return found


class ContainerfileTest(programs.ProgramTest):
    def test_it_ends_as_a_user_without_rights(self):
        last = stages()[-1]
        users = [words for name, words in last if name == "USER"]
        self.assertEqual([["10001:10001"]], users)
        self.assertLess(last.index(("USER", users[0])), len(last) - 1)
        for stage in stages():
            self.assertRegex(stage[0][1][0], r"/debian:12(-slim)?$")

    def test_what_it_copies_is_there_and_enough_to_build(self):
        build, run = stages()
        for source, _ in copied(build) + copied(run):
            self.assertTrue((ROOT / source).exists(), source)
        source = self.box.folder / "src"
        for name, target in copied(build):
            place = source / target / pathlib.Path(name).name if target.endswith("/") else source / target
            place.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, place)
        built, = [words for name, words in build if name == "RUN" and words[0].endswith("build.sh")]
        end = built.index("&&")
        self.assertEqual(set(PROGRAMS), {word for word in built[:end] if word.startswith("halograph-")})
        command("cmake", "--preset", built[1], *[word for word in built[:end] if word.startswith("-D")],
                "--log-level=WARNING", cwd=source)
        command("ninja", "-C", source / "build" / built[1], "-n", *PROGRAMS)  # names a source that is missing
        strip = [words for name, words in run if name == "COPY" and words[0] == "--from=build"]
        self.assertEqual({f"/src/build/{built[1]}/bin/{program}" for program in PROGRAMS}, set(strip[0][1:-1]))

    def test_the_packages_it_installs_are_those_that_the_programs_load(self):
        wanted = section("run")
        installed = set(depends()[0])
        self.assertLessEqual(wanted, installed, "a package of [run] is not in Debian, or [build] does not bring it")
        brought = with_dependencies(wanted)
        loaded = set()
        for program in PROGRAMS:
            for path in re.findall(r"=> (/\S+)", command("ldd", programs.binary(program))):
                loaded.add(os.path.realpath(path))
        # dpkg knows some files by their names before /lib became /usr/lib.
        names = sorted(loaded | {path.removeprefix("/usr") for path in loaded})
        done = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True, check=False)
        owners = {line.split(":")[0] for line in done.stdout.splitlines() if ": /" in line}
        self.assertGreater(len(owners), 20)
        self.assertLessEqual(owners, brought)
        self.assertFalse(owners <= with_dependencies(wanted - {"librocksdb7.8"}), "it would find nothing missing")

    def test_sections_are_those_of_the_list(self):
        asked = [words[1] for stage in stages() for name, words in stage
                 if name == "RUN" and words[0].endswith("install-packages.sh")]
        self.assertEqual(["build", "run"], asked)
        for name in asked:
            self.assertTrue(section(name))

    def test_the_programs_say_their_version_as_the_last_step_asks(self):
        steps = [" ".join(words) for name, words in stages()[-1] if name == "RUN" and "--version" in words]
        asked = re.findall(r"(halograph-[a-z-]+) --version", steps[0])
        self.assertEqual(set(PROGRAMS), set(asked))
        for program in asked:
            self.assertCode(0, self.box.run(program, "--version"))


if __name__ == "__main__":
    programs.main()
