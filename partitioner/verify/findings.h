// Collects the differences that verification finds, with a bound on how many are kept. Not
// thread-safe.
#pragma once

#include <utility>

#include <fmt/core.h>

#include "partitioner/verify/verify.h"

namespace halograph {

class Findings {
 public:
  Findings(size_t max_differences, VerifyReport* report)
      : max_differences_(max_differences), report_(report) {}

  // Formats only what will be shown: damage can be millions of differences.
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    ++report_->num_differences;
    if (report_->differences.size() < max_differences_) {
      report_->differences.push_back(fmt::format(format, std::forward<Args>(args)...));
    }
  }

  [[nodiscard]] VerifyReport& report() { return *report_; }

 private:
  const size_t max_differences_;
  VerifyReport* const report_;
};

}  // namespace halograph
