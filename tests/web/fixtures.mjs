// What /status?cluster of a server, and /status of a trainer, answer in tests: figures that grow with
// `tick`, the same for the same tick. The form is that of StatsReply in protobuf's JSON: 64-bit integers are
// text.

const latencyBounds = [0, 1e-5, 5e-5, 1e-4, 3e-4, 6e-4, 8e-4, 1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3, 8e-3, 0.01,
  0.013, 0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8,
  1, 2, 5, 10, 20, 50, 100];
export const begin = 1_790_000_000; // of the clock of all
export const hostile = '<b id="planted">bold</b>';

// Values between 0 and 1 that look like chance and are always the same.
const noise = (...numbers) => {
  const x = Math.sin(numbers.reduce((sum, n, i) => sum + n * (12.9898 + 65.1 * i), 1)) * 43758.5453;
  return x - Math.floor(x);
};

// The counter at `tick` of something that grows by about `rate` a second.
function grown(rate, tick, seed) {
  let sum = rate * 100; // before the first tick
  for (let i = 1; i <= tick; i++) sum += rate * (0.75 + 0.3 * Math.sin(i / 9 + seed) + 0.25 * noise(i, seed));
  return Math.round(sum);
}

// `calls` calls around `middle` seconds.
function latencies(calls, middle) {
  const shares = latencyBounds.map((bound) => (bound > 0 ? Math.exp(-((Math.log(bound / middle) / 0.55) ** 2)) : 0));
  const all = shares.reduce((a, b) => a + b, 0);
  return shares.map((share) => Math.round((calls * share) / all));
}

const buckets = (calls, middle) => latencies(calls, middle).map((count, i) => ({ upper_seconds: latencyBounds[i], count: String(count) }));
const labels = (object) => Object.entries(object).map(([name, value]) => ({ name, value: String(value) }));
const metric = (name, series, kind = 'GAUGE') => ({ name, kind, unit: '', help: '', bounds: [], series: series.map(([names, value]) => ({ labels: labels(names), value, count: '0', sum: 0, counts: [] })) });

function methodStats(method, calls, middle, bytes, errors = 0, inFlight = 0) {
  return { method, calls: String(calls), errors: String(errors), in_flight: String(inFlight), request_bytes: String(calls * 2100), reply_bytes: String(calls * bytes), latency: buckets(calls, middle), p50_seconds: middle, p99_seconds: middle * 3 };
}

// `options`: { part, address, slow (times), hostile, phase, full }
function server(tick, options) {
  const { part, address, slow = 1, phase = 'serving', full = false } = options;
  const name = (text) => (options.hostile ? `${text}${hostile}` : text);
  const sample = grown(420 / slow, tick, part);
  const pull = grown(390 / slow, tick, part + 10);
  const push = grown(40, tick, part + 20);
  const queued = Math.round(full ? 250 : 20 + 60 * noise(tick, part));
  const lsn = grown(40, tick, part + 20);
  const replyMemory = Math.round((full ? 0.95 : 0.15 + 0.3 * noise(tick, part, 7)) * 268435456);
  const now = begin + tick;
  const state = [{ part, lsn: String(lsn), synced_lsn: String(lsn - 3), log_bytes: String(lsn * 9000), sync_seconds: lsn * 0.0021, syncs: String(Math.round(lsn / 4)), recovery_seconds: 2.4, replayed_pushes: '18211', checkpoints: String(3 + Math.floor(tick / 60)),
    tensors: [['node', 'embedding', 128], ['author', 'embedding', 64]].map(([type, tensor, dim], i) => ({ spec: { edge: false, type, name: name(tensor), dim: String(dim) }, first_id: String(part * 1e6), end_id: String((part + 1) * 1e6), memory_bytes: String(dim * 4e6), pushes: String(Math.round(push / (i + 1))), pushed_rows: String(push * 900), lsn: String(lsn - i), step: String(Math.round(push / 4)), refused: '', staleness: String(Math.round(6 * noise(tick, i, part))) })) }];
  const methods = [
    methodStats('GraphService/Sample', sample, 0.004 * slow, 61000, 0, 3),
    methodStats('KVService/Pull', pull, 0.0026 * slow, 182000, 0, 2),
    methodStats('KVService/Push', push, 0.006, 120),
    methodStats('AdminService/Stats', tick, 0.0004, 9000),
  ];
  if (options.hostile) methods.push(methodStats(`GraphService/${hostile}`, 7, 0.003, 10));
  const recent = [methodStats('GraphService/Sample', Math.round(24000 / slow), 0.004 * slow, 61000, 0, 3), methodStats('KVService/Pull', Math.round(22800 / slow), 0.0026 * slow, 182000, full ? 12 : 0, 2), methodStats('KVService/Push', 2400, 0.006, 120, 0, 1)];
  if (options.hostile) recent.push(methodStats(`GraphService/${hostile}`, 7, 0.003, 10));
  const slowCalls = [0, 1, 2].map((i) => ({ unix_seconds: now - 17 * i - 4 - part, method: name(i % 2 ? 'halograph.v1.KVService/Pull' : 'halograph.v1.GraphService/Sample'), host: name(`10.0.0.${21 + i}`), rank: String(4 + i), request_id: `r${part}-${81230 + tick - i}`, trace_id: `4bf92f3577b34da6a3ce929d0e0e47${36 + i}`, status: i === 2 ? 'UNAVAILABLE' : 'OK', answering_seconds: 0.31 * slow + 0.2 * i, sending_seconds: 0.004 * (i + 1), request_bytes: '2100', reply_bytes: '610020' }));
  const clients = [0, 1, 2, 3].map((rank) => ({ host: name(`10.0.0.${20 + rank}`), rank: String(rank), calls: String(Math.round(sample / 4) + rank * 100), errors: '0', sent_bytes: String(sample * 30000), in_flight: String(rank % 2), silent_seconds: 0.02 * rank, known_seconds: tick + 600 }));
  return {
    identity: '5c1f0e8ad0b94c7f9a1de5302c77b61f', graph_name: options.hostile ? hostile : 'papers100M', build_version: '0.1.0 (845639bb)', parts: [part], serving: 'topology,features,tasks', uptime_seconds: 600 + tick, pool_threads: '8', pool_queued: String(queued), pool_queue_capacity: '256', draining: phase === 'draining',
    methods, clients: '4', recent_seconds: 60, recent, num_parts: 4, failovers: '0', state_threads: '2', state_queued: '1', state_queue_capacity: '64', state,
    slow_calls: slowCalls, client_list: clients, unix_seconds: now, phase, address, pid: 2100 + part, host_name: name(`graph-${part}`),
    request_memory_bytes: String(Math.round(4e6 * (1 + noise(tick, part, 3)))), request_memory_limit_bytes: '67108864', reply_memory_bytes: String(replyMemory), reply_memory_limit_bytes: '268435456',
    metrics: [
      metric('halograph_partition_bytes', [[{ part }, 14.2e9]]), metric('halograph_partition_mapped_bytes', [[{ part }, 14.2e9]]), metric('halograph_partition_resident_bytes', [[{ part }, 9.1e9 + part * 2e8]]),
      metric('halograph_sampling_edges_total', [[{ relation: 'paper:cites:paper', sampler: 'uniform' }, grown(3.1e6 / slow, tick, part)]], 'COUNTER'),
      metric('halograph_server_queue_limit_calls', [[{ pool: 'work' }, 256], [{ pool: 'state' }, 64]]), metric('halograph_server_queued_calls', [[{ pool: 'work' }, queued], [{ pool: 'state' }, Math.round(9 * noise(tick, part, 9))]]), metric('halograph_server_threads', [[{ pool: 'work' }, 8], [{ pool: 'state' }, 2]]),
      metric('halograph_server_refused_total', [[{ reason: 'queue_full' }, full ? 12 : 0], [{ reason: 'reply_memory' }, 0]], 'COUNTER'),
      metric('halograph_state_checkpoint_age_seconds', [[{ part }, tick % 60]]), metric('halograph_state_refuses_pushes', [[{ part }, 0]]),
      { name: 'halograph_state_sync_seconds', kind: 'HISTOGRAM', unit: 'seconds', help: '', bounds: latencyBounds, series: [{ labels: labels({ part }), value: 0, count: '100', sum: 0.2, counts: [...latencies(100, 0.002), 0].map(String) }] },
    ],
  };
}

// Four servers: all is well, unless `kind` is "trouble" (one is slow and nearly full, one is down) or
// "odd" (one is of another graph, one has another time) or "hostile" (names are markup) or "alone" (no
// --peers).
export function cluster(tick, kind = 'healthy') {
  const addresses = [0, 1, 2, 3].map((part) => `10.0.1.${10 + part}:7600`);
  const servers = addresses.map((address, part) => {
    if (kind === 'trouble' && part === 3) return { address, self: false, error: 'UNAVAILABLE: connection refused', stats: null };
    const stats = server(tick, { part, address, slow: kind === 'trouble' && part === 2 ? 6 : 1, full: kind === 'trouble' && part === 2, hostile: kind === 'hostile' });
    if (kind === 'odd' && part === 3) return { address, self: false, error: 'it serves another graph, "cora" (identity 9f): start it with the folder of the others', stats: { ...stats, identity: '9f', graph_name: 'cora' } };
    if (kind === 'odd' && part === 1) return { address, self: false, error: '', stats, clock_seconds_off: 12.3, round_trip_seconds: 0.002 };
    return { address: kind === 'hostile' ? `${address}${hostile}` : address, self: part === 0, error: '', stats };
  });
  if (kind === 'alone') return { asked_seconds_ago: 0, why_alone: 'Only this server is shown. Start it with --peers HOST:PORT,... to see all.', servers: [servers[0]] };
  return { asked_seconds_ago: 0.4, why_alone: '', servers };
}

// A trainer whose samples come too slowly.
export function trainer(tick) {
  const steps = grown(6, tick, 1);
  const rank = '2';
  const stage = (name, busy, starved, blocked) => [['busy', busy], ['starved', starved], ['blocked', blocked]].map(([state, share]) => [{ stage: name, state, rank }, share * (tick + 100)]);
  return {
    program: 'halograph-train', build_version: '0.1.0 (845639bb)', uptime_seconds: 100 + tick, unix_seconds: begin + tick, phase: 'training', rank: 2, world_size: 4, host_name: 'train-2', pid: 3310, servers: ['10.0.1.10:7600', '10.0.1.11:7600'], epoch: 3, step: steps,
    metrics: [
      metric('halograph_trainer_steps_total', [[{ rank }, steps]], 'COUNTER'), metric('halograph_trainer_seeds_total', [[{ rank }, steps * 1024]], 'COUNTER'), metric('halograph_trainer_loss', [[{ rank }, 0.4 + 2 * Math.exp(-tick / 80) + 0.05 * noise(tick)]]),
      { name: 'halograph_trainer_step_seconds', kind: 'HISTOGRAM', unit: 'seconds', help: '', bounds: latencyBounds, series: [{ labels: labels({ rank }), count: steps, sum: steps * 0.15, counts: [...latencies(steps, 0.14), 0] }] },
      metric('halograph_trainer_wait_seconds_total', [[{ rank }, steps * 0.06]], 'COUNTER'), metric('halograph_trainer_sync_wait_seconds_total', [[{ rank }, steps * 0.01]], 'COUNTER'),
      metric('halograph_trainer_stage_seconds_total', [...stage('schedule', 0.01, 0, 0.99), ...stage('sample', 0.95, 0.04, 0.01), ...stage('gather', 0.4, 0.6, 0), ...stage('move', 0.1, 0.9, 0), ...stage('train', 0.55, 0.45, 0)], 'COUNTER'),
      metric('halograph_trainer_pull_rows_total', [['remote', 9000], ['local', 21000], ['cache', 14000]].map(([source, rate]) => [{ tensor: 'paper/feat', source, rank }, grown(rate, tick, rate)]), 'COUNTER'),
      metric('halograph_trainer_pull_bytes_total', [['remote', 9000], ['local', 21000], ['cache', 14000]].map(([source, rate]) => [{ tensor: 'paper/feat', source, rank }, grown(rate, tick, rate) * 512]), 'COUNTER'),
      metric('halograph_trainer_straggler_seconds', [0, 1, 2, 3].map((other) => [{ rank: other }, other === 1 ? 0.03 : 0.001 * other])),
    ],
  };
}
