#include "client/topology_copy/fetch_topology.h"

#include <memory>
#include <string>

#include "client/remote/cluster.h"
#include "client/topology_copy/fetch_calls.h"
#include "client/topology_copy/fetch_folder.h"
#include "client/topology_copy/fetch_lock.h"
#include "common/base/log.h"
#include "common/base/units.h"

namespace halograph {

namespace {

namespace fs = std::filesystem;

// How long one that fetches may be silent for those who wait: its calls have their own timeout,
// and a file is synced or checked between two notes.
std::chrono::nanoseconds Patience(const RemoteOptions& options) {
  return 2 * options.timeout + std::chrono::minutes(2);
}

Status CheckCopy(const fs::path& copy, const std::string& identity, VerifyLevel verify) {
  const auto opened = PartitionSet::Open(copy, {}, verify, {.features = false});
  HG_RETURN_IF_ERROR(opened.status());
  if ((*opened)->identity() == identity) return OkStatus();
  return FailedPrecondition("{}: is of graph {}", copy.string(), (*opened)->identity());
}

// Whether the copy is there and whole. One that is damaged is fetched again, so it is no error:
// `*damage` says what is wrong with it. An error if it is there and cannot be used for another
// reason.
StatusOr<bool> IsComplete(const fs::path& copy, const std::string& identity, VerifyLevel verify,
                          std::string* damage) {
  damage->clear();
  std::error_code error;
  if (!fs::exists(copy, error)) return false;
  const Status status = CheckCopy(copy, identity, verify);
  if (status.ok()) return true;
  if (absl::IsDataLoss(status) || absl::IsNotFound(status)) {
    *damage = Message(status);
    return false;
  }
  return MakeStatus(status.code(),
                    fmt::format("the cached topology cannot be used; remove the folder {} to have "
                                "it fetched again: {}",
                                copy.string(), Message(status)));
}

// Of a cache folder that cannot be used: it may be the user's default one. What ends a wait for
// another process says what to do itself.
Status NameTheOption(const Status& status) {
  if (status.ok() || absl::IsDeadlineExceeded(status) || absl::IsCancelled(status)) return status;
  return MakeStatus(status.code(),
                    fmt::format("{}; name a folder for the fetched topology that can "
                                "be written to: --cache-dir DIR",
                                Message(status)));
}

Status CheckServed(const Cluster& cluster) {
  const auto served = cluster.served();
  for (int part = 0; part < cluster.info().book.num_parts(); ++part) {
    if (served->topology().Find(part) == nullptr) return cluster.WithoutTopology(part);
  }
  return OkStatus();
}

// Makes a damaged copy one that is being fetched: what is whole of it need not come again.
Status SetAside(const fs::path& copy, const fs::path& partial, const std::string& damage) {
  spdlog::warn("the copy of the topology is damaged, and what is damaged is fetched again: {}",
               damage);
  std::error_code error;
  fs::remove_all(partial, error);
  if (!error) fs::rename(copy, partial, error);
  if (!error) return OkStatus();
  return ErrnoStatus(error.value(), "cannot set aside the damaged copy", copy.string());
}

// `damage`: of the copy that is there; empty if none is.
Status FetchAll(Cluster* cluster, CallContext& context, const fs::path& copy, VerifyLevel verify,
                const std::string& damage, TopologyFetchLock* lock) {
  const std::string& identity = cluster->info().identity;
  const fs::path partial = copy.string() + ".partial";
  HG_RETURN_IF_ERROR(CheckServed(*cluster));
  if (!damage.empty()) HG_RETURN_IF_ERROR(SetAside(copy, partial, damage));
  HG_ASSIGN_OR_RETURN(TopologyFetchFolder folder, TopologyFetchFolder::Open(partial));
  HG_RETURN_IF_ERROR(FetchManifests(cluster, context, &folder));
  HG_RETURN_IF_ERROR(folder.Allocate(identity));
  HG_RETURN_IF_ERROR(FetchChunks(cluster, context, folder, lock));
  lock->Note("checks what it has fetched");
  HG_RETURN_IF_ERROR(CheckCopy(partial, identity, verify));
  HG_RETURN_IF_ERROR(context.Check());
  return folder.Commit(copy, [lock](const std::string& path) { lock->Note("syncs " + path); });
}

}  // namespace

StatusOr<fs::path> FetchTopology(const RemoteOptions& options, const fs::path& cache_dir,
                                 VerifyLevel verify, const CancelToken* cancel) {
  CallContext context{.cancel = cancel};
  RemoteOptions connect = options;
  connect.needs_topology = false;
  connect.columns = connect.column_pulls = false;  // one client fetches: of all servers at a time
  HG_ASSIGN_OR_RETURN(const std::shared_ptr<Cluster> cluster, Cluster::Connect(connect, cancel));
  const std::string& identity = cluster->info().identity;
  HG_RETURN_IF_ERROR(NameTheOption(MakeFolder(cache_dir)));
  fs::path copy = cache_dir / identity;
  std::string damage;
  HG_ASSIGN_OR_RETURN(bool complete, IsComplete(copy, identity, verify, &damage));
  if (!complete) {
    StatusOr<TopologyFetchLock> held =
        TopologyFetchLock::Acquire(copy.string() + ".lock", Patience(options), context);
    HG_RETURN_IF_ERROR(NameTheOption(held.status()));
    TopologyFetchLock lock = *std::move(held);
    // Whoever held the lock may have fetched it.
    HG_ASSIGN_OR_RETURN(complete, IsComplete(copy, identity, verify, &damage));
    if (!complete) {
      HG_RETURN_IF_ERROR(FetchAll(cluster.get(), context, copy, verify, damage, &lock));
      return copy;
    }
  }
  spdlog::info("the topology of '{}' is in {} already", cluster->info().schema.graph_name,
               copy.string());
  return copy;
}

}  // namespace halograph
