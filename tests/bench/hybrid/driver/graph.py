"""The graph that is trained on: generated and partitioned once, kept in the work folder."""
import subprocess


class GraphError(RuntimeError):
    pass


def prepare(options):
    """The partition folder of `options`' graph, one part a host."""
    name = (f"sbm-n{options.nodes}-e{options.edges}-f{options.features}-c{options.classes}"
            f"-h{options.homophily}-t{options.train_share}-s{options.seed}")
    raw = options.work / "graphs" / name / "raw"
    parts = options.work / "graphs" / name / f"parts{options.hosts}"
    program = options.bin / "halograph-partition"
    raw.parent.mkdir(parents=True, exist_ok=True)
    # Both commands make a folder whole or not at all.
    if not parts.exists():
        if not raw.exists():
            _run(program, "generate", "sbm", "--output", raw, "--nodes", options.nodes,
                 "--edges", options.edges, "--features", options.features,
                 "--classes", options.classes, "--homophily", options.homophily,
                 "--train", options.train_share, "--valid", 0, "--test", 0, "--seed", options.seed)
        _run(program, "run", "--input", raw, "--output", parts, "--parts", options.hosts,
             "--method", "metis", "--seed", options.seed)
    return parts


def _run(*command):
    words = [str(word) for word in command]
    print("running", " ".join(words), flush=True)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GraphError(f"{' '.join(words)}\nended with {done.returncode}:\n{done.stderr[-3000:]}")
