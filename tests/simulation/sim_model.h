// The tensors of one store as the reference of tests/support computes them, and the pushes that
// clients of a simulated run make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/state/state_store.h"
#include "tests/support/reference_state.h"

namespace halograph::sim {

// One push of a client, and what has become of it. Lives as long as the run.
struct PushRecord {
  int client = 0;  // index
  int server = 0;
  int tensor = 0;
  uint64_t client_id = 0;
  uint64_t sequence = 0;
  bool registered = false;  // client_id, as the next
  uint64_t answered = 0;
  bool sent = false;
  PushKind kind = PushKind::kGradient;
  std::optional<SyncStep> step;
  std::vector<int64_t> ids;
  std::vector<float> values;

  // Of the client.
  int64_t answered_lsn = -1;  // -1: no answer yet
  int64_t next_try_ns = 0;

  // Of the judge.
  int64_t lsn = 0;        // 0: not known, or not in the log
  int calls = 0;          // that began in this life of the store and did not refuse it
  bool promised = false;  // acknowledged, whoever heard it
  int64_t promised_ns = 0;
  int64_t promised_ticket = INT64_MAX;  // of a call that was not a repetition

  [[nodiscard]] std::string ToString() const;
};

// The bytes of all rows, by tensor.
using StoreRows = std::vector<std::vector<std::byte>>;

struct ModelTensor {
  MutableTensorSpec spec;
  std::vector<int64_t> ids;  // of the store's rows, which are the original ids too
  int64_t total_rows = 0;
};

class StoreModel {
 public:
  explicit StoreModel(const std::vector<ModelTensor>& tensors);
  StoreModel(const StoreModel&) = default;
  StoreModel& operator=(StoreModel other) {
    tensors_.swap(other.tensors_);
    return *this;
  }

  // Takes the next push of the log. Returns the pushes whose rows it changed: itself, those of the
  // steps that are complete with it, or none.
  std::vector<const PushRecord*> Apply(const PushRecord& push);

  // Equal of models that go on alike, whatever is pushed next: of all rows, with what optimizers
  // keep, and of the pushes that wait.
  [[nodiscard]] uint64_t Fingerprint();
  [[nodiscard]] StoreRows Rows();
  [[nodiscard]] std::vector<std::byte> RowsOf(int tensor);

 private:
  using Pushes = std::map<int32_t, const PushRecord*>;  // by rank
  struct Tensor {
    ReferenceState reference;
    std::vector<int64_t> ids;
    int64_t step = -1;
    bool started = false;
    std::map<int64_t, Pushes> waiting;  // by step
  };
  static void ApplyTogether(Tensor& tensor, PushKind kind, const Pushes& pushes);

  std::vector<Tensor> tensors_;
};

}  // namespace halograph::sim
