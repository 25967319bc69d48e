#include "client/remote/remote_neighbor_source.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "client/remote/sample_call.h"

namespace halograph {

namespace {

// The calls of one SampleLayer and the answers that have come.
class LayerCalls {
 public:
  LayerCalls(Cluster* cluster, const SampleLayerSpec& spec) : cluster_(*cluster), spec_(spec) {}

  [[nodiscard]] Status Split();
  [[nodiscard]] std::vector<Rpc> Plan();
  void Assemble(std::vector<NeighborPicks>* picks);
  // Of requests and replies, once the calls are done. A request that is tried again counts once.
  [[nodiscard]] int64_t message_bytes() const { return message_bytes_; }

 private:
  using Request = std::vector<SamplePiece>;

  [[nodiscard]] std::vector<Rpc> ToRpcs(int server, std::vector<Request> requests);
  [[nodiscard]] Rpc ToRpc(int server, Request request);
  [[nodiscard]] Status OnReply(int server, const Request& request, ReplyPieces reply,
                               std::vector<Rpc>* more);
  [[nodiscard]] Status OnError(int server, const Request& request, const Status& error,
                               std::vector<Rpc>* more);

  Cluster& cluster_;
  const SampleLayerSpec spec_;
  std::vector<OwnerSplit> shares_;  // per group, by server
  std::mutex mutex_;
  std::vector<SampleAnswer> answers_;  // guarded by mutex_ while calls run
  std::atomic<int64_t> message_bytes_ = 0;
};

Status LayerCalls::Split() {
  const int servers = cluster_.rpc().num_servers();
  shares_.resize(spec_.groups.size());
  for (size_t g = 0; g < shares_.size(); ++g) {
    const LayerGroup& group = spec_.groups[g];
    const int type = spec_.schema->DestinationType(group.relation);
    // Without a fanout there is nothing to ask for.
    const int without = shares_[g].Split(
        cluster_.info().book.NodeBoundaries(type), cluster_.topology_servers(), servers,
        group.fanout == 0 ? std::span<const int64_t>() : group.destinations);
    if (without >= 0) return cluster_.TopologyServer(without).status();
  }
  return OkStatus();
}

std::vector<Rpc> LayerCalls::Plan() {
  std::vector<Rpc> calls;
  for (int server = 0; server < cluster_.rpc().num_servers(); ++server) {
    Request pieces;
    for (size_t group = 0; group < shares_.size(); ++group) {
      const IdShare& share = shares_[group].share(server);
      if (!share.ids.empty()) pieces.push_back({group, &share, 0, share.ids.size()});
    }
    for (Rpc& rpc : ToRpcs(server, {std::move(pieces)})) calls.push_back(std::move(rpc));
  }
  return calls;
}

std::vector<Rpc> LayerCalls::ToRpcs(int server, std::vector<Request> requests) {
  std::vector<Rpc> calls;
  for (Request& request : requests) {
    for (Request& planned :
         PlanSampleRequests(spec_, std::move(request), cluster_.PlannedMessageBytes(server))) {
      calls.push_back(ToRpc(server, std::move(planned)));
    }
  }
  return calls;
}

Rpc LayerCalls::ToRpc(int server, Request request) {
  auto shared = std::make_shared<const Request>(std::move(request));
  Rpc rpc;
  rpc.server = server;
  rpc.method = "GraphService/Sample";
  rpc.make_request = [this, shared] {
    std::string message = EncodeSampleRequest(spec_, *shared);
    message_bytes_ += static_cast<int64_t>(message.size());
    return message;
  };
  rpc.on_reply = [this, server, shared](ReplyPieces reply, std::vector<Rpc>* more) {
    return OnReply(server, *shared, reply, more);
  };
  rpc.on_error = [this, server, shared](const Status& error, std::vector<Rpc>* more) {
    return OnError(server, *shared, error, more);
  };
  return rpc;
}

Status LayerCalls::OnReply(int server, const Request& request, ReplyPieces reply,
                           std::vector<Rpc>* more) {
  for (const auto piece : reply) message_bytes_ += static_cast<int64_t>(piece.size());
  std::vector<SampleAnswer> answers;
  Request rest;
  HG_RETURN_IF_ERROR(DecodeSampleReply(spec_, request, reply, &answers, &rest));
  if (!rest.empty()) *more = ToRpcs(server, {std::move(rest)});
  std::lock_guard lock(mutex_);
  for (SampleAnswer& answer : answers) answers_.push_back(std::move(answer));
  return OkStatus();
}

// A server cuts replies at its own limit. Where ours is lower it cannot know: ask for halves.
Status LayerCalls::OnError(int server, const Request& request, const Status& error,
                           std::vector<Rpc>* more) {
  size_t destinations = 0;
  for (const SamplePiece& piece : request) destinations += piece.end - piece.begin;
  if (error.code() != absl::StatusCode::kResourceExhausted || destinations < 2 ||
      !cluster_.SendsMoreThanWeTake(server)) {
    return cluster_.ExplainTooLarge(server, error);
  }
  Request halves[2];
  size_t left = destinations / 2;  // for the first half
  for (SamplePiece piece : request) {
    const size_t take = std::min(left, piece.end - piece.begin);
    if (take > 0) halves[0].push_back({piece.group, piece.share, piece.begin, piece.begin + take});
    if (piece.begin + take < piece.end) {
      halves[1].push_back({piece.group, piece.share, piece.begin + take, piece.end});
    }
    left -= take;
  }
  *more = ToRpcs(server, {std::move(halves[0]), std::move(halves[1])});
  return OkStatus();
}

// Counts, prefix sum, one exact allocation, then every answer to its place.
void LayerCalls::Assemble(std::vector<NeighborPicks>* picks) {
  picks->resize(spec_.groups.size());
  for (size_t group = 0; group < spec_.groups.size(); ++group) {
    (*picks)[group].offsets.assign(spec_.groups[group].destinations.size() + 1, 0);
  }
  for (const SampleAnswer& answer : answers_) {
    const int64_t* positions = answer.piece.share->positions.data() + answer.piece.begin;
    std::vector<int64_t>& offsets = (*picks)[answer.piece.group].offsets;
    for (size_t i = 0; i < answer.counts.size(); ++i) {
      offsets[static_cast<size_t>(positions[i]) + 1] = answer.counts[i];
    }
  }
  for (NeighborPicks& pick : *picks) {
    for (size_t i = 1; i < pick.offsets.size(); ++i) pick.offsets[i] += pick.offsets[i - 1];
    pick.sources.resize(static_cast<size_t>(pick.offsets.back()));
  }
  for (const SampleAnswer& answer : answers_) {
    const int64_t* positions = answer.piece.share->positions.data() + answer.piece.begin;
    NeighborPicks& pick = (*picks)[answer.piece.group];
    const int64_t* from = answer.sources.data();
    for (size_t i = 0; i < answer.counts.size(); ++i) {
      const int64_t begin = pick.offsets[static_cast<size_t>(positions[i])];
      std::copy_n(from, answer.counts[i], pick.sources.data() + begin);
      from += answer.counts[i];
    }
  }
}

}  // namespace

Status RemoteNeighborSource::SampleLayer(std::span<const LayerGroup> groups,
                                         std::vector<NeighborPicks>* picks) {
  const auto same = [](const LayerGroup& a, const LayerGroup& b) {
    return a.batch_seed == b.batch_seed && a.layer == b.layer && a.replace == b.replace;
  };
  picks->resize(groups.size());
  std::vector<NeighborPicks> answers;
  size_t begin = 0;
  do {
    size_t end = begin;
    while (end < groups.size() && same(groups[begin], groups[end])) ++end;
    HG_RETURN_IF_ERROR(Exchange(groups.subspan(begin, end - begin),
                                begin == 0 ? meanwhile_ : Meanwhile(), &answers));
    std::move(answers.begin(), answers.end(), picks->begin() + static_cast<ptrdiff_t>(begin));
    begin = end;
  } while (begin < groups.size());
  return OkStatus();
}

Status RemoteNeighborSource::Exchange(std::span<const LayerGroup> groups,
                                      const Meanwhile& meanwhile,
                                      std::vector<NeighborPicks>* picks) {
  LayerCalls calls(cluster_, {.schema = &cluster_->info().schema,
                              .batch_seed = groups.empty() ? 0 : groups.front().batch_seed,
                              .layer = groups.empty() ? 0 : groups.front().layer,
                              .replace = !groups.empty() && groups.front().replace,
                              .groups = groups});
  HG_RETURN_IF_ERROR(calls.Split());
  std::vector<Rpc> first = calls.Plan();
  const int64_t rounds = first.empty() ? 0 : kRoundsOfAnExchange;
  HG_RETURN_IF_ERROR(cluster_->rpc().Run(*scope_, std::move(first), meanwhile));
  calls.Assemble(picks);
  if (stats_ != nullptr) {
    stats_->rounds += rounds;
    stats_->remote_bytes += calls.message_bytes();
  }
  return OkStatus();
}

}  // namespace halograph
