#include "server/seen.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/metrics/metric_info.h"
#include "common/state/import_mark.h"

namespace halograph::server {
namespace {

bool Sees(const Access& access, const TensorRef& tensor) {
  return IsImportMark(tensor) || access.Sees(tensor);
}

void LeaveTensors(const Access& access, std::vector<MutableTensorStats>* tensors) {
  std::erase_if(*tensors,
                [&](const MutableTensorStats& tensor) { return !Sees(access, tensor.spec.ref); });
}

bool SeesSeries(const Access& access, const Labels& labels) {
  return std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
    const auto& [name, value] = label;
    if (value == kOtherLabel) return true;
    if (name == "tensor" || name == "relation") return access.SeesName(value);
    return name != "principal" || access.SeesCallers() || value == access.name();
  });
}

}  // namespace

void LeaveWhatIsSeen(const Access& access, TensorPage* page) {
  if (access.SeesEverything()) return;
  for (auto& [part, stats] : page->parts) LeaveTensors(access, &stats.tensors);
}

void LeaveWhatIsSeen(const Access& access, SnapshotsPage* page) {
  if (access.SeesEverything()) return;
  for (auto& [part, snapshots] : page->parts) {
    for (SnapshotInfo& info : snapshots) {
      std::erase_if(info.tensors,
                    [&](const MutableTensorSpec& spec) { return !Sees(access, spec.ref); });
    }
  }
}

void LeaveWhatIsSeen(const Access& access, ServerSnapshot* snapshot) {
  if (access.SeesEverything()) return;
  for (auto& [part, stats] : snapshot->state) LeaveTensors(access, &stats.tensors);
  for (FamilySnapshot& family : snapshot->metrics.families) {
    std::erase_if(family.series,
                  [&](const SeriesSnapshot& series) { return !SeesSeries(access, series.labels); });
  }
  std::erase_if(snapshot->metrics.families,
                [](const FamilySnapshot& family) { return family.series.empty(); });
  if (access.SeesCallers()) return;
  snapshot->latest_clients.clear();
  std::erase_if(snapshot->slow_calls,
                [&](const SlowCall& call) { return call.principal != access.name(); });
}

}  // namespace halograph::server
