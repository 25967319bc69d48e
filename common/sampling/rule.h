// What one relation of one layer draws, as a value: options, requests, groups and messages carry
// it whole, and MakeDrawer (pick_drawer.h) alone says what it means.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "common/graph/schema.h"

namespace halograph {

inline constexpr int32_t kFullNeighborhood = -1;
inline constexpr int32_t kMaxFanout = 1 << 20;

enum class DrawKind : uint8_t {
  kNeighbor = 0,  // in-edges of each destination, by itself
};
// Kinds are numbered from 0, here and in messages (SampleRule.kind).
inline constexpr uint32_t kDrawKinds = 1;

struct DrawRule {
  DrawKind kind = DrawKind::kNeighbor;
  int32_t fanout = 0;    // edges a destination; -1: all in-edges; 0: none
  bool replace = false;  // with replacement
  int weight = -1;       // index of the relation's edge feature to draw by; -1: uniformly

  [[nodiscard]] bool nothing() const { return fanout == 0; }
  bool operator==(const DrawRule&) const = default;
};

// OutOfRange naming the value: below -1 or above kMaxFanout.
[[nodiscard]] Status ValidateFanout(int32_t fanout);

// Index of the edge feature `weight` of a relation. NotFound naming the relation, what it can be
// drawn by and what to do, if it has no such feature or no alias tables were made of it.
[[nodiscard]] StatusOr<int> FindSamplingWeight(const Schema& schema, int relation,
                                               std::string_view weight);

// What is wrong with the rule of a relation of the schema is named, with the relation and what is
// allowed.
//   InvalidArgument  a kind that this build does not know
//   OutOfRange       the fanout
//   NotFound         a weight that the relation cannot be drawn by (FindSamplingWeight)
[[nodiscard]] Status ValidateRule(const Schema& schema, int relation, const DrawRule& rule);

}  // namespace halograph
