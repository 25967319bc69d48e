// How a store takes its folder: the lock, the catalogue, and what earlier processes left.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "common/state/engine/checkpoint/checkpoint_file.h"
#include "common/state/engine/log/durable_folder.h"
#include "common/state/engine/log/numbered_name.h"
#include "common/state/engine/store.h"

namespace halograph {
namespace {

using Path = std::filesystem::path;

constexpr NumberedName kCheckpointName = {"checkpoint-", 8};
constexpr std::string_view kTemporary = ".tmp";

// None if there is no such folder.
StatusOr<std::vector<std::string>> NamesIn(const Path& folder, FileSystem& files) {
  StatusOr<std::vector<std::string>> names = files.List(folder);
  if (absl::IsNotFound(names.status())) return std::vector<std::string>();
  return names;
}

// What the log and the checkpoints say of the catalogue, which was there before them.
struct Witness {
  Path path;                    // of the file that saw the latest write; empty: there are no files
  int64_t generation = 0;       // which; 0: files of an older build alone are there
  int64_t last_checkpoint = 0;  // the largest number
};

StatusOr<Witness> FindWitness(const Path& folder, FileSystem& files) {
  Witness witness;
  const auto hear = [&](const Path& path, std::optional<int64_t> seen) {
    if (!witness.path.empty() && seen.value_or(0) <= witness.generation) return;
    witness.path = path;
    witness.generation = seen.value_or(0);
  };
  HG_ASSIGN_OR_RETURN(const std::vector<std::string> segments, NamesIn(folder / "log", files));
  for (const std::string& name : segments) {
    if (!kSegmentName.Number(name).has_value()) continue;
    const Path path = folder / "log" / name;
    HG_ASSIGN_OR_RETURN(const auto seen, CatalogueSeenBySegment(path, files));
    hear(path, seen);
  }
  HG_ASSIGN_OR_RETURN(const auto checkpoints, NamesIn(folder / "checkpoints", files));
  for (const std::string& name : checkpoints) {
    const std::optional<int64_t> number = kCheckpointName.Number(name);
    if (!number.has_value()) continue;
    const Path path = folder / "checkpoints" / name;
    HG_ASSIGN_OR_RETURN(const auto seen, CatalogueSeenByCheckpoint(path, files));
    hear(path, seen);
    witness.last_checkpoint = std::max(witness.last_checkpoint, *number);
  }
  return witness;
}

Status Missing(const Path& catalogue, const Witness& witness) {
  return DataLoss(
      "{}: the catalogue is missing, though {} was made after it: restore a copy of the "
      "whole state folder",
      catalogue.string(), witness.path.string());
}

// The end of an older build's catalogue may be cut without a trace in it. Then there are later
// checkpoints than it names; earlier ones are those that the build had not yet removed.
Status CheckNamesLatest(const Path& old, const CatalogueFile::Values& values,
                        const Witness& witness) {
  HG_ASSIGN_OR_RETURN(const std::set<int64_t> named, StateCatalogue::FilesNamed(values));
  const int64_t last = named.empty() ? 0 : *named.rbegin();
  if (witness.last_checkpoint <= last) return OkStatus();
  const Path later =
      old.parent_path() / "checkpoints" / kCheckpointName.Of(witness.last_checkpoint);
  return DataLoss(
      "{}: the catalogue of an older build names no checkpoint as late as {}: it was cut, or is an "
      "older copy: restore a copy of the whole state folder. Or that build ended, or failed, while "
      "it made this checkpoint: then move the file out of the folder, and start again",
      old.string(), later.string());
}

// The catalogue of an older build is read once, and kept aside in `kept`.
StatusOr<std::unique_ptr<CatalogueFile>> Convert(const Path& old, const Path& kept,
                                                 const Path& catalogue, const StateGraph& graph,
                                                 const Witness& witness, Env& env) {
  if (witness.generation > 0) {
    return DataLoss(
        "{}: is the catalogue of an older build, but {} has seen write {} of a newer one: restore "
        "a copy of the whole state folder",
        old.string(), witness.path.string(), witness.generation);
  }
  FileSystem& files = env.files();
  HG_ASSIGN_OR_RETURN(const std::vector<std::string> in_old, files.List(old));
  std::map<std::string, std::string> entries;
  if (!in_old.empty() || !witness.path.empty()) {
    HG_ASSIGN_OR_RETURN(entries, env.ReadOldCatalogue(old));
  }
  // A process of such a build wrote whose state it is before anything else.
  CatalogueFile::Values values = StateCatalogue::Empty(graph);
  if (!entries.empty() || !witness.path.empty()) {
    HG_ASSIGN_OR_RETURN(values, StateCatalogue::Converted(entries));
    HG_RETURN_IF_ERROR(StateCatalogue::CheckWhose(values, graph));
    HG_RETURN_IF_ERROR(CheckNamesLatest(old, values, witness));
  }
  // Two names change, one behind the other, and what takes room comes before.
  const Path made = catalogue.string() + ".new";
  HG_RETURN_IF_ERROR(CatalogueFile::Make(made, std::move(values), env).status());
  if (old != kept) HG_RETURN_IF_ERROR(files.Rename(old, kept));
  const Status named = files.Rename(made, catalogue);
  if (!named.ok() && old != kept) static_cast<void>(files.Rename(kept, old).ok());
  HG_RETURN_IF_ERROR(named);
  HG_RETURN_IF_ERROR(files.SyncFolder(kept.parent_path()));
  return CatalogueFile::Read(catalogue, env);
}

StatusOr<std::unique_ptr<CatalogueFile>> OpenCatalogue(const Path& folder, const StateGraph& graph,
                                                       Env& env) {
  const Path path = folder / "catalogue";
  const Path kept = folder / "catalogue.old";
  HG_ASSIGN_OR_RETURN(const Witness witness, FindWitness(folder, env.files()));
  const bool is_old = env.files().List(path).ok();
  if (is_old && env.files().List(kept).ok()) {
    return DataLoss(
        "{} and {} are both there: an older build began a state of its own while that one was "
        "being converted; move away the one that does not belong to the other files",
        path.string(), kept.string());
  }
  if (is_old) return Convert(path, kept, path, graph, witness, env);
  auto file = CatalogueFile::Read(path, env);
  if (file.ok() && (*file)->generation() < witness.generation) {
    return DataLoss(
        "{}: has write {} of the catalogue, but {} has seen write {}: it is an older copy; restore "
        "a copy of the whole state folder",
        path.string(), (*file)->generation(), witness.path.string(), witness.generation);
  }
  if (!absl::IsNotFound(file.status())) return file;
  // An earlier start may have ended between the two steps of a conversion.
  const bool converting = witness.generation == 0 && env.files().List(kept).ok();
  if (converting) return Convert(kept, kept, path, graph, witness, env);
  if (!witness.path.empty()) return Missing(path, witness);
  return CatalogueFile::Make(path, StateCatalogue::Empty(graph), env);
}

}  // namespace

Path Store::FilePath(int64_t number) const {
  return options_.folder / "checkpoints" / kCheckpointName.Of(number);
}

Status Store::OpenFolder() {
  HG_RETURN_IF_ERROR(MakeDurableFolder(options_.folder, env_.files()));
  HG_ASSIGN_OR_RETURN(folder_lock_, env_.files().LockFolder(options_.folder));
  HG_ASSIGN_OR_RETURN(std::unique_ptr<CatalogueFile> file,
                      OpenCatalogue(options_.folder, graph_, env_));
  catalogue_ = std::make_unique<StateCatalogue>(std::move(file), env_.scheduler());
  return catalogue_->Check(graph_);
}

// Files of checkpoints that nothing names. What a process left that ended while it wrote or removed
// them is removed, as far as the catalogue tells; nothing else is. And files that the log does not
// know.
Status Store::ClearLeftFiles() {
  const Path folder = options_.folder / "checkpoints";
  HG_ASSIGN_OR_RETURN(const LeftFiles left, catalogue_->Left());
  HG_ASSIGN_OR_RETURN(const std::vector<std::string> names, env_.files().List(folder));
  unused_.insert(left.unused.begin(), left.unused.end());
  if (left.known) next_file_ = std::max(next_file_, left.next);
  for (const std::string& name : names) {
    const std::string_view whole = name;
    const bool temporary = whole.ends_with(kTemporary);
    const auto number =
        kCheckpointName.Number(temporary ? whole.substr(0, whole.size() - 4) : whole);
    if (number.has_value() && !temporary && named_files_.contains(*number)) continue;
    if (number.has_value()) next_file_ = std::max(next_file_, *number + 1);
    if (number.has_value() && temporary) {
      static_cast<void>(env_.files().Remove(folder / name).ok());
    } else if (number.has_value() && (!left.known || *number >= left.next) &&
               IsOfThisFormat(folder / name)) {
      unused_.insert(*number);
    } else if (!number.has_value() || !unused_.contains(*number)) {
      SetAside(folder / name);
    }
  }
  RemoveUnusedFiles();
  for (const Path& file : log_->unknown()) SetAside(file);
  return OkStatus();
}

// Of a build of this format, which ended before it had named the file. What cannot be read is not.
bool Store::IsOfThisFormat(const Path& checkpoint) const {
  const auto seen = CatalogueSeenByCheckpoint(checkpoint, env_.files());
  return seen.ok() && seen->has_value();
}

// What cannot be moved stays where it is, and is found again at the next start.
void Store::SetAside(const Path& path) {
  const Path aside = options_.folder / "aside";
  FileSystem& files = env_.files();
  if (!MakeDurableFolder(aside, files).ok()) return;
  const StatusOr<std::vector<std::string>> there = files.List(aside);
  if (!there.ok()) return;
  std::string name = path.filename().string();
  for (int copy = 2; std::find(there->begin(), there->end(), name) != there->end(); ++copy) {
    name = fmt::format("{}.{}", path.filename().string(), copy);
  }
  if (!files.Rename(path, aside / name).ok()) return;
  static_cast<void>(files.SyncFolder(aside).ok());
  static_cast<void>(files.SyncFolder(path.parent_path()).ok());
  if (options_.on_set_aside != nullptr) options_.on_set_aside(path, aside / name);
}

LeftFiles Store::LeftBeside(const std::set<int64_t>& named) const {
  const MonitorLock lock(*monitor_);
  std::set<int64_t> all = unused_;
  all.insert(named_files_.begin(), named_files_.end());
  // A process that ends before it names them leaves them, maybe whole.
  for (const auto& made : under_way_) all.insert(made->number);
  LeftFiles left;
  left.next = next_file_;
  std::set_difference(all.begin(), all.end(), named.begin(), named.end(),
                      std::back_inserter(left.unused));
  return left;
}

void Store::SetNamedFiles(std::set<int64_t> named) {
  const std::vector<int64_t> unused = LeftBeside(named).unused;
  unused_ = {unused.begin(), unused.end()};
  named_files_ = std::move(named);
}

std::set<int64_t> Store::NamedBy(const CheckpointInfo& checkpoint,
                                 const KeptSnapshots::List& snapshots) {
  std::set<int64_t> named(checkpoint.files.begin(), checkpoint.files.end());
  for (const auto& snapshot : snapshots) {
    named.insert(snapshot->files.begin(), snapshot->files.end());
  }
  return named;
}

// Only where the last write of the catalogue worked, or had no room and changed nothing: after one
// that failed the catalogue may name files that this process takes for unused.
void Store::RemoveUnusedFiles() {
  std::set<int64_t> needed;  // by snapshots that wait for their steps
  {
    const MonitorLock lock(*monitor_);
    for (const auto& made : under_way_) {
      needed.insert(made->base.begin(), made->base.end());
      needed.insert(made->number);
    }
  }
  // What cannot be removed now is tried again after the next checkpoint.
  std::erase_if(unused_, [&](int64_t number) {
    if (needed.contains(number)) return false;
    const Status removed = env_.files().Remove(FilePath(number));
    return removed.ok() || absl::IsNotFound(removed);
  });
}

}  // namespace halograph
