"""The checkpoints in a folder, while a run writes them and afterwards."""
import json

from harness.programs import wait_until


def names(folder):
    """Of those that are whole, the oldest first. The name of one that is being written has a dot."""
    return sorted(path.name for path in folder.glob("step-*") if "." not in path.name)


def newest(folder):
    """The name of that one; nothing where there is none."""
    return max(names(folder), default="")


def manifest(folder, name=None):
    """Of the newest one, unless another is named."""
    return json.loads((folder / (name or newest(folder)) / "manifest.json").read_text())


def epochs_to_go(folder):
    """The epochs of a run that goes on from the newest one, to the second epoch after it."""
    return manifest(folder)["epoch"] + 2


def await_one(folder, processes, after=""):
    """Waits for one that is newer than that of this name. None of the processes may end before."""
    wait_until(lambda: newest(folder) > after or not all(one.running() for one in processes),
               f"a checkpoint after '{after}'")
    for one in processes:
        if not one.running():
            raise AssertionError(one.text)
