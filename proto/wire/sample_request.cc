#include "proto/wire/sample_request.h"

#include <utility>

#include "proto/wire/writer.h"

namespace halograph::wire {

namespace {

uint32_t ZigZag(int32_t value) {
  return (static_cast<uint32_t>(value) << 1) ^ static_cast<uint32_t>(value >> 31);
}
int32_t UnZigZag(uint32_t value) { return static_cast<int32_t>((value >> 1) ^ (~(value & 1) + 1)); }

// ---- reading ---------------------------------------------------------------------------------

// The older form of a rule: what a group says of it, and the request for groups that do not.
struct OlderRule {
  int32_t fanout = 0;
  std::optional<bool> replace = {};
  std::optional<std::string> weight = {};
};

SampleRule RuleOf(const OlderRule& group, const OlderRule& request) {
  return {.fanout = group.fanout,
          .replace = group.replace.value_or(request.replace.value_or(false)),
          .weight = group.weight.has_value() ? *group.weight : request.weight.value_or("")};
}

int32_t ReadFanout(Reader& in) { return UnZigZag(static_cast<uint32_t>(in.Varint())); }

void ReadRule(Reader& in, SampleRule* rule) {
  using enum WireType;
  namespace f = sample_rule;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kKind, kVarint):
        rule->kind = static_cast<uint32_t>(in.Varint());
        break;
      case Tag(f::kFanout, kVarint):
        rule->fanout = ReadFanout(in);
        break;
      case Tag(f::kReplace, kVarint):
        rule->replace = in.Varint() != 0;
        break;
      case Tag(f::kWeight, kBytes):
        rule->weight = in.Text();
        break;
      default:
        in.SkipField(tag);
    }
  }
}

// `older`: what stands there of a group's rule; none if the group has one itself.
void ReadGroup(Reader& in, SampleGroup* group, std::optional<OlderRule>* older) {
  using enum WireType;
  namespace f = sample_group;
  OlderRule sent;
  bool has_rule = false;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kRelation, kBytes):
        group->relation = in.Text();
        break;
      case Tag(f::kFanout, kVarint):
        sent.fanout = ReadFanout(in);
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
        sent.replace = in.Varint() != 0;
        break;
      case Tag(f::kWeight, kBytes):
        sent.weight = in.Text();
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
      case Tag(f::kDegrees, kVarint):
        group->degrees = in.Varint() != 0;
        break;
      case Tag(f::kRule, kBytes):
        in.Message([&] { ReadRule(in, &group->rule); });
        has_rule = true;
        break;
      default:
        in.SkipField(tag);
    }
  }
  if (!has_rule) *older = std::move(sent);
}

// ---- writing ---------------------------------------------------------------------------------

size_t TextBytes(uint32_t field, std::string_view text) {
  return text.empty() ? 0 : FieldBytes(field, text.size());
}

std::byte* PutUnsigned(uint32_t field, uint64_t value, std::byte* out) {
  return PutVarint(value, PutTag(field, WireType::kVarint, out));
}

std::byte* PutKey(uint32_t field, uint64_t key, std::byte* out) {
  return PutFixed(key, PutTag(field, WireType::kFixed64, out));
}

size_t RuleBytes(const SampleRuleView& rule) {
  namespace f = sample_rule;
  size_t bytes = TextBytes(f::kWeight, rule.weight) + (rule.replace ? 2 : 0);
  if (rule.kind != 0) bytes += 1 + VarintBytes(rule.kind);
  if (rule.fanout != 0) bytes += 1 + VarintBytes(ZigZag(rule.fanout));
  return bytes;
}

std::byte* PutRule(const SampleRuleView& rule, std::byte* out) {
  namespace f = sample_rule;
  out = PutLength(sample_group::kRule, RuleBytes(rule), out);
  if (rule.kind != 0) out = PutUnsigned(f::kKind, rule.kind, out);
  if (rule.fanout != 0) out = PutUnsigned(f::kFanout, ZigZag(rule.fanout), out);
  if (rule.replace) out = PutUnsigned(f::kReplace, 1, out);
  if (!rule.weight.empty()) out = PutText(f::kWeight, rule.weight, out);
  return out;
}

// The older form, which stands beside rules: a server that came back in an older version reads it.
// What a group has other than the request's first says so itself.
class OlderRules {
 public:
  explicit OlderRules(const SampleRequestView& request) {
    if (!request.groups.empty()) first_ = request.groups.front().rule;
  }

  [[nodiscard]] bool replace_of_request() const { return first_.replace; }
  [[nodiscard]] std::string_view weight_of_request() const { return first_.weight; }

  // An older server refuses what it cannot draw.
  [[nodiscard]] static int32_t Fanout(const SampleRuleView& rule) {
    constexpr int32_t kRefused = -2;
    return rule.kind == 0 ? rule.fanout : kRefused;
  }
  [[nodiscard]] bool HasReplace(const SampleRuleView& rule) const {
    return rule.replace != first_.replace;
  }
  [[nodiscard]] bool HasWeight(const SampleRuleView& rule) const {
    return rule.weight != first_.weight;
  }

  // Of a group's fields.
  [[nodiscard]] size_t Bytes(const SampleRuleView& rule) const {
    const int32_t fanout = Fanout(rule);
    return (fanout == 0 ? 0 : 1 + VarintBytes(ZigZag(fanout))) + (HasReplace(rule) ? 2 : 0) +
           (HasWeight(rule) ? FieldBytes(sample_group::kWeight, rule.weight.size()) : 0);
  }

 private:
  SampleRuleView first_ = {};
};

// Of the message but its rule.
size_t BytesBesideRule(const SampleGroupView& group) {
  namespace f = sample_group;
  size_t bytes = TextBytes(f::kRelation, group.relation);
  bytes += IdsBytes(f::kDestinations, group.destinations);
  if (group.batch_seed.has_value()) bytes += 1 + sizeof(uint64_t);
  if (group.layer.has_value()) bytes += 1 + VarintBytes(*group.layer);
  if (group.first_edge > 0) bytes += 1 + VarintBytes(group.first_edge);
  if (group.max_edges > 0) bytes += 1 + VarintBytes(group.max_edges);
  return bytes + (group.edge_ids ? 2 : 0) + (group.weights ? 2 : 0) + (group.degrees ? 2 : 0);
}

// Of the message alone.
size_t BodyBytes(const SampleGroupView& group, const OlderRules& older, bool rules) {
  return BytesBesideRule(group) + older.Bytes(group.rule) +
         (rules ? FieldBytes(sample_group::kRule, RuleBytes(group.rule)) : 0);
}

std::byte* PutGroup(const SampleGroupView& group, const OlderRules& older, bool rules,
                    std::byte* out) {
  namespace f = sample_group;
  const SampleRuleView& rule = group.rule;
  out = PutLength(sample_request::kGroups, BodyBytes(group, older, rules), out);
  if (!group.relation.empty()) out = PutText(f::kRelation, group.relation, out);
  if (const int32_t fanout = OlderRules::Fanout(rule); fanout != 0) {
    out = PutUnsigned(f::kFanout, ZigZag(fanout), out);
  }
  out = PutIds(f::kDestinations, group.destinations, out);
  if (group.batch_seed.has_value()) out = PutKey(f::kBatchSeed, *group.batch_seed, out);
  if (group.layer.has_value()) out = PutUnsigned(f::kLayer, *group.layer, out);
  if (older.HasReplace(rule)) out = PutUnsigned(f::kReplace, rule.replace ? 1 : 0, out);
  if (older.HasWeight(rule)) out = PutText(f::kWeight, rule.weight, out);
  if (group.edge_ids) out = PutUnsigned(f::kEdgeIds, 1, out);
  if (group.weights) out = PutUnsigned(f::kWeights, 1, out);
  if (group.first_edge > 0) out = PutUnsigned(f::kFirstEdge, group.first_edge, out);
  if (group.max_edges > 0) out = PutUnsigned(f::kMaxEdges, group.max_edges, out);
  if (rules) out = PutRule(rule, out);
  return group.degrees ? PutUnsigned(f::kDegrees, 1, out) : out;
}

}  // namespace

StatusOr<SampleRequest> ReadSampleRequest(Pieces pieces, size_t max_groups) {
  using enum WireType;
  namespace f = sample_request;
  Reader in(pieces);
  const size_t bytes = in.left();
  SampleRequest request;
  OlderRule older;
  std::vector<std::optional<OlderRule>> older_of_groups;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kBatchSeed, kFixed64):
        request.batch_seed = in.Fixed64();
        break;
      case Tag(f::kLayer, kVarint):
        request.layer = static_cast<uint32_t>(in.Varint());
        break;
      case Tag(f::kReplace, kVarint):
        older.replace = in.Varint() != 0;
        break;
      case Tag(f::kGroups, kBytes):
        if (request.groups.size() > max_groups) {
          request.groups.pop_back();
          older_of_groups.pop_back();
        }
        in.Message([&] {
          ReadGroup(in, &request.groups.emplace_back(), &older_of_groups.emplace_back());
        });
        break;
      case Tag(f::kWeight, kBytes):
        older.weight = in.Text();
        break;
      case Tag(f::kEdgePieces, kVarint):
        request.edge_pieces = in.Varint() != 0;
        break;
      default:
        in.SkipField(tag);
    }
  }
  if (in.failed()) {
    return InvalidArgument("malformed request: {} bytes that are no halograph.v1.SampleRequest",
                           bytes);
  }
  for (size_t g = 0; g < older_of_groups.size(); ++g) {
    if (older_of_groups[g]) request.groups[g].rule = RuleOf(*older_of_groups[g], older);
  }
  return request;
}

std::string WriteSampleRequest(const SampleRequestView& request) {
  namespace f = sample_request;
  const OlderRules older(request);
  size_t bytes = 1 + sizeof(uint64_t) + 1 + kLongestVarint + 2 + 2 +
                 TextBytes(f::kWeight, older.weight_of_request());  // at most, so far
  for (const SampleGroupView& group : request.groups) {
    bytes += FieldBytes(f::kGroups, BodyBytes(group, older, request.rules));
  }
  std::string message(bytes, '\0');
  auto* const begin = reinterpret_cast<std::byte*>(message.data());
  std::byte* out = begin;
  if (request.batch_seed != 0) out = PutKey(f::kBatchSeed, request.batch_seed, out);
  if (request.layer != 0) out = PutUnsigned(f::kLayer, request.layer, out);
  if (older.replace_of_request()) out = PutUnsigned(f::kReplace, 1, out);
  for (const SampleGroupView& group : request.groups) {
    out = PutGroup(group, older, request.rules, out);
  }
  if (!older.weight_of_request().empty()) out = PutText(f::kWeight, older.weight_of_request(), out);
  if (request.edge_pieces) out = PutUnsigned(f::kEdgePieces, 1, out);
  message.resize(static_cast<size_t>(out - begin));
  return message;
}

}  // namespace halograph::wire
