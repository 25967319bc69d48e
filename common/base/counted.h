// How many are at something at once.
#pragma once

#include <atomic>

namespace halograph {

// Counts from here to the end of the block.
class Counted {
 public:
  explicit Counted(std::atomic<int>* count) : count_(*count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<int>& count_;
};

}  // namespace halograph
