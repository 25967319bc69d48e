// How a client gets an id that the table of clients keeps: a record in the log, as a push is one.
#include <memory>
#include <utility>
#include <vector>

#include "common/state/engine/store.h"

namespace halograph {
namespace {

// Of no tensor: numbers in the catalogue are given from 1 upward, one a tensor.
constexpr uint32_t kNoTensor = UINT32_MAX;

}  // namespace

// What the log writes, and what that borrows.
struct Store::Registration {
  LogRecord record;
  std::vector<int64_t> leaves;
};

ClientTable::Room Store::RoomForClients() const {
  return {.most = options_.max_registered_clients,
          .lsn = last_lsn_,
          .second = env_.scheduler().WallSeconds(),
          .age_s = options_.client_age_s,
          .pushes = options_.client_pushes};
}

StatusOr<uint64_t> Store::AdmitClient(uint64_t client, const WorkLimits& limits) {
  while (true) {
    HG_RETURN_IF_ERROR(log_->failure());
    if (clients_.IsRegistered(client)) {
      return AlreadyExists("client {:016x} is registered: draw another id", client);
    }
    const char* const waits_for = WaitsFor();
    if (waits_for == nullptr) return clients_.WhoLeaves(RoomForClients());
    HG_RETURN_IF_ERROR(Annotate(WaitForChange(limits, kForever),
                                fmt::format("waiting for {} to register a client", waits_for)));
  }
}

// Without memory the process ends: an LSN that was given must come to the log.
void Store::LogRegistration(const std::shared_ptr<Registration>& registration) noexcept {
  LogRecord& record = registration->record;
  record.push.ids = registration->leaves;
  record.ids_checksum = PartChecksum(std::as_bytes(record.push.ids));
  record.rows_checksum = PartChecksum(record.push.rows);
  record.second = env_.scheduler().WallSeconds();
  record.lsn = ++last_lsn_;
  clients_.Take(record);
  LogRecord* const records[] = {&record};
  log_->Append(records);
  log_->KeepUntilReleased(record.lsn, registration);
}

StatusOr<int64_t> Store::RegisterClient(uint64_t client, const WorkLimits& limits) {
  const Patience patience(limits, env_.scheduler());
  HG_RETURN_IF_ERROR(patience.Check());
  const auto registration = std::make_shared<Registration>();
  LogRecord& record = registration->record;
  record.tensor = kNoTensor;
  record.id = {.client = client, .sequence = 0, .registered = true};
  record.registers = true;
  int64_t lsn = 0;
  {
    const MonitorLock lock(*monitor_);
    HG_ASSIGN_OR_RETURN(const uint64_t leaves, AdmitClient(client, limits));
    if (leaves != 0) registration->leaves.push_back(static_cast<int64_t>(leaves));
    LogRegistration(registration);
    lsn = last_lsn_;
  }
  HG_RETURN_IF_ERROR(log_->SyncTo(lsn, patience));
  return lsn;
}

}  // namespace halograph
