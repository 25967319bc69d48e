#include "proto/wire/column_sums.h"

#include "proto/wire/grouped.h"
#include "proto/wire/writer.h"

namespace halograph::wire {

namespace {

// ---- reading ---------------------------------------------------------------------------------

void ReadPage(Reader& in, ColumnPage* page) {
  using enum WireType;
  namespace f = column_page;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kPart, kVarint):
        page->part = static_cast<uint32_t>(in.Varint());
        break;
      case Tag(f::kSourceBegin, kVarint):
        page->source_begin = static_cast<int64_t>(in.Varint());
        break;
      case Tag(f::kSourceEnd, kVarint):
        page->source_end = static_cast<int64_t>(in.Varint());
        break;
      default:
        in.SkipField(tag);
    }
  }
}

void ReadGroup(Reader& in, ColumnSumsGroup* group) {
  using enum WireType;
  namespace f = column_sums_group;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kRelation, kBytes):
        group->relation = in.Text();
        break;
      case Tag(f::kValue, kVarint):
        group->value = static_cast<uint32_t>(in.Varint());
        break;
      case Tag(f::kDestinations, kBytes):
        in.PackedFixed(&group->destinations);
        break;
      case Tag(f::kDestinations, kFixed64):
        group->destinations.push_back(static_cast<int64_t>(in.Fixed64()));
        break;
      case Tag(f::kPage, kBytes):
        if (!group->page) group->page.emplace();
        in.Message([&] { ReadPage(in, &*group->page); });
        break;
      case Tag(f::kFromSource, kVarint):
        group->from_source = static_cast<int64_t>(in.Varint());
        break;
      case Tag(f::kSourceDeltas, kVarint):
        group->source_deltas = in.Varint() != 0;
        break;
      default:
        in.SkipField(tag);
    }
  }
}

// Sources came in 4 bytes each, in 8, and as differences.
struct SourceForms {
  bool narrow = false;
  bool wide = false;
  bool deltas = false;
};

void ReadGroup(Reader& in, ColumnSumsGroupReply* group, SourceForms* found) {
  using enum WireType;
  namespace f = column_sums_group_reply;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kSources32, kBytes):
        in.PackedNarrow(&group->sources);
        found->narrow = true;
        break;
      case Tag(f::kSources32, kFixed32):
        group->sources.push_back(in.Fixed32());
        found->narrow = true;
        break;
      case Tag(f::kSources64, kBytes):
        in.PackedFixed(&group->sources);
        found->wide = true;
        break;
      case Tag(f::kSources64, kFixed64):
        group->sources.push_back(static_cast<int64_t>(in.Fixed64()));
        found->wide = true;
        break;
      case Tag(f::kSums, kBytes):
        in.PackedUint64(&group->sums);
        break;
      case Tag(f::kSums, kVarint):
        group->sums.push_back(in.Varint());
        break;
      case Tag(f::kSourceDeltas, kBytes):
        in.PackedDeltas(&group->sources);
        found->deltas = true;
        break;
      case Tag(f::kSourceDeltas, kVarint):
        in.DeltaId(&group->sources);
        found->deltas = true;
        break;
      case Tag(f::kMore, kVarint):
        group->more = in.Varint() != 0;
        break;
      default:
        in.SkipField(tag);
    }
  }
}

Status CheckGroup(const ColumnSumsGroupReply& group, const ColumnSumsExpected& expected,
                  const SourceForms& found) {
  const bool wide = expected.source_nodes > (int64_t{1} << 32);
  if (wide ? found.narrow : found.wide) {
    return DataLoss("sources of {} bytes of a type with {} nodes", wide ? 4 : 8,
                    expected.source_nodes);
  }
  if (found.deltas && (found.narrow || found.wide)) {
    return DataLoss("sources both as ids and as differences, expected one of the two");
  }
  if (group.sources.size() != group.sums.size()) {
    return DataLoss("{} sums for {} sources", group.sums.size(), group.sources.size());
  }
  int64_t next = expected.source_begin;
  for (size_t i = 0; i < group.sources.size(); ++i) {
    const int64_t source = group.sources[i];
    if (source < next || source >= expected.source_end) {
      return DataLoss("source {} at position {}, expected one in [{}, {})",
                      static_cast<uint64_t>(source), i, next, expected.source_end);
    }
    if (group.sums[i] == 0) return DataLoss("a sum of 0 of source {}", source);
    next = source + 1;
  }
  if (group.more && (group.sources.empty() || next >= expected.source_end)) {
    return DataLoss("more sources behind {} of them, expected some below {} and then others",
                    group.sources.size(), expected.source_end);
  }
  return OkStatus();
}

// ---- writing ---------------------------------------------------------------------------------

size_t NumberBytes(uint64_t value) { return value == 0 ? 0 : 1 + VarintBytes(value); }

size_t BodyBytes(const ColumnPage& page) {
  return NumberBytes(page.part) + NumberBytes(static_cast<uint64_t>(page.source_begin)) +
         NumberBytes(static_cast<uint64_t>(page.source_end));
}

size_t BodyBytes(const ColumnSumsGroupView& group) {
  namespace f = column_sums_group;
  return FieldBytes(f::kRelation, group.relation.size()) + NumberBytes(group.value) +
         IdsBytes(f::kDestinations, group.destinations) +
         (group.page ? FieldBytes(f::kPage, BodyBytes(*group.page)) : 0) +
         NumberBytes(static_cast<uint64_t>(group.from_source)) + (group.source_deltas ? 2 : 0);
}

std::byte* PutBody(const ColumnSumsGroupView& group, std::byte* out) {
  namespace f = column_sums_group;
  out = PutText(f::kRelation, group.relation, out);
  out = PutNumber(f::kValue, group.value, out);
  out = PutIds(f::kDestinations, group.destinations, out);
  if (group.page) {
    namespace p = column_page;
    out = PutLength(f::kPage, BodyBytes(*group.page), out);
    out = PutNumber(p::kPart, group.page->part, out);
    out = PutNumber(p::kSourceBegin, static_cast<uint64_t>(group.page->source_begin), out);
    out = PutNumber(p::kSourceEnd, static_cast<uint64_t>(group.page->source_end), out);
  }
  out = PutNumber(f::kFromSource, static_cast<uint64_t>(group.from_source), out);
  return PutNumber(f::kSourceDeltas, group.source_deltas ? 1 : 0, out);
}

size_t BodyBytes(const ColumnSumsGroupShape& group) {
  namespace f = column_sums_group_reply;
  const size_t id_bytes = group.sources.size() * (group.wide ? sizeof(uint64_t) : sizeof(uint32_t));
  const size_t source_bytes = group.deltas   ? DeltasFieldBytes(f::kSourceDeltas, group.sources)
                              : id_bytes > 0 ? FieldBytes(f::kSources32, id_bytes)
                                             : 0;
  return source_bytes + VarintsFieldBytes(f::kSums, group.sums) + (group.more ? 2 : 0);
}

}  // namespace

static_assert(column_sums_request::kGroups == kGroupsField &&
              column_sums_request::kMaxBytes == kMaxBytesField &&
              column_sums_reply::kGroups == kGroupsField);

StatusOr<ColumnSumsRequest> ReadColumnSumsRequest(Pieces pieces, size_t max_groups) {
  return ReadGroupedRequest<ColumnSumsRequest>(
      pieces, max_groups, "ColumnSumsRequest",
      [](Reader& in, ColumnSumsGroup* group) { ReadGroup(in, group); });
}

std::string WriteColumnSumsRequest(std::span<const ColumnSumsGroupView> groups, int64_t max_bytes) {
  return WriteGroupedRequest(
      groups, max_bytes, [](const ColumnSumsGroupView& group) { return BodyBytes(group); },
      [](const ColumnSumsGroupView& group, std::byte* out) { return PutBody(group, out); });
}

Status ReadColumnSumsReply(Pieces pieces, std::span<const ColumnSumsExpected> expected,
                           std::vector<ColumnSumsGroupReply>* groups) {
  std::vector<SourceForms> forms;
  return ReadGroupedReply(
      pieces, expected, "ColumnSumsReply", groups,
      [&forms](Reader& in, ColumnSumsGroupReply* group) {
        ReadGroup(in, group, &forms.emplace_back());
      },
      [&](const ColumnSumsGroupReply& group, const ColumnSumsExpected& of, bool last) -> Status {
        HG_RETURN_IF_ERROR(CheckGroup(group, of, forms[&group - groups->data()]));
        if (last || !group.more) return OkStatus();
        return DataLoss("more sources follow; only the last group may be cut");
      });
}

size_t ColumnSumsGroupBytes(const ColumnSumsGroupShape& group) {
  return FieldBytes(column_sums_reply::kGroups, BodyBytes(group));
}

std::byte* PutColumnSumsGroup(const ColumnSumsGroupShape& group, std::byte* out) {
  namespace f = column_sums_group_reply;
  out = PutLength(column_sums_reply::kGroups, BodyBytes(group), out);
  if (!group.deltas) {
    out = group.wide ? PutIds(f::kSources64, group.sources, out)
                     : PutNarrow(f::kSources32, group.sources, out);
  }
  out = PutVarints(f::kSums, group.sums, out);
  out = PutNumber(f::kMore, group.more ? 1 : 0, out);
  return group.deltas ? PutDeltas(f::kSourceDeltas, group.sources, out) : out;
}

}  // namespace halograph::wire
