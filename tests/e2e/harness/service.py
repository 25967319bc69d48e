"""Programs as a service manager starts them: systemd's end of NOTIFY_SOCKET, units, and the times of options."""
import pathlib
import re
import socket

from harness import programs

SYSTEMD = pathlib.Path(__file__).parents[3] / "deploy/systemd"
SERVER, TRAINER = SYSTEMD / "halograph-server@.service", SYSTEMD / "halograph-train@.service"

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def seconds_of(text):
    """Of a time as the programs and systemd write it: 90s, 5min, 500ms, 30."""
    number, unit = re.fullmatch(r"([\d.]+)\s*([a-z]*)", text).groups()
    return float(number) * UNITS[unit]


def defaults(box, program, *names):
    """What options have where they are not given, in seconds, by the program's own --help."""
    text = re.sub(r"\s+", " ", programs.must(box.run(program, "--help")).out)
    found = {}
    for name in names:
        value = re.search(rf" --{name} TIME .*?; default: (\w+)\)", text)
        found[name] = seconds_of(value.group(1))
    return found


def given(words, program_defaults):
    """The times of a command line, and of those that it does not give the defaults."""
    times = dict(program_defaults)
    for name in times:
        if f"--{name}" in words:
            times[name] = seconds_of(words[words.index(f"--{name}") + 1])
    return times


class Manager:
    """The service manager's socket, at a path or, with `abstract`, in the abstract space."""

    def __init__(self, box, abstract=False):
        self.name = f"@{box.mark}" if abstract else str(box.folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.name.replace("@", "\0"))
        self.socket.settimeout(0.1)
        self.said = []

    def environment(self, **more):
        return {"NOTIFY_SOCKET": self.name, **more}

    def wait_for(self, line, process):
        """The messages up to the first with this line."""
        messages = []

        def arrived():
            ended = not process.running()  # then all that it said is there
            try:
                message = self.socket.recv(4096).decode()
            except TimeoutError:
                if ended:
                    raise AssertionError(f"no {line}, but {self.said}\n{process.text}") from None
                return False
            self.said.append(message)
            messages.append(message)
            return line in message.split("\n")

        programs.wait_until(arrived, line)
        return messages

    def has_nothing_more(self, within=0):
        self.socket.settimeout(within)
        try:
            self.said.append(self.socket.recv(4096).decode())
            return False
        except (BlockingIOError, TimeoutError):
            return True

    def close(self):
        self.socket.close()


class Unit:
    """A unit of systemd: what it says by key, the last of each where systemd keeps one."""

    def __init__(self, path):
        self.path = path
        text = re.sub(r"\\\n\s*", "", path.read_text(encoding="utf-8"))
        self.lines = [tuple(line.split("=", 1)) for line in text.splitlines()
                      if "=" in line and not line.startswith("#")]

    def all(self, key):
        return [value for name, value in self.lines if name == key]

    def one(self, key):
        values = self.all(key)
        if len(values) != 1:
            raise AssertionError(f"{self.path.name} has {len(values)} {key}=, expected one")
        return values[0]

    def command(self, variables=None, **specifiers):
        """ExecStart as systemd starts it: %i and others replaced, ${NAME} a word, $NAME its words."""
        values = {}
        for line in self.all("Environment"):
            name, _, value = line.strip('"').partition("=")
            values[name] = value
        values.update(variables or {})
        words = []
        for word in self.one("ExecStart").split():
            for letter, value in specifiers.items():
                word = word.replace(f"%{letter}", str(value))
            if re.fullmatch(r"\$\w+", word):
                words += values[word[1:]].split()
            else:
                words.append(re.sub(r"\$\{(\w+)\}", lambda match: values[match.group(1)], word))
        return words

