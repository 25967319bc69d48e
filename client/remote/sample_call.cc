#include "client/remote/sample_call.h"

#include <algorithm>
#include <utility>

#include "proto/wire/sample_request.h"

namespace halograph {

namespace {

// Bytes of a SampleGroup or SampleGroupReply beside its arrays, and of a message's own fields.
constexpr int64_t kGroupOverhead = 56;  // its rule's numbers, in both forms, among them
constexpr int64_t kGroupKeyBytes =
    20;  // batch seed, layer and, in the older form, replace of a group's own
constexpr int64_t kRequestBytesPerId = 8;
constexpr int64_t kDegreeBytes = 8;
constexpr int64_t kCountBytes = 4;  // varint of a count up to 2^20, rounded up

const Relation& RelationOf(const SampleLayerSpec& spec, const LayerGroup& group) {
  return spec.schema->relations[static_cast<size_t>(group.relation)];
}

int64_t SourceNodes(const SampleLayerSpec& spec, const LayerGroup& group) {
  return spec.schema->node_types[static_cast<size_t>(spec.schema->SourceType(group.relation))]
      .count;
}

wire::SampleRuleView RuleOf(const SampleLayerSpec& spec, const LayerGroup& group) {
  wire::SampleRuleView rule = {.kind = static_cast<uint32_t>(group.rule.kind),
                               .fanout = group.rule.fanout,
                               .replace = group.rule.replace};
  if (group.rule.weight >= 0) {
    rule.weight = RelationOf(spec, group).features[static_cast<size_t>(group.rule.weight)].name;
  }
  return rule;
}

// Edges of one destination at most; -1: any number, as those of an estimate vary.
int32_t MostEdges(const DrawRule& rule) {
  return IsEstimate(rule) ? kFullNeighborhood : rule.fanout;
}

// Expected bytes of reply for one destination.
int64_t ReplyBytesPerId(const SampleLayerSpec& spec, const LayerGroup& group) {
  const int type = spec.schema->DestinationType(group.relation);
  const int64_t destinations =
      std::max<int64_t>(1, spec.schema->node_types[static_cast<size_t>(type)].count);
  // Seeds have more edges than the mean node; what a guess misses costs one more round trip.
  const int64_t likely = 8 + 4 * (RelationOf(spec, group).count / destinations);
  const int32_t fanout = group.rule.fanout;
  const int64_t picks = fanout < 0 ? likely : std::min<int64_t>(fanout, likely);
  return kCountBytes + (group.degrees ? kDegreeBytes : 0) + picks * SampledEdgeBytes(spec, group);
}

// Whether the reply's first destination has what the pieces before it said that is left.
Status CheckRest(const SamplePiece& piece, const wire::SampleGroupReply& drawn) {
  if (piece.first_edge == 0 || drawn.counts.empty()) return OkStatus();
  const uint64_t given = drawn.counts.front();
  const uint64_t left = given + (drawn.counts.size() == 1 ? drawn.more_edges : 0);
  if (left == piece.edges_left) return OkStatus();
  return DataLoss("SampleReply: {} edges of a node from {} on, {} were left before", left,
                  piece.first_edge, piece.edges_left);
}

// What `drawn` left of `piece`, whose first destinations it answers.
SamplePiece RestOf(SamplePiece piece, const wire::SampleGroupReply& drawn) {
  const size_t answered = drawn.counts.size();
  if (answered == 0) return piece;
  if (drawn.more_edges > 0) {
    const uint64_t before = answered == 1 ? piece.first_edge : 0;
    piece.begin += answered - 1;
    piece.first_edge = before + drawn.counts.back();
    piece.edges_left = drawn.more_edges;
    if (answered > 1) piece.max_edges = 0;
    return piece;
  }
  return {piece.group, piece.share, piece.begin + answered, piece.end};
}

// Whether both can stand under the keys of one request.
bool SameKeys(const LayerGroup& a, const LayerGroup& b) {
  return a.batch_seed == b.batch_seed && a.layer == b.layer;
}

// The same for servers that know no keys of a group: in the older form of rules.
bool SameOldestKeys(const SampleLayerSpec& spec, const LayerGroup& a, const LayerGroup& b) {
  return SameKeys(a, b) && a.rule.replace == b.rule.replace &&
         RuleOf(spec, a).weight == RuleOf(spec, b).weight;
}

struct Budget {
  int64_t request;
  int64_t reply;
};

}  // namespace

int64_t SampledEdgeBytes(const SampleLayerSpec& spec, const LayerGroup& group) {
  const int64_t source_bytes = SourceNodes(spec, group) > (int64_t{1} << 32) ? 8 : 4;
  return source_bytes + (group.edge_ids ? 8 : 0) + (group.weights ? 4 : 0);
}

std::vector<std::vector<SamplePiece>> PlanSampleRequests(const SampleLayerSpec& spec,
                                                         std::vector<SamplePiece> pieces,
                                                         int64_t planned_bytes, bool group_keys) {
  std::vector<std::vector<SamplePiece>> requests;
  Budget left{0, 0};
  for (SamplePiece piece : pieces) {
    const LayerGroup& group = spec.groups[piece.group];
    const bool keys_differ =
        !requests.empty() &&
        !SameOldestKeys(spec, spec.groups[requests.back().front().group], group);
    const auto names = static_cast<int64_t>(RelationOf(spec, group).triple().size() +
                                            RuleOf(spec, group).weight.size());
    const int64_t overhead = kGroupOverhead + names + (keys_differ ? kGroupKeyBytes : 0);
    const int64_t reply_bytes = ReplyBytesPerId(spec, group);
    bool fresh = requests.empty() || (keys_differ && !group_keys);
    while (piece.begin < piece.end) {
      int64_t fits = std::min((left.request - overhead) / kRequestBytesPerId,
                              (left.reply - overhead) / reply_bytes);
      if (fresh || fits < 1) {
        requests.emplace_back();
        left = {planned_bytes, planned_bytes};
        fits = std::max<int64_t>(1, std::min((left.request - overhead) / kRequestBytesPerId,
                                             (left.reply - overhead) / reply_bytes));
        fresh = false;
      }
      const auto take = std::min(static_cast<size_t>(fits), piece.end - piece.begin);
      SamplePiece part = piece;
      part.end = part.begin + take;
      requests.back().push_back(part);
      piece = {piece.group, piece.share, part.end, piece.end};
      left.request -= overhead + static_cast<int64_t>(take) * kRequestBytesPerId;
      left.reply -= overhead + static_cast<int64_t>(take) * reply_bytes;
    }
  }
  return requests;
}

std::string EncodeSampleRequest(const SampleLayerSpec& spec, std::span<const SamplePiece> pieces,
                                const SampleForm& form) {
  // The first group's keys are the request's; a group says its own where they differ.
  const LayerGroup& first = spec.groups[pieces.front().group];
  std::vector<std::string> names;
  std::vector<wire::SampleGroupView> groups;
  names.reserve(pieces.size());
  for (const SamplePiece& piece : pieces) {
    const LayerGroup& group = spec.groups[piece.group];
    names.push_back(RelationOf(spec, group).triple());
    wire::SampleGroupView& view = groups.emplace_back();
    view.relation = names.back();
    view.rule = RuleOf(spec, group);
    view.destinations = piece.share->ids.subspan(piece.begin, piece.end - piece.begin);
    view.edge_ids = group.edge_ids;
    view.weights = group.weights;
    view.degrees = group.degrees;
    view.first_edge = piece.first_edge;
    view.max_edges = piece.max_edges;
    if (SameKeys(first, group)) continue;
    view.batch_seed = group.batch_seed;
    view.layer = static_cast<uint32_t>(group.layer);
  }
  return wire::WriteSampleRequest({.batch_seed = first.batch_seed,
                                   .layer = static_cast<uint32_t>(first.layer),
                                   .edge_pieces = form.edge_pieces,
                                   .rules = form.rules,
                                   .groups = groups});
}

Status DecodeSampleReply(const SampleLayerSpec& spec, std::span<const SamplePiece> pieces,
                         ReplyPieces reply, std::vector<SampleAnswer>* answers,
                         std::vector<SamplePiece>* rest, bool edge_pieces) {
  std::vector<wire::SampleGroupExpected> expected;
  expected.reserve(pieces.size());
  for (const SamplePiece& piece : pieces) {
    const LayerGroup& group = spec.groups[piece.group];
    expected.push_back({.destinations = piece.end - piece.begin,
                        .fanout = MostEdges(group.rule),
                        .source_nodes = SourceNodes(spec, group),
                        .edges = RelationOf(spec, group).count,
                        .edge_ids = group.edge_ids,
                        .weights = group.weights,
                        .degrees = group.degrees,
                        .pieces = edge_pieces});
  }
  std::vector<wire::SampleGroupReply> groups;
  HG_RETURN_IF_ERROR(wire::ReadSampleReply(reply, expected, &groups));
  size_t answered = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    SamplePiece missing = pieces[i];
    if (i < groups.size()) {
      HG_RETURN_IF_ERROR(CheckRest(pieces[i], groups[i]));
      missing = RestOf(pieces[i], groups[i]);
      SampleAnswer& answer = answers->emplace_back(SampleAnswer{pieces[i], std::move(groups[i])});
      answer.piece.end = answer.piece.begin + answer.drawn.counts.size();
      answered += answer.drawn.counts.size();
    }
    if (missing.begin < missing.end) rest->push_back(missing);
  }
  if (answered == 0) return DataLoss("SampleReply: answers none of the destinations");
  return OkStatus();
}

}  // namespace halograph
