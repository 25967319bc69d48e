#!/usr/bin/env python3
"""Shows that training on a device is training on the CPU, and how fast it is.

Each check prints a line, ok or FAILED with why; the table of times comes at the end, and is written to
report.md in the work folder with what machine it is of. Exit code: 0 all checks passed, 1 some did not.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS_A_RUN = 150
sys.path.insert(0, str(ROOT / "tests/e2e"))

from harness import npy  # noqa: E402


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    add("--work", type=pathlib.Path, required=True, help="for graphs, logs and report.md")
    add("--device", default="cuda")
    add("--nodes", type=int, default=400_000, help="of the graph that times are of")
    add("--edges", type=int, default=10_000_000)
    add("--only", type=lambda text: text.split(","), default=[""],
        help="checks whose name has one of these words, separated by commas; measure is one, too")
    return parser.parse_args()


class Failed(Exception):
    pass


def expect(holds, why):
    if not holds:
        raise Failed(why)


class Machine:
    """The programs, graphs and logs of this run."""

    def __init__(self, options):
        self.options = options
        self.work = options.work
        self.number = 0
        self.lock = threading.Lock()

    def start(self, program, *words, env=None, stderr=subprocess.PIPE):
        command = [str(self.options.bin / program), *map(str, words)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True,
                                env={**os.environ, **(env or {})})

    def run(self, program, *words, env=None, code=0):
        process = self.start(program, *words, env=env)
        try:
            out, err = process.communicate(timeout=SECONDS_A_RUN)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Failed(f"{program} took more than {SECONDS_A_RUN} s: {words}") from None
        expect(process.returncode == code,
               f"{program} {' '.join(map(str, words))}\n  ended with {process.returncode}: {err[-1500:]}")
        return err

    def log(self):
        with self.lock:
            self.number += 1
            return self.work / f"log{self.number}.jsonl"

    def train(self, *words, device=None, env=None):
        """The lines of a run's log: configuration, epochs, final."""
        log = self.log()
        self.run("halograph-train", "--quiet", "--log", log, "--device",
                 device or self.options.device, *words, env=env)
        return [json.loads(line) for line in log.read_text().splitlines()]

    def partition(self, name, source, make=None, parts=1):
        """The folder of a graph. `make`: a module of tests/e2e that writes its input."""
        graph = self.work / name
        with self.lock:
            if not graph.exists():
                if make is not None:
                    subprocess.run([sys.executable, "-m", *map(str, make)], check=True,
                                   env={**os.environ, "PYTHONPATH": str(ROOT / "tests/e2e")})
                self.run("halograph-partition", "run", "--input", source, "--output", graph,
                         "--parts", parts, "--method", "random")
        return graph

    def cora(self):
        return self.partition("cora", ROOT / "tests/data/cora")

    def halves(self):
        return self.partition("halves", ROOT / "tests/data/cora", parts=2)

    def links(self):
        raw = self.work / "links-raw"
        return self.partition("links", raw, ("harness.links", ROOT / "tests/data/cora", raw))

    def typed(self):
        raw = self.work / "typed-raw"
        return self.partition("typed", raw, ("harness.datasets", raw))

    def large(self):
        options = self.options
        raw, graph = self.work / "large-raw", self.work / "large"
        if not graph.exists():
            self.run("halograph-partition", "generate", "sbm", "--output", raw, "--nodes",
                     options.nodes, "--edges", options.edges, "--features", 100, "--classes", 47,
                     "--homophily", 0.8, "--train", 0.1, "--valid", 0.01, "--test", 0, "--seed", 1)
            self.run("halograph-partition", "run", "--input", raw, "--output", graph, "--parts", 1,
                     "--method", "random")
        return graph


# What is trained: a graph, and options.
CASES = {
    "sage": ("cora", "--model", "sage"),
    "sage, pool": ("cora", "--model", "sage", "--aggregator", "pool"),
    "gcn": ("cora", "--model", "gcn"),
    "sgc": ("cora", "--model", "sgc"),
    "gat": ("cora", "--model", "gat", "--attention-dropout", 0.3),
    "gatv2": ("cora", "--model", "gat", "--gatv2", "--attention-dropout", 0.3),
    "sage, layer norm, ngnn, residual": ("cora", "--model", "sage", "--norm", "layer", "--ngnn", 1,
                                         "--residual", "--input-dropout", 0.2, "--clip-norm", 0.5),
    "sage, batch norm": ("cora", "--model", "sage", "--norm", "batch"),
    "embedding": ("cora", "--model", "embedding"),
    "links": ("links", "--model", "sage"),
    "links, distmult": ("links", "--model", "sage", "--score", "distmult"),
    "rgcn": ("typed", "--model", "rgcn"),
    "rgcn, bases": ("typed", "--model", "rgcn", "--bases", 2),
    "rgcn, blocks": ("typed", "--model", "rgcn", "--blocks", 4),
    "rgcn, featureless": ("typed", "--model", "rgcn", "--rgcn-input", "featureless"),
    "rgcn, featureless, bases": ("typed", "--model", "rgcn", "--rgcn-input", "featureless",
                                 "--bases", 2),
}


def side_by_side(work, items):
    """What `work` gives of each item: what a run takes is mostly its start."""
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        return list(pool.map(work, items))


def losses(lines):
    return [line["loss"] for line in lines if "epoch" in line and "loss" in line]


def short(machine, *words, graph="cora", device=None, env=None, epochs=3):
    # Few steps an epoch: each adds its rounding to that of those before it.
    batch = 3000 if graph == "links" else 70
    return machine.train("--graph", getattr(machine, graph)(), "--epochs", epochs, "--batch-size", batch,
                         "--threads", 1, "--seed", 3, *words, device=device, env=env)


def check_it_is_found(machine):
    config = short(machine, epochs=1)[0]
    expect('"cuda:0"' in json.dumps(config), f"the log says {config}")
    auto = short(machine, epochs=1, device="auto")[0]
    expect('"cuda:0"' in json.dumps(auto), f"auto gives {auto}")


def check_losses_are_those_of_the_cpu(machine):
    def both(case):
        graph, *words = case
        return (losses(short(machine, *words, graph=graph, device="cpu")),
                losses(short(machine, *words, graph=graph)))

    for name, (here, there) in zip(CASES, side_by_side(both, CASES.values())):
        apart = [abs(a - b) / abs(b) for a, b in zip(there, here)]
        print(f"  {name}: relative differences {', '.join(f'{one:.1e}' for one in apart)}", flush=True)
        expect(apart[0] < 1e-5, f"{name}: the first epoch's losses are {there[0]} and {here[0]}")
        expect(max(apart) < 1e-3, f"{name}: losses are {there} and {here}")


def check_two_runs_have_the_same_bits(machine):
    ways = {"first": ((), {}), "again": ((), {}), "blocking": ((), {"CUDA_LAUNCH_BLOCKING": "1"}),
            "prepared when it begins": (("--prefetch", 0, "--sample-threads", 1), {})}

    def by(item):
        name, way = item
        graph, *words = CASES[name]
        more, env = ways[way]
        return losses(short(machine, *words, *more, graph=graph, env=env))

    items = [(name, way) for name in CASES for way in ways]
    found = dict(zip(items, side_by_side(by, items)))
    for name, way in items:
        first = found[name, "first"]
        expect(first, f"{name}: the log has no loss")
        expect(first == found[name, way], f"{name}, {way}: {first} and {found[name, way]}")


def check_rows_that_stay_there_change_no_bit(machine):
    """With none of them, some, and all, of one node type and of several."""
    cases = ("sage", "gat", "links", "rgcn")

    def by(item):
        name, size = item
        graph, *words = CASES[name]
        lines = short(machine, *words, "--device-cache-memory", size, graph=graph)
        return losses(lines), sum(line.get("device_cache_hits", 0) for line in lines)

    items = [(name, size) for name in cases for size in ("0", "256KiB", "1GiB")]
    found = dict(zip(items, side_by_side(by, items)))
    for name, size in items:
        bits, hits = found[name, size]
        expect(bits == found[name, "0"][0], f"{name}, {size}: {bits} and {found[name, '0'][0]}")
        expect((hits == 0) == (size == "0"), f"{name}, {size}: {hits} rows were there")


def check_compaction_on_the_device_changes_no_bit(machine):
    if not (machine.options.bin / "halograph-server").exists():
        print("  not tried: a build without gRPC has no halograph-server", flush=True)
        return
    address = "127.0.0.1:29620"
    server = machine.start("halograph-server", "--graph", machine.cora(), "--part", "all", "--listen",
                           address, stderr=subprocess.DEVNULL)

    def by(compact, *words):
        return losses(machine.train("--servers", address, "--compact", compact, "--epochs", 3,
                                    "--batch-size", 70, "--threads", 1, "--seed", 3, *words))

    try:
        for model in ("sage", "gcn"):
            ways = [by("host", "--model", model), by("device", "--model", model),
                    by("device", "--model", model, "--prefetch", 0)]
            expect(ways[0] and all(way == ways[0] for way in ways), f"{model}: losses are {ways}")
    finally:
        server.terminate()
        server.communicate(timeout=60)


def check_two_ranks_share_a_device(machine):
    def ranks(device):
        port = 29600 + (device != "cpu")
        words = ["--quiet", "--graph", machine.cora(), "--epochs", 3, "--batch-size", 70, "--threads", 1,
                 "--seed", 3, "--world-size", 2, "--master-addr", "127.0.0.1", "--master-port", port,
                 "--device", device]
        log = machine.log()
        other = machine.start("halograph-train", *words, "--rank", 1, stderr=subprocess.DEVNULL)
        try:
            machine.run("halograph-train", *words, "--rank", 0, "--log", log)
            other.wait(timeout=30)
        finally:
            other.kill()
        return losses([json.loads(line) for line in log.read_text().splitlines()])

    here, there, again = ranks("cpu"), ranks(machine.options.device), ranks(machine.options.device)
    expect(all(abs(a - b) < 1e-5 * b for a, b in zip(there, here)), f"losses are {there} and {here}")
    expect(there == again, f"two runs differ: {there} and {again}")
    in_one = losses(short(machine, "--logical-ranks", 2))
    expect(there == in_one, f"ranks of one process differ: {there} and {in_one}")


def check_averaged_models(machine):
    for words in (("--average-every", 1), ("--average-every", "1steps")):
        here, there, again = side_by_side(
            lambda device, words=words: losses(short(machine, *words, graph="halves", device=device)),
            ("cpu", machine.options.device, machine.options.device))
        expect(abs(there[0] - here[0]) < 1e-5 * here[0], f"{words}: losses are {there} and {here}")
        expect(there == again, f"{words}: two runs differ: {there} and {again}")


def check_exact_inference(machine):
    def logits_by(name, device, number):
        graph, *_ = CASES[name]
        path = machine.work / f"exact-{name.replace(', ', '-')}-{number}.npy"
        machine.run("halograph-train", "infer", "--graph", getattr(machine, graph)(), "--checkpoint",
                    folder_of(name), "--exact", "--predict-what", "logits", "--device", device,
                    "--predict", path)
        return npy.load(path).values

    def folder_of(name):
        return machine.work / f"exact-{name.replace(', ', '-')}"

    def by(name):
        graph, *words = CASES[name]
        shutil.rmtree(folder_of(name), ignore_errors=True)
        short(machine, *words, "--checkpoint", folder_of(name), graph=graph, device="cpu", epochs=1)
        return [logits_by(name, device, number)
                for number, device in enumerate(("cpu", machine.options.device, machine.options.device))]

    names = [name for name in CASES if not name.startswith("links")]
    for name, (here, there, again) in zip(names, side_by_side(by, names)):
        apart = max(abs(a - b) / max(1, abs(b)) for a, b in zip(there, here))
        print(f"  {name}: {apart:.1e} apart at most", flush=True)
        expect(len(there) == len(here) and apart < 1e-5, f"{name}: {apart}")
        expect(list(there) == list(again), f"{name}: two runs differ")
    machine.run("halograph-train", "evaluate", "--graph", machine.cora(), "--checkpoint",
                folder_of("sage"), "--exact", "--device", machine.options.device)


def check_bf16(machine):
    here = losses(short(machine, "--precision", "bf16", device="cpu"))
    there = losses(short(machine, "--precision", "bf16"))
    expect(abs(here[-1] - there[-1]) < 0.02 * here[-1], f"losses are {there} and {here}")


def check_learnt_inputs(machine):
    words = ("--embed", "node:16")
    here = losses(short(machine, *words, device="cpu"))
    there = losses(short(machine, *words))
    expect(abs(here[0] - there[0]) < 1e-4 * here[0], f"losses are {there} and {here}")
    expect(there == losses(short(machine, *words)), "two runs differ")


def check_checkpoints_go_both_ways(machine):
    straight = losses(short(machine, device="cpu", epochs=4))

    def both(devices):
        first, second = devices
        folder = machine.work / f"checkpoints-{first}-{second}"
        subprocess.run(["rm", "-rf", folder], check=True)
        short(machine, "--checkpoint", folder, device=first, epochs=2)
        after = losses(short(machine, "--checkpoint", folder, "--resume", device=second, epochs=4))
        apart = abs(after[-1] - straight[-1]) / straight[-1]
        expect(apart < 1e-3, f"{first} then {second}: {after} against {straight}")
        machine.run("halograph-train", "evaluate", "--graph", machine.cora(), "--checkpoint", folder,
                    "--device", second)
        machine.run("halograph-train", "infer", "--graph", machine.cora(), "--checkpoint", folder,
                    "--device", second, "--predict", machine.work / f"{first}-{second}.npy")

    side_by_side(both, (("cuda", "cpu"), ("cpu", "cuda"), ("cuda", "cuda")))


def check_a_signal_ends_it(machine):
    process = machine.start("halograph-train", "--quiet", "--graph", machine.large(), "--device",
                            machine.options.device, "--epochs", 1000, "--eval-every", 0)
    time.sleep(12)  # it trains by then; the check holds in any case
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    expect("stopped by signal" in err, f"ended with {process.returncode}: {err[-800:]}")


def device_memory():
    asked = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
                           capture_output=True, text=True, check=True)
    return int(asked.stdout.split()[0])


def check_memory_stays_level(machine):
    log = machine.log()
    process = machine.start("halograph-train", "--quiet", "--graph", machine.large(), "--device",
                            machine.options.device, "--epochs", 1000, "--eval-every", 0,
                            "--batch-size", 200, "--log", log, stderr=subprocess.DEVNULL)

    def memory_after(epochs):
        ends = time.monotonic() + SECONDS_A_RUN
        while not log.exists() or log.read_text().count('"epoch"') < epochs:
            expect(time.monotonic() < ends and process.poll() is None, "it does not train")
            time.sleep(0.2)
        return device_memory()

    try:
        early, late = memory_after(2), memory_after(8)
    finally:
        process.terminate()
        process.communicate(timeout=60)
    print(f"  {early} MiB after 2 epochs, {late} MiB after 8", flush=True)
    expect(late <= early * 1.1 + 64, f"{early} MiB, then {late} MiB")


def check_messages(machine):
    err = machine.run("halograph-train", "--graph", machine.cora(), "--device", "cuda:99", code=1)
    expect("--device cuda:99" in err and "this process may use" in err, err)
    err = machine.run("halograph-train", "--graph", machine.cora(), "--device", "cuda", code=1,
                      env={"CUDA_VISIBLE_DEVICES": ""})
    expect("--device cuda" in err and "finds no CUDA device" in err, err)
    err = machine.run("halograph-train", "--graph", machine.cora(), "--device", "cuda",
                      "--device-cache-memory", 100, code=1)
    expect("--device-cache-memory 100" in err and "no room for a row" in err, err)
    err = machine.run("halograph-train", "--graph", machine.large(), "--device", "cuda", "--model",
                      "gat", "--hidden", 32768, "--heads", 8, "--layers", 2, "--fanouts", "50,50",
                      "--batch-size", 20000, "--max-steps", 2, code=1)
    expect("out of memory" in err and "--batch-size" in err and "--fanouts" in err, err)
    print("  " + err.strip().splitlines()[-1][:400], flush=True)


TIMED = {
    "SAGE": ("--model", "sage"),
    "GCN": ("--model", "gcn"),
    "GAT, 8 heads": ("--model", "gat", "--heads", 8),
    "R-GCN": ("--model", "rgcn"),
}


# Of the 160 MB that the rows of the timed graph come to: a quarter, and all.
KEPT = ("40MB", "1GiB")


def time_of(machine, words, device, extra):
    """Milliseconds a step, of three epochs after one that is not counted, and the log's last epoch."""
    lines = machine.train("--graph", machine.large(), "--epochs", 4, "--eval-every", 0, "--hidden", 256,
                          "--layers", 3, "--fanouts", "15,10,5", "--batch-size", 1024,
                          "--sample-threads", max(2, (os.cpu_count() or 2) // 2), *words, *extra,
                          device=device)
    epochs = [line for line in lines if "epoch" in line and "steps" in line][1:]
    return statistics.median(1e3 * one["seconds"] / one["steps"] for one in epochs), epochs[-1]


def measure(machine):
    rows = []
    for name, words in TIMED.items():
        for device, extra in (("cpu", ()), ("cuda", ()), ("cuda", ("--precision", "bf16")),
                              ("cuda", ("--prefetch", 0)),
                              *(("cuda", ("--device-cache-memory", size)) for size in KEPT)):
            ms, epoch = time_of(machine, words, device, extra)
            stages = epoch["stages"]
            busy = " ".join(f"{stage} {1e3 * times['busy'] / epoch['steps']:.1f}"
                            for stage, times in stages.items() if times["busy"] > 0)
            wait = 1e3 * (epoch["sample_wait_s"] + epoch["feature_wait_s"]) / epoch["steps"]
            saved = epoch.get("device_cache_saved_bytes", 0) / epoch["steps"] / 1e6
            rows.append(f"| {name} | {device} {' '.join(map(str, extra))} | {ms:.1f} | {wait:.1f} "
                        f"| {saved:.1f} | {busy} |")
            print(rows[-1], flush=True)
    return rows


def machine_name():
    gpu = "no nvidia-smi"
    if shutil.which("nvidia-smi"):
        gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                             capture_output=True, text=True, check=False).stdout.strip()
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return f"{gpu}; {os.cpu_count()} processors, {cpu.group(1) if cpu else platform.processor()}"


def main():
    options = parse()
    options.work.mkdir(parents=True, exist_ok=True)
    machine = Machine(options)
    report = [machine_name(), ""]
    failed = 0
    for name, check in list(globals().items()):
        if not name.startswith("check_") or not any(word in name for word in options.only):
            continue
        start = time.monotonic()
        try:
            check(machine)
            line = f"ok {name[6:].replace('_', ' ')}"
        except Exception as why:  # the others, and the report, are worth having all the same
            failed += 1
            line = f"FAILED {name[6:].replace('_', ' ')}: {why}"
        line += f" ({time.monotonic() - start:.0f} s)"
        report.append(line)
        print(line, flush=True)
    if any(word in "measure" for word in options.only):
        try:
            report += ["", "| model | on | ms a step | waits, ms | not copied, MB a step "
                       "| stages busy, ms a step |",
                       "| --- | --- | --- | --- | --- | --- |", *measure(machine)]
        except Exception as why:
            failed += 1
            report.append(f"FAILED measure: {why}")
            print(report[-1], flush=True)
    (options.work / "report.md").write_text("\n".join(report) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
