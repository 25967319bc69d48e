#!/usr/bin/env python3
"""Writes docs/performance.md from figures.json, and puts figures of benchmarks into figures.json.

  report.py write                     writes docs/performance.md
  report.py check                     fails if docs/performance.md is not what `write` would write
  report.py show FILE...              prints the figures in the JSON outputs of a benchmark
  report.py record RUN --date DATE [--machine ID] [--conditions TEXT] FILE...
                                      replaces the figures of RUN by these, then writes the page

FILE is what sampling_bench, models_bench, pull_bench, server_memory, partition_bench or
precision_bench.py printed, or the file that method_bench --json or hybrid_bench.py --output wrote.
Several files are several runs of the same command: a figure is then the median, with least and
most. weighted_bench and the accuracy tests print no JSON: edit figures.json by hand.

figures.json holds machines, topics, their runs, and the facts of each run: what was measured, and
the figure. A run has one machine, one date and one command.
Exit code: 0 done, 1 failed or not the same, 2 wrong usage.
"""
import argparse
import json
import pathlib
import re
import statistics
import sys

FIGURES = pathlib.Path(__file__).resolve().with_name("figures.json")
PAGE = FIGURES.parents[2] / "docs" / "performance.md"
INTRODUCTION = """# Speed and memory

One fact a row. Above each table stand the machine, the date, the conditions and the command that
shows its figures. The programs are in `build/release/bin` after `./tests/run.sh`. A ratio is a
median of interleaved runs. `tests/bench/report.py` makes this page from `tests/bench/figures.json`:
change the facts there.
"""


# --- Outputs of the benchmarks: each gives (what, value, unit) --------------------------------------

def sampling(lines):
    for line in lines:
        about = "fanouts {}, batch {}, threads {}".format(
            ",".join(map(str, line["fanouts"])), line["batch"], line["threads"])
        name = line["variant"]
        if name == "fused":
            yield f"time per edge, {about}", line["ns_per_edge"]["median"], "ns"
            yield f"edges per second, {about}", 1e-6 * line["edges_per_s"]["median"], "M"
        elif name == "fused_split":
            yield (f"one minibatch split over {line['split']} threads: speed relative to one, {about}",
                   1 / line["wall_times_fused"]["median"], "times")
        elif name in ("fused_edge_ids", "fused_excluding"):
            wanted = {"fused_edge_ids": "with edge ids", "fused_excluding": "leaving edges out"}
            yield (f"time {wanted[name]} relative to without, {about}",
                   line["cpu_times_fused"]["median"], "times")
        elif name.startswith("replay"):
            yield (f"time relative to bare reads (`{name}`), {about}",
                   1 / line["cpu_times_fused"]["median"], "times")
        elif name.startswith("two_step"):
            yield (f"speed relative to `{name}`, {about}", line["cpu_times_fused"]["median"],
                   "times")
        if "times_alone" in line:
            yield (f"edges per second relative to one minibatch alone, {about}",
                   line["times_alone"]["median"], "times")


def pull(lines):
    for line in lines:
        yield "rate", line["pull_gb_per_s"], "GB/s"
        yield ("rate relative to bare byte buffers over as many channels and calls",
               line["ratio_median"], "times")
        if "tls_gb_per_s" in line:
            yield "rate over TLS", line["tls_gb_per_s"], "GB/s"
            yield "rate over TLS relative to plain", line["tls_ratio_median"], "times"
            yield ("processor seconds a gigabyte over TLS, client and server",
                   line["tls_cpu_s_per_gb"], "s")
            yield ("processor seconds a gigabyte in plain, client and server",
                   line["pull_cpu_s_per_gb"], "s")


def server_memory(lines):
    for line in lines:
        yield "anonymous memory, idle", 1e-6 * line["rss_anon_idle"], "MB"
        yield "anonymous memory, the most", 1e-6 * line["rss_anon_most"], "MB"


def partition(lines):
    for line in lines:
        yield "peak anonymous memory relative to the call", line["memory_ratio"], "times"
        yield "time relative to the call", line["seconds_ratio"], "times"
        yield "processor seconds relative to the call", line["cpu_seconds_ratio"], "times"


def partition_methods(lines):
    for line in lines:
        for ratio in line["ratios"]:
            if "geometric_mean" in ratio:
                about = f"`{ratio['other']}`, edges in {ratio['order']} order"
                yield about, ratio["geometric_mean"], "times"
                yield f"{about}, worst case ({ratio['worst_case']})", ratio["worst"], "times"
        for run in line["runs"]:
            if "predicted_seconds" in run:
                about = "`{method}`, {graph}, {order}, {parts} parts".format(**run)
                yield f"{about}: seconds to assign", run["seconds"], "s"
                yield (f"{about}: predicted time relative to that",
                       run["predicted_seconds"] / run["seconds"], "times")


def hybrid(lines):
    for line in lines:
        rows = line.get("summary", {}).get("rows", [])
        for row in rows:
            about = f"{row['variant']}, {line['summary']['condition']}"
            yield f"{about}: time of an epoch", row["seconds"], "s"
            if row is not rows[0]:
                yield f"{about}: time relative to {rows[0]['variant']}", row["first"][0], "times"
            yield f"{about}: rounds a minibatch", row["rounds_per_minibatch"], ""
            for over, times in row["times"].items():
                if over != row["variant"] and times["seconds"] is not None:
                    yield f"{about}: speed relative to {over}", times["seconds"], "times"


def models(lines):
    for line in lines:
        about = "`{}`, threads {}".format(line["model"], line["threads"])
        if line["variant"] == "model":
            yield (f"{about}: time relative to its products and gathers",
                   line["wall_times_limit"]["median"], "times")
            yield (f"{about}: time relative to its products alone",
                   line["wall_times_products"]["median"], "times")
            yield f"{about}: a step", 1e3 * line["wall_s"]["median"], "ms"


def precision(lines):
    for line in lines:
        kernel = line["product_kernel"]
        made = "float32" if kernel is None else f"`--precision bf16`, products by `{kernel}`"
        accuracies = line["test_acc"]
        yield (f"{line['case']}: {made}", statistics.mean(accuracies),
               f"(deviation {statistics.stdev(accuracies):.3f})")


def reader_of(lines):
    first = lines[0]
    if first.get("bench") == "precision":
        return precision
    if first.get("bench") == "pull":
        return pull
    if first.get("benchmark") in ("partition", "partition_methods"):
        return partition if first["benchmark"] == "partition" else partition_methods
    for key, reader in (("model", models), ("variant", sampling), ("rss_anon_idle", server_memory), ("config", hybrid)):
        if key in first:
            return reader
    raise ValueError("not the JSON output of a benchmark that report.py knows")


def objects_in(path):
    """The JSON objects of a file, one after the other, each on one line or several. What a server
    printed before them is left out."""
    lines = path.read_text(encoding="utf-8").splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith("{")), len(lines))
    text, found, at = "\n".join(lines[first:]).strip(), [], 0
    while at < len(text):
        value, end = json.JSONDecoder().raw_decode(text, at)
        found.append(value)
        at = end + len(text[end:]) - len(text[end:].lstrip())
    if not found:
        raise ValueError("no JSON object")
    return found


def facts_of(paths):
    """The facts of the files, which are outputs of one benchmark."""
    values, units = {}, {}
    for path in paths:
        try:
            lines = objects_in(path)
            for what, value, unit in reader_of(lines)(lines):
                values.setdefault(what, []).append(value)
                units[what] = unit
        except (ValueError, KeyError) as error:
            raise ValueError(f"{path}: {error}") from error
    return [{"what": what, "figure": figure_of(found, units[what])}
            for what, found in values.items()]


def figure_of(values, unit):
    def text(value):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}"
    figure = f"{text(statistics.median(values))} {unit}".strip()
    return figure if len(values) == 1 else f"{figure} ({text(min(values))} to {text(max(values))})"


# --- The page ---------------------------------------------------------------------------------------

def wrapped(text, width=100):
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def run_text(run, machines):
    if run["machine"] not in machines:
        raise ValueError(f"run '{run['id']}': no machine '{run['machine']}' in {FIGURES}")
    about = f"Machine `{run['machine']}`, {run['date']}."
    if "build" in run:
        about += f" Build {run['build']}."
    if "conditions" in run:
        about += " Conditions: " + run["conditions"].rstrip(".") + "."
    rows = "\n".join(f"| {fact['what']} | {fact['figure']} |" for fact in run["facts"])
    return (f"### {run['title']}\n\n{wrapped(about)}\n\n```sh by-hand\n{run['command']}\n```\n\n"
            f"| what | figure |\n| --- | --- |\n{rows}\n")


def page(figures):
    machines = "".join(f"| `{name}` | {text} |\n" for name, text in figures["machines"].items())
    parts = [INTRODUCTION, f"| machine | what it is |\n| --- | --- |\n{machines}"]
    for topic in figures["topics"]:
        parts.append(f"## {topic['title']}\n")
        if "text" in topic:
            parts.append(wrapped(topic["text"]) + "\n")
        parts += [run_text(run, figures["machines"]) for run in topic["runs"]]
    return "\n".join(parts)


def text_of(figures):
    """figures.json: a fact a line."""
    text = json.dumps(figures, indent=1, ensure_ascii=False)
    return re.sub(r'\{\s*("what": .*)\n\s*("figure": .*)\n\s*\}', r"{\1 \2}", text) + "\n"


def run_named(figures, name):
    runs = {run["id"]: run for topic in figures["topics"] for run in topic["runs"]}
    if name not in runs:
        raise ValueError(f"no run '{name}' in {FIGURES}; there are: {', '.join(runs)}")
    return runs[name]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("write")
    commands.add_parser("check")
    show = commands.add_parser("show")
    record = commands.add_parser("record")
    record.add_argument("run", help="its id in figures.json")
    record.add_argument("--date", required=True, help="when it was measured: YYYY-MM-DD")
    record.add_argument("--machine", help="its id in figures.json (default: as before)")
    record.add_argument("--conditions", help="sizes, runs, other load (default: as before)")
    for command in (show, record):
        command.add_argument("files", nargs="+", type=pathlib.Path)
    return parser.parse_args()


def main():
    options = parse()
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    if options.command == "check":
        if PAGE.read_text(encoding="utf-8") == page(figures):
            return 0
        print(f"{PAGE} is not made from {FIGURES}: run report.py write", file=sys.stderr)
        return 1
    if options.command == "show":
        for fact in facts_of(options.files):
            print(f"{fact['what']}: {fact['figure']}")
        return 0
    if options.command == "record":
        run = run_named(figures, options.run)
        run.update(facts=facts_of(options.files), date=options.date,
                   machine=options.machine or run["machine"])
        if options.conditions:
            run["conditions"] = options.conditions
        first = objects_in(options.files[0])[0]
        run["build"] = {**first, **first.get("config", {})}.get("build", "not named")
        FIGURES.write_text(text_of(figures), encoding="utf-8")
    PAGE.write_text(page(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError, KeyError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        sys.exit(1)
