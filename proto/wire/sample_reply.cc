#include "proto/wire/sample_reply.h"

#include <algorithm>
#include <string_view>

#include "proto/wire/writer.h"

namespace halograph::wire {

namespace {

// ---- reading ---------------------------------------------------------------------------------

// Sources came in 4 bytes each, and in 8.
struct Widths {
  size_t narrow = 0;
  size_t wide = 0;
};

void ReadGroup(Reader& in, SampleGroupReply* group, Widths* found) {
  using enum WireType;
  namespace f = sample_group_reply;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    const size_t sources_before = group->sources.size();
    switch (tag) {
      case Tag(f::kCounts, kBytes):
        in.PackedUint32(&group->counts);
        break;
      case Tag(f::kCounts, kVarint):
        group->counts.push_back(static_cast<uint32_t>(in.Varint()));
        break;
      case Tag(f::kSources32, kBytes):
        in.PackedNarrow(&group->sources);
        found->narrow += group->sources.size() - sources_before;
        break;
      case Tag(f::kSources32, kFixed32):
        group->sources.push_back(in.Fixed32());
        ++found->narrow;
        break;
      case Tag(f::kSources64, kBytes):
        in.PackedFixed(&group->sources);
        found->wide += group->sources.size() - sources_before;
        break;
      case Tag(f::kSources64, kFixed64):
        group->sources.push_back(static_cast<int64_t>(in.Fixed64()));
        ++found->wide;
        break;
      case Tag(f::kEdgeIds, kBytes):
        in.PackedFixed(&group->edge_ids);
        break;
      case Tag(f::kEdgeIds, kFixed64):
        group->edge_ids.push_back(static_cast<int64_t>(in.Fixed64()));
        break;
      case Tag(f::kWeights, kBytes):
        in.PackedFixed(&group->weights);
        break;
      case Tag(f::kWeights, kFixed32):
        group->weights.push_back(std::bit_cast<float>(in.Fixed32()));
        break;
      case Tag(f::kMoreEdges, kVarint):
        group->more_edges = in.Varint();
        break;
      case Tag(f::kDegrees, kBytes):
        in.PackedFixed(&group->degrees);
        break;
      case Tag(f::kDegrees, kFixed64):
        group->degrees.push_back(static_cast<int64_t>(in.Fixed64()));
        break;
      default:
        in.SkipField(tag);
    }
  }
}

// Position of the first id outside [0, limit); ids.size() if there is none.
size_t FirstOutside(std::span<const int64_t> ids, int64_t limit) {
  // The upper bit of each is set for an id below 0, and of the difference for one beyond the last.
  const auto last = static_cast<uint64_t>(limit - 1);
  uint64_t outside = 0;
  for (const int64_t id : ids) {
    outside |= static_cast<uint64_t>(id) | (last - static_cast<uint64_t>(id));
  }
  if (outside >> 63 == 0) return ids.size();
  const auto first =
      std::find_if(ids.begin(), ids.end(), [limit](int64_t id) { return id < 0 || id >= limit; });
  return static_cast<size_t>(first - ids.begin());
}

Status CheckCounts(const SampleGroupReply& group, const SampleGroupExpected& expected,
                   const Widths& found) {
  if (group.counts.size() > expected.destinations) {
    return DataLoss("{} counts for {} destinations", group.counts.size(), expected.destinations);
  }
  uint64_t total = 0;
  uint32_t most = 0;
  for (const uint32_t count : group.counts) {
    total += count;
    most = std::max(most, count);
  }
  const size_t fitting = expected.wide() ? found.wide : found.narrow;
  const size_t other = expected.wide() ? found.narrow : found.wide;
  if (total != fitting || other != 0) {
    return DataLoss("{} sources and {} in the other width, expected {}", fitting, other, total);
  }
  if (expected.fanout >= 0 && most > static_cast<uint32_t>(expected.fanout)) {
    return DataLoss("{} edges for a fanout of {}", most, expected.fanout);
  }
  return OkStatus();
}

// A list that is given in pieces ends, and no sooner than it is complete.
Status CheckPieces(const SampleGroupReply& group, const SampleGroupExpected& expected) {
  if (group.more_edges == 0) return OkStatus();
  const auto most = static_cast<uint64_t>(
      expected.fanout >= 0 ? int64_t{expected.fanout} : std::max<int64_t>(0, expected.edges));
  if (!expected.pieces || group.counts.empty() || group.counts.back() == 0 ||
      group.more_edges > most) {
    return DataLoss("{} more edges behind the {} of the last of {} destinations, expected {}",
                    group.more_edges, group.counts.empty() ? 0 : group.counts.back(),
                    group.counts.size(),
                    expected.pieces ? fmt::format("at most {}", most) : "none");
  }
  return OkStatus();
}

Status CheckDegrees(const SampleGroupReply& group, const SampleGroupExpected& expected) {
  const size_t wanted = expected.degrees ? group.counts.size() : 0;
  if (group.degrees.size() != wanted) {
    return DataLoss("{} degrees for {} destinations, expected {}", group.degrees.size(),
                    group.counts.size(), wanted);
  }
  for (const int64_t degree : group.degrees) {
    if (degree >= 0 && degree <= expected.edges) continue;
    return DataLoss("a degree of {} by a relation with {} edges", static_cast<uint64_t>(degree),
                    expected.edges);
  }
  return OkStatus();
}

Status CheckArrays(const SampleGroupReply& group, const SampleGroupExpected& expected) {
  const size_t edges = group.sources.size();
  if (group.edge_ids.size() != (expected.edge_ids ? edges : 0) ||
      group.weights.size() != (expected.weights ? edges : 0)) {
    return DataLoss("{} edge ids and {} weights for {} edges, expected {} and {}",
                    group.edge_ids.size(), group.weights.size(), edges,
                    expected.edge_ids ? edges : 0, expected.weights ? edges : 0);
  }
  if (const size_t i = FirstOutside(group.sources, expected.source_nodes); i < edges) {
    return DataLoss("source {} of a type with {} nodes", static_cast<uint64_t>(group.sources[i]),
                    expected.source_nodes);
  }
  const size_t i = FirstOutside(group.edge_ids, expected.edges);
  if (i < group.edge_ids.size()) {
    return DataLoss("edge id {} of a relation with {} edges",
                    static_cast<uint64_t>(group.edge_ids[i]), expected.edges);
  }
  return CheckDegrees(group, expected);
}

// ---- writing ---------------------------------------------------------------------------------

size_t CountsBytes(const SampleGroupShape& group) {
  size_t bytes = 0;
  for (const uint32_t count : group.counts) bytes += VarintBytes(count);
  return bytes;
}

uint32_t SourcesField(const SampleGroupShape& group) {
  return group.wide ? sample_group_reply::kSources64 : sample_group_reply::kSources32;
}

size_t ArrayBytes(uint32_t field, size_t bytes) {
  return bytes == 0 ? 0 : FieldBytes(field, bytes);
}

size_t BodyBytes(const SampleGroupShape& group, size_t counts_bytes) {
  namespace f = sample_group_reply;
  return ArrayBytes(f::kCounts, counts_bytes) +
         ArrayBytes(SourcesField(group), group.source_bytes()) +
         ArrayBytes(f::kEdgeIds, group.edge_id_bytes()) +
         ArrayBytes(f::kWeights, group.weight_bytes()) +
         (group.more_edges > 0 ? 1 + VarintBytes(group.more_edges) : 0) +
         ArrayBytes(f::kDegrees, group.degree_bytes());
}

// Leaves room for the array behind its length; moves `out` behind it. Null if it is empty.
std::byte* LeaveRoom(uint32_t field, size_t bytes, std::byte** out) {
  if (bytes == 0) return nullptr;
  std::byte* const array = PutLength(field, bytes, *out);
  *out = array + bytes;
  return array;
}

}  // namespace

Status ReadSampleReply(Pieces pieces, std::span<const SampleGroupExpected> expected,
                       std::vector<SampleGroupReply>* groups) {
  Reader in(pieces);
  const size_t bytes = in.left();
  std::vector<Widths> widths;
  groups->clear();
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    if (tag != Tag(sample_reply::kGroups, WireType::kBytes)) {
      in.SkipField(tag);
      continue;
    }
    if (groups->size() == expected.size()) {
      return DataLoss("SampleReply: more groups than the {} asked for", expected.size());
    }
    in.Message([&] { ReadGroup(in, &groups->emplace_back(), &widths.emplace_back()); });
  }
  if (in.failed()) return DataLoss("the reply's {} bytes are no halograph.v1.SampleReply", bytes);
  for (size_t g = 0; g < groups->size(); ++g) {
    const SampleGroupReply& group = (*groups)[g];
    Status status = CheckCounts(group, expected[g], widths[g]);
    if (status.ok()) status = CheckArrays(group, expected[g]);
    if (status.ok()) status = CheckPieces(group, expected[g]);
    if (status.ok() && g + 1 < groups->size() &&
        (group.counts.size() < expected[g].destinations || group.more_edges > 0)) {
      status = DataLoss("{} of {} destinations are answered; only the last group may be cut",
                        group.counts.size(), expected[g].destinations);
    }
    if (!status.ok()) {
      return Annotate(status, fmt::format("SampleReply: group {} of {}", g, groups->size()));
    }
  }
  return OkStatus();
}

size_t SampleGroupReplyBytes(const SampleGroupShape& group) {
  return FieldBytes(sample_reply::kGroups, BodyBytes(group, CountsBytes(group)));
}

SampleGroupArrays PutSampleGroupReply(const SampleGroupShape& group, std::byte* out) {
  namespace f = sample_group_reply;
  const size_t counts_bytes = CountsBytes(group);
  out = PutLength(sample_reply::kGroups, BodyBytes(group, counts_bytes), out);
  if (counts_bytes > 0) {
    out = PutLength(f::kCounts, counts_bytes, out);
    for (const uint32_t count : group.counts) out = PutVarint(count, out);
  }
  SampleGroupArrays arrays;
  arrays.sources = LeaveRoom(SourcesField(group), group.source_bytes(), &out);
  arrays.edge_ids = LeaveRoom(f::kEdgeIds, group.edge_id_bytes(), &out);
  arrays.weights = LeaveRoom(f::kWeights, group.weight_bytes(), &out);
  if (group.more_edges > 0) {
    out = PutVarint(group.more_edges, PutTag(f::kMoreEdges, WireType::kVarint, out));
  }
  arrays.degrees = LeaveRoom(f::kDegrees, group.degree_bytes(), &out);
  arrays.end = out;
  return arrays;
}

}  // namespace halograph::wire
