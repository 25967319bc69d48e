#include "client/remote/sample_call.h"

#include <algorithm>
#include <numeric>

#include "client/remote/message_io.h"
#include "halograph/v1/graph.pb.h"

namespace halograph {

namespace {

// Bytes of a SampleGroup or SampleGroupReply beside its arrays, and of a message's own fields.
constexpr int64_t kGroupOverhead = 32;
constexpr int64_t kRequestBytesPerId = 8;
constexpr int64_t kCountBytes = 4;  // varint of a count up to 2^20, rounded up

bool WideIds(const Schema& schema, int relation) {
  return schema.node_types[static_cast<size_t>(schema.SourceType(relation))].count >
         (int64_t{1} << 32);
}

// Expected bytes of reply for one destination.
int64_t ReplyBytesPerId(const Schema& schema, const LayerGroup& group) {
  const Relation& relation = schema.relations[static_cast<size_t>(group.relation)];
  const int64_t destinations = std::max<int64_t>(
      1, schema.node_types[static_cast<size_t>(schema.DestinationType(group.relation))].count);
  // Seeds have more edges than the mean node; what a guess misses costs one more round trip.
  const int64_t likely = 8 + 4 * (relation.count / destinations);
  const int64_t picks = group.fanout < 0 ? likely : std::min<int64_t>(group.fanout, likely);
  return kCountBytes + picks * (WideIds(schema, group.relation) ? 8 : 4);
}

struct Budget {
  int64_t request;
  int64_t reply;
};

}  // namespace

std::vector<std::vector<SamplePiece>> PlanSampleRequests(const SampleLayerSpec& spec,
                                                         std::vector<SamplePiece> pieces,
                                                         int64_t planned_bytes) {
  std::vector<std::vector<SamplePiece>> requests;
  Budget left{0, 0};
  for (SamplePiece piece : pieces) {
    const LayerGroup& group = spec.groups[piece.group];
    const Relation& relation = spec.schema->relations[static_cast<size_t>(group.relation)];
    const int64_t overhead = kGroupOverhead + static_cast<int64_t>(relation.triple().size());
    const int64_t reply_bytes = ReplyBytesPerId(*spec.schema, group);
    while (piece.begin < piece.end) {
      int64_t fits = std::min((left.request - overhead) / kRequestBytesPerId,
                              (left.reply - overhead) / reply_bytes);
      if (requests.empty() || fits < 1) {
        requests.emplace_back();
        left = {planned_bytes, planned_bytes};
        fits = std::max<int64_t>(1, std::min((left.request - overhead) / kRequestBytesPerId,
                                             (left.reply - overhead) / reply_bytes));
      }
      const auto take = std::min(static_cast<size_t>(fits), piece.end - piece.begin);
      SamplePiece part = piece;
      part.end = part.begin + take;
      requests.back().push_back(part);
      piece.begin = part.end;
      left.request -= overhead + static_cast<int64_t>(take) * kRequestBytesPerId;
      left.reply -= overhead + static_cast<int64_t>(take) * reply_bytes;
    }
  }
  return requests;
}

std::string EncodeSampleRequest(const SampleLayerSpec& spec, std::span<const SamplePiece> pieces) {
  v1::SampleRequest request;
  request.set_batch_seed(spec.batch_seed);
  request.set_layer(static_cast<uint32_t>(spec.layer));
  request.set_replace(spec.replace);
  for (const SamplePiece& piece : pieces) {
    const LayerGroup& group = spec.groups[piece.group];
    const Relation& relation = spec.schema->relations[static_cast<size_t>(group.relation)];
    if (group.weight >= 0) {  // of one name in all groups
      request.set_weight(relation.features[static_cast<size_t>(group.weight)].name);
    }
    v1::SampleGroup* wire = request.add_groups();
    wire->set_relation(relation.triple());
    wire->set_fanout(group.fanout);
    const auto first = piece.share->ids.begin();
    wire->mutable_destinations()->Add(first + static_cast<ptrdiff_t>(piece.begin),
                                      first + static_cast<ptrdiff_t>(piece.end));
  }
  return request.SerializeAsString();
}

namespace {

template <typename Sources>
Status TakeSources(const Sources& wire, int64_t limit, std::vector<int64_t>* sources) {
  sources->reserve(static_cast<size_t>(wire.size()));
  for (const uint64_t source : wire) {
    if (source >= static_cast<uint64_t>(limit)) {
      return DataLoss("SampleReply: source {} of a type with {} nodes", source, limit);
    }
    sources->push_back(static_cast<int64_t>(source));
  }
  return OkStatus();
}

Status DecodeGroup(const SampleLayerSpec& spec, const v1::SampleGroupReply& wire,
                   SampleAnswer* answer) {
  const LayerGroup& group = spec.groups[answer->piece.group];
  const size_t asked = answer->piece.end - answer->piece.begin;
  if (static_cast<size_t>(wire.counts_size()) > asked) {
    return DataLoss("SampleReply: {} counts for {} destinations", wire.counts_size(), asked);
  }
  const int64_t total = std::accumulate(wire.counts().begin(), wire.counts().end(), int64_t{0});
  const bool wide = WideIds(*spec.schema, group.relation);
  const int found = wide ? wire.sources64_size() : wire.sources32_size();
  const int unexpected = wide ? wire.sources32_size() : wire.sources64_size();
  if (total != found || unexpected != 0) {
    return DataLoss("SampleReply: {} sources and {} in the other width, expected {}", found,
                    unexpected, total);
  }
  if (group.fanout >= 0) {
    for (const uint32_t count : wire.counts()) {
      if (count > static_cast<uint32_t>(group.fanout)) {
        return DataLoss("SampleReply: {} edges for a fanout of {}", count, group.fanout);
      }
    }
  }
  answer->piece.end = answer->piece.begin + static_cast<size_t>(wire.counts_size());
  answer->counts.assign(wire.counts().begin(), wire.counts().end());
  const auto source_type = static_cast<size_t>(spec.schema->SourceType(group.relation));
  const int64_t limit = spec.schema->node_types[source_type].count;
  return wide ? TakeSources(wire.sources64(), limit, &answer->sources)
              : TakeSources(wire.sources32(), limit, &answer->sources);
}

}  // namespace

Status DecodeSampleReply(const SampleLayerSpec& spec, std::span<const SamplePiece> pieces,
                         ReplyPieces reply, std::vector<SampleAnswer>* answers,
                         std::vector<SamplePiece>* rest) {
  v1::SampleReply wire;
  HG_RETURN_IF_ERROR(ParseReply(reply, &wire));
  const auto groups = static_cast<size_t>(wire.groups_size());
  if (groups > pieces.size()) {
    return DataLoss("SampleReply: {} groups, asked for {}", groups, pieces.size());
  }
  size_t answered = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    SamplePiece missing = pieces[i];
    if (i < groups) {
      SampleAnswer answer{.piece = pieces[i], .counts = {}, .sources = {}};
      HG_RETURN_IF_ERROR(DecodeGroup(spec, wire.groups(static_cast<int>(i)), &answer));
      missing.begin = answer.piece.end;
      answered += answer.counts.size();
      if (missing.begin < missing.end && i + 1 < groups) {
        return DataLoss("SampleReply: group {} of {} is cut, only the last may be", i, groups);
      }
      answers->push_back(std::move(answer));
    }
    if (missing.begin < missing.end) rest->push_back(missing);
  }
  if (answered == 0) return DataLoss("SampleReply: answers none of the destinations");
  return OkStatus();
}

}  // namespace halograph
