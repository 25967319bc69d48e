"""Servers: are all partitions served, how fast are calls, which bound is near, who is slower than the others."""
from dashboard import dashboard, functions_of, heatmap, lines, stat, table, variable

SERVERS = '{job=~"$job",instance=~"$instance"}'
PARTS = '{job=~"$job",instance=~"$instance",part=~"$part"}'
DATA = '{job=~"$job",instance=~"$instance",grpc_method=~".*/(Sample|Pull|Push)"}'
CALLS = "grpc_server_call_duration_seconds"
rate, quantile = functions_of(SERVERS, f"{CALLS}_bucket")


def share(metric, limit):
    return f"{metric}{SERVERS} / {limit}{SERVERS}"


FAILED = rate(f"{CALLS}_count", '{job=~"$job",instance=~"$instance",grpc_status!="OK"}')
ALL = f'sum({rate(f"{CALLS}_count")})'
# Partitions that servers serve which take calls.
SERVED = """count by (job, part) (halograph_partition_served{job=~"$job"}
            * on (job, instance) group_left () halograph_server_ready{job=~"$job"} == 1)"""

VARIABLES = [
    variable("job", "Job", "label_values(halograph_server_num_parts, job)"),
    variable("part", "Partition", 'label_values(halograph_partition_served{job=~"$job"}, part)'),
    variable("instance", "Server",
             'label_values(halograph_partition_served{job=~"$job",part=~"$part"}, instance)'),
]

PANELS = [
    stat("Servers up", "Servers that answer Prometheus.", 'sum(up{job=~"$job"})'),
    stat("Servers down", "Servers that do not answer Prometheus.", 'sum(up{job=~"$job"} == bool 0)', bad=1),
    stat("Partitions without a server", "Calls to them wait. 0 in a healthy cluster.",
         f"""sum(max by (job) (halograph_server_num_parts{{job=~"$job"}}))
             - (count({SERVED}) or vector(0))""", bad=1),
    stat("Partitions with several servers", "Replicas. Of a partition with state there must be none.",
         f"sum({SERVED} > bool 1) or vector(0)"),
    stat("Calls a second", "Of all methods and servers.", ALL, unit="ops"),
    stat("Calls that failed", "Share of calls with another status than OK.",
         f"(sum({FAILED}) or 0 * {ALL}) / {ALL}", unit="percentunit", bad=0.01),

    lines("Calls a second, by method", "A step of training needs a Sample for each layer and part, and a Pull.",
          ("{{grpc_method}}", f'sum by (grpc_method) ({rate(f"{CALLS}_count")})'), unit="ops"),
    lines("Calls that failed, by status", "Share of all calls. UNAVAILABLE is called again by clients; what the "
          "others mean is in the server's log.",
          ("{{grpc_status}}", f"(sum by (grpc_status) ({FAILED}) or on () 0 * {ALL}) / on () group_left () {ALL}"),
          unit="percentunit"),
    lines("Calls refused, by what was full", "queue_full: more --threads or --queue. request_memory, "
          "reply_memory: raise the option of that name. state: see the dashboard of the state.",
          ("{{reason}}", f'sum by (reason) ({rate("halograph_server_refused_total")})'), unit="ops"),

    lines("Latency, by method", "p50 and p99, waiting in the server included.",
          ("p99 {{grpc_method}}", quantile(0.99, "grpc_method")),
          ("p50 {{grpc_method}}", quantile(0.5, "grpc_method")), unit="s"),
    heatmap("Latency of Sample, Pull and Push", "Two bands: some calls wait for something that others do not.",
            f'sum by (le) ({rate(f"{CALLS}_bucket", DATA)})', unit="s"),
    lines("Slower than the others", "p99 of Sample, Pull and Push of each server over the median of all. A line far "
          "above 1 is a server that all trainers wait for.",
          ("{{instance}}", f"""{quantile(0.99, "job, instance", selector=DATA)}
            / on (job) group_left ()
            quantile by (job) (0.5, {quantile(0.99, "job, instance", selector=DATA)})"""), unit="short"),

    lines("Edges drawn a second", "By sampler and relation.",
          ("{{sampler}} {{relation}}",
           f'sum by (sampler, relation) ({rate("halograph_sampling_edges_total")})')),
    lines("Edges looked at for each one drawn", "Far above 1: nodes with many neighbours, or a sampler that "
          "counts all of them.",
          ("{{sampler}} {{relation}}", f"""sum by (sampler, relation) ({rate("halograph_sampling_scanned_edges_total")})
            / sum by (sampler, relation) ({rate("halograph_sampling_edges_total")})""")),
    lines("Bytes sent a second, by method", "Compare with what the network can carry.",
          ("{{grpc_method}}", f"""sum by (grpc_method)
            ({rate("grpc_server_call_sent_total_compressed_message_size_bytes_sum")})"""), unit="Bps",
          stacked=True),

    lines("Bytes of rows sent a second, by tensor", "What a cache in the trainers, or a smaller dtype, would save.",
          ("{{tensor}}", f'sum by (tensor) ({rate("halograph_pull_bytes_total")})'), unit="Bps", stacked=True),
    lines("Rows sent a second, by tensor", "",
          ("{{tensor}}", f'sum by (tensor) ({rate("halograph_pull_rows_total")})'), stacked=True),
    lines("Calls in flight, by method", "Calls that have begun and not ended.",
          ("{{grpc_method}}", f"sum by (grpc_method) (halograph_server_calls_in_flight{SERVERS})"),
          ("wait without a thread", f"sum(halograph_server_waiting_calls{SERVERS})")),

    lines("Queue, of its bound", "At 1 calls are refused.",
          ("{{instance}} {{pool}}", share("halograph_server_queued_calls", "halograph_server_queue_limit_calls")),
          unit="percentunit"),
    lines("Busy threads, of all", "Near 1 with a queue: too few --threads, or the processors are busy otherwise.",
          ("{{instance}} {{pool}}", share("halograph_server_busy_threads", "halograph_server_threads")),
          unit="percentunit"),
    lines("Waiting in the queue, p99", "From admission to when a thread begins.",
          ("{{instance}} {{pool}}",
           quantile(0.99, "instance, pool", "halograph_server_queue_wait_seconds_bucket")), unit="s"),

    lines("Memory of replies and requests, of their bounds", "Replies near 1: clients read slowly, or the network "
          "is full.",
          ("replies {{instance}}", share("halograph_server_reply_memory_bytes",
                                         "halograph_server_reply_memory_limit_bytes")),
          ("requests {{instance}}", share("halograph_server_request_memory_bytes",
                                          "halograph_server_request_memory_limit_bytes")),
          unit="percentunit"),
    lines("Waiting for reply memory", "Seconds that calls wait, a second.",
          ("{{instance}}", rate("halograph_server_reply_wait_seconds_total")), unit="short"),
    lines("What clients see of trouble", "Slow calls, replies that nobody read, calls taken over from another "
          "server.",
          ("slow {{instance}}", rate("halograph_server_slow_calls_total")),
          ("unread {{instance}}", rate("halograph_server_unread_replies_total")),
          ("taken over {{instance}}", rate("halograph_server_failovers_total")), unit="ops"),

    lines("Clients", "Known to each server.", ("{{instance}}", f"halograph_server_clients{SERVERS}")),
    lines("Descriptors, of the limit", "At 1 a server takes no new connections.",
          ("{{instance}}", share("process_open_fds", "process_max_fds")), unit="percentunit"),
    lines("Processors", "Busy processors of each server.",
          ("{{instance}}", rate("process_cpu_seconds_total")), unit="short"),

    lines("Resident memory", "Mapped files that were read count, too.",
          ("{{instance}}", f"process_resident_memory_bytes{SERVERS}"), unit="bytes"),
    lines("Partitions in RAM", "Share of each partition's mapped bytes; the rest is read from the disk.",
          ("{{part}} at {{instance}}", f"halograph_partition_resident_bytes{PARTS} "
           f"/ halograph_partition_mapped_bytes{PARTS}"), unit="percentunit"),
    lines("Threads", "", ("{{instance}}", f"process_threads{SERVERS}")),

    table("Servers", "Which build serves which graph, and for how long.",
          ("", f"""halograph_uptime_seconds{SERVERS}
           * on (job, instance) group_left (graph, identity, serving, version) halograph_server_info{SERVERS}"""),
          ("", f"halograph_server_ready{SERVERS}"),
          columns={"instance": "Server", "job": "Job", "graph": "Graph", "identity": "Identity",
                   "serving": "Serves", "version": "Version", "Value #A": ("Uptime", "s"),
                   "Value #B": "Takes calls"}),
    table("Partitions", "Which server has which, and how large they are.",
          ("", f"halograph_partition_bytes{PARTS}"), ("", f"halograph_partition_resident_bytes{PARTS}"),
          columns={"part": "Partition", "instance": "Server", "job": "Job", "Value #A": ("Files", "bytes"),
                   "Value #B": ("In RAM", "bytes")}),
]

DASHBOARD = dashboard(
    "halograph-servers", "Halograph servers",
    "Calls, bounds and memory of the servers of a graph. Start at the top: what is red there comes first.",
    VARIABLES, PANELS)
