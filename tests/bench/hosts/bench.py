"""What the benches on several hosts have in common as programs."""
import signal
import subprocess
import sys

from hosts.network import NetworkError
from hosts.processes import ProcessError


def run(name, measure):
    """The exit code: 1, and why, if hosts or programs failed. SIGTERM ends it so that all is undone."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        measure()
    except (NetworkError, ProcessError, subprocess.TimeoutExpired) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0
