#include "common/state/options/state_folder_options.h"

#include <algorithm>

#include <fmt/format.h>

namespace halograph {

StateOptions ToStateOptions(const StateFolderOptions& options, int64_t max_push_bytes) {
  return {
      .folder = options.folder,
      .sync = options.sync,
      .sync_interval_ns = options.sync_interval.count(),
      .memory_bytes = options.memory,
      .segment_bytes = options.segment_bytes,
      .log_bytes = options.log_bytes,
      .max_push_bytes = max_push_bytes,
      .max_registered_clients = options.clients,
      .client_age_s = std::chrono::duration_cast<std::chrono::seconds>(options.client_age).count(),
      .max_waiting_bytes =
          options.waiting > 0 ? options.waiting : std::max(options.memory / 4, int64_t{64} << 20),
      .max_tensors = options.tensors,
      .max_snapshots = options.snapshots,
      .fall_back_to = options.fall_back_to,
      .accept_loss = options.accept_loss};
}

void AddStateRows(OptionTable& rows, StateFolderOptions* o, std::string_view whose) {
  rows.Group("Mutable tensors");
  rows.Add("state", &o->folder,
           fmt::format("folder that keeps the mutable tensors of {}, made if it is missing", whose))
      .ValueName("FOLDER");
  rows.Add("state-fall-back", &o->fall_back_to,
           "snapshots: where the files of --state are damaged, it opens as it was at the first of "
           "them that is whole; what was pushed since is lost")
      .ValueName("NAME");
  rows.Add(
      "accept-loss", &o->accept_loss,
      "where the push log of --state is damaged, or lacks pushes that were safe, start without "
      "them; the log says how many are gone");
  rows.AddChoice("sync", &o->sync,
                 {{"always", SyncLevel::kAlways},
                  {"interval", SyncLevel::kInterval},
                  {"never", SyncLevel::kNever}},
                 "when a push is safe from a crash of the machine: when it is acknowledged, "
                 "--sync-interval later, or with the next checkpoint. All but never survive the "
                 "end of the process at any instant");
  rows.Add("sync-interval", &o->sync_interval,
           "with --sync interval: how old a push gets at most before it is safe")
      .Range(std::chrono::milliseconds(1), std::chrono::hours(1));
  rows.AddBytes("state-memory", &o->memory,
                "memory for rows and optimizer state of all tensors; those that do not fit are "
                "in the folder, with the same results, slower")
      .AtLeast(int64_t{1} << 20);
  rows.AddBytes("state-log-bytes", &o->log_bytes,
                "log of the pushes to one part; a checkpoint shortens it from half of that on, and "
                "beyond it pushes wait for the checkpoint")
      .AtLeast(2 * StateOptions{}.segment_bytes);
  rows.Add("state-tensors", &o->tensors,
           "mutable tensors that a part may have; beyond them none is created")
      .AtLeast(1);
  rows.Add("state-snapshots", &o->snapshots,
           "snapshots that a part may have; beyond them none is taken")
      .AtLeast(1);
  rows.Add("state-clients", &o->clients,
           "registered clients that a part may have, 1.6 KB each in memory; beyond them clients "
           "draw their ids, which are forgotten sooner")
      .AtLeast(1);
  rows.Add("client-age", &o->client_age,
           "how long a registered client stays known that does not push: it leaves for another one "
           "then, if 1,000,000 pushes of others came since")
      .Range(std::chrono::seconds(1), std::chrono::hours(24 * 366));
  rows.AddBytes("state-waiting", &o->waiting,
                "memory for synchronous pushes that wait for other ranks, of all tensors; beyond: "
                "RESOURCE_EXHAUSTED")
      .DefaultText("a quarter of --state-memory, at least 64MiB");
}

}  // namespace halograph
