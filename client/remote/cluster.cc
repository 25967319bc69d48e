#include "client/remote/cluster.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "client/remote/columns.h"
#include "client/remote/describe_servers.h"
#include "common/base/log.h"
#include "halograph/v1/graph.pb.h"
#include "proto/wire/read_replies.h"

namespace halograph {

namespace {

// How long the name service has for one look at where servers are; and between two such looks.
constexpr std::chrono::seconds kNamesTimeout{2};
constexpr std::chrono::milliseconds kNamesPause{500};

void Pause(std::chrono::nanoseconds pause, const CancelToken* cancel) {
  Mutex mutex;
  CondVar changed;
  const CancelToken::Registration end(cancel, [&] {
    const MutexLock lock(mutex);
    changed.NotifyAll();
  });
  const MutexLock lock(mutex);
  changed.WaitFor(mutex, pause, [cancel] { return cancel != nullptr && cancel->cancelled(); });
}

ServedParts ToServedParts(const RpcClient& rpc, Descriptions descriptions) {
  const RemoteOptions& options = rpc.options();
  return {rpc.addresses(),
          std::move(descriptions),
          options.max_message_bytes,
          {.topology = options.columns ? options.column_of : -1,
           .features = options.column_pulls ? options.column_of : -1}};
}

int CountMissing(const ServedParts& served) {
  const Descriptions& there = served.descriptions();
  return static_cast<int>(std::count(there.begin(), there.end(), nullptr));
}

// What an option takes for a grid.
struct Grid {
  const char* option;
  const char* what;  // is read of its columns
  const ReplicaSets& sets;
};

std::vector<Grid> GridsOf(const RemoteOptions& options, const ServedParts& served) {
  std::vector<Grid> grids;
  const bool samples = options.columns && options.needs_topology;
  if (samples) grids.push_back({"--columns", "samples", served.topology()});
  if (options.column_pulls) grids.push_back({"--column-pulls", "features", served.features()});
  return grids;
}

Status CheckGrids(const RemoteOptions& options, const ServedParts& served) {
  for (const Grid& grid : GridsOf(options, served)) {
    HG_RETURN_IF_ERROR(CheckGrid(grid.option, grid.sets, CountMissing(served)));
  }
  return OkStatus();
}

}  // namespace

Rpc RpcTo(const ReplicaSet& set, Method method) {
  Rpc rpc;
  rpc.servers = set.servers;
  rpc.preferred = set.preferred;
  rpc.serves = set.name;
  rpc.method = method;
  return rpc;
}

StatusOr<std::shared_ptr<Cluster>> Cluster::Connect(const RemoteOptions& options,
                                                    const CancelToken* cancel) {
  HG_RETURN_IF_ERROR(options.Validate());
  const auto deadline = std::chrono::steady_clock::now() + options.timeout;
  RemoteOptions found = options;
  std::vector<std::string> tried;
  std::string told;
  Status status;
  for (;;) {
    HG_RETURN_IF_ERROR((WorkLimits{.cancel = cancel}.Check()));
    // A name service that is silent leaves names, which gRPC asks for.
    HG_RETURN_IF_ERROR(
        found.FindServers(std::min(deadline, std::chrono::steady_clock::now() + kNamesTimeout)));
    // Names that had no time have no address. Nobody would answer there, and hide `status`.
    if (!status.ok() && std::chrono::steady_clock::now() >= deadline) return status;
    if (found.servers != tried) {
      tried = found.servers;
      CallContext context{.cancel = cancel};
      if (!status.ok()) context.deadline = deadline;  // it was tried before
      std::shared_ptr<Cluster> cluster(new Cluster(found));
      status = cluster->Start(context);
      if (status.ok()) return cluster;
    }
    const bool may_change = options.List().may_change() && absl::IsFailedPrecondition(status);
    if (!may_change || std::chrono::steady_clock::now() >= deadline) return status;
    if (std::exchange(told, Message(status)) != Message(status)) {
      spdlog::info("looks for servers until --timeout: {}", told);
    }
    Pause(kNamesPause, cancel);
  }
}

Cluster::~Cluster() {
  ending_.Cancel();
  if (looking_.joinable()) {
    rpc_.health().Stop();
    looking_.join();
  }
  rpc_.End();  // who hears of it may use what is here
  finder_.reset();
}

Status Cluster::Start(CallContext& context) {
  HG_ASSIGN_OR_RETURN(Descriptions descriptions, DescribeServers(&rpc_, context));
  const RemoteOptions& options = rpc_.options();
  const auto now = std::chrono::steady_clock::now();
  for (size_t server = 0; server < descriptions.size(); ++server) {
    if (descriptions[server] == nullptr) rpc_.health().Lost(static_cast<int>(server), now);
  }
  const auto first = std::find_if(descriptions.begin(), descriptions.end(),
                                  [](const auto& there) { return there != nullptr; });
  info_ = (*first)->graph;
  features_ = MakeSchemaCatalog(&info_.schema, &info_.book, nullptr);
  catalog_ = std::make_unique<MutableCatalog>(features_.get(), &info_.schema, &info_.book);
  push_clients_.emplace(info_.book.num_parts());
  // Another server may come to listen where one of these did.
  rpc_.ExpectGraph(info_.identity);
  {
    const MutexLock lock(mutex_);
    served_ = std::make_shared<const ServedParts>(ToServedParts(rpc_, std::move(descriptions)));
    HG_RETURN_IF_ERROR(CheckGrids(options, *served_));
  }
  TellOfColumns();
  FindClusters();
  HG_RETURN_IF_ERROR(FindTaskRows(context));
  HG_RETURN_IF_ERROR(StartFinding());
  return StartLooking();
}

std::shared_ptr<const ServedParts> Cluster::served() const {
  const MutexLock lock(mutex_);
  return served_;
}

Status Cluster::TakeIn(int server, std::shared_ptr<const ServerDescription> description) {
  const RemoteOptions& options = rpc_.options();
  const MutexLock taking(taking_);
  Descriptions descriptions = served()->descriptions();
  descriptions[static_cast<size_t>(server)] = std::move(description);
  const std::vector<std::string> addresses = rpc_.addresses();
  HG_RETURN_IF_ERROR(CheckOneGraph(addresses, descriptions));
  HG_RETURN_IF_ERROR(CheckComplete(addresses, descriptions, options.needs_topology));
  auto parts = std::make_shared<const ServedParts>(ToServedParts(rpc_, std::move(descriptions)));
  HG_RETURN_IF_ERROR(CheckGrids(options, *parts));
  const MutexLock lock(mutex_);
  served_ = std::move(parts);
  return OkStatus();
}

void Cluster::TellOfColumns() const {
  const auto served = this->served();
  const RemoteOptions& options = rpc_.options();
  std::vector<std::string> asked, of_one;
  for (const Grid& grid : GridsOf(options, *served)) {
    const int columns = NumColumns(grid.sets);
    if (columns > 1) {
      asked.push_back(
          fmt::format("column {} of {} for {}", options.column_of % columns, columns, grid.what));
    } else if (CountMissing(*served) == 0) {
      of_one.emplace_back(grid.option);
    }
  }
  if (!asked.empty()) spdlog::info("asks {}", fmt::join(asked, ", "));
  if (of_one.empty()) return;
  spdlog::warn("{}: every part has one server, so that there is one column and nothing to choose",
               fmt::join(of_one, " and "));
}

void Cluster::FindClusters() {
  const auto served = this->served();
  for (const auto& description : served->descriptions()) {
    if (description == nullptr || description->graph.clusters.empty()) continue;
    const std::vector<std::vector<int64_t>>& told = description->graph.clusters;
    info_.clusters.resize(told.size());
    for (size_t part = 0; part < told.size(); ++part) {
      if (!told[part].empty()) info_.clusters[part] = told[part];
    }
  }
}

Status Cluster::FindTaskRows(CallContext& context) {
  // First how many rows each part has of each set; -1: not told.
  for (const Task& task : info_.schema.tasks) {
    info_.task_rows.emplace_back(
        task.sets.size(), std::vector<int64_t>(static_cast<size_t>(info_.book.num_parts()), -1));
  }
  const auto served = this->served();
  for (const auto& description : served->descriptions()) {
    if (description == nullptr || !description->serving.features) continue;
    for (const PartTaskRows& told : description->task_rows) {
      info_.task_rows[told.set.task][told.set.set][static_cast<size_t>(told.part)] = told.rows;
    }
  }
  HG_RETURN_IF_ERROR(AskForTaskRows(context));
  for (size_t t = 0; t < info_.task_rows.size(); ++t) {
    for (size_t s = 0; s < info_.task_rows[t].size(); ++s) {
      std::vector<int64_t>& rows = info_.task_rows[t][s];
      rows.insert(rows.begin(), 0);
      const TaskSetSpec& spec = info_.schema.tasks[t].sets[s];
      for (size_t p = 1; p < rows.size(); ++p) {
        rows[p] = std::min(rows[p], spec.rows + 1 - rows[p - 1]) + rows[p - 1];  // no overflow
      }
      if (rows.back() == spec.rows) continue;
      return DataLoss("task '{}', set '{}' of '{}': the servers have {} rows, the schema says {}",
                      info_.schema.tasks[t].name, spec.set, spec.type, rows.back(), spec.rows);
    }
  }
  return OkStatus();
}

Status Cluster::AskForTaskRows(CallContext& context) {
  for (size_t t = 0; t < info_.task_rows.size(); ++t) {
    const Task& task = info_.schema.tasks[t];
    for (size_t s = 0; s < task.sets.size(); ++s) {
      for (int part = 0; part < info_.book.num_parts(); ++part) {
        int64_t& rows = info_.task_rows[t][s][static_cast<size_t>(part)];
        if (rows < 0) HG_RETURN_IF_ERROR(AskForTaskRows(task, task.sets[s], part, context, &rows));
      }
    }
  }
  return OkStatus();
}

Status Cluster::AskForTaskRows(const Task& task, const TaskSetSpec& set, int part,
                               CallContext& context, int64_t* rows) {
  const auto served = this->served();
  const ReplicaSet* set_of_part = served->features().Find(part);
  std::vector<Rpc> calls;
  calls.push_back(RpcTo(*set_of_part, Method::kGraphReadTaskSet));
  calls[0].make_request = [&] {
    v1::ReadTaskSetRequest request;
    request.set_task(task.name);
    request.set_set(set.set);
    request.set_type(set.type);
    request.set_part(static_cast<uint32_t>(part));
    request.set_max_rows(1);  // an older server sends what fits into a message
    return request.SerializeAsString();
  };
  calls[0].on_reply = [&](ReplyPieces reply, std::vector<Rpc>*) {
    HG_ASSIGN_OR_RETURN(const wire::TaskSetReply page,
                        wire::ReadTaskSetReply(reply, set.arrays.size()));
    if (page.total_rows < 0 || page.total_rows > set.rows) {
      return DataLoss("ReadTaskSetReply: {} rows in partition {} of a set of {}", page.total_rows,
                      part, set.rows);
    }
    *rows = page.total_rows;
    return OkStatus();
  };
  calls[0].on_error = [this](int asked, const Status& error, std::vector<Rpc>*) {
    return ExplainTooLarge(asked, error);
  };
  return rpc_.Run(context, std::move(calls));
}

Status Cluster::TooOld(int server, std::string_view what) const {
  return FailedPrecondition(
      "{}: the server is of an older version and does not tell {}; start one of this version",
      rpc_.address(server), what);
}

StatusOr<std::vector<int>> Cluster::StateServers() const {
  const auto now = served();
  std::vector<int> servers;
  for (int part = 0; part < info_.book.num_parts(); ++part) {
    HG_ASSIGN_OR_RETURN(const int server, now->Owner(part));
    if (std::find(servers.begin(), servers.end(), server) == servers.end()) {
      servers.push_back(server);
    }
  }
  return servers;
}

Status Cluster::ExplainTooLarge(int server, const Status& error) const {
  if (error.code() != absl::StatusCode::kResourceExhausted) return error;
  return ResourceExhausted(
      "{} (the server's messages have at most {} bytes, this client's {}; raise "
      "--max-message-bytes, here at least to the server's)",
      Message(error), served()->MessageBytes(server), rpc_.options().max_message_bytes);
}

Status Cluster::WithoutTopology(int part) const {
  return NoTopology(fmt::format("{} of {}", part, info_.book.num_parts()));
}

}  // namespace halograph
