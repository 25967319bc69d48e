#include "proto/wire/extract.h"

#include <algorithm>

#include "proto/wire/writer.h"

namespace halograph::wire {

namespace {

// ---- reading ---------------------------------------------------------------------------------

void ReadGroup(Reader& in, ExtractGroup* group) {
  using enum WireType;
  namespace f = extract_group;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kRelation, kBytes):
        group->relation = in.Text();
        break;
      case Tag(f::kDestinations, kBytes):
        in.PackedFixed(&group->destinations);
        break;
      case Tag(f::kDestinations, kFixed64):
        group->destinations.push_back(static_cast<int64_t>(in.Fixed64()));
        break;
      case Tag(f::kColumns, kBytes):
        in.PackedFixed(&group->columns);
        break;
      case Tag(f::kColumns, kFixed64):
        group->columns.push_back(static_cast<int64_t>(in.Fixed64()));
        break;
      case Tag(f::kEdgeIds, kVarint):
        group->edge_ids = in.Varint() != 0;
        break;
      case Tag(f::kDegreesOf, kBytes):
        in.PackedFixed(&group->degrees_of);
        break;
      case Tag(f::kDegreesOf, kFixed64):
        group->degrees_of.push_back(static_cast<int64_t>(in.Fixed64()));
        break;
      default:
        in.SkipField(tag);
    }
  }
}

void ReadGroup(Reader& in, ExtractGroupReply* group) {
  using enum WireType;
  namespace f = extract_group_reply;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kCounts, kBytes):
        in.PackedUint32(&group->counts);
        break;
      case Tag(f::kCounts, kVarint):
        group->counts.push_back(static_cast<uint32_t>(in.Varint()));
        break;
      case Tag(f::kColumns, kBytes):
        in.PackedUint32(&group->columns);
        break;
      case Tag(f::kColumns, kVarint):
        group->columns.push_back(static_cast<uint32_t>(in.Varint()));
        break;
      case Tag(f::kEdgeIds, kBytes):
        in.PackedFixed(&group->edge_ids);
        break;
      case Tag(f::kEdgeIds, kFixed64):
        group->edge_ids.push_back(static_cast<int64_t>(in.Fixed64()));
        break;
      case Tag(f::kDegrees, kBytes):
        in.PackedUint64(&group->degrees);
        break;
      case Tag(f::kDegrees, kVarint):
        group->degrees.push_back(in.Varint());
        break;
      case Tag(f::kOtherDegrees, kBytes):
        in.PackedUint64(&group->other_degrees);
        break;
      case Tag(f::kOtherDegrees, kVarint):
        group->other_degrees.push_back(in.Varint());
        break;
      default:
        in.SkipField(tag);
    }
  }
}

Status CheckEdges(const ExtractGroupReply& group, const ExtractExpected& expected) {
  uint64_t edges = 0;
  for (const uint32_t count : group.counts) edges += count;
  if (group.columns.size() != edges || group.edge_ids.size() != (expected.edge_ids ? edges : 0)) {
    return DataLoss("{} columns and {} edge ids for {} edges, expected {} and {}",
                    group.columns.size(), group.edge_ids.size(), edges, edges,
                    expected.edge_ids ? edges : 0);
  }
  for (const uint32_t column : group.columns) {
    if (column < expected.columns) continue;
    return DataLoss("position {} in a list of {} columns", column, expected.columns);
  }
  for (const int64_t id : group.edge_ids) {
    if (id >= 0 && id < expected.edges) continue;
    return DataLoss("edge id {} of a relation with {} edges", static_cast<uint64_t>(id),
                    expected.edges);
  }
  return OkStatus();
}

Status CheckGroup(const ExtractGroupReply& group, const ExtractExpected& expected) {
  if (group.counts.size() > expected.destinations || group.degrees.size() != group.counts.size()) {
    return DataLoss("{} counts and {} degrees for {} destinations", group.counts.size(),
                    group.degrees.size(), expected.destinations);
  }
  const bool all = group.counts.size() == expected.destinations;
  if (group.other_degrees.size() > (all ? expected.degrees_of : 0)) {
    return DataLoss("{} other degrees behind {} of {} destinations, expected at most {}",
                    group.other_degrees.size(), group.counts.size(), expected.destinations,
                    all ? expected.degrees_of : 0);
  }
  const auto most = static_cast<uint64_t>(expected.edges);
  for (size_t i = 0; i < group.counts.size(); ++i) {
    if (group.degrees[i] <= most && group.counts[i] <= group.degrees[i]) continue;
    return DataLoss("a degree of {} with {} edges, of a relation with {}", group.degrees[i],
                    group.counts[i], expected.edges);
  }
  for (const uint64_t degree : group.other_degrees) {
    if (degree <= most) continue;
    return DataLoss("a degree of {} of a relation with {} edges", degree, expected.edges);
  }
  return CheckEdges(group, expected);
}

bool IsWhole(const ExtractGroupReply& group, const ExtractExpected& expected) {
  return group.counts.size() == expected.destinations &&
         group.other_degrees.size() == expected.degrees_of;
}

// ---- writing ---------------------------------------------------------------------------------

size_t BodyBytes(const ExtractGroupView& group) {
  namespace f = extract_group;
  return FieldBytes(f::kRelation, group.relation.size()) +
         IdsBytes(f::kDestinations, group.destinations) + IdsBytes(f::kColumns, group.columns) +
         (group.edge_ids ? 2 : 0) + IdsBytes(f::kDegreesOf, group.degrees_of);
}

std::byte* PutGroup(const ExtractGroupView& group, std::byte* out) {
  namespace f = extract_group;
  out = PutLength(extract_request::kGroups, BodyBytes(group), out);
  out = PutText(f::kRelation, group.relation, out);
  out = PutIds(f::kDestinations, group.destinations, out);
  out = PutIds(f::kColumns, group.columns, out);
  out = PutNumber(f::kEdgeIds, group.edge_ids ? 1 : 0, out);
  return PutIds(f::kDegreesOf, group.degrees_of, out);
}

size_t BodyBytes(const ExtractGroupShape& group) {
  namespace f = extract_group_reply;
  return VarintsFieldBytes(f::kCounts, group.counts) +
         VarintsFieldBytes(f::kColumns, group.columns) + IdsBytes(f::kEdgeIds, group.edge_ids) +
         VarintsFieldBytes(f::kDegrees, group.degrees) +
         VarintsFieldBytes(f::kOtherDegrees, group.other_degrees);
}

}  // namespace

StatusOr<ExtractRequest> ReadExtractRequest(Pieces pieces, size_t max_groups) {
  using enum WireType;
  namespace f = extract_request;
  Reader in(pieces);
  const size_t bytes = in.left();
  ExtractRequest request;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kGroups, kBytes):
        if (request.groups.size() > max_groups) request.groups.pop_back();
        in.Message([&] { ReadGroup(in, &request.groups.emplace_back()); });
        break;
      case Tag(f::kMaxBytes, kVarint):
        request.max_bytes = static_cast<int64_t>(in.Varint());
        break;
      default:
        in.SkipField(tag);
    }
  }
  if (!in.failed()) return request;
  return InvalidArgument("malformed request: {} bytes that are no halograph.v1.ExtractRequest",
                         bytes);
}

std::string WriteExtractRequest(std::span<const ExtractGroupView> groups, int64_t max_bytes) {
  namespace f = extract_request;
  size_t bytes = 1 + kLongestVarint;  // at most, so far
  for (const ExtractGroupView& group : groups) bytes += FieldBytes(f::kGroups, BodyBytes(group));
  std::string message(bytes, '\0');
  auto* const begin = reinterpret_cast<std::byte*>(message.data());
  std::byte* out = begin;
  for (const ExtractGroupView& group : groups) out = PutGroup(group, out);
  out = PutNumber(f::kMaxBytes, static_cast<uint64_t>(max_bytes), out);
  message.resize(static_cast<size_t>(out - begin));
  return message;
}

Status ReadExtractReply(Pieces pieces, std::span<const ExtractExpected> expected,
                        std::vector<ExtractGroupReply>* groups) {
  Reader in(pieces);
  const size_t bytes = in.left();
  groups->clear();
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    if (tag != Tag(extract_reply::kGroups, WireType::kBytes)) {
      in.SkipField(tag);
      continue;
    }
    if (groups->size() == expected.size()) {
      return DataLoss("ExtractReply: more groups than the {} asked for", expected.size());
    }
    in.Message([&] { ReadGroup(in, &groups->emplace_back()); });
  }
  if (in.failed()) return DataLoss("the reply's {} bytes are no halograph.v1.ExtractReply", bytes);
  for (size_t g = 0; g < groups->size(); ++g) {
    Status status = CheckGroup((*groups)[g], expected[g]);
    if (status.ok() && g + 1 < groups->size() && !IsWhole((*groups)[g], expected[g])) {
      status = DataLoss("{} of {} destinations are answered; only the last group may be cut",
                        (*groups)[g].counts.size(), expected[g].destinations);
    }
    if (status.ok()) continue;
    return Annotate(status, fmt::format("ExtractReply: group {} of {}", g, groups->size()));
  }
  return OkStatus();
}

size_t ExtractGroupBytes(const ExtractGroupShape& group) {
  return FieldBytes(extract_reply::kGroups, BodyBytes(group));
}

std::byte* PutExtractGroup(const ExtractGroupShape& group, std::byte* out) {
  namespace f = extract_group_reply;
  out = PutLength(extract_reply::kGroups, BodyBytes(group), out);
  out = PutVarints(f::kCounts, group.counts, out);
  out = PutVarints(f::kColumns, group.columns, out);
  out = PutIds(f::kEdgeIds, group.edge_ids, out);
  out = PutVarints(f::kDegrees, group.degrees, out);
  return PutVarints(f::kOtherDegrees, group.other_degrees, out);
}

}  // namespace halograph::wire
