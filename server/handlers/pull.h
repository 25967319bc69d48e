// KVService/Pull without its wire: rows of one tensor by global id. Immutable; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/graph/row_source.h"
#include "server/handlers/served_graph.h"

namespace halograph::server {

struct PullRequest {
  TensorRef tensor;
  std::vector<int64_t> ids;  // global, any order, repeats allowed
};

// What the reply will be, known before a row is touched.
struct PullPlan {
  const CatalogTensor* tensor = nullptr;  // lives as long as the graph served
  std::vector<int64_t> shape;             // [rows] or [rows, dim]
  size_t bytes = 0;                       // of the rows
};

class PullHandler {
 public:
  // What a reply holds beside its rows, at most.
  static constexpr int64_t kHeaderBytes = 64;

  // `graph` must outlive the handler. `max_reply_bytes`: of a whole reply.
  PullHandler(const ServedGraph* graph, int64_t max_reply_bytes)
      : graph_(graph), max_reply_bytes_(max_reply_bytes) {}

  //   NotFound           unknown type, relation or tensor
  //   OutOfRange         an id not owned here
  //   ResourceExhausted  the reply would be larger than a message may be: says how many rows fit
  [[nodiscard]] StatusOr<PullPlan> Plan(const PullRequest& request) const;

  // Row ids[i] goes to destination + i * row_bytes. Requires `plan` to be Plan's for these ids,
  // and plan.bytes bytes of room. Errors: those of the rows' source; mapped rows do not fail.
  [[nodiscard]] Status Gather(const PullPlan& plan, std::span<const int64_t> ids,
                              std::byte* destination) const;

 private:
  const ServedGraph* graph_;
  int64_t max_reply_bytes_;
};

}  // namespace halograph::server
