#include "client/remote/cluster.h"

#include <algorithm>

#include "client/remote/message_io.h"
#include "common/base/log.h"
#include "halograph/v1/graph.pb.h"
#include "proto/wire/read_replies.h"

namespace halograph {

StatusOr<std::shared_ptr<Cluster>> Cluster::Connect(const RemoteOptions& options,
                                                    const CancelToken* cancel) {
  HG_RETURN_IF_ERROR(options.Validate());
  std::shared_ptr<Cluster> cluster(new Cluster(options));
  CallContext context{.cancel = cancel};
  HG_RETURN_IF_ERROR(cluster->Describe(context));
  return cluster;
}

Status Cluster::Describe(CallContext& context) {
  const auto servers = static_cast<size_t>(rpc_.num_servers());
  std::vector<ServerDescription> descriptions(servers);
  std::vector<Rpc> calls(servers);
  for (size_t server = 0; server < servers; ++server) {
    calls[server].servers = {static_cast<int>(server)};
    calls[server].method = "GraphService/Describe";
    calls[server].make_request = [] { return std::string(); };  // an empty DescribeRequest
    calls[server].on_reply = [out = &descriptions[server]](ReplyPieces reply, std::vector<Rpc>*) {
      HG_ASSIGN_OR_RETURN(*out, ReadDescription(reply));
      return OkStatus();
    };
  }
  HG_RETURN_IF_ERROR(rpc_.Run(context, std::move(calls)));
  HG_RETURN_IF_ERROR(
      CheckDescriptions(rpc_.options().servers, descriptions, rpc_.options().needs_topology));
  TakeDescriptions(descriptions);
  // Another server may come to listen where one of these did.
  rpc_.ExpectGraph(info_.identity);
  return FindTaskRows(descriptions, context);
}

void Cluster::TakeDescriptions(std::vector<ServerDescription> descriptions) {
  const auto parts = static_cast<size_t>(descriptions[0].graph.book.num_parts());
  feature_server_.assign(parts, -1);
  topology_server_.assign(parts, -1);
  const int64_t ours = rpc_.options().max_message_bytes;
  for (size_t server = 0; server < descriptions.size(); ++server) {
    for (const int part : descriptions[server].parts) {
      int& features = feature_server_[static_cast<size_t>(part)];
      int& topology = topology_server_[static_cast<size_t>(part)];
      const PartContents& serving = descriptions[server].serving;
      if (features < 0 && serving.features) features = static_cast<int>(server);
      if (topology < 0 && serving.topology) topology = static_cast<int>(server);
    }
    const int64_t theirs = descriptions[server].max_message_bytes;
    planned_bytes_.push_back(PlannedBytes(std::min(ours, theirs)));
    server_limits_.push_back(theirs);
    capabilities_.push_back(std::move(descriptions[server].capabilities));
  }
  WarnOfUnused(descriptions);
  info_ = std::move(descriptions[0].graph);
  tensors_ = MakeSchemaCatalog(&info_.schema, &info_.book, nullptr);
}

void Cluster::WarnOfUnused(const std::vector<ServerDescription>& descriptions) const {
  const auto asked = [](const std::vector<int>& servers, size_t server) {
    return std::find(servers.begin(), servers.end(), static_cast<int>(server)) != servers.end();
  };
  for (size_t server = 0; server < descriptions.size(); ++server) {
    if (descriptions[server].parts.empty() || asked(feature_server_, server) ||
        asked(topology_server_, server)) {
      continue;
    }
    const auto part = static_cast<size_t>(descriptions[server].parts[0]);
    const int other = std::max(feature_server_[part], topology_server_[part]);
    spdlog::warn("not needed: {} serves part {} as well, which {} is asked for",
                 rpc_.address(static_cast<int>(server)), part, rpc_.address(other));
  }
}

Status Cluster::FindTaskRows(const std::vector<ServerDescription>& descriptions,
                             CallContext& context) {
  // First how many rows each part has of each set; -1: not told.
  for (const Task& task : info_.schema.tasks) {
    info_.task_rows.emplace_back(
        task.sets.size(), std::vector<int64_t>(static_cast<size_t>(info_.book.num_parts()), -1));
  }
  for (size_t server = 0; server < descriptions.size(); ++server) {
    for (const PartTaskRows& told : descriptions[server].task_rows) {
      if (FeatureServer(told.part) != static_cast<int>(server)) continue;
      info_.task_rows[told.set.task][told.set.set][told.part] = told.rows;
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
  std::vector<Rpc> calls(1);
  calls[0].servers = {FeatureServer(part)};
  calls[0].method = "GraphService/ReadTaskSet";
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

bool Cluster::Knows(int server, std::string_view capability) const {
  const std::vector<std::string>& known = capabilities_[static_cast<size_t>(server)];
  return std::find(known.begin(), known.end(), capability) != known.end();
}

Status Cluster::TooOld(int server, std::string_view what) const {
  return FailedPrecondition(
      "{}: the server is of an older version and does not tell {}; start one of this version",
      rpc_.address(server), what);
}

Status Cluster::ExplainTooLarge(int server, const Status& error) const {
  if (error.code() != absl::StatusCode::kResourceExhausted) return error;
  return ResourceExhausted(
      "{} (the server's messages have at most {} bytes, this client's {}; raise "
      "--max-message-bytes, here at least to the server's)",
      Message(error), server_limits_[static_cast<size_t>(server)],
      rpc_.options().max_message_bytes);
}

StatusOr<int> Cluster::TopologyServer(int part) const {
  const int server = topology_server_[static_cast<size_t>(part)];
  if (server >= 0) return server;
  return NoTopology(fmt::format("{} of {}", part, topology_server_.size()));
}

}  // namespace halograph
