// Why a step is slow, in words: all causes that the evidence shows, the weightiest first. Pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "client/ctl/why/causes.h"
#include "client/ctl/why/evidence.h"
#include "common/storage/json.h"

namespace halograph::ctl {

struct Verdict {
  bool answered = false;     // somebody did: there is something to say
  std::string summary = {};  // one line: of what this is
  std::vector<Finding> findings = {};
  std::vector<std::string> unknown = {};  // what could not be told, and why
};

// Waits that cost more than a fifth of a step come before computing, which is a step's work; the
// others behind it. Of equal ones, the order of the table.
[[nodiscard]] Verdict Explain(const Evidence& evidence);

// For people: names of others are escaped (common/base/printable.h).
[[nodiscard]] std::string FormatVerdict(const Verdict& verdict);
[[nodiscard]] Json ToJson(const Verdict& verdict);

}  // namespace halograph::ctl
