#include "partitioner/write/csc_files.h"

#include <algorithm>
#include <functional>

namespace halograph {
namespace {

// Marks the positions of a row that repeat an earlier source.
template <typename IdT>
class DuplicateFinder {
 public:
  // The number of positions that `repeats` is true for afterwards.
  int64_t Find(const IdT* row, size_t degree) {
    // Rows that ascend strictly, as those of sorted inputs do, have none.
    if (std::adjacent_find(row, row + degree, std::greater_equal<IdT>()) == row + degree) return 0;
    order_.resize(degree);
    for (size_t i = 0; i < degree; ++i) order_[i] = {row[i], static_cast<uint32_t>(i)};
    std::sort(order_.begin(), order_.end());
    repeats_.assign(degree, false);
    int64_t found = 0;
    for (size_t i = 1; i < degree; ++i) {
      if (order_[i].source != order_[i - 1].source) continue;
      repeats_[order_[i].position] = true;
      ++found;
    }
    return found;
  }
  [[nodiscard]] bool repeats(size_t position) const { return repeats_[position]; }

 private:
  struct Entry {
    IdT source;
    uint32_t position;  // a row of 2^32 in-edges would need 48 GiB here
    auto operator<=>(const Entry&) const = default;
  };
  std::vector<Entry> order_;
  std::vector<bool> repeats_;
};

}  // namespace

Status CscFiles::Close() {
  HG_RETURN_IF_ERROR(indptr.Close());
  HG_RETURN_IF_ERROR(indices.Close());
  return original_ids.Close();
}

template <typename IdT>
StatusOr<int64_t> FindDuplicates(CscFiles* files, bool drop) {
  auto* indptr = files->indptr.As<int64_t>();
  auto* sources = files->indices.As<IdT>();
  auto* ids = files->original_ids.As<int64_t>();
  DuplicateFinder<IdT> finder;
  int64_t duplicates = 0;
  int64_t written = 0;
  int64_t begin = 0;
  for (int64_t node = 0; node + 1 < files->indptr.rows(); ++node) {
    const int64_t end = indptr[node + 1];
    const auto degree = static_cast<size_t>(end - begin);
    const int64_t found = finder.Find(sources + begin, degree);
    duplicates += found;
    if (drop) {
      for (size_t i = 0; i < degree; ++i) {
        if (found > 0 && finder.repeats(i)) continue;
        sources[written] = sources[begin + static_cast<int64_t>(i)];
        ids[written] = ids[begin + static_cast<int64_t>(i)];
        ++written;
      }
      indptr[node + 1] = written;
    }
    begin = end;
  }
  if (drop) {
    HG_RETURN_IF_ERROR(files->indices.Truncate(written));
    HG_RETURN_IF_ERROR(files->original_ids.Truncate(written));
  }
  return duplicates;
}

template StatusOr<int64_t> FindDuplicates<uint32_t>(CscFiles* files, bool drop);
template StatusOr<int64_t> FindDuplicates<int64_t>(CscFiles* files, bool drop);

}  // namespace halograph
