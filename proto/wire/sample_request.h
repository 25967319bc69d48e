// SampleRequest (proto/halograph/v1/graph.proto), written by clients and read by servers: the bytes
// are exactly what generated code writes and reads. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "proto/wire/reader.h"

namespace halograph::wire {

// ---- as a server reads it --------------------------------------------------------------------

struct SampleRule {
  uint32_t kind = 0;  // DrawKind, or one that this version does not know
  int32_t fanout = 0;
  bool replace = false;
  std::string weight = {};  // edge feature to draw by; empty: uniformly
};

struct SampleGroup {
  std::string relation;               // source:name:destination
  SampleRule rule;                    // made of its older form where a client sent that
  std::vector<int64_t> destinations;  // global ids; those beyond 2^63 come out negative: no id is
  // Of this group alone; none: the request's.
  std::optional<uint64_t> batch_seed = {};
  std::optional<uint32_t> layer = {};
  bool edge_ids = false;  // wanted in the reply, as are weights and degrees
  bool weights = false;
  bool degrees = false;
  // Which of the edges drawn for the first destination are wanted; max_edges 0: all from first_edge
  // on.
  uint64_t first_edge = 0;
  uint64_t max_edges = 0;
};

struct SampleRequest {
  uint64_t batch_seed = 0;
  uint32_t layer = 0;        // from 0 at the seeds
  bool edge_pieces = false;  // a destination that does not fit is answered in pieces
  std::vector<SampleGroup> groups;
};

// Unknown fields are skipped. Of more than `max_groups` groups no more than one beyond is kept, for
// the handler to refuse: small groups cannot make a message of some MB many times as large.
// InvalidArgument if the bytes are no such message.
[[nodiscard]] StatusOr<SampleRequest> ReadSampleRequest(Pieces pieces, size_t max_groups);

// ---- as a client writes it -------------------------------------------------------------------

// As SampleRule and SampleGroup, borrowed.
struct SampleRuleView {
  uint32_t kind = 0;
  int32_t fanout = 0;
  bool replace = false;
  std::string_view weight = {};
};

struct SampleGroupView {
  std::string_view relation;
  SampleRuleView rule = {};
  std::span<const int64_t> destinations;
  std::optional<uint64_t> batch_seed = {};
  std::optional<uint32_t> layer = {};
  bool edge_ids = false;
  bool weights = false;
  bool degrees = false;
  uint64_t first_edge = 0;
  uint64_t max_edges = 0;
};

struct SampleRequestView {
  uint64_t batch_seed = 0;
  uint32_t layer = 0;
  bool edge_pieces = false;
  // Rules stand beside their older form, which has kind 0 alone: an older server refuses others.
  // False: without them, for servers that do not know rules.
  bool rules = true;
  std::span<const SampleGroupView> groups;
};

[[nodiscard]] std::string WriteSampleRequest(const SampleRequestView& request);

}  // namespace halograph::wire
