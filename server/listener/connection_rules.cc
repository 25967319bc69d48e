#include "server/listener/connection_rules.h"

#include <algorithm>
#include <map>

namespace halograph::server {
namespace {

using Rows = std::vector<const ConnectionRow*>;

constexpr std::string_view kItsOwn = "its own";
constexpr std::string_view kOfItsAddress = "all connections of its address";
constexpr std::string_view kOfAll = "all connections";

// Of one address: moves those with most from `rows` to `offenders`, until the rest is within
// `bound`.
void TakeLargest(int64_t ConnectionRow::*figure, int64_t bound, Offence offence,
                 std::string_view whose, Rows* rows, std::vector<Offender>* offenders) {
  int64_t sum = 0;
  if (offence == Offence::kCalls && !rows->empty() && rows->front()->calls_alone) return;
  for (const ConnectionRow* row : *rows) sum += row->*figure;
  if (sum <= bound) return;
  std::sort(rows->begin(), rows->end(), [figure](const ConnectionRow* a, const ConnectionRow* b) {
    return a->*figure < b->*figure || (a->*figure == b->*figure && a->id < b->id);
  });
  for (; sum > bound; rows->pop_back()) {
    offenders->push_back({rows->back()->id, offence, sum, bound, whose});
    sum -= rows->back()->*figure;
  }
}

}  // namespace

std::string_view OffenceText(Offence offence) {
  return offence == Offence::kCalls ? "calls that do not end" : "bytes that belong to no call";
}

std::vector<Offender> ChooseOffenders(std::span<const ConnectionRow> rows,
                                      const ConnectionBounds& bounds) {
  std::vector<Offender> offenders;
  std::map<AddressBytes, Rows> by_address;
  Rows all;
  for (const ConnectionRow& row : rows) {
    if (row.calls > bounds.calls) {
      offenders.push_back({row.id, Offence::kCalls, row.calls, bounds.calls, kItsOwn});
    } else if (row.lasting_bytes > bounds.bytes) {
      offenders.push_back({row.id, Offence::kBytes, row.lasting_bytes, bounds.bytes, kItsOwn});
    } else if (row.bytes > bounds.address_bytes) {
      offenders.push_back({row.id, Offence::kBytes, row.bytes, bounds.address_bytes, kItsOwn});
    } else {
      (row.alone ? all : by_address[row.address]).push_back(&row);
    }
  }
  for (auto& [address, of_address] : by_address) {
    TakeLargest(&ConnectionRow::calls, bounds.calls, Offence::kCalls, kOfItsAddress, &of_address,
                &offenders);
    TakeLargest(&ConnectionRow::bytes, bounds.address_bytes, Offence::kBytes, kOfItsAddress,
                &of_address, &offenders);
    all.insert(all.end(), of_address.begin(), of_address.end());
  }
  TakeLargest(&ConnectionRow::bytes, bounds.all_bytes, Offence::kBytes, kOfAll, &all, &offenders);
  return offenders;
}

}  // namespace halograph::server
