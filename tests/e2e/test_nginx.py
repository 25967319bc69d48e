#!/usr/bin/env python3
"""deploy/nginx: an nginx in front of a server, for clients that are not trusted."""
import pathlib
import re
import signal
import socket
import ssl
import subprocess

from harness import programs, raw_http2, training
from harness.cora_in_two import CoraInTwoTest
from harness.programs import must
from harness.tools import tool

CONFIG = pathlib.Path(__file__).parents[2] / "deploy/nginx/halograph.conf"
CONTINUATION = 9
MOST_MEMORY = 200 << 20
SEND_SECONDS = 0.1


def most_resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as handle:
        return 1024 * next(int(line.split()[1]) for line in handle if line.startswith("VmHWM"))


class NginxTest(CoraInTwoTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.nginx = tool("nginx", "/usr/sbin/nginx", package="nginx-light")
        cls.certificates = cls.shared.folder / "certificates"
        cls.certificates.mkdir()
        openssl = tool("openssl", package="openssl")

        def run(*words):
            subprocess.run([openssl, *words], cwd=cls.certificates, check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        for ca in ("ca", "stranger"):
            run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                "-subj", f"/CN={ca}", "-keyout", f"{ca}.key", "-out", f"{ca}.crt")
        for name, ca in (("tls", "ca"), ("ada", "ca"), ("eve", "stranger")):
            run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-keyout", f"{name}.key", "-out", f"{name}.csr")
            run("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.crt", "-CAkey", f"{ca}.key", "-CAcreateserial",
                "-days", "30", "-out", f"{name}.crt")

    def behind(self, with_tls, *options):
        """A server, and the address of an nginx in front of it."""
        (server,), (address,) = self.box.servers(self.graph, ["all"], "--trusted-proxies", "127.0.0.1",
                                                 "--log-level", "debug", *options)
        port = programs.free_port()
        text = CONFIG.read_text(encoding="utf-8")
        changes = [("server 127.0.0.1:7000;", f"server {address};"),
                   ("listen 7443 ssl http2;", f"listen 127.0.0.1:{port} {'ssl ' if with_tls else ''}http2;"),
                   ("/etc/halograph/", f"{self.certificates}/")]
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        if not with_tls:
            text = re.sub(r"(?m)^  ssl_.*\n", "", text)
        folder = self.box.folder / "nginx"
        folder.mkdir()
        (folder / "halograph.conf").write_text(text)
        temporary = "".join(f"  {kind}_temp_path {folder}/{kind};\n"
                            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "nginx.conf").write_text(
            f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log stderr;\n"
            f"events {{ worker_connections 1024; }}\nhttp {{\n{temporary}  include {folder}/halograph.conf;\n}}\n")
        words = ("-p", folder, "-c", folder / "nginx.conf", "-e", "stderr")
        must(self.box.run(self.nginx, *words, "-t"))
        proxy = self.box.start(self.nginx, *words)

        def listens():
            self.assertTrue(proxy.running(), proxy.text)
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0
        programs.wait_until(listens, "nginx")
        return server, address, proxy, f"127.0.0.1:{port}"

    def by_tls(self, address, name, source="127.0.0.1"):
        """A connection of a client with this certificate."""
        context = ssl.create_default_context(cafile=str(self.certificates / "ca.crt"))
        context.check_hostname = False
        context.load_cert_chain(self.certificates / f"{name}.crt", self.certificates / f"{name}.key")
        context.set_alpn_protocols(["h2"])
        connection = raw_http2.Connection(address, source=source, secure=context.wrap_socket)
        self.addCleanup(connection.close)
        return connection

    def test_training_has_the_same_losses(self):
        _, direct, _, address = self.behind(False)
        runs = [training.train(self.box, servers=servers, epochs=3, seed=1, threads=1)
                for servers in (direct, address)]
        losses = [[epoch["loss"] for epoch in epochs] for _, epochs, _ in runs]
        self.assertEqual(losses[0], losses[1])
        status = self.box.run("halograph-ctl", "status", "--servers", address)
        self.assertCode(0, status)

    def test_certificate_says_who_calls(self):
        server, _, _, address = self.behind(True)
        connection = self.by_tls(address, "ada")
        self.assertTrue(connection.call("GraphService/Describe", b""))
        programs.wait_until(lambda: "for CN=ada" in server.text, "the name of the client")

    def test_forged_identity_is_replaced(self):
        server, _, _, address = self.behind(True)
        connection = self.by_tls(address, "ada")
        headers = [(":method", "POST"), (":scheme", "https"), (":path", "/halograph.v1.GraphService/Describe"),
                   (":authority", "test"), ("content-type", "application/grpc"), ("te", "trailers"),
                   ("x-halograph-identity", "CN=root")]
        connection.socket.sendall(
            raw_http2.frame(raw_http2.HEADERS, raw_http2.END_HEADERS, 1, raw_http2.hpack(headers)) +
            raw_http2.frame(raw_http2.DATA, raw_http2.END_STREAM, 1, bytes(5)))
        programs.wait_until(lambda: "for CN=ada" in server.text, "the name of the client")
        self.assertNotIn("CN=root", server.text)

    def test_strangers_do_not_reach_the_server(self):
        server, _, _, address = self.behind(True)
        self.assertIsNone(self.by_tls(address, "eve").call("GraphService/Describe", b""))
        self.assertNotIn("GraphService/Describe", server.text)

    def test_server_that_is_gone_is_unavailable(self):
        server, _, _, address = self.behind(False)
        server.signal(signal.SIGKILL)
        server.wait()
        status = self.box.run("halograph-ctl", "status", "--servers", address, "--timeout", "1s")
        self.assertNotEqual(0, status.code)
        self.assertIn("does not reach the server", status.text)

    def test_attacks_stay_outside(self):
        self.attack(False)

    def test_attacks_of_who_has_a_certificate_stay_outside(self):
        self.attack(True)

    def attack(self, with_tls):
        """Each input of tests/integration/server/attack_test.cc, all at once, from another address than
        who behaves: nginx bounds calls by address."""
        server, _, proxy, address = self.behind(with_tls)

        def connect(source="127.0.0.1"):
            if with_tls:
                return self.by_tls(address, "ada", source)
            connection = raw_http2.Connection(address, source=source)
            self.addCleanup(connection.close)
            return connection
        attackers = [(connect("127.0.0.2"), attack) for attack in ATTACKS for _ in range(4)]
        host, port = address.rsplit(":", 1)
        silent = [connect("127.0.0.2") for _ in range(50)] + [
            socket.create_connection((host, int(port)), programs.PATIENCE, ("127.0.0.2", 0)) for _ in range(50)]
        behaved = connect()
        for connection, _ in attackers:
            connection.socket.settimeout(SEND_SECONDS)
        for i in range(30):
            for at, (connection, attack) in enumerate(attackers):
                try:
                    connection.socket.sendall(attack(connection, i))
                except OSError:  # nginx ends it, or takes no more
                    connection.close()
                    attackers[at] = (connection, lambda *_: b"")
            self.assertTrue(behaved.call("GraphService/Describe", b""))
        self.assertTrue(connect().call("GraphService/Describe", b""))
        for pid in (server.pid, proxy.pid):
            self.assertLess(most_resident_bytes(pid), MOST_MEMORY)
        for connection in silent:
            connection.close()


def block(connection, *odd):
    """The header block of a call, with other values for these fields."""
    return raw_http2.hpack([(name, dict(odd).get(name, value)) for name, value in [
        (":method", "POST"), (":scheme", "http"), (":path", "/halograph.v1.KVService/Pull"),
        (":authority", "test"), ("content-type", "application/grpc"), ("te", "trailers")]] +
        [pair for pair in odd if pair[0] == "grpclb_client_stats"])


def streams(i, count):
    return range(2 * count * i + 1, 2 * count * (i + 1) + 1, 2)


def resets(connection, i):
    return b"".join(raw_http2.frame(raw_http2.HEADERS, raw_http2.END_HEADERS, stream, block(connection)) +
                    raw_http2.frame(raw_http2.RST_STREAM, 0, stream, b"\0\0\0\x08") for stream in streams(i, 100))


def endless(connection, i):
    if i == 0:
        return raw_http2.frame(raw_http2.HEADERS, 0, 1, block(connection))
    return raw_http2.frame(CONTINUATION, 0, 1, b"\0\3x-a\x7f" + raw_http2.varint(16000 - 127) + b"a" * 16000)


def endless_in_bytes(connection, i):
    if i == 0:
        return raw_http2.frame(raw_http2.HEADERS, 0, 1, block(connection)) + raw_http2.frame(
            CONTINUATION, 0, 1, b"\0\3x-a\x7f" + raw_http2.varint(16000 - 127))
    return raw_http2.frame(CONTINUATION, 0, 1, b"a") * 300


def unfinished(connection, i):
    return b"".join(raw_http2.frame(raw_http2.HEADERS, raw_http2.END_HEADERS, stream, block(connection)) +
                    raw_http2.frame(raw_http2.DATA, 0, stream, b"\0\0\x3f\xff\xff" + b"x" * 400)
                    for stream in streams(i, 100)) if i == 0 else b""


def unread(connection, i):
    """Calls of 400 KB each, whose replies nobody reads."""
    if i > 0:
        return b""
    pull = raw_http2.pull_request("node", "feat", list(range(70)))
    return b"".join(connection.call_bytes("KVService/Pull", pull) for _ in range(100))


def odd(connection, i):
    name, value = (("te", "nothing"), (":scheme", "gopher"), ("grpclb_client_stats", "x" * 100))[i % 3]
    (stream,) = streams(i, 1)
    return raw_http2.frame(raw_http2.HEADERS, raw_http2.END_HEADERS, stream, block(connection, (name, value))) + (
        raw_http2.frame(raw_http2.DATA, raw_http2.END_STREAM, stream, bytes(5)))


def pings(connection, i):
    return raw_http2.frame(raw_http2.PING, 0, 0, bytes(8)) * 1000


def settings(connection, i):
    return raw_http2.frame(raw_http2.SETTINGS, 0, 0, b"\0\3\0\0\0\7") * 1000


ATTACKS = (resets, endless, endless_in_bytes, unfinished, unread, odd, pings, settings)


if __name__ == "__main__":
    programs.main()
