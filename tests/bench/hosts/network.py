"""Hosts as network namespaces, each joined by a veth pair to a bridge in a namespace of its own: no
interface, address or route of this machine is touched, and deleting the namespaces deletes all.
"""
import json
import os
import re
import subprocess

PORT_BURST_S = 0.001  # tbf lets this much of the rate through at once, and no less than MIN_BURST
MIN_BURST = 256 * 1024  # bytes: larger than any segment that the kernel hands on
QUEUE_LATENCY = "20ms"


class NetworkError(RuntimeError):
    pass


def why_not():
    """None if networks can be made here, else what is missing."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for tool in ("ip", "tc"):
        try:
            subprocess.run([tool, "-V"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return f"program `{tool}` is missing: install iproute2"
    return None


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NetworkError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def remove_stale():
    """Namespaces of runs that were killed: their names carry the id of a process that is gone."""
    for line in call("ip", "netns", "list").splitlines():
        found = re.match(r"hgb(\d+)-\w+", line)
        if found and not os.path.exists(f"/proc/{found[1]}"):
            call("ip", "netns", "del", found[0])


class Network:
    """`with Network(2) as network:`; gone at the end, whatever happens but SIGKILL."""

    def __init__(self, hosts):
        self.hosts = hosts
        self.switch = f"hgb{os.getpid()}-switch"
        self.names = [f"hgb{os.getpid()}-{host}" for host in range(hosts)]
        self.made = []

    def __enter__(self):
        remove_stale()
        try:
            self._make()
        except BaseException:
            self._delete()
            raise
        return self

    def __exit__(self, *_):
        self._delete()

    def _make(self):
        self._add(self.switch)
        call("ip", "-n", self.switch, "link", "add", "bridge", "type", "bridge")
        call("ip", "-n", self.switch, "link", "set", "bridge", "up")
        for host, name in enumerate(self.names):
            self._add(name)
            port = f"port{host}"
            call("ip", "-n", self.switch, "link", "add", port, "type", "veth",
                 "peer", "name", "eth0", "netns", name)
            call("ip", "-n", self.switch, "link", "set", port, "master", "bridge", "up")
            call("ip", "-n", name, "link", "set", "lo", "up")
            call("ip", "-n", name, "address", "add", f"{self.address(host)}/16", "dev", "eth0")
            call("ip", "-n", name, "link", "set", "eth0", "up")

    def _add(self, name):
        self.made.append(name)
        call("ip", "netns", "add", name)

    def _delete(self):
        while self.made:
            command = ["ip", "netns", "del", self.made.pop()]
            subprocess.run(command, capture_output=True, check=False)

    def address(self, host):
        return f"10.77.{host // 250}.{host % 250 + 1}"

    def prefix(self, host):
        """What to put before a command that is to run on the host."""
        return ["ip", "netns", "exec", self.names[host]]

    def set_rate(self, bits_per_s, hosts=None):
        """Limits what each host sends, and what it receives; None: no limit. `hosts`: only those."""
        for host in range(self.hosts) if hosts is None else hosts:
            self._shape(self.names[host], "eth0", bits_per_s)
            self._shape(self.switch, f"port{host}", bits_per_s)

    def set_send_buffers(self, most, hosts):
        """How many bytes the kernel of a host takes at most of a connection, and has not sent yet."""
        for host in hosts:
            call(*self.prefix(host), "sysctl", "-qw", f"net.ipv4.tcp_wmem=4096 {most} {most}")

    def _shape(self, name, device, bits_per_s):
        subprocess.run(["tc", "-n", name, "qdisc", "del", "dev", device, "root"],
                       capture_output=True, check=False)  # there may be none
        if bits_per_s is None:
            return
        burst = max(MIN_BURST, int(bits_per_s / 8 * PORT_BURST_S))
        call("tc", "-n", name, "qdisc", "add", "dev", device, "root", "tbf", "rate",
             f"{bits_per_s}bit", "burst", str(burst), "latency", QUEUE_LATENCY)

    def traffic(self, host):
        """Bytes that the host has sent and received through its link, headers included."""
        link = json.loads(call("ip", "-n", self.names[host], "-s", "-j", "link", "show", "eth0"))[0]
        return link["stats64"]["tx"]["bytes"], link["stats64"]["rx"]["bytes"]
