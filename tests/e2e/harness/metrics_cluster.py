"""Two servers and a trainer whose /metrics can be scraped: the programs, or an exporter that prints what
docs/metrics.md lists. Both kinds have `addresses(program)`, HOST:PORT of each HTTP port."""
import http.server
import itertools
import math
import threading
import time

from harness import datasets, programs
from harness.metrics_page import SERVER, TRAINER, listed_for
from harness.programs import must
from harness.training import ENDLESS, MEETING, options

BOUNDS = {"seconds": (0.001, 0.01, 0.1, 1, 10), "bytes": (0, 1024, 65536, 4194304)}
SERVICE = "halograph.v1."
LABELS = {
    "grpc_method": (SERVICE + "GraphService/Sample", SERVICE + "KVService/Pull", SERVICE + "KVService/Push"),
    "grpc_status": ("OK",),  # others are not there until a call ends with them
    "grpc_target": ("127.0.0.1:7000", "127.0.0.1:7001"),
    "reason": ("queue_full", "request_memory", "reply_memory", "draining", "waiting_full", "state"),
    "pool": ("work", "state", "slow"),
    "relation": ("node:edge:node",), "sampler": ("node-wise",), "tensor": ("node/feat",),
    "stage": ("schedule", "sample", "gather"), "state": ("busy", "starved", "blocked"),
    "source": ("local", "remote", "cache"), "rank": ("0",),
    "identity": ("0123abcd",), "graph": ("cora",), "version": ("1.2.3",), "serving": ("all",),
}
# Of a healthy cluster; other gauges are 1, other counters grow by 10 a second.
GAUGES = {"halograph_server_num_parts": 2, "halograph_server_draining": 0, "halograph_state_refuses_pushes": 0}
QUIET = ("halograph_server_refused_total", "halograph_server_unread_replies_total",
         "halograph_server_failovers_total", "halograph_client_retries_total", "halograph_client_failovers_total",
         "halograph_server_slow_calls_total")


def lines_of(metric, fixed, age):
    """Lines of a metric `age` seconds after its program started."""
    values = [(fixed.get(label) or LABELS[label]) for label in metric.labels]
    yield f"# HELP {metric.name} {metric.help}"
    yield f"# TYPE {metric.name} {metric.kind}"
    count = 0 if metric.name in QUIET else math.floor(10 * age)
    for chosen in itertools.product(*values):
        pairs = [f'{label}="{value}"' for label, value in zip(metric.labels, chosen)]

        def series(suffix, value, *more):
            labels = ",".join([*pairs, *more])
            return f"{metric.name}{suffix}{{{labels}}} {value}" if labels else f"{metric.name}{suffix} {value}"
        if metric.kind == "histogram":
            bounds = BOUNDS[metric.unit]
            for i, bound in enumerate((*bounds, "+Inf")):
                yield series("_bucket", count if i > 1 else count // 2, f'le="{bound}"')
            yield series("_sum", count * bounds[1])
            yield series("_count", count)
        elif metric.kind == "counter":
            yield series("", count)
        else:
            yield series("", GAUGES.get(metric.name, 100 if "limit" in metric.name else 1))


class Exporter:
    """One program that is not there: its /metrics on a port of loopback."""

    def __init__(self, name, **part):
        started = time.monotonic() - 60  # counters have counted
        metrics = listed_for(name)
        fixed = {"program": (name,), **part}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                age = time.monotonic() - started
                text = "".join(line + "\n" for metric in metrics for line in lines_of(metric, fixed, age))
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = "127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class ExporterCluster:
    def __init__(self, box):
        del box
        self.exporters = {
            SERVER: [Exporter(SERVER, part=(str(part),)) for part in range(2)],
            TRAINER: [Exporter(TRAINER)]}

    def addresses(self, program):
        return [exporter.address for exporter in self.exporters[program]]

    def close(self):
        for exporter in itertools.chain(*self.exporters.values()):
            exporter.close()


class ProgramCluster:
    """Cora in two parts, each with state, and a trainer that pulls features and learns rows for ever."""

    def __init__(self, box):
        self.box = box
        graph = box.folder / "cora"
        must(box.run("halograph-partition", "run", "--input", datasets.cora(), "--output", graph,
                     "--parts", 2, "--seed", 1))
        self.files = {SERVER: [], TRAINER: []}
        servers = [box.start_server(graph, part, "--state", box.folder / "state", *self.http(SERVER))
                   for part in range(2)]
        addresses = ",".join(programs.address(server) for server in servers)
        trainer = box.start(TRAINER, *options(
            servers=addresses, embed="node:16", hidden=16, fanouts="5,5", batch_size=50, seed=3, threads=1,
            epochs=ENDLESS, log=box.folder / "log.jsonl", **MEETING), *self.http(TRAINER))
        self.processes = {SERVER: servers, TRAINER: [trainer]}

    def http(self, program):
        """Options of the next process of a program."""
        path = self.box.folder / f"{program}-{len(self.files[program])}.http"
        self.files[program].append(path)
        return ["--http-listen", "127.0.0.1:0", "--http-address-file", path]

    def addresses(self, program):
        for process, path in zip(self.processes[program], self.files[program]):
            def written(process=process, path=path):
                if not process.running():
                    raise RuntimeError(f"{program} ended:\n{process.text}")
                return path.exists()
            programs.wait_until(written, f"{path}")
        return [path.read_text().strip() for path in self.files[program]]

    def close(self):
        """The box ends its processes."""


CLUSTERS = {"exporter": ExporterCluster, "programs": ProgramCluster}
