"""The graphs that are trained on, as two parts each: made once, kept in the work folder."""
import subprocess

from hosts.processes import ProcessError

PARTS = 2
# A graph whose features are too many to be fetched within the first seconds.
LARGE = ["--nodes", "1000000", "--edges", "5000000", "--features", "256", "--classes", "16", "--train", "0.5"]


# A graph with many neighbours to draw, and little to compute.
DENSE = ["--nodes", "8000", "--edges", "4000000", "--features", "8", "--classes", "4", "--train", "0.5"]


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


def generated(options, words):
    name = "sbm-" + "-".join(word for word in words if not word.startswith("-"))
    source = options.work / name
    if not source.exists():
        call(options.bin / "halograph-partition", "generate", "sbm", "--output", source, "--quiet", *words)
    return part(options, source, f"{name}-in-two")


def large(options):
    return generated(options, LARGE)


def dense(options):
    return generated(options, DENSE)
