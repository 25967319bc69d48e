"""The messages and services of proto/halograph/v1, as protoc makes them for Python, in a temporary
folder. It needs Debian's protobuf-compiler-grpc, python3-grpcio and python3-protobuf.
"""
import functools
import importlib
import os
import pathlib
import subprocess
import sys
import tempfile
import types

from harness import tools

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"
# Debian's packages are for this one; another Python may come before it in PATH.
DEBIANS = "/usr/bin/python3"


def has_grpc():
    try:
        importlib.import_module("grpc")
        importlib.import_module("google.protobuf")
    except ImportError:
        return False
    return True


def run_where_grpc_is():
    """Goes on in Debian's Python if this one has no grpc, and that one may."""
    if not has_grpc() and os.path.exists(DEBIANS) and os.environ.get("HALOGRAPH_FOREIGN") != "1":
        os.environ["HALOGRAPH_FOREIGN"] = "1"
        os.execv(DEBIANS, [DEBIANS, *sys.argv])


@functools.cache
def load():
    """`graph` and `kv` with the messages, `graph_calls` and `kv_calls` with the stubs."""
    if not has_grpc():
        tools.missing("no Python here has grpc (Debian's packages python3-grpcio and python3-protobuf; "
                      "deploy/install-packages.sh test)")
    protoc = tools.tool("protoc", package="protobuf-compiler")
    plugin = tools.tool("grpc_python_plugin", package="protobuf-compiler-grpc")
    with tempfile.TemporaryDirectory(prefix="halograph-stubs-") as folder:
        subprocess.run([protoc, "-I", PROTO, f"--python_out={folder}", f"--grpc_python_out={folder}",
                        f"--plugin=protoc-gen-grpc_python={plugin}",
                        *(f"halograph/v1/{name}.proto" for name in ("graph", "kv"))], check=True)
        sys.path.insert(0, folder)
        try:
            found = {name: importlib.import_module(f"halograph.v1.{module}") for name, module in
                     (("graph", "graph_pb2"), ("kv", "kv_pb2"), ("graph_calls", "graph_pb2_grpc"),
                      ("kv_calls", "kv_pb2_grpc"))}
        finally:
            sys.path.remove(folder)
    return types.SimpleNamespace(**found)
