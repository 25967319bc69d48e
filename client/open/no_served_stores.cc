// OpenStores in a build without gRPC.
#include "client/open/open_stores.h"

namespace halograph {

StatusOr<Stores> OpenServedStores(const StoreOptions&, const CancelToken*) {
  return Unimplemented(
      "--servers: this build has no remote stores (configured with HALOGRAPH_REMOTE=OFF), so that "
      "neither --topology nor --local has servers to work with; give --graph DIR, or use a build "
      "with gRPC");
}

}  // namespace halograph
