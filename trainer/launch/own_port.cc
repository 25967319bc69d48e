#include "trainer/launch/own_port.h"

#include "common/base/host_port.h"
#include "trainer/options/rank_path.h"

namespace halograph {

HttpOptions OwnHttpOptions(const TrainOptions& options) {
  HttpOptions own = options.http;
  own.address_file = PathOfRank(own.address_file.string(), options.rank, options.world_size);
  auto address = ParseHostPort(own.listen);
  if (!address.ok() || address->port == 0) return own;
  address->port += options.local_rank;
  own.listen = ToString(*address);
  return own;
}

}  // namespace halograph
