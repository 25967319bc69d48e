"""What the link between the first two hosts gives, as programs see it."""
import json
import pathlib
import subprocess
import sys
import tempfile

from hosts.processes import Group, ProcessError

PROBE = pathlib.Path(__file__).with_name("link_probe.py")
PORT = 6000
PROXY_PORT = 6001
TIMEOUT_S = 30


def measure(network, work, delay_us=0, delay_proxy=None):
    """{"round_trip_s": ..., "bytes_per_s": ...}, from host 0 to host 1. `work`: for the programs'
    output. A delay needs the program that makes it."""
    target = f"{network.address(1)}:{PORT}"
    with tempfile.TemporaryDirectory(dir=work) as folder, Group(network, folder) as group:
        answering = group.start(1, "probe", [sys.executable, PROBE, "serve", *target.split(":")])
        group.wait_for_text(answering, "listening", TIMEOUT_S)
        if delay_us > 0:
            proxied = f"127.0.0.1:{PROXY_PORT}"
            proxy = group.start(0, "proxy", [delay_proxy, "--listen", proxied, "--connect", target,
                                             "--delay-us", delay_us], real_time=True)
            group.wait_for_text(proxy, "listening", TIMEOUT_S)
            target = proxied
        command = network.prefix(0) + [sys.executable, str(PROBE), "measure", *target.split(":")]
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              timeout=TIMEOUT_S)
        if done.returncode != 0:
            raise ProcessError(f"{' '.join(command)}:\n{done.stderr[-2000:]}")
        return json.loads(done.stdout)
