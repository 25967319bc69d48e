#!/usr/bin/env python3
"""Checks that the tree keeps the map of its modules: who may include whom.

Usage: cmake/module_map.py [ROOT]     (default: the folder above this file)

The tables below are the map. Exit code: 0 the tree keeps it, 1 it does not (one line an error, with
the file and the rule), 2 wrong usage.
"""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

from defined_types import defined_types

TESTED = ["common/*", "proto*", "partitioner", "server*", "client*", "trainer*"]

# Folder (or one file) -> what its files may include beside those of the same row. A folder without a row of its own
# belongs to the row of the nearest folder above it. `common/*` is every row below common. No way through
# the rows leads back to where it began.
ROWS = {
    # The floors of common, from the lowest upward. No gRPC, no torch, no METIS.
    "common/base": [],
    "common/storage": ["common/base"],
    "common/yaml": ["common/base", "common/storage"],
    "common/program": ["common/base", "common/storage", "common/yaml"],
    "common/http": ["common/base", "common/storage", "common/program"],
    "common/tls": ["common/base", "common/storage", "common/program", "common/metrics"],
    # The page of an operator, as text.
    "common/ui": ["common/base", "common/metrics", "common/storage"],
    "common/operator_port": ["common/base", "common/storage", "common/program", "common/http", "common/metrics",
                             "common/metrics/prometheus", "common/ui"],
    "common/graph": ["common/base", "common/storage"],
    # What is counted, and two forms in which it is printed.
    "common/metrics": ["common/base"],
    "common/metrics/prometheus": ["common/base", "common/metrics"],
    "common/metrics/json": ["common/base", "common/storage", "common/metrics"],
    # What is drawn, as values; how it is drawn; whole minibatches, wherever the edges are.
    "common/sampling": ["common/base", "common/storage", "common/graph"],
    "common/sampling/kernel": ["common/base", "common/storage", "common/graph", "common/sampling"],
    "common/sampling/samplers": ["common/base", "common/storage", "common/graph", "common/sampling",
                                 "common/sampling/kernel"],
    "common/state": ["common/base", "common/storage", "common/graph"],
    # The engine knows neither RocksDB nor the machine; they stand behind common/state/env.h.
    "common/state/engine/log": ["common/base", "common/state"],
    "common/state/engine/steps": ["common/base", "common/state", "common/state/engine/log"],
    "common/state/engine/rows": ["common/base", "common/storage", "common/state",
                                 "common/state/engine/steps"],
    "common/state/engine/checkpoint": ["common/base", "common/state", "common/state/engine/log",
                                       "common/state/engine/steps", "common/state/engine/rows"],
    "common/state/engine/catalogue": ["common/base", "common/storage", "common/state",
                                      "common/state/engine/log"],
    "common/state/engine": ["common/base", "common/storage", "common/graph", "common/state",
                            "common/state/engine/*"],
    "common/state/durable": ["common/base", "common/state"],
    "common/state/parts": ["common/base", "common/storage", "common/graph", "common/state", "common/state/engine"],

    # Generated messages (halograph/v1/..., grpc/health/v1/...), and the hot ones, which are written by hand.
    "proto": ["proto/wire"],
    "proto/wire": ["common/base"],
    # The table of methods, which servers and clients go by.
    "proto/methods": ["common/base", "proto/wire"],
    # gRPC's credentials, for servers and for what calls them.
    "proto/credentials": ["common/base", "common/tls"],
    "common/state/options": ["common/base", "common/storage", "common/program", "common/graph", "common/state"],
    "proto/state": ["common/base", "common/storage", "common/graph", "common/state", "proto"],
    "proto/wire/fields_check.cc": ["common/base", "proto", "proto/wire"],

    "partitioner": ["common/*"],

    # What answers a call, and what calls run on, know no gRPC; the services above them do.
    "server/runtime": ["common/*", "proto/methods"],
    "server/handlers": ["common/*", "proto/methods", "proto/wire", "server/runtime"],
    # Who connects, and which connections are ended.
    "server/listener": ["common/base"],
    # Who calls, and what they may.
    "server/rights": ["common/*", "proto/methods"],
    # The other servers of its graph, as a server shows them.
    "server/peers": ["common/base", "common/storage"],
    "server": ["common/*", "proto", "proto/credentials", "proto/methods", "proto/state", "proto/wire", "server/handlers",
               "server/listener", "server/peers", "server/rights", "server/runtime"],

    # The interfaces and what is made of them; only the folders that speak to servers know gRPC.
    "client": ["common/*"],
    "client/local": ["common/*", "client"],
    "client/own_part": ["common/*", "client", "client/local"],
    "client/part_alone": ["common/*", "client", "client/local", "client/own_part"],
    "client/cached": ["common/*", "client"],
    "client/remote": ["common/*", "client", "proto", "proto/credentials", "proto/methods", "proto/state", "proto/wire"],
    "client/topology_copy": ["common/*", "client", "client/remote", "proto", "proto/methods", "proto/wire"],
    "client/open": ["common/*", "client", "client/local", "client/own_part", "client/part_alone",
                    "client/remote", "client/topology_copy"],
    "client/ctl": ["common/*", "client", "client/remote", "client/ctl/why", "client/ctl/doctor", "proto", "proto/methods",
                   "proto/state", "proto/wire"],
    # What servers and trainers said, and what follows from it: without asking anybody.
    "client/ctl/why": ["common/*"],
    "client/ctl/doctor": ["common/*", "client/ctl/why"],

    # From the lowest upward. What a run is told, and what prepares minibatches: without torch.
    "trainer/options": ["common/*", "client"],
    "trainer/blocks": ["common/*", "trainer/options"],
    "trainer/seeds": ["common/*", "client", "trainer/options"],
    "trainer/pipeline": ["common/*", "client", "client/cached", "trainer/options", "trainer/blocks",
                         "trainer/seeds"],
    "trainer/output": ["common/*", "trainer/options"],
    "trainer/checkpoint/files": ["common/*"],
    "trainer/checkpoint/snapshots": ["common/*", "client", "trainer/checkpoint/files"],
    "trainer/embeddings/rows": ["common/*", "client"],
    # What computes.
    "trainer/torch": ["common/*"],
    "trainer/device": ["common/*", "trainer/options", "trainer/torch"],
    "trainer/distributed": ["common/*", "trainer/device", "trainer/torch"],
    "trainer/kernels": ["common/*", "trainer/blocks", "trainer/torch"],
    "trainer/models": ["common/*", "trainer/options", "trainer/blocks", "trainer/pipeline", "trainer/kernels",
                       "trainer/torch"],
    "trainer/tasks": ["common/*", "client", "trainer/options", "trainer/seeds", "trainer/pipeline",
                      "trainer/output", "trainer/distributed", "trainer/torch"],
    "trainer/embeddings": ["common/*", "client", "trainer/options", "trainer/models", "trainer/distributed",
                           "trainer/torch"],
    "trainer/training": ["common/*", "client", "client/cached", "client/open", "trainer/options", "trainer/seeds",
                         "trainer/device", "trainer/pipeline", "trainer/output", "trainer/models", "trainer/tasks", "trainer/embeddings",
                         "trainer/distributed", "trainer/torch"],
    "trainer/checkpoint": ["common/*", "client", "trainer/options", "trainer/checkpoint/files",
                           "trainer/checkpoint/snapshots", "trainer/models", "trainer/tasks", "trainer/training",
                           "trainer/distributed", "trainer/torch"],
    "trainer/inference": ["common/*", "client", "trainer/seeds", "trainer/pipeline", "trainer/models",
                          "trainer/training"],
    "trainer/averaging": ["common/*", "trainer/training", "trainer/distributed"],
    # From the command line (the one folder that a program without torch runs) to a run.
    "trainer/launch": ["common/*", "client", "trainer/options", "trainer/models", "trainer/checkpoint/files"],
    "trainer/run": ["common/*", "client", "client/cached", "client/open", "client/own_part", "client/part_alone", "trainer/?*"],
    "trainer": ["common/*", "trainer/launch", "trainer/run"],

    # Tests may include all that is under test. What several folders of tests share is in
    # tests/support (or beside the benchmarks).
    "tests/support": [*TESTED],
    "tests/bench": [*TESTED, "tests/support"],
    "tests": [*TESTED, "tests/support"],
}
MODULES = sorted({row.split("/")[0] for row in ROWS})
PRODUCT = [module for module in MODULES if module != "tests"]

# How the include of a third-party library begins -> the folders that may name it. Tests may name all.
TORCH = ["trainer"]
GRPC = ["server/*.h", "server/*.cc", "client/remote", "client/topology_copy", "client/ctl", "proto"]
LIBRARIES = {
    "torch/": TORCH, "ATen/": TORCH, "c10/": TORCH, "gloo/": TORCH,
    "grpc/": GRPC, "grpcpp/": GRPC, "google/protobuf/": GRPC,
    "prometheus/": ["common/metrics/prometheus"],
    "microhttpd.h": ["common/http"],
    "openssl/": ["common/tls", "server/rights"],
    "rocksdb/": ["common/state/durable"],
    "hwy/": ["common", "trainer/blocks", "trainer/kernels"],
    "metis.h": ["partitioner/methods"], "scotch.h": ["partitioner"], "ptscotch.h": ["partitioner"],
    "mpi.h": ["partitioner"],
    "yaml-cpp/": ["common/yaml"], "zlib.h": ["partitioner/readers"],
}

QUOTED_LIBRARIES = ("absl/", "hwy/")

TOP_LEVEL = set(PRODUCT) | {
    "tests", "deploy", "docs", "cmake", "python", "CMakeLists.txt", "CMakePresets.json", "README.md",
    "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "NOTICE", ".ci", ".clang-format",
    ".clang-tidy", ".gitignore", ".gitattributes", ".editorconfig"}
MOST_LINES = {"README.md": 150}
MOST_LINES_OF_A_SOURCE = 600  # outside tests

SOURCE = (".h", ".cc")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Words that only this folder may contain, comments included.
OWNED_WORDS = {re.compile(r"\b(c10::(Stream|Event|StreamGuard)|kCUDA)\b"): "trainer/device"}
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(?:home/\w+|Users/\w+|root|work)/")
GENERATED = ("halograph/v1/", "grpc/health/v1/")  # from these folders of proto, into the build folder


def row_of(path):
    """The row that a file or folder belongs to, or None."""
    while path:
        if path in ROWS:
            return path
        path = path.rpartition("/")[0]
    return None


def may_include(row, other):
    return row == other or any(fnmatch.fnmatchcase(other, allowed) for allowed in ROWS[row])


def in_folder(path, folder):
    return path.startswith(folder + "/") or ("*" in folder and fnmatch.fnmatchcase(path, folder)
                                             and path.count("/") == folder.count("/"))


class Tree:
    """The files of a tree: those that git knows or would add, or all, where there is no git."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = self._files()
        self.known = set(self.files)
        self.texts = {}
        for path in self.files:
            try:
                self.texts[path] = (self.root / path).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                pass  # not a text
        self.includes = {path: list(self._includes(path)) for path in self.texts
                         if path.endswith(SOURCE)}

    def _files(self):
        if (self.root / ".git").exists():
            listed = subprocess.run(["git", "-C", str(self.root), "ls-files", "-z", "--cached",
                                     "--others", "--exclude-standard"], capture_output=True, check=True)
            names = listed.stdout.decode().split("\0")
        else:
            names = (str(path.relative_to(self.root)) for path in self.root.rglob("*"))
        return sorted(name for name in names if name and (self.root / name).is_file())

    def _includes(self, path):
        """(line number, whether in quotes, name) of every include."""
        for number, line in enumerate(self.texts[path].splitlines(), 1):
            found = INCLUDE.match(line)
            if found:
                yield number, found.group(1) == '"', found.group(2)


def check_top_level(tree):
    for entry in sorted({path.split("/")[0] for path in tree.files}):
        if entry not in TOP_LEVEL:
            yield f"{entry}: not an entry of the top level; add it to TOP_LEVEL of the map, or move it"


def check_includes(tree):
    """What sources of the project include of each other."""
    for path, includes in tree.includes.items():
        row = row_of(path)
        if row is None:
            yield f"{path}: its folder has no row in the map"
            continue
        for number, quoted, name in includes:
            where = f"{path}:{number}"
            other = "proto" if name.startswith(GENERATED) else row_of(name)
            if other is None or (name not in tree.known and not name.startswith(GENERATED)):
                if quoted and not name.startswith(QUOTED_LIBRARIES):
                    yield f"{where}: no file {name}; includes start at the root of the tree"
                continue
            if not may_include(row, other):
                yield (f"{where}: {row} may not include {name}: it may include "
                       f"{', '.join(ROWS[row]) or 'nothing else'}")
            if row == "tests" and other == "tests" and folder_of(name) != folder_of(path):
                yield (f"{where}: {name} belongs to another folder of tests; what several share is in "
                       "tests/support")


def folder_of(path):
    return path.rpartition("/")[0]


def check_libraries(tree):
    """Third-party libraries in the folders that own them."""
    for path, includes in tree.includes.items():
        if path.startswith("tests/"):
            continue
        for number, _, name in includes:
            for library, folders in LIBRARIES.items():
                named = name.startswith(library) if library.endswith("/") else name == library
                if named and not any(in_folder(path, folder) for folder in folders):
                    yield f"{path}:{number}: <{name}> may be included in {', '.join(folders)} only"


def circle_in(edges):
    """A way through `edges` (name -> the names that it leads to) that ends where it began, or None."""
    done, on_way = set(), []

    def visit(name):
        if name in on_way:
            return on_way[on_way.index(name):] + [name]
        if name in done or name not in edges:
            return None
        on_way.append(name)
        for other in edges[name]:
            circle = visit(other)
            if circle:
                return circle
        on_way.pop()
        done.add(name)
        return None

    return next(filter(None, map(visit, edges)), None)


def check_circles(tree):
    """Headers that include themselves by way of others. Reports one circle a time."""
    circle = circle_in({path: [name for _, _, name in includes]
                        for path, includes in tree.includes.items()})
    if circle:
        yield "a circle of includes: " + " -> ".join(circle)


def check_rows(_):
    """Rows that may include themselves by way of others, with every wildcard as all that it stands for."""
    circle = circle_in({row: [other for other in ROWS if other != row and may_include(row, other)]
                        for row in ROWS})
    if circle:
        yield "a circle of rows of the map: " + " -> ".join(circle)


def check_type_names(tree):
    """Types of one name in one namespace. In a program that links both, the linker keeps the functions
    of one, and calls them for the other."""
    files = {}
    for path in tree.includes:
        for name in set(defined_types(tree.texts[path])):
            files.setdefault(name, []).append(path)
    for name, paths in sorted(files.items()):
        if len(paths) > 1:
            yield f"{name} is defined in {' and in '.join(paths)}; rename one, the linker merges them"


LIBRARY = re.compile(r"halograph_library\(\s*(\w+)(.*?)\)", re.S)


def check_targets(tree):
    """One library a folder, named for it, that links what the folder may include, and every source
    part of a target: what is not compiled tests nothing."""
    scripts = {path: text for path, text in tree.texts.items() if path.endswith("CMakeLists.txt")}
    for path, text in scripts.items():
        folder = folder_of(path)
        if folder.split("/")[0] not in PRODUCT:
            continue
        libraries = LIBRARY.findall(text)
        if len(libraries) > 1:
            yield f"{path}: {len(libraries)} libraries; a folder has one"
        for name, arguments in libraries:
            if name != folder.replace("/", "_"):
                yield f"{path}: the library of {folder} is named {folder.replace('/', '_')}, not {name}"
            for linked in re.findall(r"halograph::(\w+)", arguments):
                other = folder_of_target(linked, scripts)
                if other and not may_include(row_of(folder), row_of(other)):
                    yield f"{path}: {folder} may not link halograph::{linked}"
    for path in tree.includes:
        if path.endswith(".cc") and not compiled(path, scripts):
            yield f"{path}: part of no target; name it in a CMakeLists.txt"


def folder_of_target(name, scripts):
    for path in scripts:
        if folder_of(path).replace("/", "_") == name:
            return folder_of(path)
    return None


def compiled(path, scripts):
    """Whether the script of its folder, or of one above, names the source: alone, with the folders
    between, or by a pattern of file(GLOB)."""
    folder, _, name = path.rpartition("/")
    while True:
        words = re.split(r"[\s()\"]+", scripts.get(f"{folder}/CMakeLists.txt" if folder else
                                                 "CMakeLists.txt", ""))
        if any(fnmatch.fnmatchcase(name, word) for word in words if word.endswith(".cc")):
            return True
        if not folder:
            return False
        folder, _, last = folder.rpartition("/")
        name = f"{last}/{name}"


def check_texts(tree):
    for path, text in tree.texts.items():
        lines = text.splitlines()
        if text.startswith("#!") and not os.access(tree.root / path, os.X_OK):
            yield f"{path}: a script without its run bit"
        if path in MOST_LINES and len(lines) > MOST_LINES[path]:
            yield f"{path}: {len(lines)} lines; it may have {MOST_LINES[path]}"
        for number, line in enumerate(lines, 1):
            if MACHINE_PATH.search(line) and not path.startswith("tests/data/"):
                yield f"{path}:{number}: an absolute path of one machine"
        if path.endswith(SOURCE) and not path.startswith("tests/"):
            yield from check_source(path, lines)


def guarded(lines):
    return any(line == "#pragma once" or line.startswith("#ifndef HALOGRAPH_") for line in lines)


def check_source(path, lines):
    for number, line in enumerate(lines, 1):
        if UNFINISHED.search(line):
            yield f"{path}:{number}: unfinished: {line.strip()[:80]}"
        for words, folder in OWNED_WORDS.items():
            if words.search(line) and not in_folder(path, folder):
                yield f"{path}:{number}: {words.search(line)[0]} is named in {folder} only"
    if len(lines) > MOST_LINES_OF_A_SOURCE:
        yield f"{path}: {len(lines)} lines; does it hold more than one thing?"
    if path.endswith(".h"):
        if not guarded(lines) and not path.endswith("-inl.h"):
            yield f"{path}: a header without #pragma once or a guard HALOGRAPH_..."
        if not lines or not lines[0].startswith("//"):
            yield f"{path}: a header begins with a comment that says what it is"


CHECKS = [check_top_level, check_rows, check_includes, check_libraries, check_circles, check_type_names, check_targets,
          check_texts]


def main(arguments):
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    root = arguments[0] if arguments else pathlib.Path(__file__).resolve().parent.parent
    tree = Tree(root)
    errors = [error for check in CHECKS for error in check(tree)]
    for error in errors:
        print(error)
    print(f"module_map: {len(tree.includes)} sources, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
