#include "client/local/local_state.h"
#include "client/own_part/own_part_store.h"
#include "tests/conformance/announced_cache.h"
#include "tests/conformance/kinds.h"
#include "tests/conformance/toy_row_cache.h"
#include "tests/support/local_stores.h"
#include "tests/support/plain_env.h"
#include "tests/support/test_folder.h"
#include "tests/support/whole_rest.h"

namespace halograph {

namespace {

StoreKind LocalKind(const std::string& name, int threads) {
  return {name,
          [threads](const std::filesystem::path& graph) -> StatusOr<OpenedStores> {
            HG_ASSIGN_OR_RETURN(Stores stores,
                                OpenLocalStores(graph, VerifyLevel::kContents, threads));
            return OpenedStores{nullptr, std::move(stores)};
          },
          /*in_place=*/true};
}

StoreKind OwnPartKind(const std::string& name, const std::vector<int>& parts, int threads) {
  return {name, [=](const std::filesystem::path& graph) -> StatusOr<OpenedStores> {
            HG_ASSIGN_OR_RETURN(const auto whole, MapGraph(graph, {}));
            HG_ASSIGN_OR_RETURN(const auto own,
                                MapGraph(graph, {.parts = parts, .threads = threads}));
            const auto record = std::make_shared<RestRecord>();
            return OpenedStores{
                nullptr,
                {MakeOwnPartGraphStore(own, std::make_unique<WholeRestGraphStore>(whole, record)),
                 MakeOwnPartRowStore(own, std::make_unique<WholeRestRowStore>(whole, record)),
                 MakeLocalTaskSets(whole)}};
          }};
}

// Embedded, with a folder for mutable tensors; with `parts`, behind a store that has these mapped.
StoreKind MutableKind(const std::string& name, const std::vector<int>& parts = {}) {
  return {name, [=](const std::filesystem::path& graph) -> StatusOr<OpenedStores> {
            auto folder = std::make_shared<TestFolder>();
            HG_ASSIGN_OR_RETURN(const auto whole, MapGraph(graph, {.threads = 1}));
            HG_ASSIGN_OR_RETURN(
                const auto state,
                OpenLocalState(whole, std::make_unique<PlainEnv>(),
                               {.folder = folder->path() / "state", .segment_bytes = 4 << 20}));
            OpenedStores opened{folder, MakeLocalStores(state)};
            if (parts.empty()) return opened;
            HG_ASSIGN_OR_RETURN(const auto own, MapGraph(graph, {.parts = parts}));
            opened.stores.rows = MakeOwnPartRowStore(own, std::move(opened.stores.rows));
            return opened;
          }};
}

}  // namespace

// The embedded stores, on one and on four threads ("threads" of OpenLocalStores work besides the
// caller), and composed ones of some mapped parts and a rest that is embedded too.
std::vector<StoreKind> StoreKinds() {
  return {LocalKind("Local1Thread", 0),       LocalKind("Local4Threads", 3),
          OwnPartKind("OwnPart1Of4", {3}, 0), OwnPartKind("OwnPart3Of4With4Threads", {0, 1, 3}, 3),
          ToyCacheOf(LocalKind("Local", 0)),  ToyCacheOf(OwnPartKind("OwnPart", {3}, 0)),
          CacheOf(LocalKind("Local", 0)),     CacheOf(OwnPartKind("OwnPart", {0}, 0))};
}

std::vector<StoreKind> MutableStoreKinds() {
  return {MutableKind("Local"), MutableKind("OwnPart", {0}), ToyCacheOf(MutableKind("Local")),
          CacheOf(MutableKind("Local"))};
}

}  // namespace halograph
