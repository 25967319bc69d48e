#!/usr/bin/env python3
"""The HTTP port of servers and trainers: what probes, scrapers and people are shown."""
import json
import re
import signal
import socket
import urllib.error
import urllib.request

from harness import metrics_page, programs
from harness.cora_in_two import CoraInTwoTest
from harness.training import ENDLESS, MEETING, options


def get(address, path):
    """The status and the text."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class HttpPortTest(CoraInTwoTest):
    def start_with_port(self, *args):
        file = self.box.folder / "http"
        server = self.box.start_server(self.graph, "all", "--http-listen", "127.0.0.1:0",
                                   "--http-address-file", file, *args)
        address = programs.address(server)
        return server, address, file.read_text().strip()

    def test_a_server_shows_what_it_counts(self):
        server, address, port = self.start_with_port("--state", self.box.folder / "state")
        programs.must(self.box.run("halograph-ctl", "status", "--servers", address))
        code, text = get(port, "/metrics")
        self.assertEqual(code, 200)
        lines = text.splitlines()
        self.assertIn('grpc_server_call_started_total'
                      '{grpc_method="halograph.v1.AdminService/Stats"} 1', lines)
        self.assertIn('grpc_server_call_started_total'
                      '{grpc_method="halograph.v1.KVService/Pull"} 0', lines)
        self.assertIn("halograph_server_ready 1", lines)
        for part in "01":
            self.assertIn(f'halograph_partition_served{{part="{part}"}} 1', lines)
            self.assertIn(f'halograph_state_lsn{{part="{part}"}} 0', lines)
            self.assertIn(f'halograph_state_sync_seconds_count{{part="{part}"}} ', text)
        self.assertEqual(get(port, "/livez"), (200, "ok\n"))
        self.assertEqual(get(port, "/readyz"), (200, "ok\n"))

        code, text = get(port, "/status")
        status = json.loads(text)
        self.assertEqual((code, status["program"], status["phase"], status["address"]),
                         (200, "halograph-server", "serving", address))
        stats = {method["method"]: int(method["calls"]) for method in status["methods"]}
        self.assertEqual(stats["AdminService/Stats"], 1, "pages are no calls")
        self.assertEqual([int(part["part"]) for part in status["state"]], [0, 1])
        names = {metric["name"] for metric in status["metrics"]}
        self.assertIn("grpc_server_call_duration_seconds", names)

        _, text = get(port, "/status?cluster")
        cluster = json.loads(text)
        self.assertEqual([(one["address"], one["self"]) for one in cluster["servers"]],
                         [(address, True)])
        self.assertIn("this server alone", cluster["why_alone"])
        code, page = get(port, "/ui")
        self.assertEqual(code, 200)
        self.assertIn(address, page)
        self.assertEqual(get(port, "/ui/app.js")[0], 200)
        with urllib.request.urlopen(f"http://{port}/ui", timeout=60) as reply:
            policy = reply.headers["Content-Security-Policy"]
        for word in ("default-src 'none'", "img-src 'self'", "base-uri 'none'", "form-action 'none'"):
            self.assertIn(word, policy)
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(60), 0)

    def test_pools_that_a_server_does_not_have_are_not_shown(self):
        _, _, port = self.start_with_port()
        pools = [line for line in get(port, "/metrics")[1].splitlines()
                 if line.startswith("halograph_server_threads{")]
        self.assertEqual([line.split('"')[1] for line in pools], ["work", "slow"])

    def test_a_server_that_is_about_to_drain_is_not_ready(self):
        server, _, port = self.start_with_port("--drain-delay", "1h")
        server.signal(signal.SIGTERM)
        programs.wait_until(lambda: get(port, "/readyz")[0] == 503, "it is not ready")
        self.assertIn("drain", get(port, "/readyz")[1])
        self.assertEqual(get(port, "/livez"), (200, "ok\n"))
        server.end()


class TrainerPortTest(CoraInTwoTest):
    SMALL = dict(hidden=16, fanouts="5,3", batch_size=50, seed=3, threads=1)

    def ranks(self, **given):
        """Two ranks; what they have in common. Each writes its address to run.rank<r>.addr."""
        _, addresses = self.box.servers(self.graph, [0, 1])
        return dict(world_size=2, master_addr="127.0.0.1", master_port=programs.free_port(),
                    servers=",".join(addresses), epochs=ENDLESS, http_listen="127.0.0.1:0",
                    http_address_file=self.box.folder / "run.addr", **self.SMALL, **MEETING, **given)

    def port_of(self, process, rank):
        path = self.box.folder / f"run.rank{rank}.addr"

        def written():
            self.assertTrue(process.running(), process.text)
            return path.exists()
        programs.wait_until(written, f"{path}")
        return path.read_text().strip()

    def test_a_run_shows_what_its_ranks_count(self):
        given = self.ranks()
        first = self.box.start("halograph-train", *options(rank=0, **given))
        port = self.port_of(first, 0)
        code, text = get(port, "/readyz")
        self.assertEqual(code, 503, "it waits for the other rank")
        self.assertIn("prepares", text)
        self.assertEqual(json.loads(get(port, "/status")[1])["phase"], "starting")
        second = self.box.start("halograph-train", *options(rank=1, **given))

        def taken(address):
            return json.loads(get(address, "/status")[1])["step"]
        ports = [port, self.port_of(second, 1)]
        programs.wait_until(lambda: min(map(taken, ports)) > 20, "both took steps")
        self.assertEqual(get(port, "/readyz"), (200, "ok\n"))
        for rank, address in enumerate(ports):
            status = json.loads(get(address, "/status")[1])
            self.assertEqual((status["program"], status["rank"], status["world_size"], status["servers"]),
                             ("halograph-train", rank, 2, given["servers"].split(",")))
            self.assertIn(status["phase"], ("training", "evaluating"))
            page = metrics_page.printed(get(address, "/metrics")[1])
            wanted = {metric.name: (metric.kind, set(metric.labels))
                      for metric in metrics_page.listed_for("halograph-train")}
            self.assertEqual({name: (kind, labels or set()) for name, (kind, _, labels) in page.items()
                              if name.startswith("halograph_trainer_")},
                             {name: rest for name, rest in wanted.items()
                              if name.startswith("halograph_trainer_")})
        text = get(port, "/metrics")[1]
        for stage in ("schedule", "sample", "plan", "gather", "move", "train"):
            self.assertRegex(text, rf'stage_seconds_total{{rank="0",stage="{stage}",state="busy"}} [\d.]')
        self.assertRegex(text, r'pull_rows_total{rank="0",source="remote",tensor="node/feat"} [1-9]')
        self.assertRegex(text, r'pull_rows_total{rank="0",source="cache",tensor="node/feat"} [1-9]')
        page = get(port, "/ui")[1]
        self.assertIn("sample", page)
        for rank in (first, second):
            rank.signal(signal.SIGTERM)
        for rank in (first, second):
            rank.wait()
        self.assertEqual([], list(self.box.folder.glob("run.rank*.addr")))

    def test_ranks_of_one_process_share_its_port(self):
        file = self.box.folder / "one.addr"
        run = self.box.start("halograph-train", *options(
            graph=self.graph, logical_ranks=2, epochs=ENDLESS, http_listen="127.0.0.1:0",
            http_address_file=file, **self.SMALL))
        programs.wait_until(file.exists, f"{file}")
        address = file.read_text().strip()
        programs.wait_until(lambda: re.search(r'steps_total{rank="1"} [1-9]', get(address, "/metrics")[1]),
                            "rank 1 took a step")
        status = json.loads(get(address, "/status")[1])
        self.assertEqual((status["rank"], status["ranks_here"], status["world_size"]), (0, 2, 2))
        run.signal(signal.SIGTERM)
        run.wait()

    def test_a_port_that_is_taken_costs_nothing(self):
        log = self.box.folder / "kept.jsonl"
        log.write_text("{}\n")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            refused = self.box.run("halograph-train", *options(
                graph=self.graph, log=log, http_listen=address, **self.SMALL))
        self.assertCode(1, refused, "--http-listen", address)
        self.assertEqual(log.read_text(), "{}\n")


if __name__ == "__main__":
    programs.main()
