#include "client/remote/sample_layer_call.h"

#include <algorithm>

#include "client/remote/question_rpc.h"
#include "common/sampling/merge_picks.h"
#include "proto/wire/capabilities.h"

namespace halograph {

Status LayerCalls::Split() {
  const ReplicaSets& topology = served_->topology();
  shares_.resize(spec_.groups.size());
  for (size_t g = 0; g < shares_.size(); ++g) {
    const LayerGroup& group = spec_.groups[g];
    const int type = spec_.schema->DestinationType(group.relation);
    // Without a fanout there is nothing to ask for.
    const int without =
        shares_[g].Split(cluster_.info().book.NodeBoundaries(type), topology.set_of_part,
                         static_cast<int>(topology.sets.size()),
                         group.nothing() ? std::span<const int64_t>() : group.destinations);
    if (without >= 0) return cluster_.WithoutTopology(without);
  }
  return OkStatus();
}

StatusOr<std::vector<Rpc>> LayerCalls::Plan() {
  std::vector<Rpc> calls;
  const std::vector<ReplicaSet>& sets = served_->topology().sets;
  for (size_t set = 0; set < sets.size(); ++set) {
    Request pieces;
    for (size_t group = 0; group < shares_.size(); ++group) {
      const IdShare& share = shares_[group].shares()[set];
      if (share.ids.empty()) continue;
      HG_RETURN_IF_ERROR(CheckKnown(sets[set], spec_.groups[group]));
      pieces.push_back({group, &share, 0, share.ids.size()});
    }
    AddRpcs(sets[set], std::move(pieces), &calls);
  }
  return calls;
}

// An older server would answer as if edge ids and weights were not asked for, and draw neighbours
// whatever the rule.
Status LayerCalls::CheckKnown(const ReplicaSet& set, const LayerGroup& group) const {
  if (group.edge_ids) {
    const int without = served_->FirstWithout(set, wire::kSampleEdgeIds);
    if (without >= 0) return cluster_.TooOld(without, "the ids of drawn edges");
  }
  if (group.weights) {
    const int without = served_->FirstWithout(set, wire::kSampleWeights);
    if (without >= 0) return cluster_.TooOld(without, "the weights of drawn edges");
  }
  if (group.degrees) {
    const int without = served_->FirstWithout(set, wire::kSampleDegrees);
    if (without >= 0) return cluster_.TooOld(without, "in-degrees beside drawn edges");
  }
  if (group.rule.kind != DrawKind::kNeighbor) {
    const int without = served_->FirstWithout(set, wire::kSampleRule);
    if (without >= 0) return cluster_.TooOld(without, "draws other than of neighbours");
  }
  return OkStatus();
}

void LayerCalls::AddRpcs(const ReplicaSet& set, Request request, std::vector<Rpc>* calls) {
  const bool group_keys = served_->FirstWithout(set, wire::kSampleGroupKeys) < 0;
  for (Request& planned :
       PlanSampleRequests(spec_, std::move(request), set.planned_bytes, group_keys)) {
    calls->push_back(ToRpc(set, std::move(planned)));
  }
}

Rpc LayerCalls::ToRpc(const ReplicaSet& set, Request request) {
  auto shared = std::make_shared<const Request>(std::move(request));
  Rpc rpc = QuestionRpc(
      cluster_, set, Method::kSample, &message_bytes_,
      [this, shared, form = FormFor(set)] { return EncodeSampleRequest(spec_, *shared, form); },
      [this, &set, shared](ReplyPieces reply, std::vector<Rpc>* more) {
        return OnReply(set, *shared, reply, more);
      });
  rpc.on_error = [this, &set, shared](int asked, const Status& error, std::vector<Rpc>* more) {
    return OnError(set, asked, *shared, error, more);
  };
  return rpc;
}

Status LayerCalls::OnReply(const ReplicaSet& set, const Request& request, ReplyPieces reply,
                           std::vector<Rpc>* more) {
  std::vector<SampleAnswer> answers;
  Request rest;
  HG_RETURN_IF_ERROR(DecodeSampleReply(spec_, request, reply, &answers, &rest, TakesPieces(set)));
  if (!rest.empty()) AddRpcs(set, std::move(rest), more);
  const MutexLock lock(mutex_);
  for (SampleAnswer& answer : answers) answers_.push_back(std::move(answer));
  return OkStatus();
}

// A server cuts replies at its own limit. Where ours is lower it cannot know: ask for halves, and
// of one destination for as many edges as we take.
Status LayerCalls::OnError(const ReplicaSet& set, int asked, const Request& request,
                           const Status& error, std::vector<Rpc>* more) {
  size_t destinations = 0;
  for (const SamplePiece& piece : request) destinations += piece.end - piece.begin;
  const SamplePiece& only = request.front();
  const bool cuts_further = destinations > 1 || (TakesPieces(set) && only.max_edges == 0);
  if (error.code() != absl::StatusCode::kResourceExhausted || !cuts_further ||
      served_->MessageBytes(asked) <= cluster_.rpc().options().max_message_bytes) {
    return cluster_.ExplainTooLarge(asked, error);
  }
  if (destinations == 1) {
    SamplePiece piece = only;
    const int64_t fit = set.planned_bytes / SampledEdgeBytes(spec_, spec_.groups[piece.group]);
    piece.max_edges = static_cast<uint64_t>(std::max<int64_t>(1, fit));
    AddRpcs(set, {piece}, more);
    return OkStatus();
  }
  Request halves[2];
  size_t left = destinations / 2;  // for the first half
  for (SamplePiece piece : request) {
    const size_t take = std::min(left, piece.end - piece.begin);
    SamplePiece first = piece;
    first.end = piece.begin + take;
    if (take > 0) halves[0].push_back(first);
    if (take > 0) piece = {piece.group, piece.share, first.end, piece.end};
    if (piece.begin < piece.end) halves[1].push_back(piece);
    left -= take;
  }
  for (Request& half : halves) AddRpcs(set, std::move(half), more);
  return OkStatus();
}

void LayerCalls::Assemble(std::vector<NeighborPicks>* picks) {
  std::vector<std::vector<PicksShare>> by_group(spec_.groups.size());
  for (const SampleAnswer& answer : answers_) {
    const SamplePiece& piece = answer.piece;
    by_group[piece.group].push_back(
        {.positions = piece.share->positions.subspan(piece.begin, piece.end - piece.begin),
         .counts = answer.drawn.counts,
         .sources = answer.drawn.sources,
         .edge_ids = answer.drawn.edge_ids,
         .weights = answer.drawn.weights,
         .degrees = answer.drawn.degrees,
         .first_edge = static_cast<int64_t>(piece.first_edge)});
  }
  picks->resize(spec_.groups.size());
  for (size_t g = 0; g < by_group.size(); ++g) {
    MergePicks(spec_.groups[g].destinations.size(), by_group[g], &(*picks)[g]);
  }
}

}  // namespace halograph
