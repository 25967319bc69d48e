#include "client/local/local_store.h"
#include "tests/conformance/kinds.h"

namespace halograph {

namespace {

StoreKind LocalKind(const std::string& name, int threads) {
  return {name, [threads](const std::filesystem::path& graph) -> StatusOr<OpenedStores> {
            HG_ASSIGN_OR_RETURN(LocalStores stores,
                                OpenLocalStores(graph, VerifyLevel::kContents, threads));
            return OpenedStores{nullptr, std::move(stores.graph), std::move(stores.kv)};
          }};
}

}  // namespace

// "threads" of OpenLocalStores work besides the caller: 3 makes four.
std::vector<StoreKind> LocalKinds() {
  return {LocalKind("Local1Thread", 0), LocalKind("Local4Threads", 3)};
}

}  // namespace halograph
