#!/usr/bin/env python3
"""deploy/nginx: an nginx in front of a server, for clients that are not trusted."""
import functools
import itertools
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
OWN, OTHER = "127.0.0.1", "127.0.0.2"  # the address of who behaves, and another
ROUNDS = 30
MOST_MEMORY = 200 << 20  # that nginx, or the server, may have at any time
SEND_SECONDS = 0.1
STREAMS = 100  # of an attack's round
PULL = raw_http2.call_fields("KVService/Pull")
CANCELLED = b"\0\0\0\x08"
LONG = 16000  # bytes of a field
LONG_FIELD = b"\0\3x-a\x7f" + raw_http2.varint(LONG - 127)  # what comes before them


def peak_memory(pid):
    """What a process had at most."""
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
            "daemon off;\nmaster_process off;\n"  # the process that was started is all there is
            f"pid {folder}/pid;\nerror_log stderr;\n"
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

    def by_tls(self, address, name, source=OWN):
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
        fields = raw_http2.call_fields("GraphService/Describe",
                                       **{":scheme": "https", "x-halograph-identity": "CN=root"})
        self.by_tls(address, "ada").socket.sendall(raw_http2.whole_call(1, fields))
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

    def begin(self, address, with_tls, source=OWN):
        """A connection from `source` that has sent its preface."""
        if with_tls:
            return self.by_tls(address, "ada", source)
        connection = raw_http2.Connection(address, source=source)
        self.addCleanup(connection.close)
        return connection

    def attack(self, with_tls):
        """All that tests/integration/server/attack_test.cc sends, and more, at once. nginx bounds the calls in
        flight of an address: of its own, one attacker of a kind leaves enough, but for `unread`."""
        server, _, proxy, address = self.behind(with_tls)
        attackers = [(self.begin(address, with_tls, source), attack())
                     for source, attacks in ((OTHER, 4 * ATTACKS), (OWN, FEW_CALLS)) for attack in attacks]
        host, port = address.rsplit(":", 1)
        silent = [self.begin(address, with_tls, OTHER) for _ in range(50)] + [
            socket.create_connection((host, int(port)), programs.PATIENCE, (OTHER, 0)) for _ in range(50)]
        behaved = self.begin(address, with_tls)
        for _ in range(ROUNDS):
            attackers = [(connection, rounds) for connection, rounds in attackers if sends(connection, next(rounds))]
            self.assertTrue(behaved.call("GraphService/Describe", b""))
        self.assertTrue(self.begin(address, with_tls).call("GraphService/Describe", b""))
        for pid in (server.pid, proxy.pid):
            self.assertLess(peak_memory(pid), MOST_MEMORY)
        for connection in silent:
            connection.close()


def sends(connection, data):
    """Whether nginx takes it all, soon; otherwise the connection ends."""
    connection.socket.settimeout(SEND_SECONDS)
    try:
        connection.socket.sendall(data)
        return True
    except OSError:
        connection.close()
        return False


# An attack gives what its connection sends in each round, after the preface.


def resets(path, whole=True):
    """Streams that are opened and reset at once; `whole`: their requests are whole by then."""
    fields = raw_http2.call_fields("", **{":path": path})
    opened = raw_http2.whole_call if whole else raw_http2.begun_call
    streams = itertools.count(1, 2)
    while True:
        yield b"".join(opened(stream, fields) + raw_http2.frame(raw_http2.RST_STREAM, 0, stream, CANCELLED)
                       for stream in itertools.islice(streams, STREAMS))


def endless_block():
    """Headers that never end."""
    yield raw_http2.frame(raw_http2.HEADERS, 0, 1, raw_http2.hpack(PULL))
    yield from itertools.repeat(raw_http2.frame(raw_http2.CONTINUATION, 0, 1, LONG_FIELD + LONG * b"a"))


def endless_drops():
    """The same, a byte a frame."""
    yield raw_http2.frame(raw_http2.HEADERS, 0, 1, raw_http2.hpack(PULL)) + (
        raw_http2.frame(raw_http2.CONTINUATION, 0, 1, LONG_FIELD))
    yield from itertools.repeat(raw_http2.frame(raw_http2.CONTINUATION, 0, 1, b"a") * 300)


def unfinished():
    """Requests whose end never comes."""
    yield b"".join(raw_http2.begun_call(stream, PULL) +
                   raw_http2.frame(raw_http2.DATA, 0, stream, b"\0\0\x3f\xff\xff" + 400 * b"x")
                   for stream in range(1, 2 * STREAMS, 2))
    yield from itertools.repeat(b"")


def unread():
    """Calls of 400 KB each, whose replies nobody reads."""
    request = raw_http2.pull_request("node", "feat", range(70))
    yield b"".join(raw_http2.whole_call(stream, PULL, request) for stream in range(1, 2 * STREAMS, 2))
    yield from itertools.repeat(b"")


def odd_fields():
    """CVE-2023-1428 and its like."""
    odd = itertools.cycle(({"te": "nothing"}, {":scheme": "gopher"}, {"grpclb_client_stats": 100 * "x"}))
    for stream, other in zip(itertools.count(1, 2), odd):
        yield raw_http2.whole_call(stream, raw_http2.call_fields("KVService/Pull", **other))


def pings():
    yield from itertools.repeat(1000 * raw_http2.frame(raw_http2.PING, 0, 0, bytes(8)))


def settings():
    yield from itertools.repeat(1000 * raw_http2.frame(raw_http2.SETTINGS, 0, 0, b"\0\3\0\0\0\7"))


RESETS = [functools.partial(resets, path, whole) for path, whole in (
    ("/halograph.v1.KVService/Pull", True), ("/halograph.v1.KVService/Pull", False),
    ("/grpc.health.v1.Health/Check", True), ("/grpc.health.v1.Health/Watch", True), ("/nosuch.Service/Method", True))]
FEW_CALLS = [*RESETS, endless_block, endless_drops, unfinished, odd_fields, pings, settings]
ATTACKS = [*FEW_CALLS, unread]


if __name__ == "__main__":
    programs.main()
