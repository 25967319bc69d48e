#include "server/server.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <utility>

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "common/base/build_info.h"
#include "common/base/host_name.h"
#include "common/base/host_port.h"
#include "common/base/log.h"
#include "common/base/printable.h"
#include "common/base/repeated_work.h"
#include "common/base/units.h"
#include "common/base/wall_clock.h"
#include "common/metrics/buckets.h"
#include "common/metrics/found_series.h"
#include "common/metrics/process_metrics.h"
#include "common/state/durable/system_env.h"
#include "common/state/parts/part_states.h"
#include "common/tls/tls_files.h"
#include "common/tls/tls_metrics.h"
#include "proto/credentials/credentials.h"
#include "server/caller.h"
#include "server/connection_metrics.h"
#include "server/grpc_listener.h"
#include "server/grpc_stats_caller.h"
#include "server/handlers/describe.h"
#include "server/handlers/server_metrics.h"
#include "server/handshakes.h"
#include "server/health_service.h"
#include "server/listener/connection_guard.h"
#include "server/open_streams.h"
#include "server/operator_port.h"
#include "server/peers/cluster.h"
#include "server/peers/peers.h"
#include "server/runtime/memory_trimmer.h"
#include "server/runtime/pulse.h"
#include "server/services.h"
#include "server/stats_message.h"
#include "server/unknown_methods.h"

namespace halograph::server {
namespace {

// Between rounds of the housekeeper: while calls wait for memory or the server for its end, and
// else.
constexpr std::chrono::milliseconds kPauseInNeed{20};
constexpr std::chrono::milliseconds kPause{1000};
// For calls about mutable tensors that take long; and for all that may wait for their step, and one
// that is told so.
constexpr size_t kSlowThreads = 2 + kMostWaitingSnapshots + 1;
// How long connections have to end when the server does.
constexpr std::chrono::seconds kConnectionsEnd{1};
// Calls that one connection may have open; more wait at the client.
constexpr int kStreamsPerConnection = 256;
// How long the calls of a connection that has reached its age have to end, at least: twice as long
// as a client waits for one by default. A snapshot that waits for a step cannot be asked for again.
constexpr std::chrono::minutes kLeastGrace{1};
// What gRPC's plugin for reflection calls itself.
constexpr char kReflectionPlugin[] = "proto_server_reflection";

// While a server starts, an error of gRPC is what Start returns in clearer words.
std::atomic<int> starting{0};

void LogOfGrpc(gpr_log_func_args* args) {
  if (NoteHandshake(args->message)) return;
  const bool warns = args->severity == GPR_LOG_SEVERITY_ERROR && starting == 0;
  const auto level = warns ? spdlog::level::warn : spdlog::level::debug;
  spdlog::log(level, "gRPC: {}", args->message);
}

// Once a process. The plugin is that of later builders.
void PrepareGrpc() {
  [[maybe_unused]] static const bool prepared = [] {
    gpr_set_log_function(LogOfGrpc);
    // Never undone: ending the library joins a thread that may poll for ten seconds after a write
    // that had to wait.
    grpc_init();
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
}

// gRPC gives its plugins, once there are any, to every builder of the process: takes reflection
// from those of one.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) { return plugin->name() == kReflectionPlugin; });
  }
};

// In milliseconds. gRPC takes a year for ever.
int ToArgument(std::chrono::nanoseconds duration) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<int>(std::min<int64_t>(ms, std::numeric_limits<int>::max()));
}

// Null: there is nobody to ask.
std::unique_ptr<Peers> MakePeers(const ServerOptions& options, const TlsFiles* tls) {
  if (options.peers.empty()) return nullptr;
  return std::make_unique<Peers>(
      WithoutOwn(options.peers, options.listen, options.advertise, HostName()),
      MakeGrpcStatsCaller(tls));
}

// A server without state refuses pushes at once: it needs no threads for them.
size_t StateThreads(const ServerOptions& options) {
  return options.state.folder.empty() ? 0 : static_cast<size_t>(options.state_threads);
}

}  // namespace

// Members are destroyed in reverse: the gRPC server first, what its calls use after it.
struct Server::State {
  State(const ServerOptions& options, std::shared_ptr<const TlsFiles> tls_files)
      : tls(std::move(tls_files)),
        buffers(BufferPool::Create(options.ReplyMemory())),
        replies(GrpcCallHooks(), options.reply_timeout),
        dispatcher({.threads = static_cast<size_t>(options.NumThreads()),
                    .queue = static_cast<size_t>(options.queue),
                    .request_bytes = options.RequestMemory(),
                    .state_threads = StateThreads(options),
                    .state_queue = static_cast<size_t>(options.state_queue),
                    .slow_threads = kSlowThreads}),
        waiting(static_cast<size_t>(options.queue)),
        peers(MakePeers(options, tls.get())),
        connections(ToTableOptions(options)),
        guard(&connections, ToConnectionBounds(options), CountOpenStreams),
        trimming("hg-trimmer", std::chrono::seconds(0), [this] { return TrimMemory(); }),
        keeper("hg-keeper", std::chrono::seconds(0), [this] { return KeepHouse(); }),
        unknown(&connections),
        health(kServiceNames, &connections) {
    buffers->OnChange([this] { keeper.Wake(); });
    waiting.OnWait([this] { keeper.Wake(); });
    connections.OnFirst([this] { keeper.Wake(); });
  }
  // Opens the mutable tensors of `graph`. Errors as PartStates::Open.
  [[nodiscard]] Status OpenState(const ServerOptions& options);
  // Cancels the calls that are left and waits for gRPC's end. Idempotent.
  void Stop();
  // What is done beside the calls; after how long it is to be done again at the latest.
  std::chrono::nanoseconds KeepHouse();
  // The same of what may take long.
  std::chrono::nanoseconds TrimMemory();

  // Why it takes no calls; empty: it does.
  [[nodiscard]] std::string WhyNotReady() const;
  // Reads the policy, if there is one. Errors as PolicyFile::Open.
  [[nodiscard]] Status OpenPolicy(const ServerOptions& options);
  // Starts the HTTP port, if there is one. Errors as HttpServer::Start.
  [[nodiscard]] Status StartPort(const ServerOptions& options);
  // What /status answers.
  [[nodiscard]] StatusOr<Json> StatusJson() const;

  const std::shared_ptr<const TlsFiles> tls;  // null: plain
  MetricRegistry metrics;
  CallMetrics call_metrics{&metrics};
  FoundHistograms* const sync_seconds = metrics.AddFoundHistograms(
      {"halograph_state_sync_seconds", MetricUnit::kSeconds, "How long syncs of the log took."},
      LatencyBounds(), {"part"});
  ServerStats stats{&call_metrics};
  std::unique_ptr<Rights> rights;               // null: everybody may do everything
  std::optional<GraphCounters> graph_counters;  // once the graph is open
  CallLog log;
  const std::shared_ptr<BufferPool> buffers;
  ReplyWatch replies;
  MemoryTrimmer trimmer;
  // What the parts' tensors borrow, and they, end after the calls that use them.
  std::unique_ptr<Env> env;
  std::shared_ptr<const ServedGraph> graph;
  std::unique_ptr<PartStates> states;  // null: none are kept
  Dispatcher dispatcher;
  Pulse pulse{&dispatcher};
  WaitingCalls waiting;
  CancelToken ending;
  const std::unique_ptr<Peers> peers;  // null: no --peers
  ConnectionTable connections;
  ConnectionGuard guard;
  RepeatedWork trimming;
  int64_t shut_before = 0;  // of the keeper
  RepeatedWork keeper;
  UnknownMethods unknown;
  HealthService health;
  ServerParts figures;
  ServiceContext context;
  std::atomic<bool> unhealthy = false;  // TurnUnhealthy
  std::atomic<bool> serving = false;    // all below is made, and `context` is whole
  std::vector<std::unique_ptr<grpc::Service>> services;
  std::unique_ptr<grpc::Server> server;
  GrpcListener listener{&connections};
  std::string address;
  std::string called;  // by others
  // Last: they read all above.
  std::vector<MetricReader> readers;
  std::vector<MetricReader> graph_readers;
  std::unique_ptr<HttpServer> http;
};

std::string Server::State::WhyNotReady() const {
  if (!serving) return "not ready: the server opens its partitions";
  if (dispatcher.draining()) return "not ready: the server drains";
  if (unhealthy) return "not ready: the server is about to drain";
  return "";
}

StatusOr<Json> Server::State::StatusJson() const {
  if (serving) {
    HG_ASSIGN_OR_RETURN(Json json,
                        ToStatusJson(TakeSnapshot(context, true), context.max_message_bytes));
    json["tls"] = TlsStatusJson(tls.get());
    return json;
  }
  return Json{{"program", "halograph-server"},
              {"phase", "opening"},
              {"build_version", BuildVersion()},
              {"uptime_seconds", stats.UptimeSeconds()},
              {"unix_seconds", SecondsSince1970()}};
}

Status Server::State::StartPort(const ServerOptions& options) {
  figures = {.dispatcher = &dispatcher,
             .buffers = buffers.get(),
             .waiting = &waiting,
             .stats = &stats,
             .clients = &log.clients(),
             .slow_calls = &log.slow_calls(),
             .metrics = &metrics,
             .ready = [this] { return WhyNotReady().empty(); },
             .address = [this] { return serving ? called : ""; }};
  readers = AddServerMetrics(&metrics, figures);
  for (MetricReader& reader : AddProcessMetrics(&metrics, "halograph-server")) {
    readers.push_back(std::move(reader));
  }
  for (MetricReader& reader : AddTlsMetrics(&metrics, tls)) readers.push_back(std::move(reader));
  readers.push_back(AddHandshakeMetric(&metrics));
  for (MetricReader& reader : AddConnectionMetrics(&metrics, &connections)) {
    readers.push_back(std::move(reader));
  }
  HG_RETURN_IF_ERROR(metrics.status());
  HG_ASSIGN_OR_RETURN(
      http, StartOperatorPort(options.http, {.metrics = &metrics,
                                             .why_not_ready = [this] { return WhyNotReady(); },
                                             .status = [this] { return StatusJson(); },
                                             .address = options.listen,
                                             .peers = peers.get(),
                                             .read_stats = ReadStatsReply}));
  return OkStatus();
}

std::chrono::nanoseconds Server::State::KeepHouse() {
  const auto now = std::chrono::steady_clock::now();
  const bool draining = dispatcher.draining();
  const bool memory_is_waited_for = buffers->ServeWaiting(now) > 0;
  const ReplyWatch::GivenUp given_up = replies.GiveUp(now, memory_is_waited_for || draining);
  if (given_up.replies > 0) {
    spdlog::warn("{} replies given up that their clients did not read ({} the first of them)",
                 given_up.replies, Printable(given_up.peer, kNameShown));
  }
  if (const int shut = connections.Shut(given_up.stuck); shut > 0) {
    spdlog::warn("{} connections shut down whose clients did not read ({} one of them)", shut,
                 Printable(*given_up.stuck.begin(), kNameShown));
  }
  if (draining) waiting.Close();  // the pushes that they wait for will not come
  const bool calls_wait = waiting.Serve(now) > 0;
  stats.Mark(now);
  log.LogLeft(now);
  if (peers != nullptr) peers->ForgetOld();
  std::chrono::nanoseconds pause = std::min<std::chrono::nanoseconds>(kPause, guard.Look(now));
  const int64_t shut = guard.shut();
  if (std::exchange(shut_before, shut) != shut) trimming.Wake();
  if (memory_is_waited_for || calls_wait || draining) pause = kPauseInNeed;
  return std::min(pause, pulse.Beat(now));
}

// A thread of its own: the keeper looks at connections meanwhile, unless it waits for malloc.
std::chrono::nanoseconds Server::State::TrimMemory() {
  return trimmer.Trim(MemoryTrimmer::Clock::now(), dispatcher.in_flight() == 0, guard.shut(),
                      *buffers);
}

Status Server::State::OpenState(const ServerOptions& options) {
  if (env == nullptr) env = MakeSystemEnv(options.threads);
  StateOptions state = options.State();
  state.on_sync = [this](int part, int64_t ns) {
    sync_seconds->Of(std::to_string(part))->Observe(std::chrono::nanoseconds(ns));
  };
  for (const int part : graph->part_numbers()) {
    static_cast<void>(sync_seconds->Of(std::to_string(part)));  // at 0 from the start
  }
  HG_ASSIGN_OR_RETURN(states, PartStates::Open(state, graph->set(), graph->tensors(), *env));
  return OkStatus();
}

Status Server::State::OpenPolicy(const ServerOptions& options) {
  if (options.policy.empty()) return OkStatus();
  StatusOr<std::unique_ptr<PolicyFile>> policy = PolicyFile::Open(options.policy);
  if (!policy.ok()) return Annotate(policy.status(), "--policy");
  rights = std::make_unique<Rights>(*std::move(policy), &metrics);
  health.AskFirst(
      [this](const grpc::CallbackServerContext& of_call, const ConnectionTable::Call& call) {
        return CheckCaller(of_call, call, &connections, rights.get());
      });
  return metrics.status();
}

void Server::State::Stop() {
  ending.Cancel();
  health.EndWatches();
  // First, so that gRPC need not wait for its writes to clients that do not read.
  listener.Stop();
  if (!connections.End(kConnectionsEnd)) spdlog::debug("connections are left that do not end");
  // At once: a time of the system's clock, which may be set, might be an hour away.
  server->Shutdown(gpr_inf_past(GPR_CLOCK_MONOTONIC));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                std::unique_ptr<Env> env) {
  HG_RETURN_IF_ERROR(options.Validate());
  HG_ASSIGN_OR_RETURN(const HostPort address, ParseHostPort(options.listen));
  PrepareGrpc();
  HG_ASSIGN_OR_RETURN(
      auto tls, FollowTls(options.tls, options.peers.empty() ? TlsRole::kServer : TlsRole::kBoth));
  auto state = std::make_unique<State>(options, std::move(tls));
  state->env = std::move(env);
  HG_RETURN_IF_ERROR(state->OpenPolicy(options));
  HG_RETURN_IF_ERROR(state->StartPort(options));
  HG_ASSIGN_OR_RETURN(
      std::unique_ptr<PartitionSet> parts,
      PartitionSet::Open(options.graph, options.parts, options.verify, options.contents));
  ServiceContext& context = state->context;
  context.figures = &state->figures;
  context.graph = state->graph = std::make_shared<const ServedGraph>(std::move(parts));
  if (!options.state.folder.empty()) {
    HG_RETURN_IF_ERROR(state->OpenState(options));
    context.states = state->states.get();
  }
  context.calls = {.dispatcher = &state->dispatcher,
                   .stats = &state->stats,
                   .metrics = &state->call_metrics,
                   .log = &state->log,
                   .buffers = state->buffers.get(),
                   .replies = &state->replies,
                   .waiting = &state->waiting,
                   .rights = state->rights.get(),
                   .connections = &state->connections,
                   .ending = &state->ending,
                   .identity = context.graph->identity()};
  context.max_message_bytes = options.max_message_bytes;
  context.counters = &state->graph_counters.emplace(&state->metrics, *context.graph);
  HG_ASSIGN_OR_RETURN(context.topology_files, TopologyFiles::Open(*context.graph, options.graph));
  for (const ServiceRow& row : kServiceRows) {
    HG_ASSIGN_OR_RETURN(state->services.emplace_back(), row.make(context));
  }
  state->graph_readers = AddGraphMetrics(&state->metrics, context.graph,
                                         {.states = context.states,
                                          .folder = options.state.folder,
                                          .log_limit_bytes = options.state.log_bytes});
  HG_RETURN_IF_ERROR(state->metrics.status());

  grpc::ServerBuilder builder;
  state->listener.AddTo(&builder, MakeServerCredentials(state->tls.get(), options.tls_clients),
                        options);
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, ToArgument(options.ConnectionAge()));
  builder.AddChannelArgument(
      GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
      ToArgument(std::max<std::chrono::nanoseconds>(options.drain_timeout, kLeastGrace)));
  // gRPC takes requests in before anybody here sees them: near this it takes in no more of them.
  builder.SetResourceQuota(grpc::ResourceQuota("halograph-server")
                               .Resize(static_cast<size_t>(ServerOptions::kQuotaInRequestMemories *
                                                           options.RequestMemory())));
  for (const auto& service : state->services) builder.RegisterService(service.get());
  builder.RegisterService(state->health.service());
  builder.RegisterCallbackGenericService(&state->unknown);
  if (!options.Reflects()) builder.SetOption(std::make_unique<WithoutReflection>());
  ++starting;
  state->server = builder.BuildAndStart();
  --starting;
  if (state->server == nullptr) return Internal("gRPC does not start, and does not say why");
  std::unique_ptr<Server> server(new Server(std::move(state)));  // ends its calls, whatever follows
  State& started = *server->state_;
  const StatusOr<HostPort> bound = started.listener.Start(address);
  if (!bound.ok()) return Annotate(bound.status(), "--listen");
  started.address = ToString(*bound);
  HG_ASSIGN_OR_RETURN(started.called, options.Advertised(started.address));
  started.serving = true;
  started.health.SetServing(true);
  const ServedGraph& graph = *context.graph;
  spdlog::info("serving {} of {} of graph {} (identity {}) from {}: {}; {} threads",
               graph.parts_text(), graph.book().num_parts(), graph.schema().graph_name,
               graph.identity(), options.graph.string(),
               fmt::join(Describe(graph, options.max_message_bytes, context.states).serving, ", "),
               options.NumThreads());
  for (const std::string& line : graph.RowsBeyond(options.max_message_bytes)) {
    spdlog::warn("{}", line);
  }
  return server;
}

Server::~Server() {
  if (state_->server == nullptr) return;
  state_->dispatcher.CloseGate();
  state_->Stop();
}

const std::string& Server::address() const { return state_->address; }

const std::string& Server::called() const { return state_->called; }

void Server::TellAlive(std::chrono::nanoseconds period, std::function<void()> alive) {
  state_->pulse.Start(period, std::move(alive));
  state_->keeper.Wake();
}

void Server::TurnUnhealthy() {
  state_->unhealthy = true;
  state_->health.SetServing(false);
}

bool Server::Drain(std::chrono::nanoseconds timeout) {
  const auto begin = std::chrono::steady_clock::now();
  TurnUnhealthy();
  state_->dispatcher.CloseGate();
  state_->keeper.Wake();  // clients that do not read no longer have --reply-timeout
  const bool empty = state_->dispatcher.WaitUntilEmpty(timeout);
  const int64_t left = state_->dispatcher.in_flight();
  const int64_t unread = state_->replies.size();
  const auto drained = std::chrono::steady_clock::now();
  state_->Stop();
  state_->log.LogLeft(std::chrono::steady_clock::now() + ClientTable::kSilence);
  spdlog::info(
      "drained in {}, then stopped gRPC in {}; {} calls were ended early, {} of them because their "
      "clients did not read the replies",
      FormatSeconds(std::chrono::duration<double>(drained - begin).count()),
      FormatSeconds(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - drained).count()),
      left, unread);
  return empty;
}

Dispatcher& Server::dispatcher() { return state_->dispatcher; }

}  // namespace halograph::server
