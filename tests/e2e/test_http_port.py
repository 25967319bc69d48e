#!/usr/bin/env python3
"""The HTTP port of a server: what probes, scrapers and people are shown."""
import json
import signal
import urllib.error
import urllib.request

from harness import datasets, programs
from harness.cora_in_two import CoraInTwoTest


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


if __name__ == "__main__":
    programs.main()
