#include "server/listener/penalties.h"

#include <algorithm>

namespace halograph::server {

bool Penalties::IsForgotten(const Penalty& penalty, Time now) const {
  return penalty.end + lengths_.longest <= now;
}

void Penalties::Impose(const AddressBytes& address, Time now, bool counts) {
  const auto [found, is_first] = penalties_.try_emplace(address);
  Penalty& penalty = found->second;
  if (is_first || IsForgotten(penalty, now)) {
    penalty = {.length = lengths_.first, .begin = now, .end = now, .defied = false};
  } else if (now >= penalty.end) {
    if (counts) penalty.length = std::min(2 * penalty.length, lengths_.longest);
    penalty.begin = now;
    penalty.defied = false;
  } else if (counts) {
    penalty.defied = penalty.defied || now >= penalty.begin + lengths_.grace;
  }
  penalty.end = std::max(penalty.end, now + (counts ? penalty.length : lengths_.first));
}

bool Penalties::Holds(const AddressBytes& address, Time now) const {
  const auto found = penalties_.find(address);
  return found != penalties_.end() && now < found->second.end;
}

bool Penalties::WasDefied(const AddressBytes& address, Time now) const {
  const auto found = penalties_.find(address);
  return found != penalties_.end() && now < found->second.end && found->second.defied;
}

void Penalties::Forget(Time now) {
  std::erase_if(penalties_,
                [&](const auto& of_address) { return IsForgotten(of_address.second, now); });
}

}  // namespace halograph::server
