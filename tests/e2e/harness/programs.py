"""Runs the programs of HALOGRAPH_BIN. Every wait has an end, and every process that a test starts
is gone when the test ends: it is killed then by its id, and by the kernel should Python die.

HALOGRAPH_TIME_SCALE stretches all waits, for builds that a sanitizer slows down. A wait is a bound for
what hangs, not an expectation: it is PATIENCE seconds, unless a test needs longer.
"""
import concurrent.futures
import contextlib
import io
import os
import pathlib
import random
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid

TIME_SCALE = float(os.environ.get("HALOGRAPH_TIME_SCALE", "1"))
MARK = "HALOGRAPH_TEST_MARK"
PATIENCE = 200 * TIME_SCALE
SKIPPED = 77
# Python starts a process in a sixth of the time if it need not call anything between fork and exec. The
# kernel kills it with the thread that started it: none outlives the pool (Suite) that a test runs in.
KILLED_WITH_US = ("/usr/bin/setpriv", "--pdeathsig", "KILL")


def seconds(value):
    return value * TIME_SCALE


def binary(program):
    """The path of a program by name; an absolute path is itself."""
    folder = os.environ.get("HALOGRAPH_BIN")
    if not folder:
        raise RuntimeError("HALOGRAPH_BIN is not set: run through ctest, or name build/release/bin")
    return str(pathlib.Path(folder) / program)


def free_port():
    """A port that was free a moment ago on loopback, at random and below those that the system gives
    to connections of other tests."""
    for _ in range(100):
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("a hundred ports were taken")


def wait_until(condition, what):
    """Asks `condition` until it gives something true, which is returned."""
    end = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {PATIENCE:.0f} s")
        time.sleep(0.01)


CLOSED = -1  # of a stream: as a shell's >&- has it


@contextlib.contextmanager
def unread_pipe():
    """The end for writing of a pipe whose reader has gone away."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


def closing(out, err):
    """What a command begins with to have the streams that are CLOSED closed."""
    closed = [f"{number}>&-" for number, stream in ((1, out), (2, err)) if stream == CLOSED]
    return ["/bin/sh", "-c", f'exec "$@" {" ".join(closed)}', "sh"] if closed else []


class Process:
    """A program in the background. What it prints is in files, or goes where `out` and `err` say:
    descriptors, or CLOSED."""

    def __init__(self, folder, mark, program, args, env=None, out=None, err=None):
        name = pathlib.Path(program).name
        stem = pathlib.Path(tempfile.mkdtemp(prefix=name + "-", dir=folder))
        self.out_path, self.err_path = stem / "out", stem / "err"
        self.command = [binary(program), *map(str, args)]
        with open(self.out_path, "wb") as out_file, open(self.err_path, "wb") as err_file:
            self.popen = subprocess.Popen(
                [*KILLED_WITH_US, *closing(out, err), *self.command], stdin=subprocess.DEVNULL,
                stdout=out_file if out in (None, CLOSED) else out,
                stderr=err_file if err in (None, CLOSED) else err,
                env={**os.environ, **(env or {}), MARK: mark})

    @property
    def pid(self):
        return self.popen.pid

    @property
    def out(self):
        return self.out_path.read_text(errors="replace")

    @property
    def err(self):
        return self.err_path.read_text(errors="replace")

    @property
    def text(self):
        return self.out + self.err

    def running(self):
        return self.popen.poll() is None

    def signal(self, number):
        self.popen.send_signal(number)

    def wait(self, timeout=PATIENCE):
        """The exit code (negative: the signal that ended it). By pidfd: `popen.wait` with a time-out
        polls."""
        if self.running():
            ended = os.pidfd_open(self.pid)
            try:
                select.select([ended], [], [], timeout)
            finally:
                os.close(ended)
        if self.running():
            raise TimeoutError(f"{' '.join(self.command)}\nstill runs after {timeout:.0f} s:\n"
                               f"{self.text[-4000:]}")
        return self.popen.returncode

    def end(self):
        if self.running():
            self.popen.kill()
            self.popen.wait()


class Result:
    """A program that has ended."""

    def __init__(self, process, code):
        self.command, self.code = " ".join(process.command), code
        self.out, self.err = process.out, process.err

    @property
    def text(self):
        return self.out + self.err

    def __str__(self):
        return f"{self.command}\nended with {self.code}:\n{self.out[-3000:]}{self.err[-5000:]}"


class Sandbox:
    """A temporary folder and the processes that belong to it."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="halograph-test-"))
        self.mark = uuid.uuid4().hex
        self.processes = []

    def close(self):
        for process in self.processes:
            process.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, program, *args, env=None, out=None, err=None):
        process = Process(self.folder, self.mark, program, args, env, out, err)
        self.processes.append(process)
        return process

    def run(self, program, *args, timeout=PATIENCE, env=None, out=None, err=None):
        process = self.start(program, *args, env=env, out=out, err=err)
        return Result(process, process.wait(timeout))

    def start_server(self, graph, part, *args, listen="127.0.0.1:0", err=None):
        """A server that does not answer yet; `address()` waits for it."""
        address_file = pathlib.Path(tempfile.mkdtemp(prefix="address-", dir=self.folder)) / "address"
        server = self.start("halograph-server", "--graph", graph, "--part", part, "--listen", listen,
                            "--address-file", address_file, *args, err=err)
        server.address_file = address_file
        return server

    def servers(self, graph, parts, *args):
        """Servers for the lists of parts, listening; their addresses."""
        started = [self.start_server(graph, part, *args) for part in parts]
        return started, [address(server) for server in started]

    def leftovers(self):
        """Ids of processes that this sandbox started, or that those started, and that still run."""
        found = []
        wanted = f"{MARK}={self.mark}".encode()
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as handle:
                    marks = handle.read().split(b"\0")
            except OSError:  # ended meanwhile, or another user's
                continue
            if wanted in marks:
                found.append(int(entry))
        return found


def address(server):
    """Waits for the server's address file; HOST:PORT."""
    def written():
        if not server.running():
            raise RuntimeError(f"the server ended with {server.popen.returncode}:\n{server.text}")
        return server.address_file.exists()
    wait_until(written, "the server's address file")
    return server.address_file.read_text()


class ProgramTest(unittest.TestCase):
    """A test with a sandbox of its own (`self.box`) and one that its class shares (`cls.shared`).
    AT_ONCE of a class's tests run at a time: as many as processors for one whose programs compute in a
    thread each, more where they wait for what does not answer."""
    maxDiff = 2000
    AT_ONCE = 1

    @classmethod
    def setUpClass(cls):
        cls.shared = Sandbox()
        cls.addClassCleanup(cls.shared.close)
        cls._made, cls._locks = {}, {}

    def once(self, name, make):
        """What `make()` gave to the first test of the class that asked by this name."""
        with self._locks.setdefault(name, threading.Lock()):
            if name not in self._made:
                self._made[name] = make()
            return self._made[name]

    def setUp(self):
        self.box = Sandbox()
        self.addCleanup(self.box.close)

    def assertCode(self, expected, result, *mentioned):
        """The exit code, and words that the output must have."""
        self.assertEqual(expected, result.code, str(result))
        for word in mentioned:
            self.assertIn(str(word), result.text, str(result))

    def assertNothingRuns(self, box=None):
        self.assertEqual([], (box or self.box).leftovers())


def must(result):
    """For what is not itself under test."""
    if result.code != 0:
        raise AssertionError(str(result))
    return result


class Suite(unittest.TestSuite):
    """The tests of a class in a pool of its AT_ONCE threads, each with a result of its own."""

    def run(self, result, debug=False):
        tests = list(self)
        if not tests or getattr(tests[0], "AT_ONCE", 1) == 1:
            return super().run(result, debug)
        kind = type(tests[0])
        try:
            kind.setUpClass()
            with concurrent.futures.ThreadPoolExecutor(kind.AT_ONCE) as pool:
                for own in pool.map(self.run_one, tests):
                    result.stream.write(own.text.getvalue())
                    result.stream.flush()
                    result.testsRun += own.testsRun
                    for what in ("failures", "errors", "skipped", "unexpectedSuccesses"):
                        getattr(result, what).extend(getattr(own, what))
        except unittest.SkipTest as why:
            result.testsRun += 1
            result.addSkip(tests[0], str(why))
        except Exception:  # pylint: disable=broad-except
            result.addError(tests[0], sys.exc_info())
        finally:
            kind.doClassCleanups()
        return result

    @staticmethod
    def run_one(test):
        text = io.StringIO()
        own = unittest.TextTestResult(unittest.runner._WritelnDecorator(text), True, 2)
        own.text = text
        test.run(own)
        return own


def main():
    """Exit code: as unittest's, and SKIPPED for ctest where not one test could run."""
    loader = unittest.TestLoader()
    loader.suiteClass = Suite
    program = unittest.main(verbosity=2, exit=False, testLoader=loader)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.testsRun and len(result.skipped) == result.testsRun else 0)
