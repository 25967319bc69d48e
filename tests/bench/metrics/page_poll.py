#!/usr/bin/env python3
"""What a look at a server's HTTP port costs: the time and the bytes of its pages, median of some polls.

Usage: tests/bench/metrics/page_poll.py HOST:PORT [POLLS]     (default: 15)

Polls come at least a second apart, as a browser's do, so that each asks the other servers anew (--peers).
The series of the server are counted in /metrics: lines that are no comment.
"""
import statistics
import sys
import time
import urllib.request

PAGES = ("/livez", "/metrics", "/status", "/status?cluster", "/ui")
PACE = 1.1  # seconds: servers ask the others at most once a second


def poll(address, page):
    """Seconds and bytes."""
    begin = time.monotonic()
    with urllib.request.urlopen(f"http://{address}{page}", timeout=60) as reply:
        size = len(reply.read())
    return time.monotonic() - begin, size


def main(address, polls=15):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as reply:
        lines = reply.read().decode().splitlines()
    print(f"{sum(not line.startswith('#') for line in lines)} lines of series, {polls} polls")
    for page in PAGES:
        taken = []
        for _ in range(int(polls)):
            time.sleep(PACE)
            taken.append(poll(address, page))
        seconds = [one for one, _ in taken]
        print(f"{page:16} median {1000 * statistics.median(seconds):8.1f} ms, worst "
              f"{1000 * max(seconds):8.1f} ms, {statistics.median(size for _, size in taken):10.0f} bytes")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
