"""Running trainers and reading their logs."""
import json
import pathlib
import re
import tempfile

from harness import programs
from harness.programs import must

ENDLESS = 1000000  # epochs of a run that is ended from outside
# Of ranks: within --timeout they must meet, and one that ends is noticed, at the latest.
MEETING = dict(timeout="10m")


def read_log(path):
    """(configuration, epochs, last line). Evaluations within epochs and the choice of --tune are left
    out."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return (lines[0]["config"], [line for line in lines[1:]
                                  if not line.get("final") and not {"evaluation", "tuned"} & set(line)],
            next((line for line in lines if line.get("final")), None))


def num_epochs(path):
    """Epoch lines that a running trainer has written."""
    return path.read_text().count('"loss"') if path.exists() else 0


def options(**given):
    """Options of the trainer: batch_size=10 is --batch-size 10; True is an option without value."""
    found = []
    for name, value in given.items():
        found.append("--" + name.replace("_", "-"))
        if value is not True:
            found.append(value)
    return found


def model_names(box):
    """Of --model. Each has options of its own, which --help shows beside --model NAME."""
    refused = box.run("halograph-train", "--model", "none").err
    return re.search(r"no model .none., expected (.*) \(see", refused)[1].split(", ")


def train(box, wait=programs.seconds(600), env=None, **given):
    """One rank, to its end, for so many seconds at most; its log."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="log-", dir=box.folder)) / "log.jsonl"
    must(box.run("halograph-train", *options(log=path, **given), timeout=wait, env=env))
    return read_log(path)


def start_ranks(box, world_size, rank_options=None, env=None, **given):
    """The ranks of one run in the background, each with a log, `rank<r>.jsonl` unless another is given.
    Their --timeout is longer than a test waits (MEETING) unless another is."""
    port = programs.free_port()
    ranks = []
    for rank in range(world_size):
        more = {"log": box.folder / f"rank{rank}.jsonl", **MEETING, **given,
                **(rank_options(rank) if rank_options else {})}
        ranks.append(box.start("halograph-train", *options(
            rank=rank, world_size=world_size, master_addr="127.0.0.1", master_port=port, **more), env=env))
    return ranks
