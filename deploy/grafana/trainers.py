"""Trainers: how long a step takes, what it waits for, which rank holds up the others."""
from dashboard import dashboard, functions_of, heatmap, lines, stat, table, variable

RANKS = '{job=~"$job",rank=~"$rank"}'
# What every program has, and calls to servers, may have no label for the rank.
PROCESSES = '{job=~"$job",instance=~"$instance"}'
STEP = "halograph_trainer_step_seconds"
rate, quantile = functions_of(RANKS)


def a_step(metric):
    """Seconds of a step, the mean over the ranks."""
    return f"sum({rate(metric)}) / sum({rate(f'{STEP}_count')})"


def rows(source, by=""):
    selector = RANKS[:-1] + f',source=~"{source}"}}'
    return f'sum{by} ({rate("halograph_trainer_pull_rows_total", selector)})'


FAILED = rate("grpc_client_attempt_duration_seconds_count",
              '{job=~"$job",instance=~"$instance",grpc_status!="OK"}')
SENT = f'sum({rate("grpc_client_attempt_started_total", PROCESSES)})'

VARIABLES = [
    variable("job", "Job", "label_values(halograph_trainer_ranks, job)"),
    variable("rank", "Rank", 'label_values(halograph_trainer_ranks{job=~"$job"}, rank)'),
    variable("instance", "Process", 'label_values(halograph_trainer_ranks{job=~"$job",rank=~"$rank"}, instance)'),
]

PANELS = [
    stat("Ranks that answer", "Of those that the run has, see the next.", f"count(halograph_trainer_ranks{RANKS})"),
    stat("Ranks of the run", "", f"max(halograph_trainer_ranks{RANKS})"),
    stat("Steps a second", "All ranks step together: the slowest sets the pace.",
         f'max({rate("halograph_trainer_steps_total")})', unit="ops"),
    stat("Mean step", "", a_step(f"{STEP}_sum"), unit="s"),
    stat("Waiting for minibatches", "Share of the steps' time. High: look at the stages below.",
         f'sum({rate("halograph_trainer_wait_seconds_total")}) / sum({rate(f"{STEP}_sum")})', unit="percentunit",
         bad=0.3),
    stat("Waiting for other ranks", "Share of the steps' time. High: look for the straggler below.",
         f'sum({rate("halograph_trainer_sync_wait_seconds_total")}) / sum({rate(f"{STEP}_sum")})',
         unit="percentunit", bad=0.3),

    lines("Step", "p50 and p99 of each rank.", ("p99 {{rank}}", quantile(0.99, "rank", f"{STEP}_bucket")),
          ("p50 {{rank}}", quantile(0.5, "rank", f"{STEP}_bucket")), unit="s"),
    lines("Where a step's time goes", "The mean over ranks. What is neither wait is computing.",
          ("waits for its minibatch", a_step("halograph_trainer_wait_seconds_total")),
          ("waits for other ranks", a_step("halograph_trainer_sync_wait_seconds_total")),
          ("computes", f"""{a_step(f"{STEP}_sum")}
            - {a_step("halograph_trainer_wait_seconds_total")}
            - {a_step("halograph_trainer_sync_wait_seconds_total")}"""), unit="s", stacked=True),
    lines("Later than the other ranks", "Seconds after the mean of the ranks, at the last meeting. A rank that "
          "always stands out holds up all others.",
          ("{{rank}}", f"halograph_trainer_straggler_seconds{RANKS}"), unit="s"),

    lines("Stages: busy", "Threads at work, by stage. The stage whose threads are all busy bounds the step.",
          ("{{stage}}", f"""sum by (stage) ({rate("halograph_trainer_stage_seconds_total",
                                                  RANKS[:-1] + ',state="busy"}')})""")),
    lines("Stages: starved", "Threads without work: the stage before is slower.",
          ("{{stage}}", f"""sum by (stage) ({rate("halograph_trainer_stage_seconds_total",
                                                  RANKS[:-1] + ',state="starved"}')})""")),
    lines("Stages: blocked", "Threads without room for their result: the stage after is slower.",
          ("{{stage}}", f"""sum by (stage) ({rate("halograph_trainer_stage_seconds_total",
                                                  RANKS[:-1] + ',state="blocked"}')})""")),

    lines("Rows a second, by source", "local: own files; remote: servers; cache: rows kept from before.",
          ("{{source}}", rows(".*", " by (source)")), stacked=True),
    lines("Cache hits", "Of the rows that are not local. Without a cache it is 0.",
          ("all tensors", f'({rows("cache")} or vector(0)) / {rows("cache|remote")}'),
          unit="percentunit", top=1),
    lines("Bytes of rows a second, by tensor", "From servers.",
          ("{{tensor}}", f"""sum by (tensor) ({rate("halograph_trainer_pull_bytes_total",
                                                    RANKS[:-1] + ',source="remote"}')})"""), unit="Bps",
          stacked=True),

    lines("Calls to servers, p99 by server", "The network's time is in it, unlike in the servers' own latency.",
          ("{{grpc_target}}", quantile(0.99, "grpc_target", "grpc_client_attempt_duration_seconds_bucket",
                                       PROCESSES)), unit="s"),
    lines("Calls to servers, p99 by method", "",
          ("{{grpc_method}}", quantile(0.99, "grpc_method", "grpc_client_attempt_duration_seconds_bucket",
                                       PROCESSES)), unit="s"),
    heatmap("Calls to servers", "Two bands: one server, or one method, is slower.",
            f'sum by (le) ({rate("grpc_client_attempt_duration_seconds_bucket", PROCESSES)})', unit="s"),

    lines("Calls that failed, by status", "Share of calls sent.",
          ("{{grpc_status}}", f"(sum by (grpc_status) ({FAILED}) or on () 0 * {SENT}) / on () group_left () {SENT}"),
          unit="percentunit"),
    lines("Calls sent again", "Retries, and calls sent to another server of the partition.",
          ("again {{grpc_method}}", f"""sum by (grpc_method)
            ({rate("halograph_client_retries_total", PROCESSES)})"""),
          ("another server", f'sum({rate("halograph_client_failovers_total", PROCESSES)})'), unit="ops"),
    lines("Calls a second, by server", "",
          ("{{grpc_target}}", f'sum by (grpc_target) ({rate("grpc_client_attempt_started_total", PROCESSES)})'),
          unit="ops"),

    lines("Loss", "Of the last step.", ("{{rank}}", f"halograph_trainer_loss{RANKS}"), negative=True),
    lines("Seeds a second", "", ("{{rank}}", f'sum by (rank) ({rate("halograph_trainer_seeds_total")})'),
          stacked=True),
    lines("Epoch", "", ("{{rank}}", f"halograph_trainer_epoch{RANKS}")),

    lines("Resident memory", "", ("{{instance}}", f"process_resident_memory_bytes{PROCESSES}"), unit="bytes"),
    lines("Processors", "Busy processors of each process.",
          ("{{instance}}", rate("process_cpu_seconds_total", PROCESSES))),
    lines("Descriptors, of the limit", "",
          ("{{instance}}", f"process_open_fds{PROCESSES} / process_max_fds{PROCESSES}"), unit="percentunit"),

    table("Ranks", "Where each runs, and for how long.",
          ("", f"""halograph_uptime_seconds{PROCESSES}
           * on (job, instance) group_left (rank) (halograph_trainer_ranks{RANKS} > bool 0)
           * on (job, instance) group_left (version) halograph_build_info{PROCESSES}"""),
          ("", f"halograph_trainer_steps_total{RANKS}"), ("", f"halograph_trainer_loss{RANKS}"),
          columns={"rank": "Rank", "instance": "Process", "job": "Job", "version": "Version",
                   "Value #A": ("Uptime", "s"), "Value #B": "Steps", "Value #C": "Loss"}),
]

DASHBOARD = dashboard(
    "halograph-trainers", "Halograph trainers",
    "Why a step is slow: what it waits for, which stage bounds it, which rank and which server are slow.",
    VARIABLES, PANELS)
