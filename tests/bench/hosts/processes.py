"""Programs on hosts: pinned to a core, ended with their group, and what they used."""
import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess
import time

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)
TICK = os.sysconf("SC_CLK_TCK")
GRACE_S = 10  # between SIGTERM and SIGKILL


class ProcessError(RuntimeError):
    pass


class Process:
    def __init__(self, name, command, cores, folder, real_time=False):
        self.name, self.command = name, [str(word) for word in command]
        self.output_path = pathlib.Path(folder) / f"{name}.out"
        self.peaks = {"RssAnon": 0, "RssFile": 0, "VmRSS": 0}

        def prepare():
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            os.sched_setaffinity(0, cores)
            if real_time:
                with contextlib.suppress(OSError):  # then it waits for its turn
                    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

        with open(self.output_path, "wb") as output:
            self.popen = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=output,
                                          stderr=subprocess.STDOUT, preexec_fn=prepare,
                                          start_new_session=True)

    def output(self):
        return self.output_path.read_text(errors="replace")

    def running(self):
        return self.popen.poll() is None

    def failure(self):
        return ProcessError(f"{' '.join(self.command)}\nended with {self.popen.returncode}:\n"
                            f"{self.output()[-3000:]}")

    def watch(self):
        """Notes how much memory it has now."""
        try:
            with open(f"/proc/{self.popen.pid}/status", encoding="ascii") as lines:
                for line in lines:
                    key, _, value = line.partition(":")
                    if key in self.peaks:
                        self.peaks[key] = max(self.peaks[key], int(value.split()[0]) * 1024)
        except (OSError, ValueError):
            pass  # it has just ended

    def cpu_seconds(self):
        """Of all its threads, and of its first alone."""
        pid = self.popen.pid
        return _cpu(f"/proc/{pid}/stat"), _cpu(f"/proc/{pid}/task/{pid}/stat")

    def end(self):
        if self.running():
            self.popen.terminate()
            try:
                self.popen.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()


def _cpu(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK
    except (OSError, IndexError, ValueError):
        return 0.0


class Group:
    """The programs of one run, by name."""

    def __init__(self, network, folder):
        self.network, self.folder = network, pathlib.Path(folder)
        self.processes = {}
        self.cores = sorted(os.sched_getaffinity(0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def core(self, host):
        return self.cores[host % len(self.cores)]

    def start(self, host, name, command, real_time=False, cores=None):
        """`cores`: a set of them, in place of the host's own."""
        process = Process(name, self.network.prefix(host) + list(command),
                          cores or {self.core(host)}, self.folder, real_time)
        self.processes[name] = process
        return process

    def wait_for_text(self, process, text, timeout_s):
        self.wait_until(lambda: text in process.output(), timeout_s,
                        f"'{text}' from {process.name}", (process,))

    def wait_until(self, condition, timeout_s, what, needed=()):
        end = time.monotonic() + timeout_s
        while not condition():
            for process in needed:
                if not process.running() and not condition():
                    raise process.failure()
            if time.monotonic() > end:
                raise ProcessError(f"{what}: not within {timeout_s} s")
            time.sleep(0.02)

    def watch(self):
        for process in self.processes.values():
            process.watch()

    def end(self, names=None):
        """In reverse order of their start."""
        for name in reversed(list(names or self.processes)):
            self.processes[name].end()
