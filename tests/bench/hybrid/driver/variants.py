"""What is compared: which programs run, over which partitions, and with which options."""
import dataclasses

BEFORE = "@before"  # behind the name of a variant: with the older programs of --before


@dataclasses.dataclass(frozen=True)
class Variant:
    name: str
    what: str
    trainer: str = "halograph-train"
    server: str = "halograph-server"
    serve: str = "all"  # halograph-server --serve; None: no servers
    own_part: bool = False  # the trainer maps its host's part
    topology: str = "servers"  # "servers", "folder" (mapped) or "local" (fetched)
    cache: str = "off"  # halograph-train --cache
    method: str = "metis"  # halograph-partition --method
    levels: int = 1  # 2: each part is divided among its host's trainers, too
    prefetch: int = None  # halograph-train --prefetch, in place of the benchmark's
    before: bool = False  # with programs that are older than --cache
    tls: bool = False  # between trainers and servers


VARIANTS = [
    Variant("vanilla", "partitioned, sampled in two steps",
            trainer="two_step_train", server="two_step_server"),
    Variant("vanilla-own", "the same, own part mapped",
            trainer="two_step_train", server="two_step_server", own_part=True),
    Variant("partitioned", "partitioned, fused kernel"),
    Variant("partitioned-own", "the same, own part mapped", own_part=True),
    Variant("partitioned-own-tls", "partitioned, own part mapped, over TLS", own_part=True, tls=True),
    Variant("partitioned-own-cache", "partitioned-own, other parts' rows cached by looking ahead",
            own_part=True, cache="look-ahead"),
    Variant("hybrid", "topology mapped, features from servers",
            serve="features", topology="folder"),
    Variant("hybrid-own", "the same, own part's features mapped",
            serve="features", topology="folder", own_part=True),
    Variant("hybrid-own-static", "the same, other parts' likeliest rows cached",
            serve="features", topology="folder", own_part=True, cache="static"),
    Variant("hybrid-own-cache", "the same, other parts' rows cached by looking ahead",
            serve="features", topology="folder", own_part=True, cache="look-ahead"),
    Variant("embedded", "all mapped, no server: what no network costs", serve=None),
]
# Each adds one thing to the one before it, as figure 14 of DistDGLv2 does.
ABLATION = [
    Variant("random", "partitioned, own part mapped, owners at random, each step when it begins",
            own_part=True, method="random", prefetch=0),
    Variant("metis", "the same, owners by METIS", own_part=True, prefetch=0),
    Variant("two-level", "the same, parts divided among the trainers of a host",
            own_part=True, levels=2, prefetch=0),
    Variant("async", "the same, steps prepared ahead within an epoch",
            trainer="stopping_train", own_part=True, levels=2),
    Variant("non-stop", "the same, across epochs", own_part=True, levels=2),
    Variant("cache", "the same, other parts' rows cached by looking ahead",
            own_part=True, levels=2, cache="look-ahead"),
]
HELP = ". `ablation` alone: ".join(
    "; ".join(f"{each.name}: {each.what}" for each in those) for those in (VARIANTS, ABLATION))
# What programs count that do something otherwise: each of their kind must have done it.
USES = {"two_step_train": [("trainer", "minibatches"), ("server", "layers")],
        "stopping_train": [("trainer", "stops")]}
FETCH = Variant("fetch", "hybrid, topology fetched from the servers first", topology="local")


def by_name(name):
    """Raises KeyError where there is none, or where the older programs cannot be it."""
    for variant in VARIANTS + ABLATION:
        if variant.name == name:
            return variant
        if variant.name + BEFORE == name and variant.cache == "off" and (
                variant.trainer == "halograph-train"):
            return dataclasses.replace(variant, name=name, before=True)
    raise KeyError(name)


def program(variant, options, name):
    return (options.before if variant.before else options.bin) / name


def server_command(variant, options, graph, part, address, tls):
    """`tls`: a folder of certificates, or None."""
    return [program(variant, options, variant.server), "--graph", graph, "--part", part,
            "--listen", address, *(["--tls-dir", tls] if tls else ["--insecure"]),
            "--serve", variant.serve, "--verify", "headers", "--log-level", "warning"]


def trainer_command(variant, options, graph, own, rank, servers, meet, folder, epochs, tls):
    """`own`: partition folder of the host's part alone; `servers`: addresses of all; `meet`:
    address and port of rank 0; `folder`: for the log, and what is fetched."""
    prefetch = options.prefetch if variant.prefetch is None else variant.prefetch
    command = [program(variant, options, variant.trainer), "--rank", rank,
               "--world-size", options.hosts * options.trainers,
               "--master-addr", meet[0], "--master-port", meet[1], "--timeout", "120s",
               "--layers", len(options.fanouts), "--hidden", options.hidden,
               "--dropout", options.dropout,
               "--fanouts", ",".join(map(str, options.fanouts)),
               "--batch-size", options.batch_size, "--epochs", epochs,
               "--eval-every", options.eval_every,
               "--seed", options.seed, "--threads", 1,
               "--sample-threads", options.sample_threads, "--prefetch", prefetch,
               "--verify", "headers", "--quiet", "--log-level", "warning"]
    if not variant.before:
        command += options.train_options
    if rank == 0:
        command += ["--log", folder / "log.jsonl"]
    if variant.serve is None:
        return command + ["--graph", graph]
    command += ["--servers", ",".join(servers)]
    if tls:
        command += ["--tls-dir", tls]
    if not variant.before:
        command += ["--cache", variant.cache]
    if variant.cache != "off" and options.cache_memory:
        command += ["--cache-memory", options.cache_memory]
    if variant.own_part:
        command += ["--local", own]
    if variant.topology == "folder":
        command += ["--topology", graph]
    elif variant.topology == "local":
        command += ["--topology", "local", "--cache-dir", folder / f"cache{rank}"]
    return command
