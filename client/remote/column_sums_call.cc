#include "client/remote/column_sums_call.h"

#include <algorithm>
#include <utility>

#include "client/remote/question_rpc.h"
#include "common/sampling/kernel/add_column_sums.h"
#include "proto/wire/capabilities.h"

namespace halograph {
namespace {

// Bytes of a request beside its groups, and of a group beside its relation and ids.
constexpr int64_t kRequestOverhead = 16;
constexpr int64_t kColumnGroupOverhead = 80;
constexpr int64_t kIdBytes = 8;

}  // namespace

Status CheckKnowsColumns(const Cluster& cluster, const ServedParts& served, const ReplicaSet& set) {
  const int without = served.FirstWithout(set, RowOf(Method::kColumnSums).capability);
  if (without < 0) return OkStatus();
  return cluster.TooOld(without, "the sums and edges that layer-wise samplers ask for");
}

bool TakesDeltaIds(const Cluster& cluster, const ServedParts& served, const ReplicaSet& set) {
  return !cluster.rpc().options().plain_ids && served.FirstWithout(set, wire::kSampleDeltaIds) < 0;
}

int64_t ColumnSumsCalls::SourceNodes(const ColumnGroup& group) const {
  const Schema& schema = cluster_.info().schema;
  return schema.node_types[static_cast<size_t>(schema.SourceType(group.relation))].count;
}

Status ColumnSumsCalls::Split() {
  const ReplicaSets& topology = served_->topology();
  shares_.resize(groups_.size());
  pages_.resize(topology.sets.size());
  for (size_t g = 0; g < groups_.size(); ++g) {
    const ColumnGroup& group = groups_[g];
    const int type = cluster_.info().schema.DestinationType(group.relation);
    const int without =
        shares_[g].Split(cluster_.info().book.NodeBoundaries(type), topology.set_of_part,
                         static_cast<int>(topology.sets.size()), group.destinations);
    if (without >= 0) return cluster_.WithoutTopology(without);
    if (!group.page) continue;
    const int set = topology.set_of_part[static_cast<size_t>(group.page->part)];
    if (set < 0) return cluster_.WithoutTopology(group.page->part);
    pages_[static_cast<size_t>(set)].push_back(g);
  }
  return OkStatus();
}

StatusOr<std::vector<Rpc>> ColumnSumsCalls::Plan() {
  answers_.resize(groups_.size());
  std::vector<Rpc> calls;
  const std::vector<ReplicaSet>& sets = served_->topology().sets;
  for (size_t set = 0; set < sets.size(); ++set) {
    Request sums, pages;
    for (size_t group = 0; group < groups_.size(); ++group) {
      const IdShare& share = shares_[group].shares()[set];
      if (!share.ids.empty()) sums.push_back({group, share.ids});
    }
    for (const size_t group : pages_[set]) pages.push_back({group});
    if (sums.empty() && pages.empty()) continue;
    HG_RETURN_IF_ERROR(CheckKnowsColumns(cluster_, *served_, sets[set]));
    // All edges of a part are read for each of these, which has the whole time of a call.
    const auto reads_all = [&](const Piece& piece) {
      return groups_[piece.group].value == ColumnValue::kAsymmetry;
    };
    for (const Piece& piece : pages) {
      if (reads_all(piece)) AddRpcs(sets[set], {piece}, &calls);
    }
    std::erase_if(pages, reads_all);
    AddRpcs(sets[set], sums, &calls);
    AddRpcs(sets[set], pages, &calls);
  }
  return calls;
}

void ColumnSumsCalls::AddRpcs(const ReplicaSet& set, const Request& pieces,
                              std::vector<Rpc>* calls) {
  Request request;
  int64_t left = 0;
  const auto begin_next = [&] {
    if (!request.empty()) calls->push_back(ToRpc(set, std::exchange(request, {})));
    left = set.planned_bytes - kRequestOverhead;
  };
  begin_next();
  for (Piece piece : pieces) {
    const int64_t overhead = kColumnGroupOverhead +
                             static_cast<int64_t>(RelationOf(groups_[piece.group]).triple().size());
    do {
      if (!request.empty() && left < overhead + kIdBytes) begin_next();
      const int64_t fit = std::max<int64_t>(1, (left - overhead) / kIdBytes);
      const size_t take = std::min(piece.destinations.size(), static_cast<size_t>(fit));
      request.push_back({piece.group, piece.destinations.first(take), piece.from_source});
      piece.destinations = piece.destinations.subspan(take);
      left -= overhead + static_cast<int64_t>(take) * kIdBytes;
    } while (!piece.destinations.empty());
  }
  begin_next();
}

std::string ColumnSumsCalls::Encode(const ReplicaSet& set, const Request& request) const {
  const bool deltas = TakesDeltaIds(cluster_, *served_, set);
  std::vector<std::string> names;
  std::vector<wire::ColumnSumsGroupView> groups;
  names.reserve(request.size());
  for (const Piece& piece : request) {
    const ColumnGroup& group = groups_[piece.group];
    names.push_back(RelationOf(group).triple());
    wire::ColumnSumsGroupView& view = groups.emplace_back();
    view = {.relation = names.back(),
            .value = static_cast<uint32_t>(group.value),
            .destinations = piece.destinations,
            .from_source = piece.from_source,
            .source_deltas = deltas};
    if (!group.page) continue;
    view.page = wire::ColumnPage{.part = static_cast<uint32_t>(group.page->part),
                                 .source_begin = group.page->sources.begin,
                                 .source_end = group.page->sources.end};
  }
  // A server of a higher limit than ours cannot know it.
  return wire::WriteColumnSumsRequest(groups, cluster_.rpc().options().max_message_bytes);
}

wire::ColumnSumsExpected ColumnSumsCalls::Expected(const Piece& piece) const {
  const ColumnGroup& group = groups_[piece.group];
  const int64_t nodes = SourceNodes(group);
  IdRange sources = group.page ? group.page->sources : IdRange{0, nodes};
  if (group.value == ColumnValue::kAsymmetry) {  // one sum, of the first
    sources.end = std::min(sources.end, sources.begin + 1);
  }
  return {.source_nodes = nodes,
          .source_begin = std::max(sources.begin, piece.from_source),
          .source_end = sources.end};
}

Rpc ColumnSumsCalls::ToRpc(const ReplicaSet& set, Request request) {
  auto shared = std::make_shared<const Request>(std::move(request));
  return QuestionRpc(
      cluster_, set, Method::kColumnSums, &message_bytes_,
      [this, &set, shared] { return Encode(set, *shared); },
      [this, &set, shared](ReplyPieces reply, std::vector<Rpc>* more) {
        return OnReply(set, *shared, reply, more);
      });
}

Status ColumnSumsCalls::OnReply(const ReplicaSet& set, const Request& request, ReplyPieces reply,
                                std::vector<Rpc>* more) {
  std::vector<wire::ColumnSumsExpected> expected;
  for (const Piece& piece : request) expected.push_back(Expected(piece));
  std::vector<wire::ColumnSumsGroupReply> given;
  HG_RETURN_IF_ERROR(wire::ReadColumnSumsReply(reply, expected, &given));
  if (given.empty()) return DataLoss("ColumnSumsReply: answers none of the groups");
  Request rest;
  if (given.back().more) {
    rest.push_back(request[given.size() - 1]);
    rest.back().from_source = given.back().sources.back() + 1;
  }
  rest.insert(rest.end(), request.begin() + std::ssize(given), request.end());
  AddRpcs(set, rest, more);
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < given.size(); ++i) {
    answers_[request[i].group].push_back({std::move(given[i].sources), std::move(given[i].sums)});
  }
  return OkStatus();
}

Status ColumnSumsCalls::Assemble(std::vector<ColumnSums>* sums) {
  sums->resize(groups_.size());
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (answers_[g].size() == 1) {  // was checked when it came
      std::swap((*sums)[g], answers_[g].front());
      continue;
    }
    std::vector<ColumnSumsView> views;
    for (const ColumnSums& answer : answers_[g]) views.push_back({answer.sources, answer.sums});
    HG_RETURN_IF_ERROR(AddColumnSums(RelationOf(groups_[g]).triple(), SourceNodes(groups_[g]),
                                     views, &(*sums)[g]));
  }
  return OkStatus();
}

}  // namespace halograph
