"""The metrics that docs/metrics.md lists, and those that a /metrics prints."""
import pathlib
import re
import urllib.request
from typing import NamedTuple

PAGE = pathlib.Path(__file__).parents[3] / "docs/metrics.md"
SERVER, TRAINER = "halograph-server", "halograph-train"
SECTIONS = {"Both": (SERVER, TRAINER), "Servers": (SERVER,), "Trainers": (TRAINER,)}
OURS = ("halograph_", "grpc_", "process_")


class Metric(NamedTuple):
    name: str
    kind: str      # counter, gauge, histogram
    unit: str      # "": none
    labels: tuple
    help: str
    programs: tuple


def listed():
    """The rows of the page's tables. A section begins with who prints its metrics."""
    found, programs = [], ()
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            programs = SECTIONS[line[3:].split()[0].rstrip(":")]
        elif line.startswith("| `"):
            name, kind, unit, labels, text = [cell.strip() for cell in line.strip("|").split("|")]
            found.append(Metric(name.strip("`"), kind, unit, tuple(re.findall(r"`(\w+)`", labels)),
                                text.replace("`", ""), programs))
    return found


def listed_for(program):
    return [metric for metric in listed() if program in metric.programs]


def printed(text):
    """{name: (kind, help, names of labels without le)} of a page in Prometheus' text; None for the labels
    of a family without series."""
    kinds, helps, labels = {}, {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            kinds[name] = kind
        elif line.startswith("# HELP "):
            _, _, name, words = line.split(" ", 3)
            helps[name] = words
        elif line and not line.startswith("#"):
            series, given = re.match(r"(\w+)(?:\{(.*)\})? ", line).groups()
            family = next(name for name in (series, re.sub(r"_(bucket|sum|count)$", "", series))
                          if name in kinds)
            names = re.findall(r'(?:^|,)(\w+)="', given or "")
            labels.setdefault(family, set()).update(set(names) - {"le"})
    return {name: (kind, helps.get(name, ""), labels.get(name)) for name, kind in kinds.items()}


def get(address, path="/metrics", timeout=10):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=timeout) as answer:
        return answer.read().decode()
