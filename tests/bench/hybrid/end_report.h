// Counts something, and prints how much it was to stderr when the program ends: so that a benchmark
// can see whether what it measures was used at all.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>

namespace halograph {

class EndReport {
 public:
  explicit EndReport(const char* what) : what_(what) {}
  ~EndReport() {
    std::fprintf(stderr, "used: %lld %s\n", static_cast<long long>(count_.load()), what_);
  }
  EndReport(const EndReport&) = delete;
  EndReport& operator=(const EndReport&) = delete;

  void Add() { count_.fetch_add(1, std::memory_order_relaxed); }

 private:
  const char* const what_;
  std::atomic<int64_t> count_{0};
};

}  // namespace halograph
