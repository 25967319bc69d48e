#include "client/remote/cluster.h"

#include <algorithm>

#include "client/remote/description.h"
#include "client/remote/message_io.h"

namespace halograph {

StatusOr<std::shared_ptr<Cluster>> Cluster::Connect(const RemoteOptions& options) {
  HG_RETURN_IF_ERROR(options.Validate());
  std::shared_ptr<Cluster> cluster(new Cluster(options));
  HG_RETURN_IF_ERROR(cluster->Describe());
  return cluster;
}

Status Cluster::Describe() {
  const auto servers = static_cast<size_t>(rpc_.num_servers());
  std::vector<ServerDescription> descriptions(servers);
  std::vector<Rpc> calls(servers);
  for (size_t server = 0; server < servers; ++server) {
    calls[server].server = static_cast<int>(server);
    calls[server].method = "GraphService/Describe";
    calls[server].make_request = [] { return std::string(); };  // an empty DescribeRequest
    calls[server].on_reply = [out = &descriptions[server]](ReplyPieces reply, std::vector<Rpc>*) {
      HG_ASSIGN_OR_RETURN(*out, ReadDescription(reply));
      return OkStatus();
    };
  }
  CallScope scope;
  HG_RETURN_IF_ERROR(rpc_.Run(scope, std::move(calls)));
  HG_RETURN_IF_ERROR(
      CheckDescriptions(rpc_.options().servers, descriptions, rpc_.options().needs_topology));

  const auto parts = static_cast<size_t>(descriptions[0].graph.book.num_parts());
  feature_server_.assign(parts, -1);
  topology_server_.assign(parts, -1);
  const int64_t ours = rpc_.options().max_message_bytes;
  for (size_t server = 0; server < servers; ++server) {
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
  }
  info_ = std::move(descriptions[0].graph);
  tensors_ = MakeSchemaCatalog(&info_.schema, &info_.book, nullptr);
  // Another server may come to listen where one of these did.
  rpc_.ExpectGraph(info_.identity);
  return OkStatus();
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
