#include "proto/wire/extract.h"

#include <algorithm>
#include <array>
#include <utility>

#include "proto/wire/grouped.h"
#include "proto/wire/writer.h"

namespace halograph::wire {

namespace {

// Stands in `columns` beside differences: no source has this id.
constexpr std::array<int64_t, 1> kNoColumn = {-1};

// ---- reading ---------------------------------------------------------------------------------

void ReadGroup(Reader& in, ExtractGroup* group) {
  using enum WireType;
  namespace f = extract_group;
  std::vector<int64_t> deltas;
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
      case Tag(f::kColumnDeltas, kBytes):
        in.PackedDeltas(&deltas);
        break;
      case Tag(f::kColumnDeltas, kVarint):
        in.DeltaId(&deltas);
        break;
      default:
        in.SkipField(tag);
    }
  }
  if (deltas.empty()) return;
  if (!std::ranges::equal(group->columns, kNoColumn)) return in.Fail();
  group->columns = std::move(deltas);
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

// The columns as they are written: in one of these two fields, or the first of them says that they
// are in the second.
struct ColumnFields {
  std::span<const int64_t> ids;
  std::span<const int64_t> deltas;
};

ColumnFields FieldsOf(const ExtractGroupView& group) {
  namespace f = extract_group;
  const size_t as_deltas =
      IdsBytes(f::kColumns, kNoColumn) + DeltasFieldBytes(f::kColumnDeltas, group.columns);
  const bool deltas = group.column_deltas && 2 * as_deltas <= IdsBytes(f::kColumns, group.columns);
  if (deltas) return {kNoColumn, group.columns};
  return {group.columns, {}};
}

size_t BodyBytes(const ExtractGroupView& group) {
  namespace f = extract_group;
  const ColumnFields columns = FieldsOf(group);
  return FieldBytes(f::kRelation, group.relation.size()) +
         IdsBytes(f::kDestinations, group.destinations) + IdsBytes(f::kColumns, columns.ids) +
         (group.edge_ids ? 2 : 0) + IdsBytes(f::kDegreesOf, group.degrees_of) +
         DeltasFieldBytes(f::kColumnDeltas, columns.deltas);
}

std::byte* PutBody(const ExtractGroupView& group, std::byte* out) {
  namespace f = extract_group;
  out = PutText(f::kRelation, group.relation, out);
  out = PutIds(f::kDestinations, group.destinations, out);
  const ColumnFields columns = FieldsOf(group);
  out = PutIds(f::kColumns, columns.ids, out);
  out = PutNumber(f::kEdgeIds, group.edge_ids ? 1 : 0, out);
  out = PutIds(f::kDegreesOf, group.degrees_of, out);
  return PutDeltas(f::kColumnDeltas, columns.deltas, out);
}

size_t BodyBytes(const ExtractGroupShape& group) {
  namespace f = extract_group_reply;
  return VarintsFieldBytes(f::kCounts, group.counts) +
         VarintsFieldBytes(f::kColumns, group.columns) + IdsBytes(f::kEdgeIds, group.edge_ids) +
         VarintsFieldBytes(f::kDegrees, group.degrees) +
         VarintsFieldBytes(f::kOtherDegrees, group.other_degrees);
}

}  // namespace

static_assert(extract_request::kGroups == kGroupsField &&
              extract_request::kMaxBytes == kMaxBytesField &&
              extract_reply::kGroups == kGroupsField);

StatusOr<ExtractRequest> ReadExtractRequest(Pieces pieces, size_t max_groups) {
  return ReadGroupedRequest<ExtractRequest>(
      pieces, max_groups, "ExtractRequest",
      [](Reader& in, ExtractGroup* group) { ReadGroup(in, group); });
}

std::string WriteExtractRequest(std::span<const ExtractGroupView> groups, int64_t max_bytes) {
  return WriteGroupedRequest(
      groups, max_bytes, [](const ExtractGroupView& group) { return BodyBytes(group); },
      [](const ExtractGroupView& group, std::byte* out) { return PutBody(group, out); });
}

Status ReadExtractReply(Pieces pieces, std::span<const ExtractExpected> expected,
                        std::vector<ExtractGroupReply>* groups) {
  return ReadGroupedReply(
      pieces, expected, "ExtractReply", groups,
      [](Reader& in, ExtractGroupReply* group) { ReadGroup(in, group); },
      [](const ExtractGroupReply& group, const ExtractExpected& of, bool last) -> Status {
        HG_RETURN_IF_ERROR(CheckGroup(group, of));
        if (last || IsWhole(group, of)) return OkStatus();
        return DataLoss("{} of {} destinations are answered; only the last group may be cut",
                        group.counts.size(), of.destinations);
      });
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
