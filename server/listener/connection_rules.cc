#include "server/listener/connection_rules.h"

#include <algorithm>
#include <map>

namespace halograph::server {
namespace {

using Rows = std::vector<const ConnectionRow*>;

constexpr std::string_view kItsOwn = "its own";
constexpr std::string_view kOfItsAddress = "all connections of its address";
constexpr std::string_view kOfAll = "all connections";

// What several connections may have together.
struct Rule {
  int64_t ConnectionRow::*figure;
  int64_t bound = 0;
  Offence offence = Offence::kCalls;
  std::string_view whose;
  bool is_mild = false;
};

// If `rows` together are beyond the rule's bound: moves those with most to `offenders`, until the
// rest is within it.
void TakeLargest(const Rule& rule, Rows* rows, std::vector<Offender>* offenders) {
  int64_t sum = 0;
  for (const ConnectionRow* row : *rows) sum += row->*rule.figure;
  if (sum <= rule.bound) return;
  std::sort(rows->begin(), rows->end(),
            [figure = rule.figure](const ConnectionRow* a, const ConnectionRow* b) {
              return a->*figure < b->*figure || (a->*figure == b->*figure && a->id < b->id);
            });
  for (; sum > rule.bound; rows->pop_back()) {
    offenders->push_back(
        {rows->back()->id, rule.offence, sum, rule.bound, rule.whose, rule.is_mild});
    sum -= rows->back()->*rule.figure;
  }
}

}  // namespace

std::string_view OffenceText(Offence offence) {
  switch (offence) {
    case Offence::kCalls:
      return "calls that do not end";
    case Offence::kStreams:
      return "streams that do not end";
    case Offence::kBytes:
      return "bytes that belong to no call";
    case Offence::kAddress:
      break;
  }
  return "";
}

std::vector<Offender> ChooseOffenders(std::span<const ConnectionRow> rows,
                                      const ConnectionBounds& bounds) {
  std::vector<Offender> offenders;
  std::map<AddressBytes, Rows> by_address;
  Rows all;
  for (const ConnectionRow& row : rows) {
    if (row.calls > bounds.calls) {
      offenders.push_back({row.id, Offence::kCalls, row.calls, bounds.calls, kItsOwn});
    } else if (row.calls + row.streams > bounds.calls) {
      offenders.push_back(
          {row.id, Offence::kStreams, row.calls + row.streams, bounds.calls, kItsOwn});
    } else if (row.lasting_bytes > bounds.bytes) {
      offenders.push_back({row.id, Offence::kBytes, row.lasting_bytes, bounds.bytes, kItsOwn});
    } else if (row.bytes > bounds.address_bytes) {
      offenders.push_back({row.id, Offence::kBytes, row.bytes, bounds.address_bytes, kItsOwn});
    } else {
      (row.alone ? all : by_address[row.address]).push_back(&row);
    }
  }
  const Rule calls{&ConnectionRow::calls, bounds.calls, Offence::kCalls, kOfItsAddress, true};
  const Rule streams{&ConnectionRow::streams, bounds.calls, Offence::kStreams, kOfItsAddress};
  const Rule bytes{&ConnectionRow::bytes, bounds.address_bytes, Offence::kBytes, kOfItsAddress};
  for (auto& [address, of_address] : by_address) {
    if (!of_address.front()->calls_alone) {
      TakeLargest(calls, &of_address, &offenders);
      TakeLargest(streams, &of_address, &offenders);
    }
    TakeLargest(bytes, &of_address, &offenders);
    all.insert(all.end(), of_address.begin(), of_address.end());
  }
  TakeLargest({&ConnectionRow::bytes, bounds.all_bytes, Offence::kBytes, kOfAll}, &all, &offenders);
  for (const ConnectionRow* row : all) {
    if (row->defies) offenders.push_back({.id = row->id, .offence = Offence::kAddress});
  }
  return offenders;
}

}  // namespace halograph::server
