"""The graph that is trained on: generated once, partitioned once for each way to do it, and kept in
the work folder."""
import subprocess


class GraphError(RuntimeError):
    pass


def prepare(options, variant):
    """The partition folder of `options`' graph for the variant, one part a host."""
    name = (f"sbm-n{options.nodes}-e{options.edges}-f{options.features}-c{options.classes}"
            f"-h{options.homophily}-t{options.train_share}")
    if options.valid_share > 0:
        name += f"-v{options.valid_share}"
    name += f"-s{options.seed}"
    raw = options.work / "graphs" / name / "raw"
    way, more = f"parts{options.hosts}", []
    if variant.method != "metis":
        way += f"-{variant.method}"
    if variant.levels > 1:
        way += f"-of{options.trainers}"
        more = ["--trainers-per-part", options.trainers]
    parts = options.work / "graphs" / name / way
    program = options.bin / "halograph-partition"
    raw.parent.mkdir(parents=True, exist_ok=True)
    # Both commands make a folder whole or not at all.
    if not parts.exists():
        if not raw.exists():
            _run(program, "generate", "sbm", "--output", raw, "--nodes", options.nodes,
                 "--edges", options.edges, "--features", options.features,
                 "--classes", options.classes, "--homophily", options.homophily,
                 "--train", options.train_share, "--valid", options.valid_share,
                 "--test", 0, "--seed", options.seed)
        _run(program, "run", "--input", raw, "--output", parts, "--parts", options.hosts,
             "--method", variant.method, "--seed", options.seed, *more)
    return parts


def _run(*command):
    words = [str(word) for word in command]
    print("running", " ".join(words), flush=True)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GraphError(f"{' '.join(words)}\nended with {done.returncode}:\n{done.stderr[-3000:]}")
