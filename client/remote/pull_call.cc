#include "client/remote/pull_call.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "client/remote/pull_reply_reader.h"
#include "common/graph/owner_split.h"
#include "halograph/v1/kv.pb.h"

namespace halograph {

namespace {

static_assert(std::endian::native == std::endian::little, "ids and rows travel as they lie");

// Below this a call costs more than its bytes; above 4 MB nothing is gained (GRPC.md).
constexpr int64_t kSmallestReply = int64_t{256} << 10;
constexpr int64_t kLargestReply = int64_t{4} << 20;
constexpr int64_t kHeaderBytes = 64;

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>((value & 0x7f) | 0x80));
  out->push_back(static_cast<char>(value));
}

// A PullRequest whose ids are the last field: packed fixed64 has the layout of the array.
std::string EncodePullRequest(const TensorRef& tensor, std::span<const int64_t> ids) {
  v1::PullRequest head;
  head.set_edge(tensor.edge);
  head.set_type(tensor.type);
  head.set_name(tensor.name);
  std::string request = head.SerializeAsString();
  constexpr char kIdsTag = (v1::PullRequest::kIdsFieldNumber << 3) | 2;
  request.reserve(request.size() + 11 + ids.size_bytes());
  request.push_back(kIdsTag);
  AppendVarint(ids.size_bytes(), &request);
  return request.append(reinterpret_cast<const char*>(ids.data()), ids.size_bytes());
}

// One server's rows: `positions` empty means consecutive.
struct Share {
  int server;
  std::span<const int64_t> ids;
  std::span<const int64_t> positions;
};

class PullCalls {
 public:
  PullCalls(Cluster* cluster, const TensorRef& tensor, const ResolvedTensor& resolved,
            std::byte* destination)
      : cluster_(*cluster), tensor_(tensor), spec_(resolved.spec), destination_(destination) {}

  Status Add(const Share& share);
  std::vector<Rpc> Take() { return std::move(calls_); }

 private:
  Rpc ToRpc(int server, std::span<const int64_t> ids, std::span<const int64_t> positions,
            std::byte* destination) const;

  Cluster& cluster_;
  const TensorRef& tensor_;
  const TensorSpec& spec_;
  std::byte* const destination_;
  std::vector<Rpc> calls_;
};

Status PullCalls::Add(const Share& share) {
  const int64_t planned = cluster_.PlannedMessageBytes(share.server);
  const size_t row_bytes = spec_.row_bytes();
  if (static_cast<int64_t>(row_bytes) + kHeaderBytes > planned) {
    return ResourceExhausted(
        "{}: KVService/Pull: one row of {} has {} bytes, {} fit into a message; raise "
        "--max-message-bytes of client and server",
        cluster_.rpc().address(share.server), tensor_.ToString(), row_bytes, planned);
  }
  const auto rows = static_cast<int64_t>(share.ids.size());
  const auto per_call = static_cast<size_t>(
      RowsPerCall(rows, row_bytes, planned, cluster_.rpc().options().calls_in_flight));
  for (size_t begin = 0; begin < share.ids.size(); begin += per_call) {
    const size_t count = std::min(per_call, share.ids.size() - begin);
    const bool scattered = !share.positions.empty();
    calls_.push_back(ToRpc(share.server, share.ids.subspan(begin, count),
                           scattered ? share.positions.subspan(begin, count) : share.positions,
                           scattered ? destination_ : destination_ + begin * row_bytes));
  }
  return OkStatus();
}

Rpc PullCalls::ToRpc(int server, std::span<const int64_t> ids, std::span<const int64_t> positions,
                     std::byte* destination) const {
  Rpc rpc;
  rpc.server = server;
  rpc.method = "KVService/Pull";
  rpc.make_request = [&tensor = tensor_, ids] { return EncodePullRequest(tensor, ids); };
  rpc.on_reply = [&spec = spec_, ids, positions, destination](ReplyPieces pieces,
                                                              std::vector<Rpc>*) {
    PullReplyReader reader(spec, static_cast<int64_t>(ids.size()), positions, destination);
    for (const std::span<const std::byte> piece : pieces) {
      HG_RETURN_IF_ERROR(reader.Consume(piece));
    }
    return reader.Finish();
  };
  return rpc;
}

}  // namespace

int64_t RowsPerCall(int64_t rows, size_t row_bytes, int64_t planned_bytes, int calls_in_flight) {
  const int64_t row = std::max<int64_t>(1, static_cast<int64_t>(row_bytes));
  // Two rounds of calls keep all of them busy to the end.
  const int64_t even = rows / (int64_t{2} * calls_in_flight) + 1;
  const int64_t bytes = std::clamp(even * row, kSmallestReply, kLargestReply);
  const int64_t fitting = std::min((std::min(bytes, planned_bytes) - kHeaderBytes) / row,
                                   (planned_bytes - 1024) / int64_t{sizeof(int64_t)});
  return std::max<int64_t>(1, fitting);
}

Status PullRows(Cluster* cluster, CallScope* scope, const TensorRef& tensor,
                const ResolvedTensor& resolved, std::span<const int64_t> ids,
                std::span<const int64_t> positions, std::byte* destination,
                const Meanwhile& meanwhile, CallStats* stats) {
  PullCalls calls(cluster, tensor, resolved, destination);
  const int servers = cluster->rpc().num_servers();
  OwnerSplit split;
  if (servers == 1) {
    HG_RETURN_IF_ERROR(calls.Add({0, ids, positions}));
  } else {
    const int without = split.Split(Boundaries(cluster->info().book, resolved),
                                    cluster->feature_servers(), servers, ids, positions);
    if (without >= 0) return Internal("no server has the features of part {}", without);
    for (int server = 0; server < servers; ++server) {
      const IdShare& share = split.share(server);
      HG_RETURN_IF_ERROR(calls.Add({server, share.ids, share.positions}));
    }
  }
  HG_RETURN_IF_ERROR(cluster->rpc().Run(*scope, calls.Take(), meanwhile));
  if (stats != nullptr && !ids.empty()) {
    stats->remote_bytes += static_cast<int64_t>(ids.size() * resolved.spec.row_bytes());
    stats->rounds += kRoundsOfAnExchange;
  }
  return OkStatus();
}

}  // namespace halograph
