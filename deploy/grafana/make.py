#!/usr/bin/env python3
"""Writes the dashboards beside this file: servers.json, trainers.json, state.json.

What a dashboard shows is in servers.py, trainers.py and state.py, a few lines a panel; how Grafana
writes that is in dashboard.py. Change those, and run this again: a test compares.

Usage: deploy/grafana/make.py [FOLDER]     (default: the folder of this file)
"""
import json
import pathlib
import sys

sys.dont_write_bytecode = True
import servers  # noqa: E402
import state  # noqa: E402
import trainers  # noqa: E402


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0 if len(sys.argv) == 2 else 2
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) == 2 else pathlib.Path(__file__).parent)
    for module in (servers, trainers, state):
        path = folder / f"{module.__name__}.json"
        path.write_text(json.dumps(module.DASHBOARD, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
