"""The graphs that are trained on, as two parts each: made once, kept in the work folder."""
import subprocess

from hosts.processes import ProcessError

PARTS = 2
# A graph whose features are too many to be kept within the first seconds.
LARGE = ["--nodes", "120000", "--edges", "1200000", "--features", "256", "--classes", "16", "--train", "0.5"]


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProcessError(f"{' '.join(map(str, command))}:\n{done.stderr[-2000:]}")


def part(options, source, name, *more):
    folder = options.work / name
    if not folder.exists():
        call(options.bin / "halograph-partition", "run", "--input", source, "--output", folder, "--parts", PARTS,
             "--method", "random", "--quiet", *more)
    return folder


def small(options):
    return part(options, options.data, "amazon-photo-in-two")


def large(options):
    source = options.work / "large"
    if not source.exists():
        call(options.bin / "halograph-partition", "generate", "sbm", "--output", source, "--quiet", *LARGE)
    return part(options, source, "large-in-two")


def prepare(options):
    small(options)
    if "cold-cache" in options.cause:
        large(options)
