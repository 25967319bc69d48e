"""State: pushes, how far readers are behind, the log and its syncs, checkpoints and recovery."""
from dashboard import dashboard, functions_of, heatmap, lines, stat, table, variable

PARTS = '{job=~"$job",part=~"$part"}'
# Servers have no label for the partition in what is not counted by it.
SERVERS = '{job=~"$job",instance=~"$instance"}'
PUSH = '{job=~"$job",instance=~"$instance",grpc_method=~".*/Push"}'
SYNC = "halograph_state_sync_seconds_bucket"
rate, quantile = functions_of(PARTS)


VARIABLES = [
    variable("job", "Job", "label_values(halograph_state_lsn, job)"),
    variable("part", "Partition", 'label_values(halograph_partition_served{job=~"$job"}, part)'),
    variable("instance", "Server", 'label_values(halograph_state_lsn{job=~"$job",part=~"$part"}, instance)'),
]

PANELS = [
    stat("Partitions with state", "A partition's tensors have one owner.",
         f"count(halograph_state_lsn{PARTS})"),
    stat("Partitions that refuse pushes", "A write to their disk failed. Mend it, then restart the server.",
         f"sum(halograph_state_refuses_pushes{PARTS})", bad=1),
    stat("Pushes a second", "", f'sum({rate("halograph_state_pushes_total")})', unit="ops"),
    stat("Fullest log", "Of its bound. Pushes wait at 1.",
         f"max(halograph_state_log_bytes{PARTS} / halograph_state_log_limit_bytes{PARTS})", unit="percentunit",
         bad=0.8),
    stat("Slowest sync, p99", "fsync of the log.", f'max({quantile(0.99, "instance, part", SYNC)})', unit="s",
         bad=0.5),
    stat("Oldest checkpoint", "A start reads the log since then.",
         f"max(halograph_state_checkpoint_age_seconds{PARTS})", unit="s"),

    lines("Pushes a second", "By partition.",
          ("{{part}}", f'sum by (part) ({rate("halograph_state_pushes_total")})'), unit="ops"),
    lines("Rows pushed a second", "By partition.",
          ("{{part}}", f'sum by (part) ({rate("halograph_state_pushed_rows_total")})')),
    lines("Pushes refused a second", "Since the state refuses them.",
          ("{{instance}}", rate("halograph_server_refused_total",
                                '{job=~"$job",instance=~"$instance",reason="state"}')), unit="ops"),

    lines("Latency of Push", "p50 and p99. With --sync always a push waits for its sync.",
          ("p99 {{instance}}", quantile(0.99, "instance", "grpc_server_call_duration_seconds_bucket", PUSH)),
          ("p50 {{instance}}", quantile(0.5, "instance", "grpc_server_call_duration_seconds_bucket", PUSH)),
          unit="s"),
    lines("Readers behind, in pushes", "LSN in the rows minus the one that the oldest reader of the last minute "
          "waited for.",
          ("{{tensor}} {{part}}", f"max by (tensor, part) (halograph_state_staleness_pushes{PARTS})")),
    lines("Queue of the state's threads", "Pushes that wait for a thread, of --state-queue.",
          ("{{instance}}", """halograph_server_queued_calls{job=~"$job",instance=~"$instance",pool="state"}
           / halograph_server_queue_limit_calls{job=~"$job",instance=~"$instance",pool="state"}"""),
          unit="percentunit"),

    lines("Sync of the log", "p50 and p99 of fsync.",
          ("p99 {{part}}", quantile(0.99, "part", SYNC)), ("p50 {{part}}", quantile(0.5, "part", SYNC)),
          unit="s"),
    heatmap("Syncs", "Two bands: the disk has other work at times.", f"sum by (le) ({rate(SYNC)})", unit="s"),
    lines("Pushes that a crash of the machine would take", "LSN taken minus LSN synced.",
          ("{{part}}", f"max by (part) (halograph_state_lsn{PARTS} - halograph_state_synced_lsn{PARTS})")),

    lines("Syncs a second", "", ("{{part}}", f'sum by (part) ({rate("halograph_state_syncs_total")})'), unit="ops"),
    lines("Log, of its bound", "A checkpoint shortens it from half of the bound on.",
          ("{{part}}", f"max by (part) (halograph_state_log_bytes{PARTS} / halograph_state_log_limit_bytes{PARTS})"),
          unit="percentunit"),
    lines("Age of the last checkpoint", "", ("{{part}}", f"max by (part) (halograph_state_checkpoint_age_seconds{PARTS})"),
          unit="s"),

    lines("Memory of rows and optimizer state", "--state-memory is shared out to the partitions.",
          ("{{part}}", f"sum by (part) (halograph_state_memory_bytes{PARTS})"), unit="bytes", stacked=True),
    lines("Checkpoints an hour", "", ("{{part}}", f'3600 * sum by (part) ({rate("halograph_state_checkpoints_total")})')),
    lines("Processors", "Busy processors of each server.",
          ("{{instance}}", rate("process_cpu_seconds_total", SERVERS))),

    table("Last start of each partition", "How long it read checkpoint and log, and how many pushes came from the log.",
          ("", f"halograph_state_recovery_seconds{PARTS}"), ("", f"halograph_state_replayed_pushes{PARTS}"),
          ("", f"halograph_state_lsn{PARTS}"),
          columns={"part": "Partition", "instance": "Server", "job": "Job", "Value #A": ("Recovery", "s"),
                   "Value #B": "Pushes from the log", "Value #C": "LSN now"}),
]

DASHBOARD = dashboard(
    "halograph-state", "Halograph state",
    "Tensors that change: pushes, readers behind, the log and its syncs, checkpoints.", VARIABLES, PANELS)
