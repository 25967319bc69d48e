#include "client/local/local_store.h"

#include <algorithm>

#include "client/local/mapped_graph.h"

namespace halograph {
namespace {

constexpr int kMaxThreads = 1024;
constexpr size_t kQueuedPerThread = 64;  // chunks that callers may leave to the pool at once

}  // namespace

StatusOr<std::shared_ptr<const MappedGraph>> MapGraph(const std::filesystem::path& graph,
                                                      const MapOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return InvalidArgument("threads {} is outside [0, {}]", options.threads, kMaxThreads);
  }
  auto mapped = std::make_shared<MappedGraph>();
  HG_ASSIGN_OR_RETURN(mapped->parts,
                      PartitionSet::Open(graph, options.parts, options.verify, options.contents));
  mapped->info = {.identity = mapped->parts->identity(),
                  .schema = mapped->parts->schema(),
                  .book = mapped->parts->book()};
  mapped->tensors =
      MakeSchemaCatalog(&mapped->info.schema, &mapped->info.book, mapped->parts.get());
  if (options.threads > 0) {
    const auto count = static_cast<size_t>(options.threads);
    mapped->pool = std::make_unique<ThreadPool>("hg-local", count, count * kQueuedPerThread);
  }
  return mapped;
}

StatusOr<LocalStores> OpenLocalStores(const std::filesystem::path& graph, VerifyLevel verify,
                                      int threads) {
  HG_ASSIGN_OR_RETURN(const auto mapped,
                      MapGraph(graph, {.parts = {}, .verify = verify, .threads = threads}));
  LocalStores stores;
  stores.graph = MakeLocalGraphStore(mapped);
  stores.kv = MakeLocalKVStore(mapped);
  return stores;
}

}  // namespace halograph
