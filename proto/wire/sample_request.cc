#include "proto/wire/sample_request.h"

#include "proto/wire/writer.h"

namespace halograph::wire {

namespace {

uint32_t ZigZag(int32_t value) {
  return (static_cast<uint32_t>(value) << 1) ^ static_cast<uint32_t>(value >> 31);
}
int32_t UnZigZag(uint32_t value) { return static_cast<int32_t>((value >> 1) ^ (~(value & 1) + 1)); }

// ---- reading ---------------------------------------------------------------------------------

void ReadGroup(Reader& in, SampleGroup* group) {
  using enum WireType;
  namespace f = sample_group;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kRelation, kBytes):
        group->relation = in.Text();
        break;
      case Tag(f::kFanout, kVarint):
        group->fanout = UnZigZag(static_cast<uint32_t>(in.Varint()));
        break;
      case Tag(f::kDestinations, kBytes):
        in.PackedFixed(&group->destinations);
        break;
      case Tag(f::kDestinations, kFixed64):
        group->destinations.push_back(static_cast<int64_t>(in.Fixed64()));
        break;
      case Tag(f::kBatchSeed, kFixed64):
        group->batch_seed = in.Fixed64();
        break;
      case Tag(f::kLayer, kVarint):
        group->layer = static_cast<uint32_t>(in.Varint());
        break;
      case Tag(f::kReplace, kVarint):
        group->replace = in.Varint() != 0;
        break;
      case Tag(f::kWeight, kBytes):
        group->weight = in.Text();
        break;
      case Tag(f::kEdgeIds, kVarint):
        group->edge_ids = in.Varint() != 0;
        break;
      case Tag(f::kWeights, kVarint):
        group->weights = in.Varint() != 0;
        break;
      case Tag(f::kFirstEdge, kVarint):
        group->first_edge = in.Varint();
        break;
      case Tag(f::kMaxEdges, kVarint):
        group->max_edges = in.Varint();
        break;
      default:
        in.SkipField(tag);
    }
  }
}

// ---- writing ---------------------------------------------------------------------------------

size_t PackedBytes(uint32_t field, std::span<const int64_t> ids) {
  return ids.empty() ? 0 : FieldBytes(field, ids.size_bytes());
}

size_t TextBytes(uint32_t field, std::string_view text) {
  return text.empty() ? 0 : FieldBytes(field, text.size());
}

std::byte* PutUnsigned(uint32_t field, uint64_t value, std::byte* out) {
  return PutVarint(value, PutTag(field, WireType::kVarint, out));
}

std::byte* PutKey(uint32_t field, uint64_t key, std::byte* out) {
  return PutFixed(key, PutTag(field, WireType::kFixed64, out));
}

// Of the message alone.
size_t BodyBytes(const SampleGroupView& group) {
  namespace f = sample_group;
  size_t bytes = TextBytes(f::kRelation, group.relation);
  if (group.fanout != 0) bytes += 1 + VarintBytes(ZigZag(group.fanout));
  bytes += PackedBytes(f::kDestinations, group.destinations);
  if (group.batch_seed.has_value()) bytes += 1 + sizeof(uint64_t);
  if (group.layer.has_value()) bytes += 1 + VarintBytes(*group.layer);
  if (group.replace.has_value()) bytes += 2;
  if (group.weight.has_value()) bytes += FieldBytes(f::kWeight, group.weight->size());
  if (group.first_edge > 0) bytes += 1 + VarintBytes(group.first_edge);
  if (group.max_edges > 0) bytes += 1 + VarintBytes(group.max_edges);
  return bytes + (group.edge_ids ? 2 : 0) + (group.weights ? 2 : 0);
}

std::byte* PutGroup(const SampleGroupView& group, std::byte* out) {
  namespace f = sample_group;
  out = PutLength(sample_request::kGroups, BodyBytes(group), out);
  if (!group.relation.empty()) out = PutText(f::kRelation, group.relation, out);
  if (group.fanout != 0) out = PutUnsigned(f::kFanout, ZigZag(group.fanout), out);
  out = PutIds(f::kDestinations, group.destinations, out);
  if (group.batch_seed.has_value()) out = PutKey(f::kBatchSeed, *group.batch_seed, out);
  if (group.layer.has_value()) out = PutUnsigned(f::kLayer, *group.layer, out);
  if (group.replace.has_value()) out = PutUnsigned(f::kReplace, *group.replace ? 1 : 0, out);
  if (group.weight.has_value()) out = PutText(f::kWeight, *group.weight, out);
  if (group.edge_ids) out = PutUnsigned(f::kEdgeIds, 1, out);
  if (group.weights) out = PutUnsigned(f::kWeights, 1, out);
  if (group.first_edge > 0) out = PutUnsigned(f::kFirstEdge, group.first_edge, out);
  if (group.max_edges > 0) out = PutUnsigned(f::kMaxEdges, group.max_edges, out);
  return out;
}

}  // namespace

StatusOr<SampleRequest> ReadSampleRequest(Pieces pieces, size_t max_groups) {
  using enum WireType;
  namespace f = sample_request;
  Reader in(pieces);
  const size_t bytes = in.left();
  SampleRequest request;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kBatchSeed, kFixed64):
        request.batch_seed = in.Fixed64();
        break;
      case Tag(f::kLayer, kVarint):
        request.layer = static_cast<uint32_t>(in.Varint());
        break;
      case Tag(f::kReplace, kVarint):
        request.replace = in.Varint() != 0;
        break;
      case Tag(f::kGroups, kBytes):
        if (request.groups.size() > max_groups) request.groups.pop_back();
        in.Message([&] { ReadGroup(in, &request.groups.emplace_back()); });
        break;
      case Tag(f::kWeight, kBytes):
        request.weight = in.Text();
        break;
      case Tag(f::kEdgePieces, kVarint):
        request.edge_pieces = in.Varint() != 0;
        break;
      default:
        in.SkipField(tag);
    }
  }
  if (!in.failed()) return request;
  return InvalidArgument("malformed request: {} bytes that are no halograph.v1.SampleRequest",
                         bytes);
}

std::string WriteSampleRequest(const SampleRequestView& request) {
  namespace f = sample_request;
  size_t bytes = 1 + sizeof(uint64_t) + 1 + kLongestVarint + 2 + 2 +
                 TextBytes(f::kWeight, request.weight);  // at most, so far
  for (const SampleGroupView& group : request.groups) bytes += SampleGroupBytes(group);
  std::string message(bytes, '\0');
  auto* const begin = reinterpret_cast<std::byte*>(message.data());
  std::byte* out = begin;
  if (request.batch_seed != 0) out = PutKey(f::kBatchSeed, request.batch_seed, out);
  if (request.layer != 0) out = PutUnsigned(f::kLayer, request.layer, out);
  if (request.replace) out = PutUnsigned(f::kReplace, 1, out);
  for (const SampleGroupView& group : request.groups) out = PutGroup(group, out);
  if (!request.weight.empty()) out = PutText(f::kWeight, request.weight, out);
  if (request.edge_pieces) out = PutUnsigned(f::kEdgePieces, 1, out);
  message.resize(static_cast<size_t>(out - begin));
  return message;
}

size_t SampleGroupBytes(const SampleGroupView& group) {
  return FieldBytes(sample_request::kGroups, BodyBytes(group));
}

}  // namespace halograph::wire
