#include "common/state/engine/catalogue/state_catalogue.h"

#include <fmt/format.h>

#include "common/storage/json.h"

namespace halograph {
namespace {

constexpr int kFormat = 1;
constexpr char kFormatKey[] = "format";
constexpr char kNextNumberKey[] = "next_tensor";
constexpr char kCheckpointKey[] = "checkpoint";
constexpr char kClosedKey[] = "closed";
constexpr char kEpochsKey[] = "epochs";
constexpr int64_t kEpochsOfAProcess = int64_t{1} << 32;
constexpr char kTensorPrefix[] = "tensor/";
constexpr char kSnapshotPrefix[] = "snapshot/";

std::string TensorKey(uint32_t number) { return fmt::format("{}{:010}", kTensorPrefix, number); }

Json ToJson(const CatalogueTensor& tensor) {
  return Json{{"number", tensor.number}, {"spec", tensor.spec.ToJson()}};
}

StatusOr<CatalogueTensor> TensorFromJson(const Json& json, const std::string& where) {
  CatalogueTensor tensor;
  HG_ASSIGN_OR_RETURN(const int64_t number, GetInt(json, "number", where));
  HG_ASSIGN_OR_RETURN(const Json spec, GetObject(json, "spec", where));
  HG_ASSIGN_OR_RETURN(tensor.spec, MutableTensorSpec::FromJson(spec));
  tensor.number = static_cast<uint32_t>(number);
  return tensor;
}

StatusOr<CatalogueSnapshot> SnapshotFromJson(const Json& json, const std::string& where) {
  CatalogueSnapshot snapshot;
  HG_ASSIGN_OR_RETURN(snapshot.info.name, GetString(json, "name", where));
  HG_ASSIGN_OR_RETURN(snapshot.info.lsn, GetInt(json, "lsn", where));
  HG_ASSIGN_OR_RETURN(snapshot.info.step, GetInt(json, "step", where));
  HG_ASSIGN_OR_RETURN(snapshot.info.bytes, GetInt(json, "bytes", where));
  HG_ASSIGN_OR_RETURN(snapshot.files, GetInts(json, "files", where));
  HG_ASSIGN_OR_RETURN(const Json tensors, GetArray(json, "tensors", where));
  for (const Json& tensor : tensors) {
    HG_ASSIGN_OR_RETURN(CatalogueTensor read, TensorFromJson(tensor, where));
    snapshot.tensors.push_back(std::move(read));
  }
  return snapshot;
}

Json ToJson(const CatalogueSnapshot& snapshot) {
  Json tensors = Json::array();
  for (const CatalogueTensor& tensor : snapshot.tensors) tensors.push_back(ToJson(tensor));
  return Json{{"name", snapshot.info.name}, {"lsn", snapshot.info.lsn},
              {"step", snapshot.info.step}, {"bytes", snapshot.info.bytes},
              {"files", snapshot.files},    {"tensors", tensors}};
}

Catalogue::Change Put(std::string key, const Json& value) {
  return {std::move(key), CanonicalJson(value)};
}

}  // namespace

StatusOr<Json> StateCatalogue::Get(const std::string& key) {
  HG_ASSIGN_OR_RETURN(const std::optional<std::string> text, catalogue_->Get(key));
  if (!text.has_value()) return Json();
  StatusOr<Json> json = ParseJson(*text, "key " + key + " of the catalogue");
  if (!json.ok()) return DataLoss("{}", Message(json.status()));
  return json;
}

Status StateCatalogue::Claim(const StateGraph& graph) {
  HG_ASSIGN_OR_RETURN(const Json found, Get(kFormatKey));
  if (found.is_null()) {
    const Catalogue::Change change = Put(
        kFormatKey, Json{{"format", kFormat}, {"identity", graph.identity}, {"part", graph.part}});
    return catalogue_->Write(std::span(&change, 1));
  }
  const std::string where = "the catalogue";
  HG_ASSIGN_OR_RETURN(const int64_t format, GetInt(found, "format", where));
  HG_ASSIGN_OR_RETURN(const std::string identity, GetString(found, "identity", where));
  HG_ASSIGN_OR_RETURN(const int64_t part, GetInt(found, "part", where));
  if (format > kFormat) {
    return FailedPrecondition("the state has format {}, this build reads {}: use a newer build",
                              format, kFormat);
  }
  if (identity != graph.identity || part != graph.part) {
    return FailedPrecondition(
        "the state is of part {} of graph {}, this is part {} of graph {}: name the folder of this "
        "part's state, or an empty one",
        part, identity, graph.part, graph.identity);
  }
  return OkStatus();
}

StatusOr<std::vector<CatalogueTensor>> StateCatalogue::Tensors() {
  HG_ASSIGN_OR_RETURN(const std::vector<Catalogue::Entry> entries, catalogue_->Scan(kTensorPrefix));
  std::vector<CatalogueTensor> tensors;
  for (const Catalogue::Entry& entry : entries) {
    HG_ASSIGN_OR_RETURN(const Json json, Get(entry.key));
    HG_ASSIGN_OR_RETURN(CatalogueTensor tensor,
                        TensorFromJson(json, "key " + entry.key + " of the catalogue"));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

StatusOr<uint32_t> StateCatalogue::NextNumber() {
  HG_ASSIGN_OR_RETURN(const Json next, Get(kNextNumberKey));
  if (next.is_null()) return uint32_t{1};
  HG_ASSIGN_OR_RETURN(const int64_t number, GetInt(next, "number", kNextNumberKey));
  return static_cast<uint32_t>(number);
}

Status StateCatalogue::AddTensor(const CatalogueTensor& tensor) {
  const std::vector<Catalogue::Change> changes = {
      Put(TensorKey(tensor.number), ToJson(tensor)),
      Put(kNextNumberKey, Json{{"number", tensor.number + 1}})};
  return catalogue_->Write(changes);
}

Status StateCatalogue::RemoveTensor(uint32_t number) {
  const Catalogue::Change change = {TensorKey(number), std::nullopt};
  return catalogue_->Write(std::span(&change, 1));
}

StatusOr<CheckpointInfo> StateCatalogue::Checkpoint() {
  HG_ASSIGN_OR_RETURN(const Json json, Get(kCheckpointKey));
  CheckpointInfo info;
  if (json.is_null()) return info;
  const std::string where = "the catalogue's checkpoint";
  HG_ASSIGN_OR_RETURN(info.files, GetInts(json, "files", where));
  HG_ASSIGN_OR_RETURN(info.lsn, GetInt(json, "lsn", where));
  HG_ASSIGN_OR_RETURN(info.first_lsn, GetInt(json, "first_lsn", where));
  HG_ASSIGN_OR_RETURN(const int64_t epoch, GetInt(json, "first_epoch", where));
  info.first_epoch = static_cast<uint64_t>(epoch);
  return info;
}

StatusOr<std::vector<CatalogueSnapshot>> StateCatalogue::Snapshots() {
  HG_ASSIGN_OR_RETURN(const std::vector<Catalogue::Entry> entries,
                      catalogue_->Scan(kSnapshotPrefix));
  std::vector<CatalogueSnapshot> snapshots;
  for (const Catalogue::Entry& entry : entries) {
    HG_ASSIGN_OR_RETURN(const Json json, Get(entry.key));
    HG_ASSIGN_OR_RETURN(CatalogueSnapshot snapshot,
                        SnapshotFromJson(json, "key " + entry.key + " of the catalogue"));
    snapshots.push_back(std::move(snapshot));
  }
  return snapshots;
}

Status StateCatalogue::SetCheckpoint(const CheckpointInfo& checkpoint,
                                     const CatalogueSnapshot* snapshot,
                                     const std::vector<CatalogueTensor>* tensors) {
  std::vector<Catalogue::Change> changes;
  if (tensors != nullptr) {
    HG_ASSIGN_OR_RETURN(const std::vector<Catalogue::Entry> entries,
                        catalogue_->Scan(kTensorPrefix));
    for (const Catalogue::Entry& entry : entries) changes.push_back({entry.key, std::nullopt});
    for (const CatalogueTensor& tensor : *tensors) {
      changes.push_back(Put(TensorKey(tensor.number), ToJson(tensor)));
    }
  }
  if (snapshot != nullptr) {
    changes.push_back(Put(kSnapshotPrefix + snapshot->info.name, ToJson(*snapshot)));
  }
  changes.push_back(Put(kCheckpointKey, Json{{"files", checkpoint.files},
                                             {"lsn", checkpoint.lsn},
                                             {"first_lsn", checkpoint.first_lsn},
                                             {"first_epoch", checkpoint.first_epoch}}));
  return catalogue_->Write(changes);
}

Status StateCatalogue::RemoveSnapshot(const std::string& name) {
  const Catalogue::Change change = {kSnapshotPrefix + name, std::nullopt};
  return catalogue_->Write(std::span(&change, 1));
}

StatusOr<uint64_t> StateCatalogue::TakeEpochs() {
  HG_ASSIGN_OR_RETURN(const Json json, Get(kEpochsKey));
  int64_t next = kEpochsOfAProcess;  // a state without the key has used fewer
  if (!json.is_null()) {
    HG_ASSIGN_OR_RETURN(next, GetInt(json, "next", "the catalogue's epochs"));
  }
  const Catalogue::Change change = Put(kEpochsKey, Json{{"next", next + kEpochsOfAProcess}});
  HG_RETURN_IF_ERROR(catalogue_->Write(std::span(&change, 1)));
  return static_cast<uint64_t>(next);
}

StatusOr<int64_t> StateCatalogue::ClosedLsn() {
  HG_ASSIGN_OR_RETURN(const Json json, Get(kClosedKey));
  if (json.is_null()) return int64_t{0};
  return GetInt(json, "lsn", "the catalogue's last close");
}

Status StateCatalogue::SetClosedLsn(int64_t lsn) {
  const Catalogue::Change change = Put(kClosedKey, Json{{"lsn", lsn}});
  return catalogue_->Write(std::span(&change, 1));
}

}  // namespace halograph
