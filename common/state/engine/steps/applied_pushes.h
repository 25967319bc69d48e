// Which pushes of one tensor its rows show. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace halograph {

class AppliedPushes {
 public:
  // A push is in the log, and not in the rows. LSNs ascend.
  void Take(int64_t lsn) { missing_.insert(lsn); }
  // These are of a complete step, and may be missing yet: remembered while a push before them is.
  void Complete(std::span<const int64_t> lsns);
  // It is in the rows now, or given up.
  void Apply(int64_t lsn);

  // Whether a pull that asks for this LSN finds what it is promised: all pushes up to it. If it is
  // of a complete step: but those of later steps, which other ranks pushed before, and which may
  // wait for who pulls. Those without a step came before it in the rows, too.
  [[nodiscard]] bool Show(int64_t lsn) const;
  // The first that is missing.
  [[nodiscard]] std::optional<int64_t> missing() const;

  // What it remembers of complete steps, for checkpoints; no more than kMost, the newest. Of what
  // is forgotten Show is false as long as a push before it is missing.
  static constexpr size_t kMost = 65536;
  [[nodiscard]] std::vector<int64_t> complete() const;

 private:
  void Forget();  // what need not be remembered

  std::set<int64_t> missing_;
  std::set<int64_t> complete_;
};

}  // namespace halograph
