// Lists whose length clients determine, in pages: of mutable tensors and of snapshots. A page has
// so many entries as were asked for, no more than fit into a message, and one at least. Pages
// follow one another by tokens, which say what was told last: the server remembers nothing. Knows
// no messages: it is told how many bytes an entry has in one. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/state/parts/part_states.h"

namespace halograph::server {

struct PageRequest {
  int64_t size = 0;        // entries; 0: as many as fit
  std::string token = {};  // empty: the first page
  // Else all is asked for, in one message.
  [[nodiscard]] bool wants_page() const { return size != 0 || !token.empty(); }
};

struct SnapshotsRequest {
  PageRequest page = {};
  std::string name = {};  // of this one alone; empty: of all
  bool without_tensors = false;
};

// What entries take in a message, all that belongs to them counted.
struct EntryBytes {
  std::function<size_t(const MutableTensorStats&)> tensor;
  std::function<size_t(const SnapshotInfo&)> snapshot;  // without its tensors
  std::function<size_t(const MutableTensorSpec&)> spec;
};

struct TensorPage {
  std::map<int, StateStats> parts;  // that the page tells of
  std::string next;                 // token; empty: this is the last page
};
struct SnapshotsPage {
  std::map<int, std::vector<SnapshotInfo>> parts;  // the last one may lack some of its tensors
  std::string next;
};

//   InvalidArgument    a size below 0, or a token that no page gave
//   ResourceExhausted  no page is asked for, and all does not fit into `max_bytes`: names page_size
[[nodiscard]] StatusOr<TensorPage> PageOfTensors(const PartStates& states,
                                                 const PageRequest& request, int64_t max_bytes,
                                                 const EntryBytes& bytes);
// Errors as above.
[[nodiscard]] StatusOr<SnapshotsPage> PageOfSnapshots(const PartStates& states,
                                                      const SnapshotsRequest& request,
                                                      int64_t max_bytes, const EntryBytes& bytes);

}  // namespace halograph::server
