"""What is planted, and what `why` is to say of it."""
import dataclasses
import typing

from driver import graph

FAST, SLOW = 0, 1  # the servers: of part 0, which is well, and of part 1, at which causes are planted


@dataclasses.dataclass(frozen=True)
class Cause:
    name: str
    named: str  # the cause that `why` names
    # Of a cluster: the culprit that it names.
    culprit: typing.Callable[[typing.Any], str]
    # What is planted.
    delay_us: int = 0                  # each way, before server 1
    burners: tuple[int, ...] = ()      # programs that use up a core, by its number
    cores: dict = dataclasses.field(default_factory=dict)  # of programs: "server1", "rank0"; else all
    slow_sync_ms: int = 0              # every sync of server 1
    bits_per_s: int = 0                # of the link of server 1; 0: as fast as it goes
    send_buffer: int = 0               # of a connection of server 1, in its kernel; 0: as usual
    ranks: int = 1
    server: tuple[str, ...] = ()       # options of both servers
    slow_server: tuple[str, ...] = ()  # of server 1 alone
    train: tuple[str, ...] = ()        # options that stand behind the ones of all
    state: bool = False
    graph: typing.Callable = graph.small
    early: bool = False                # look at once, not after the first epoch


# A step with little to compute, for which rows come from servers.
LIGHT = ("--hidden", "16", "--cache", "off")
# The same with small messages, of which the number counts, and not the bytes.
SMALL = (*LIGHT, "--batch-size", "32", "--fanouts", "5,5")


# Programs that never rest on one core: each turn of a thread there comes late.
BURNERS = 6


def address_of(server):
    return lambda cluster: cluster.addresses[server]


def rank(number):
    return lambda _: f"rank {number}"


CAUSES = (
    Cause("healthy", "computing", rank(0), train=("--hidden", "256")),
    Cause("delay", "delay", address_of(SLOW), delay_us=2500, train=(*SMALL, "--prefetch", "1")),
    # Server 1 shares its core with programs that never rest.
    Cause("busy-core", "busy-processors", address_of(SLOW), burners=(1,) * BURNERS,
          cores={"server1": {1}, "server0": {0}, "rank0": {0}}, train=SMALL),
    Cause("slow-fsync", "slow-sync", lambda cluster: f"part {SLOW} at {cluster.addresses[SLOW]}",
          slow_sync_ms=30, server=("--sync", "always"), state=True,
          train=("--hidden", "16", "--embed", "node:32")),
    # Room for four replies, which stay there until trainers take them, and many calls that ask for it.
    Cause("reply-memory", "reply-memory", address_of(SLOW),
          server=("--max-message-bytes", "256KiB", "--threads", "4"), slow_server=("--reply-memory", "1MiB"),
          send_buffer=8 << 10,
          train=(*LIGHT, "--layers", "1", "--fanouts", "20", "--prefetch", "4", "--calls-in-flight", "32")),
    Cause("straggler", "straggler", rank(1), burners=(1,),
          cores={"rank0": {0}, "rank1": {1}, "server0": {0}, "server1": {0}}, ranks=2,
          train=("--hidden", "128")),
    Cause("cold-cache", "cold-cache", rank(0), graph=graph.large, early=True,
          train=("--hidden", "16", "--cache", "look-ahead", "--cache-memory", "2GiB", "--sample-threads", "1",
                 "--prefetch", "1", "--calls-in-flight", "1")),
    # Rows and topology are at hand: what is left is drawing neighbours, by one thread.
    Cause("few-sample-threads", "few-sample-threads", rank(0), graph=graph.dense,
          train=("--hidden", "4", "--sample-threads", "1", "--layers", "1", "--fanouts", "300",
                 "--batch-size", "1024", "--topology", "local")),
    Cause("narrow-link", "narrow-link", address_of(SLOW), bits_per_s=100_000_000, train=LIGHT),
)


def by_name(name):
    return next(cause for cause in CAUSES if cause.name == name)
