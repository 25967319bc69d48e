#include "client/remote/extract_call.h"

#include <algorithm>
#include <utility>

#include "client/remote/column_sums_call.h"
#include "client/remote/question_rpc.h"
#include "common/sampling/merge_edges.h"

namespace halograph {
namespace {

// Bytes of a message beside its groups, and of a group beside its relation and numbers.
constexpr int64_t kMessageOverhead = 16;
constexpr int64_t kEdgeGroupOverhead = 64;
constexpr int64_t kNodeBytes = 8;

// The first of a share's ids, and the others.
IdShare FirstOf(const IdShare& share, size_t count) {
  return {share.ids.first(count), share.positions.first(count)};
}
IdShare RestOf(const IdShare& share, size_t count) {
  return {share.ids.subspan(count), share.positions.subspan(count)};
}

// As a source that answers the destinations alone would give it.
ExtractedEdges ToEdges(wire::ExtractGroupReply&& reply) {
  ExtractedEdges edges;
  edges.offsets.reserve(reply.counts.size() + 1);
  edges.offsets.push_back(0);
  for (const uint32_t count : reply.counts) edges.offsets.push_back(edges.offsets.back() + count);
  edges.columns.assign(reply.columns.begin(), reply.columns.end());
  edges.edge_ids = std::move(reply.edge_ids);
  edges.degrees.assign(reply.degrees.begin(), reply.degrees.end());
  return edges;
}

}  // namespace

Status ExtractCalls::Split() {
  const ReplicaSets& topology = served_->topology();
  const Schema& schema = cluster_.info().schema;
  const auto sets = static_cast<int>(topology.sets.size());
  destinations_.resize(groups_.size());
  columns_.resize(groups_.size());
  for (size_t g = 0; g < groups_.size(); ++g) {
    const EdgeGroup& group = groups_[g];
    const int type = schema.DestinationType(group.relation);
    if (group.wanted.column_degrees && schema.SourceType(group.relation) != type) {
      return InvalidArgument("{}: in-degrees of sources, which are of another type",
                             RelationOf(group).triple());
    }
    const auto boundaries = cluster_.info().book.NodeBoundaries(type);
    int without =
        destinations_[g].Split(boundaries, topology.set_of_part, sets, group.destinations);
    if (without < 0) {
      const auto columns = group.wanted.column_degrees ? group.columns : std::span<const int64_t>();
      without = columns_[g].Split(boundaries, topology.set_of_part, sets, columns);
    }
    if (without >= 0) return cluster_.WithoutTopology(without);
  }
  return OkStatus();
}

int64_t ExtractCalls::RequestOverhead(const EdgeGroup& group, bool degrees) const {
  const auto name = static_cast<int64_t>(RelationOf(group).triple().size());
  const int64_t columns = degrees ? 0 : std::ssize(group.columns);
  return kEdgeGroupOverhead + name + kNodeBytes * columns;
}

int64_t ExtractCalls::ReplyBytesPerId(const EdgeGroup& group, bool degrees) const {
  constexpr int64_t kDegreeBytes = 3;
  constexpr int64_t kColumnBytes = 3;
  if (degrees) return kDegreeBytes;
  const Schema& schema = cluster_.info().schema;
  const int type = schema.DestinationType(group.relation);
  const int64_t nodes = std::max<int64_t>(1, schema.node_types[static_cast<size_t>(type)].count);
  // Seeds have more edges than the mean node; what a guess misses costs one more round trip.
  const int64_t likely =
      std::min<int64_t>(8 + 4 * (RelationOf(group).count / nodes), std::ssize(group.columns));
  return 2 * kDegreeBytes + likely * (kColumnBytes + (group.wanted.edge_ids ? kNodeBytes : 0));
}

Status ExtractCalls::CheckColumns(const ReplicaSet& set, const EdgeGroup& group) const {
  const int64_t bytes = kMessageOverhead + RequestOverhead(group, false) + kNodeBytes;
  if (bytes <= set.planned_bytes) return OkStatus();
  return ResourceExhausted(
      "{}: {} drawn nodes make a request of {} bytes, and messages to {} have at most {}: draw "
      "fewer nodes a layer, or raise --max-message-bytes of servers and clients",
      RelationOf(group).triple(), group.columns.size(), bytes, served_->Addresses(set),
      set.planned_bytes);
}

StatusOr<std::vector<Rpc>> ExtractCalls::Plan() {
  std::vector<Rpc> calls;
  const std::vector<ReplicaSet>& sets = served_->topology().sets;
  for (size_t set = 0; set < sets.size(); ++set) {
    Request pieces;
    for (size_t group = 0; group < groups_.size(); ++group) {
      const IdShare& destinations = destinations_[group].shares()[set];
      const IdShare& columns = columns_[group].shares()[set];
      if (!destinations.ids.empty()) {
        HG_RETURN_IF_ERROR(CheckColumns(sets[set], groups_[group]));
        pieces.push_back({group, false, destinations});
      }
      if (!columns.ids.empty()) pieces.push_back({group, true, columns});
    }
    if (pieces.empty()) continue;
    HG_RETURN_IF_ERROR(CheckKnowsColumns(cluster_, *served_, sets[set]));
    AddRpcs(sets[set], pieces, &calls);
  }
  return calls;
}

void ExtractCalls::AddRpcs(const ReplicaSet& set, const Request& pieces, std::vector<Rpc>* calls) {
  Request request;
  int64_t left = 0, reply_left = 0;
  const auto begin_next = [&] {
    if (!request.empty()) calls->push_back(ToRpc(set, std::exchange(request, {})));
    left = reply_left = set.planned_bytes - kMessageOverhead;
  };
  begin_next();
  for (Piece piece : pieces) {
    const EdgeGroup& group = groups_[piece.group];
    const int64_t overhead = RequestOverhead(group, piece.degrees);
    const int64_t reply_bytes = ReplyBytesPerId(group, piece.degrees);
    while (!piece.share.ids.empty()) {
      const auto fit = [&] {
        return std::min((left - overhead) / kNodeBytes,
                        (reply_left - kEdgeGroupOverhead) / reply_bytes);
      };
      if (!request.empty() && fit() < 1) begin_next();
      const auto take =
          std::min(piece.share.ids.size(), static_cast<size_t>(std::max<int64_t>(1, fit())));
      request.push_back({piece.group, piece.degrees, FirstOf(piece.share, take)});
      piece.share = RestOf(piece.share, take);
      left -= overhead + static_cast<int64_t>(take) * kNodeBytes;
      reply_left -= kEdgeGroupOverhead + static_cast<int64_t>(take) * reply_bytes;
    }
  }
  begin_next();
}

std::string ExtractCalls::Encode(const ReplicaSet& set, const Request& request) const {
  const bool deltas = TakesDeltaIds(cluster_, *served_, set);
  std::vector<std::string> names;
  std::vector<wire::ExtractGroupView> groups;
  names.reserve(request.size());
  for (const Piece& piece : request) {
    const EdgeGroup& group = groups_[piece.group];
    names.push_back(RelationOf(group).triple());
    wire::ExtractGroupView& view = groups.emplace_back();
    view.relation = names.back();
    if (piece.degrees) {
      view.degrees_of = piece.share.ids;
      continue;
    }
    view.destinations = piece.share.ids;
    view.columns = group.columns;
    view.column_deltas = deltas;
    view.edge_ids = group.wanted.edge_ids;
  }
  // A server of a higher limit than ours cannot know it.
  return wire::WriteExtractRequest(groups, cluster_.rpc().options().max_message_bytes);
}

wire::ExtractExpected ExtractCalls::Expected(const Piece& piece) const {
  const EdgeGroup& group = groups_[piece.group];
  wire::ExtractExpected expected{.edges = RelationOf(group).count};
  if (piece.degrees) {
    expected.degrees_of = piece.share.ids.size();
    return expected;
  }
  expected.destinations = piece.share.ids.size();
  expected.columns = group.columns.size();
  expected.edge_ids = group.wanted.edge_ids;
  return expected;
}

Rpc ExtractCalls::ToRpc(const ReplicaSet& set, Request request) {
  auto shared = std::make_shared<const Request>(std::move(request));
  return QuestionRpc(
      cluster_, set, Method::kExtract, &message_bytes_,
      [this, &set, shared] { return Encode(set, *shared); },
      [this, &set, shared](ReplyPieces reply, std::vector<Rpc>* more) {
        return OnReply(set, *shared, reply, more);
      });
}

Status ExtractCalls::OnReply(const ReplicaSet& set, const Request& request, ReplyPieces reply,
                             std::vector<Rpc>* more) {
  std::vector<wire::ExtractExpected> expected;
  for (const Piece& piece : request) expected.push_back(Expected(piece));
  std::vector<wire::ExtractGroupReply> given;
  HG_RETURN_IF_ERROR(wire::ReadExtractReply(reply, expected, &given));
  std::vector<Answer> answers;
  Request rest;
  size_t answered = 0;
  for (size_t i = 0; i < request.size(); ++i) {
    Piece missing = request[i];
    if (i < given.size()) {
      const size_t count = missing.degrees ? given[i].other_degrees.size() : given[i].counts.size();
      Answer& answer = answers.emplace_back();
      answer.piece = {missing.group, missing.degrees, FirstOf(missing.share, count)};
      if (missing.degrees) {
        answer.edges.degrees.assign(given[i].other_degrees.begin(), given[i].other_degrees.end());
      } else {
        answer.edges = ToEdges(std::move(given[i]));
      }
      missing.share = RestOf(missing.share, count);
      answered += count;
    }
    if (!missing.share.ids.empty()) rest.push_back(missing);
  }
  if (answered == 0) return DataLoss("ExtractReply: answers none of the nodes");
  AddRpcs(set, rest, more);
  const MutexLock lock(mutex_);
  for (Answer& answer : answers) answers_.push_back(std::move(answer));
  return OkStatus();
}

void ExtractCalls::Assemble(std::vector<ExtractedEdges>* edges) {
  std::vector<std::vector<EdgesShare>> shares(groups_.size());
  for (const Answer& answer : answers_) {
    if (answer.piece.degrees) continue;
    shares[answer.piece.group].push_back(ShareOf(answer.piece.share.positions, answer.edges));
  }
  edges->resize(groups_.size());
  for (size_t g = 0; g < groups_.size(); ++g) {
    MergeEdges(groups_[g].destinations.size(), shares[g], &(*edges)[g]);
    if (groups_[g].wanted.column_degrees) {
      (*edges)[g].column_degrees.assign(groups_[g].columns.size(), -1);
    }
  }
  for (const Answer& answer : answers_) {
    if (!answer.piece.degrees) continue;
    std::vector<int64_t>& degrees = (*edges)[answer.piece.group].column_degrees;
    for (size_t i = 0; i < answer.edges.degrees.size(); ++i) {
      degrees[static_cast<size_t>(answer.piece.share.positions[i])] = answer.edges.degrees[i];
    }
  }
}

}  // namespace halograph
