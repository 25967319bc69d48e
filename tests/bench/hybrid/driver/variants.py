"""What is compared: which programs run, and with which options."""
import dataclasses


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


VARIANTS = [
    Variant("vanilla", "partitioned, sampled in two steps",
            trainer="two_step_train", server="two_step_server"),
    Variant("vanilla-own", "the same, own part mapped",
            trainer="two_step_train", server="two_step_server", own_part=True),
    Variant("partitioned", "partitioned, fused kernel"),
    Variant("partitioned-own", "the same, own part mapped", own_part=True),
    Variant("partitioned-own-cache", "the same, other parts' rows cached by looking ahead",
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
FETCH = Variant("fetch", "hybrid, topology fetched from the servers first", topology="local")


def by_name(name):
    for variant in VARIANTS:
        if variant.name == name:
            return variant
    raise KeyError(name)


def server_command(variant, options, graph, part, address):
    return [options.bin / variant.server, "--graph", graph, "--part", part, "--listen", address,
            "--serve", variant.serve, "--verify", "headers", "--log-level", "warning"]


def trainer_command(variant, options, graph, own, rank, servers, meet, folder, epochs):
    """`own`: partition folder of the host's part alone; `servers`: addresses of all; `meet`:
    address and port of rank 0; `folder`: for the log, and what is fetched."""
    command = [options.bin / variant.trainer, "--rank", rank, "--world-size", options.hosts,
               "--master-addr", meet[0], "--master-port", meet[1], "--timeout", "120s",
               "--layers", len(options.fanouts), "--hidden", options.hidden,
               "--dropout", options.dropout,
               "--fanouts", ",".join(map(str, options.fanouts)),
               "--batch-size", options.batch_size, "--epochs", epochs, "--eval-every", 0,
               "--seed", options.seed, "--threads", 1,
               "--sample-threads", options.sample_threads, "--prefetch", options.prefetch,
               "--verify", "headers", "--quiet", "--log-level", "warning"]
    if rank == 0:
        command += ["--log", folder / "log.jsonl"]
    if variant.serve is None:
        return command + ["--graph", graph]
    command += ["--servers", ",".join(servers), "--cache", variant.cache]
    if variant.cache != "off" and options.cache_memory:
        command += ["--cache-memory", options.cache_memory]
    if variant.own_part:
        command += ["--local", own]
    if variant.topology == "folder":
        command += ["--topology", graph]
    elif variant.topology == "local":
        command += ["--topology", "local", "--cache-dir", folder / f"cache{rank}"]
    return command
