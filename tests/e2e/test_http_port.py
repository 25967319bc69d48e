#!/usr/bin/env python3
"""The HTTP port of servers and trainers: what probes, scrapers and people are shown."""
import json
import os
import re
import signal
import socket
import urllib.error
import urllib.request

from harness import datasets, metrics_page, programs
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

    def read_in_the_background(self, port):
        """Figures that a thread of the server reads come with a later scrape."""
        def values():
            lines = dict(line.rsplit(" ", 1) for line in get(port, "/metrics")[1].splitlines())
            names = [f'halograph_{name}{{part="{part}"}}' for part in "01" for name in (
                "partition_resident_bytes", "state_disk_free_bytes", "state_disk_size_bytes",
                "partition_mapped_bytes")]
            return [float(lines[name]) for name in names] if all(n in lines for n in names) else None
        for resident, free, size, mapped in zip(*[iter(programs.wait_until(values, "all figures"))] * 4):
            self.assertLessEqual(resident, mapped)
            self.assertGreater(resident, 0, "its files were just written or read")
            self.assertGreater(size, free)
        room = os.statvfs(self.box.folder)
        self.assertEqual(size, room.f_blocks * room.f_frsize)

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
            self.assertIn(f'halograph_partition_bytes{{part="{part}"}} ', text)
            self.assertIn(f'halograph_partition_mapped_bytes{{part="{part}"}} ', text)
        for sampler in ("neighbor", "labor", "columns"):
            for what in ("destinations", "edges", "scanned_edges"):
                self.assertIn(f'halograph_sampling_{what}_total'
                              f'{{relation="node:edge:node",sampler="{sampler}"}} 0', lines)
        self.assertIn('halograph_pull_rows_total{tensor="node/feat"} 0', lines)
        self.assertIn('halograph_pull_bytes_total{tensor="node/feat"} 0', lines)
        self.assertIn("halograph_server_unread_replies_total 0", lines)
        for pool in ("work", "state", "slow"):
            self.assertIn(f'halograph_server_busy_threads{{pool="{pool}"}} 0', lines)
        self.read_in_the_background(port)
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

    def start_cluster(self, graphs_and_parts):
        """Servers that have the list of all as their --peers: the servers, their addresses, their ports."""
        addresses = [f"127.0.0.1:{programs.free_port()}" for _ in graphs_and_parts]
        started = []
        for (graph, part), address in zip(graphs_and_parts, addresses):
            file = self.box.folder / f"http-{address}"
            server = self.box.start_server(graph, part, "--peers", ",".join(addresses), "--http-listen",
                                           "127.0.0.1:0", "--http-address-file", file, listen=address)
            started.append((server, file))
        for server, _ in started:
            programs.address(server)
        return [server for server, _ in started], addresses, [file.read_text().strip() for _, file in started]

    def cluster(self, port):
        code, text = get(port, "/status?cluster")
        self.assertEqual(code, 200, text)
        cluster = json.loads(text)
        self.assertEqual(cluster["why_alone"], "")
        return {one["address"]: one for one in cluster["servers"]}

    def test_each_of_two_servers_shows_both_and_who_is_gone(self):
        servers, addresses, ports = self.start_cluster([(self.graph, "0"), (self.graph, "1")])
        for own, port in zip(addresses, ports):
            found = programs.wait_until(
                lambda port=port: (lambda all_: all(one["stats"] for one in all_.values()) and all_)(
                    self.cluster(port)), "all are shown")
            self.assertEqual(list(found), [own] + [other for other in addresses if other != own])
            self.assertEqual([one["self"] for one in found.values()], [True, False])
            for part, address in enumerate(addresses):
                self.assertEqual(found[address]["error"], "")
                self.assertEqual(found[address]["stats"]["parts"], [part])
                self.assertEqual(found[address]["stats"]["pid"], servers[part].pid)
                self.assertTrue(found[address]["stats"]["metrics"])
            page = get(port, "/ui")[1]
            for address in addresses:
                self.assertIn(address, page)
            self.assertIn("No problem found.", page)
        servers[1].signal(signal.SIGKILL)
        servers[1].wait()
        gone = programs.wait_until(
            lambda: (lambda one: one["error"] and one)(self.cluster(ports[0])[addresses[1]]), "it is gone")
        self.assertIsNone(gone["stats"])
        self.assertIn("nobody answers there", gone["error"])
        self.assertIn("--peers", gone["error"])
        page = get(ports[0], "/ui")[1]
        self.assertIn(f"{addresses[1]} gives no figures: nobody answers there", page)
        self.assertIn("Nobody serves part 1", page)

    def test_a_server_of_another_graph_is_told(self):
        other = self.box.folder / "other"
        programs.must(self.box.run("halograph-partition", "run", "--input", datasets.cora(), "--output",
                                   other, "--parts", 2, "--seed", 2))
        _, addresses, ports = self.start_cluster([(self.graph, "0"), (other, "1")])
        stranger = programs.wait_until(
            lambda: (lambda one: one["stats"] and one)(self.cluster(ports[0])[addresses[1]]),
            "it is shown")
        self.assertIn("it serves another graph", stranger["error"])
        self.assertIn(stranger["stats"]["identity"], stranger["error"])
        page = get(ports[0], "/ui")[1]
        self.assertIn("another graph", page)
        self.assertIn("Nobody serves part 1", page)

    def test_a_list_of_peers_that_is_wrong_ends_the_start(self):
        for peers, wanted in (("127.0.0.1", "--peers"), ("a:1,a:1", "'a:1' is listed twice"),
                              ("a:0", "--peers")):
            result = self.box.run("halograph-server", "--graph", self.graph, "--part", "0", "--listen",
                                  "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--peers", peers)
            self.assertCode(2, result, wanted)
        result = self.box.run("halograph-server", "--graph", self.graph, "--part", "0", "--listen",
                              "127.0.0.1:0", "--peers", "a:1")
        self.assertCode(2, result, "--peers says nothing without --http-listen")
        result = self.box.run("halograph-server", "--graph", self.graph, "--part", "0", "--listen", "127.0.0.1:0",
                              "--http-listen", "127.0.0.1:0", "--peers", "a:1", "--policy", "policy.yaml")
        self.assertCode(2, result, "--peers with --policy", "--tls-dir")

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
            alone = self.box.run("halograph-train", *options(
                graph=self.graph, rank=0, world_size=2, master_addr="127.0.0.1",
                master_port=address.split(":")[1], **self.SMALL))
        self.assertCode(1, refused, "--http-listen", address)
        self.assertCode(1, alone, "--master-port " + address.split(":")[1])
        self.assertEqual(log.read_text(), "{}\n")


if __name__ == "__main__":
    programs.main()
