"""From trials to figures: medians, ratios of interleaved runs, and tables."""
import statistics

MIB = 1 << 20


def median_of(trials, key):
    return statistics.median(epoch[key] for trial in trials for epoch in trial["epochs"])


def seconds(trial):
    return statistics.median(epoch["seconds"] for epoch in trial["epochs"])


def summarise(trials, bits_per_s, hosts):
    """One condition's row of each variant. `trials`: in the order run."""
    names = list(dict.fromkeys(trial["variant"] for trial in trials))
    by_name = {name: [trial for trial in trials if trial["variant"] == name] for name in names}
    return [{"variant": name, **_row(by_name[name], bits_per_s, hosts),
             "first": _over_first(by_name[name], by_name[names[0]]),
             "times": {over: _times(by_name[over], by_name[name])
                       for over in names if over.startswith("vanilla")}}
            for name in names]


PREPARING = ("cpu_prepare_s", "cpu_server_s", "cpu_proxy_s")
CPU = ("cpu_compute_s", *PREPARING)


def _over_first(trials, first):
    """Seconds an epoch over those of the variant that is named first, run beside run: the median,
    the least and the most."""
    ratios = sorted(seconds(a) / seconds(b) for a, b in zip(trials, first))
    return [statistics.median(ratios), ratios[0], ratios[-1]]


def _times(slow, fast):
    """How many times slower: medians over repeats, run beside run; of seconds an epoch, of a host's
    processor seconds (which other load on the machine changes less), of those without training.
    None where what is divided by is too small to be measured."""
    def median(cost):
        pairs = [(cost(a), cost(b)) for a, b in zip(slow, fast)]
        if min(b for _, b in pairs) <= 0:
            return None
        return statistics.median(a / b for a, b in pairs)
    return {"seconds": median(seconds), "cpu": median(lambda trial: cpu_seconds(trial, CPU)),
            "preparing": median(lambda trial: cpu_seconds(trial, PREPARING))}


def cpu_seconds(trial, kinds):
    return statistics.median(sum(epoch[kind] for kind in kinds) for epoch in trial["epochs"])


def _row(trials, bits_per_s, hosts):
    epoch_s = median_of(trials, "seconds")
    measured = [epoch for trial in trials for epoch in trial["epochs"]]
    row = {key: median_of(trials, key) for key in (
        "seconds", "sample_wait_s", "feature_wait_s", "compute_s", "sync_wait_s", "cpu_compute_s",
        "cpu_prepare_s", "cpu_server_s", "cpu_proxy_s", "sampled_edges", "remote_bytes",
        "remote_sample_bytes")}
    row["waits"] = statistics.median(trial["waits"] for trial in trials)
    row["stages"] = _stages(measured)
    row["seconds_range"] = [min(e["seconds"] for e in measured),
                            max(e["seconds"] for e in measured)]
    row["rounds_per_minibatch"] = median_of(trials, "rounds_per_minibatch")
    for way in ("sent_bytes", "received_bytes"):
        row[way] = [statistics.median(e[way][host] for e in measured) for host in range(hosts)]
    row["core_busy"] = sum(row[key] for key in CPU) / epoch_s
    row["link_busy"] = 0.0 if bits_per_s is None else (
        8 * max(row["sent_bytes"] + row["received_bytes"]) / epoch_s / bits_per_s)
    row["memory"] = {name: {kind: max(trial["memory"][name][kind] for trial in trials)
                            for kind in used} for name, used in trials[0]["memory"].items()}
    return row


COLUMNS = [
    ("variant", 22, lambda r: r["variant"]),
    ("s/epoch", 8, lambda r: f"{r['seconds']:.2f}"),
    ("min-max", 12, lambda r: "{:.2f}-{:.2f}".format(*r["seconds_range"])),
    ("of first", 16, lambda r: "{:.2f} ({:.2f}-{:.2f})".format(*r["first"])),
    ("x van.", 7, lambda r: _ratio(r, "vanilla", "seconds")),
    ("x own", 6, lambda r: _ratio(r, "vanilla-own", "seconds")),
    ("cpu x", 6, lambda r: _ratio(r, "vanilla", "cpu")),
    ("prep x", 6, lambda r: _ratio(r, "vanilla", "preparing")),
    ("wait s+f", 11, lambda r: f"{r['sample_wait_s']:.2f}+{r['feature_wait_s']:.2f}"),
    ("sync", 6, lambda r: f"{r['sync_wait_s']:.2f}"),
    ("cpu: train", 11, lambda r: f"{r['cpu_compute_s']:.2f}"),
    ("prepare", 8, lambda r: f"{r['cpu_prepare_s']:.2f}"),
    ("server", 7, lambda r: f"{r['cpu_server_s']:.2f}"),
    ("proxy", 6, lambda r: f"{r['cpu_proxy_s']:.2f}"),
    ("core", 5, lambda r: f"{100 * r['core_busy']:.0f}%"),
    ("link", 5, lambda r: f"{100 * r['link_busy']:.0f}%"),
    ("MiB rows+smp", 12, lambda r: "{:.0f}+{:.0f}".format(
        r["remote_bytes"] / MIB, r["remote_sample_bytes"] / MIB)),
    ("waits", 5, lambda r: f"{100 * r['waits']:.1f}%"),
    ("MiB out/in", 12, lambda r: "{:.0f}/{:.0f}".format(
        statistics.mean(r["sent_bytes"]) / MIB, statistics.mean(r["received_bytes"]) / MIB)),
    ("rounds", 7, lambda r: f"{r['rounds_per_minibatch']:.1f}"),
    ("MiB train a/f", 14, lambda r: _memory(r, "trainer0")),
    ("server a/f", 11, lambda r: _memory(r, "server0")),
]
LEGEND = """All of an epoch and a host (mean over hosts). of first: seconds over those of the first
row's, the median of pairs. x van., x own: times faster than vanilla, than vanilla-own. cpu x,
prep x: vanilla's processor seconds over these: all, and without training. wait s+f: the training
loop stood still for sampling and for features; waits: their share of all epochs. cpu: seconds of
the host's one core, by training (the trainers' first threads), preparing minibatches (the others),
server and delaying proxy; core: their share of the epoch. link: the busiest direction's share of
the rate. MiB rows+smp: remote rows, and requests and replies of sampling, of all hosts together.
a/f: peak anonymous and file-backed memory of host 0's trainer and server."""


def _stages(epochs):
    """Seconds of each stage and state; of programs that do not tell them, none."""
    told = [epoch["stages"] for epoch in epochs if "stages" in epoch]
    return {stage: {state: statistics.median(each[stage][state] for each in told)
                    for state in told[0][stage]} for stage in (told[0] if told else {})}


def _ratio(row, over, of):
    times = row["times"].get(over, {}).get(of)
    return "" if times is None else f"{times:.2f}"


def _memory(row, process):
    used = row["memory"].get(process)
    return "" if used is None else f"{used['anonymous'] / MIB:.0f}/{used['file'] / MIB:.0f}"


def table(title, rows):
    lines = [title, " ".join(f"{name:>{width}}" for name, width, _ in COLUMNS)]
    lines += [" ".join(f"{text(row):>{width}}" for _, width, text in COLUMNS) for row in rows]
    return "\n".join(lines)
