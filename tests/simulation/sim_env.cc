#include "tests/simulation/sim_env.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/plain_row_space.h"

namespace halograph::sim {
namespace {

using Path = std::filesystem::path;

std::string Normal(const Path& path) {
  std::string text = path.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

uint64_t HashOf(const std::string& text) {
  uint64_t hash = 0;
  for (const char c : text) hash = hash * 31 + static_cast<unsigned char>(c);
  return hash;
}

}  // namespace

SimEnv::SimEnv(SimMachine* machine, int64_t generation)
    : machine_(machine), generation_(generation), files_(MakeSimFiles(this)) {}

SimEnv::~SimEnv() = default;

bool SimEnv::over() const { return machine_->crashed_ || machine_->generation_ != generation_; }

Status SimEnv::Over() { return Unavailable("the process is over: its machine crashed"); }

SimEnv::Fate SimEnv::Enter(const char* what, uint64_t detail, bool file) {
  machine_->scheduler_->Point(what, detail);
  if (over()) return Fate::kOver;
  if (machine_->crash_in_ > 0 && !machine_->held_ && (file || !machine_->crash_in_files_) &&
      --machine_->crash_in_ == 0) {
    if (file) return Fate::kCrashAfter;
    Crash();
    return Fate::kOver;
  }
  return Fate::kGoOn;
}

void SimEnv::Crash() { machine_->CrashNow(machine_->planned_kind_); }

int64_t SimEnv::NowNs() const { return machine_->scheduler_->now_ns(); }

int64_t SimEnv::WallSeconds() const { return NowNs() / kSecond; }

std::unique_ptr<Monitor> SimEnv::NewMonitor() {
  return MakeMonitor(
      machine_->scheduler_, [this](const char* what) { static_cast<void>(Enter(what, 0, false)); },
      &machine_->random_);
}

std::unique_ptr<RunningThread> SimEnv::Start(std::string_view name, std::function<void()> body) {
  return machine_->scheduler_->Start(name, machine_->process_, std::move(body));
}

class SimReadable : public ReadableFile {
 public:
  SimReadable(SimEnv* env, std::string path, int file)
      : env_(env), path_(std::move(path)), file_(file) {}

  [[nodiscard]] StatusOr<int64_t> Size() const override {
    return env_->Call("size", 0,
                      [&]() -> StatusOr<int64_t> { return env_->machine().disk().Size(file_); });
  }
  [[nodiscard]] Status ReadAt(int64_t offset, std::span<std::byte> out) const override {
    return env_->Call("read", static_cast<uint64_t>(offset), [&]() -> Status {
      SimMachine& machine = env_->machine();
      if (machine.random_.Chance(machine.FaultsNow().read)) {
        ++machine.num_faults_;
        return Internal("cannot read {} at {}: Input/output error", path_, offset);
      }
      if (machine.disk().Read(file_, offset, out)) return OkStatus();
      return DataLoss("{} ends before {}", path_, offset + static_cast<int64_t>(out.size()));
    });
  }

 private:
  SimEnv* env_;
  std::string path_;
  int file_;
};

class SimWritable : public WritableFile {
 public:
  SimWritable(SimEnv* env, std::string path, int file, FileSystem::Write how)
      : env_(env), path_(std::move(path)), file_(file), how_(how) {}

  [[nodiscard]] Status WriteAt(int64_t offset,
                               std::span<const std::span<const std::byte>> pieces) override {
    CheckAlignment(offset, pieces);
    const SimEnv::Fate fate = env_->Enter("write", static_cast<uint64_t>(offset), true);
    if (fate == SimEnv::Fate::kOver) return SimEnv::Over();
    SimMachine& machine = env_->machine();
    SimDisk::Bytes bytes;
    for (const auto& piece : pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
    if (fate == SimEnv::Fate::kCrashAfter) {
      static_cast<void>(machine.disk().Write(file_, offset, Part(bytes)));
      env_->Crash();
      return SimEnv::Over();
    }
    if (machine.random_.Chance(machine.FaultsNow().write)) {
      ++machine.num_faults_;
      static_cast<void>(machine.disk().Write(file_, offset, Part(bytes)));
      return Internal("cannot write {} at {}: Input/output error", path_, offset);
    }
    Status written = machine.disk().Write(file_, offset, bytes);
    if (!written.ok()) ++machine.num_faults_;
    return Annotate(written, path_);
  }

  [[nodiscard]] Status Sync() override {
    SimMachine& machine = env_->machine();
    const SimEnv::Fate fate = env_->Enter("sync", static_cast<uint64_t>(file_), true);
    if (fate == SimEnv::Fate::kOver) return SimEnv::Over();
    if (fate == SimEnv::Fate::kCrashAfter) {
      if (machine.random_.Chance(0.3))
        machine.disk().EndSync(file_, machine.disk().BeginSync(file_));
      env_->Crash();
      return SimEnv::Over();
    }
    const int64_t begun = machine.disk().BeginSync(file_);
    if (machine.slowest_sync_ns_ > 0) {
      machine.scheduler_->Sleep(machine.random_.Between(0, machine.slowest_sync_ns_));
      if (env_->over()) return SimEnv::Over();
    }
    if (machine.random_.Chance(machine.FaultsNow().sync)) {
      ++machine.num_faults_;
      machine.sync_failed_ns_ = std::min(machine.sync_failed_ns_, machine.scheduler_->now_ns());
      machine.disk().FailSync(file_, machine.random_);
      return Internal("cannot sync {}: Input/output error", path_);
    }
    machine.disk().EndSync(file_, begun);
    return OkStatus();
  }

 private:
  // The beginning of a write: whole blocks of 512 bytes, at times all.
  std::span<const std::byte> Part(const SimDisk::Bytes& bytes) const {
    const uint64_t blocks = env_->machine().random_.Below(bytes.size() / 512 + 2);
    return std::span(bytes).first(std::min<size_t>(bytes.size(), blocks * 512));
  }

  void CheckAlignment(int64_t offset, std::span<const std::span<const std::byte>> pieces) const {
    if (how_ != FileSystem::Write::kDirect) return;
    bool aligned = offset % 4096 == 0;
    for (const auto& piece : pieces) {
      aligned &= piece.size() % 4096 == 0 && reinterpret_cast<uintptr_t>(piece.data()) % 4096 == 0;
    }
    if (!aligned) {
      env_->machine().misuse_ =
          fmt::format("a direct write to {} at {} is not aligned to 4096", path_, offset);
    }
  }

  SimEnv* env_;
  std::string path_;
  int file_;
  FileSystem::Write how_;
};

namespace {

class Held : public FolderLock {
 public:
  Held(SimEnv* env, std::string path) : env_(env), path_(std::move(path)) {}
  ~Held() override { env_->held().erase(path_); }

 private:
  SimEnv* env_;
  std::string path_;
};

}  // namespace

class SimFiles : public FileSystem {
 public:
  explicit SimFiles(SimEnv* env) : env_(env) {}

  StatusOr<std::unique_ptr<ReadableFile>> OpenToRead(const Path& path) override {
    const std::string name = Normal(path);
    return env_->Call("open", HashOf(name), [&]() -> StatusOr<std::unique_ptr<ReadableFile>> {
      HG_ASSIGN_OR_RETURN(const int file, disk().Open(name));
      return std::make_unique<SimReadable>(env_, name, file);
    });
  }
  StatusOr<std::unique_ptr<WritableFile>> Create(const Path& path, int64_t bytes,
                                                 Write how) override {
    const std::string name = Normal(path);
    return env_->Call("create", HashOf(name), [&]() -> StatusOr<std::unique_ptr<WritableFile>> {
      HG_ASSIGN_OR_RETURN(const int file, Counted(disk().Create(name, bytes)));
      return std::make_unique<SimWritable>(env_, name, file, how);
    });
  }
  StatusOr<std::unique_ptr<WritableFile>> OpenToWrite(const Path& path, Write how) override {
    const std::string name = Normal(path);
    return env_->Call("open", HashOf(name), [&]() -> StatusOr<std::unique_ptr<WritableFile>> {
      HG_ASSIGN_OR_RETURN(const int file, disk().Open(name));
      return std::make_unique<SimWritable>(env_, name, file, how);
    });
  }
  Status Rename(const Path& from, const Path& to) override {
    return env_->Call("rename", HashOf(Normal(to)), [&]() -> Status {
      return OfNames(Normal(to), [&] { return disk().Rename(Normal(from), Normal(to)); });
    });
  }
  Status Remove(const Path& path) override {
    return env_->Call("remove", HashOf(Normal(path)), [&] { return disk().Remove(Normal(path)); });
  }
  Status MakeFolder(const Path& path) override {
    return env_->Call("mkdir", HashOf(Normal(path)),
                      [&] { return disk().MakeFolder(Normal(path)); });
  }
  Status SyncFolder(const Path& path) override {
    return env_->Call("syncfolder", HashOf(Normal(path)), [&]() -> Status {
      return OfNames(Normal(path), [&] { return disk().SyncFolder(Normal(path)); });
    });
  }
  StatusOr<std::vector<std::string>> List(const Path& path) override {
    return env_->Call("list", HashOf(Normal(path)), [&] { return disk().List(Normal(path)); });
  }
  StatusOr<std::unique_ptr<FolderLock>> LockFolder(const Path& path) override {
    const std::string name = Normal(path);
    return env_->Call("lockfolder", HashOf(name), [&]() -> StatusOr<std::unique_ptr<FolderLock>> {
      if (!env_->held().insert(name).second) {
        return FailedPrecondition("{} is in use by another process", name);
      }
      return std::make_unique<Held>(env_, name);
    });
  }

 private:
  SimDisk& disk() { return env_->machine().disk(); }
  // Fails by chance, with or without its effect.
  template <typename Effect>
  Status OfNames(const std::string& path, Effect effect) {
    SimMachine& machine = env_->machine();
    const bool fails = machine.random_.Chance(machine.FaultsNow().names);
    if (!fails) return effect();
    ++machine.num_faults_;
    if (machine.random_.Chance(0.5)) static_cast<void>(effect());
    return Internal("cannot change names at {}: Input/output error", path);
  }
  template <typename T>
  T Counted(T result) {
    if (!result.ok()) ++env_->machine().num_faults_;
    return result;
  }

  SimEnv* env_;
};

std::unique_ptr<FileSystem> MakeSimFiles(SimEnv* env) { return std::make_unique<SimFiles>(env); }

// Nothing of it survives the process. What a call does is seen at once and wholly, so that a reader
// who is let in during a change finds rows of two moments.
class SimRowSpace : public RowSpace {
 public:
  SimRowSpace(SimEnv* env, std::string folder) : env_(env), folder_(std::move(folder)) {}
  ~SimRowSpace() override { env_->held().erase("rows " + folder_); }

  Status Put(uint32_t owner, std::span<const int64_t> rows,
             std::span<const std::byte> images) override {
    return env_->Call("putrows", rows.size(), [&] { return rows_.Put(owner, rows, images); });
  }
  Status Get(uint32_t owner, std::span<const int64_t> rows, std::span<std::byte> images,
             std::vector<bool>* found) override {
    return env_->Call("getrows", rows.size(),
                      [&] { return rows_.Get(owner, rows, images, found); });
  }
  Status Drop(uint32_t owner) override {
    return env_->Call("droprows", owner, [&] { return rows_.Drop(owner); });
  }

 private:
  SimEnv* env_;
  std::string folder_;
  PlainRowSpace rows_;
};

StatusOr<std::unique_ptr<RowSpace>> SimEnv::OpenRowSpace(const std::filesystem::path& folder,
                                                         int64_t /*cache_bytes*/) {
  const std::string name = Normal(folder);
  return Call("openrows", HashOf(name), [&]() -> StatusOr<std::unique_ptr<RowSpace>> {
    if (!held_.insert("rows " + name).second) {
      return FailedPrecondition("the space for rows in {} is open", name);
    }
    return std::make_unique<SimRowSpace>(this, name);
  });
}

}  // namespace halograph::sim
