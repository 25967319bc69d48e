#!/usr/bin/env python3
"""A server whose connections are many, more than it has descriptors, or may have; or are silent."""
import concurrent.futures
import pathlib
import resource
import socket
import tempfile
import time
import urllib.request

from harness import programs, raw_http2
from harness.cora_in_two import CoraInTwoTest

HELD = 1100


class ManyConnectionsTest(CoraInTwoTest):
    AT_ONCE = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 8192), most))

    def server(self, limits, *options):
        """A server that begins with these limits of descriptors (as ulimit has them), and its address."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.box.folder))
        server = self.box.start(
            "/bin/sh", "-c", f'{limits}; exec "$@"', "sh", programs.binary("halograph-server"), "--graph", self.graph,
            "--part", "all", "--listen", "127.0.0.1:0", "--address-file", folder / "address",
            "--http-listen", "127.0.0.1:0", "--http-address-file", folder / "http", *options)
        server.address_file, server.http_file = folder / "address", folder / "http"
        return server, programs.address(server)

    def metric(self, server, name):
        with urllib.request.urlopen(f"http://{server.http_file.read_text().strip()}/metrics",
                                    timeout=programs.PATIENCE) as reply:
            lines = [line.rsplit(" ", 1) for line in reply.read().decode().splitlines() if line[0] != "#"]
        return sum(float(value) for series, value in lines if series.partition("{")[0] == name)

    def hold(self, address, count=HELD):
        """Connections that say nothing."""
        host, port = address.rsplit(":", 1)
        held = []
        self.addCleanup(lambda: [one.close() for one in held])
        for _ in range(count):
            held.append(socket.create_connection((host, int(port)), programs.PATIENCE))
        return held

    def answers(self, address):
        """Whether a new connection's call is answered."""
        try:
            connection = raw_http2.Connection(address)
            try:
                return connection.call("GraphService/Describe", b"")
            finally:
                connection.close()
        except OSError:
            return None

    def test_limit_of_descriptors_is_raised(self):
        server, address = self.server("ulimit -Sn 1024")
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.assertEqual(most, self.metric(server, "process_max_fds"))
        self.hold(address)
        self.assertTrue(self.answers(address))

    def test_server_with_few_descriptors_refuses_and_serves_again(self):
        server, address = self.server("ulimit -n 1024")
        self.assertEqual(768, self.metric(server, "halograph_server_connections_limit"))
        held = self.hold(address)
        programs.wait_until(lambda: self.metric(server, "halograph_server_connections_refused_total") > 0,
                            "a refused connection")
        programs.wait_until(lambda: "connections refused" in server.text, "a line about it")
        for one in held:
            one.close()
        programs.wait_until(lambda: self.answers(address), "an answer")
        self.assertEqual(0, self.metric(server, "halograph_server_accept_pauses_total"))

    def test_server_without_descriptors_serves_again(self):
        server, address = self.server("ulimit -n 300", "--connections", 4096)
        held = self.hold(address, 600)  # the kernel takes those that the server does not
        programs.wait_until(lambda: "no descriptors are left" in server.text, "a line about it")
        for one in held:
            one.close()
        programs.wait_until(lambda: self.answers(address), "an answer")
        self.assertGreater(self.metric(server, "halograph_server_accept_pauses_total"), 0)

    def test_identity_of_a_proxy_is_read_from_trusted_ones_alone(self):
        def call(*options):
            server, address = self.server("true", "--log-level", "debug", *options)
            connection = raw_http2.Connection(address)
            fields = raw_http2.call_fields("GraphService/Describe", **{"x-halograph-identity": "CN=ada"})
            connection.socket.sendall(raw_http2.whole_call(1, fields))
            programs.wait_until(lambda: "GraphService/Describe" in server.text, "the line of the call")
            connection.close()
            return server
        server = call()
        self.assertNotIn("CN=ada", server.text)
        self.assertEqual(1, self.metric(server, "halograph_server_ignored_identities_total"))
        server = call("--trusted-proxies", "10.0.0.0/8,127.0.0.1")
        self.assertIn("for CN=ada", server.text)
        self.assertEqual(0, self.metric(server, "halograph_server_ignored_identities_total"))
        # With a policy it is the caller's name; the proxy's own address gives nobody a right.
        policy = self.box.folder / "policy.yaml"
        for names, said in (("CN=ada", "as guests for CN=ada: OK"), ("CN=eve", "for CN=ada: UNAUTHENTICATED")):
            policy.write_text(f'principals:\n  guests:\n    certificates: ["{names}"]\n    may: {{}}\n')
            server = call("--trusted-proxies", "127.0.0.1", "--policy", policy)
            self.assertIn(said, server.text)


def next_frame(connection, *kinds):
    """The first of these kinds that the server sends from now on: kind, flags and payload."""
    end = time.monotonic() + programs.PATIENCE
    while time.monotonic() < end:
        kind, flags, _, payload = connection.read_frame()
        if kind in kinds:
            return kind, flags, payload
    raise TimeoutError(f"no frame of the kinds {kinds} within {programs.PATIENCE:.0f} s")


class SilentConnectionBase(CoraInTwoTest):
    def connect(self, *options):
        """A connection on which nothing is called, to a server of its own."""
        _, (address,) = self.box.servers(self.graph, ["all"], *options)
        return self.connect_to(address)

    def connect_to(self, address):
        connection = raw_http2.Connection(address)
        self.addCleanup(connection.close)
        return connection


class SilentConnectionTest(SilentConnectionBase):
    def test_client_is_asked_after_keepalive_whether_it_is_there(self):
        # Sooner than by default, for then the connection has been idle for too long before.
        connection = self.connect("--keepalive", "1s", "--connection-idle", "15s")
        kind, flags, _ = next_frame(connection, raw_http2.PING, raw_http2.GOAWAY)
        self.assertEqual((raw_http2.PING, 0), (kind, flags))

    def test_keepalive_out_of_range_is_refused(self):
        for wrong, found in (("999ms", "is 999ms"), ("61m", "is 3660s"), ("0s", "is 0s"), ("-1s", "is '-1s'"),
                             ("soon", "is 'soon'")):
            result = self.box.run("halograph-server", "--graph", self.graph, "--part", "all",
                                  f"--keepalive={wrong}")
            self.assertCode(2, result, f"--keepalive {found}, expected", "1s to 3600s")


class SilentConnectionLongTest(SilentConnectionBase):
    def test_who_does_not_answer_is_closed_and_who_does_is_not(self):
        dead = self.connect("--keepalive", "1s")
        host, port = dead.socket.getpeername()
        alive = self.connect_to(f"{host}:{port}")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            closed = pool.submit(next_frame, dead)
            while not closed.done():
                kind, flags, payload = next_frame(alive, raw_http2.PING, raw_http2.GOAWAY)
                self.assertEqual((raw_http2.PING, 0), (kind, flags))
                alive.socket.sendall(raw_http2.frame(raw_http2.PING, raw_http2.ACK, 0, payload))
            self.assertIsInstance(closed.exception(), ConnectionError)
        self.assertTrue(alive.call("GraphService/Describe", b""))


if __name__ == "__main__":
    programs.main()
