// One layer's sampling calls: what each asks for, and what its reply must look like. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/remote/transport.h"
#include "common/base/status.h"
#include "common/graph/owner_split.h"
#include "common/graph/schema.h"
#include "common/sampling/samplers/minibatch_builder.h"
#include "proto/wire/sample_reply.h"

namespace halograph {

// A run of destinations of the share of a group that one set of servers has. Of the first, some
// edges may be known already.
struct SamplePiece {
  size_t group = 0;                // in the layer
  const IdShare* share = nullptr;  // ids and positions of the whole share
  size_t begin = 0;                // [begin, end) of the share
  size_t end = 0;
  uint64_t first_edge = 0;  // of the first destination: those drawn before it are known
  uint64_t edges_left = 0;  // if first_edge > 0: so many are left
  uint64_t max_edges = 0;   // of the first destination, in one reply; 0: as many as it holds
};

// The answer to the first destinations of a piece.
struct SampleAnswer {
  SamplePiece piece;  // cut to what was answered, of the last destination maybe not all
  wire::SampleGroupReply drawn;
};

// What is the same for all calls of a layer. Borrowed values outlive the calls.
struct SampleLayerSpec {
  const Schema* schema = nullptr;
  std::span<const LayerGroup> groups;
};

// Bytes that an edge of the group takes in a reply.
[[nodiscard]] int64_t SampledEdgeBytes(const SampleLayerSpec& spec, const LayerGroup& group);

// Packs pieces, in order, into requests of which neither request nor expected reply exceeds
// `planned_bytes`; a piece may be cut, a destination never is. Without `group_keys`, which
// older servers do not know, a request holds groups of one minibatch and layer, and one replace and
// weight, only. The reply is only estimated (by fanout, bounded by a few times the relation's mean
// degree): servers cut what is longer.
[[nodiscard]] std::vector<std::vector<SamplePiece>> PlanSampleRequests(
    const SampleLayerSpec& spec, std::vector<SamplePiece> pieces, int64_t planned_bytes,
    bool group_keys = true);

// What the servers that are asked understand.
struct SampleForm {
  bool edge_pieces = false;  // may answer a destination in pieces; required of pieces with
                             // first_edge or max_edges
  bool rules = true;         // false: rules go in their older form, which has neighbours alone
};

// Serialised SampleRequest.
[[nodiscard]] std::string EncodeSampleRequest(const SampleLayerSpec& spec,
                                              std::span<const SamplePiece> pieces,
                                              const SampleForm& form = {});

// Reads the reply to `pieces` into `answers` and what it left unanswered into `rest`.
// `edge_pieces` as the request said. DataLoss: groups or counts that do not fit the request, a
// source outside its type, a list that is longer or shorter than its pieces before said, no
// progress.
[[nodiscard]] Status DecodeSampleReply(const SampleLayerSpec& spec,
                                       std::span<const SamplePiece> pieces, ReplyPieces reply,
                                       std::vector<SampleAnswer>* answers,
                                       std::vector<SamplePiece>* rest, bool edge_pieces = false);

}  // namespace halograph
