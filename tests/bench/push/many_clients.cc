#include "tests/bench/push/many_clients.h"

#include <algorithm>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "tests/bench/rounds.h"

namespace halograph {
namespace {

constexpr int kWarmUpRounds = 2;

// Seconds until work(0), ..., work(threads - 1) are all done, each on a thread of its own.
StatusOr<double> TimeTogether(int threads, const std::function<Status(int)>& work) {
  std::vector<Status> results(static_cast<size_t>(threads));
  const double begin = Now();
  {
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i) {
      running.emplace_back([&, i] { results[static_cast<size_t>(i)] = work(i); });
    }
  }
  const double seconds = Now() - begin;
  for (const Status& result : results) HG_RETURN_IF_ERROR(result);
  return seconds;
}

// A file that is written past the page cache, again and again from its beginning.
class BareFile {
 public:
  static constexpr int64_t kBytes = int64_t{256} << 20;

  explicit BareFile(const std::filesystem::path& path) : path_(path) {
    std::filesystem::create_directories(path.parent_path());
    fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_DIRECT | O_CLOEXEC, 0644);
    direct_ = fd_ >= 0;
    if (!direct_) fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  }
  ~BareFile() {
    if (fd_ >= 0) close(fd_);
    unlink(path_.c_str());
  }
  BareFile(const BareFile&) = delete;
  BareFile& operator=(const BareFile&) = delete;

  [[nodiscard]] bool direct() const { return direct_; }
  [[nodiscard]] Status Write(std::span<const std::byte> bytes) {
    if (at_ + static_cast<int64_t>(bytes.size()) > kBytes) at_ = 0;
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), at_);
    if (written != static_cast<ssize_t>(bytes.size()) || fdatasync(fd_) != 0) {
      return ErrnoStatus(errno, "cannot write", path_.string());
    }
    at_ += written;
    return OkStatus();
  }
  // What the file system has to write still, of whatever file.
  void SyncAll() const { static_cast<void>(syncfs(fd_)); }
  [[nodiscard]] Status Fill(std::span<const std::byte> bytes) {
    for (int64_t filled = 0; filled < kBytes; filled += static_cast<int64_t>(bytes.size())) {
      HG_RETURN_IF_ERROR(Write(bytes));
    }
    return OkStatus();
  }

 private:
  const std::filesystem::path path_;
  int fd_ = -1;
  bool direct_ = false;
  int64_t at_ = 0;
};

// As many bytes as the record of a push takes in the log.
AlignedBytes BytesOfRecord(const ReceivedRows& push) {
  const auto blocks = [](size_t bytes) { return (bytes + 4095) / 4096 * 4096; };
  AlignedBytes bytes(4096 + blocks(push.rows.size() * sizeof(int64_t)) +
                     blocks(push.values.size()));
  std::fill_n(bytes.data(), bytes.size(), std::byte{1});
  return bytes;
}

const ReceivedRows& PushOf(const std::vector<ReceivedRows>& pushes, int number) {
  return pushes[static_cast<size_t>(number) % pushes.size()];
}

}  // namespace

Status AlwaysRounds(const ManyClients& options, const MutableTensorSpec& spec,
                    const std::vector<ReceivedRows>& pushes, Json* report) {
  HG_ASSIGN_OR_RETURN(RowTable table, MakeBenchTable(spec));
  const AlignedBytes record = BytesOfRecord(pushes[0]);
  BareFile bare(options.folder / "bare");
  HG_RETURN_IF_ERROR(bare.Fill(record.span()));
  (*report)["bare_writes_direct"] = bare.direct();
  const BenchStores stores(options.folder);
  for (const int clients : {1, 2, 4}) {
    HG_ASSIGN_OR_RETURN(const std::unique_ptr<StateStore> store,
                        stores.Open("always", SyncLevel::kAlways, true));
    HG_RETURN_IF_ERROR(store->Create(spec));
    std::vector<BenchClient> all;
    for (int i = 0; i < clients; ++i) all.emplace_back(store.get(), static_cast<uint64_t>(i + 1));
    const auto write_bare = [&]() -> StatusOr<double> {
      const double begin = Now();
      for (int i = 0; i < options.pushes; ++i) HG_RETURN_IF_ERROR(bare.Write(record.span()));
      return Now() - begin;
    };
    const auto push_together = [&] {
      return TimeTogether(clients, [&](int client) -> Status {
        for (int i = client; i < options.pushes; i += clients) {
          HG_RETURN_IF_ERROR(all[static_cast<size_t>(client)].Push(PushOf(pushes, i)));
        }
        return OkStatus();
      });
    };
    std::vector<double> memory_s, bare_s, push_s;
    for (int round = -kWarmUpRounds; round < options.rounds; ++round) {
      const double begin = Now();
      for (int i = 0; i < options.pushes; ++i) {
        const PushedRows view = PushOf(pushes, i).view();
        table.ApplyGradients({&view, 1}, nullptr);
      }
      const double updated = Now() - begin;
      // By turns the first: the disk may be slower, or faster, after the other.
      double written = 0, pushed = 0;
      for (const bool bare_turn : {round % 2 == 0, round % 2 != 0}) {
        HG_ASSIGN_OR_RETURN((bare_turn ? written : pushed),
                            bare_turn ? write_bare() : push_together());
      }
      HG_RETURN_IF_ERROR(store->Checkpoint());  // frees the segments for the next round
      bare.SyncAll();
      if (round < 0) continue;
      memory_s.push_back(updated / options.pushes);
      bare_s.push_back(written / options.pushes);
      push_s.push_back(pushed / options.pushes);
    }
    std::vector<double> slower_s;
    for (size_t i = 0; i < memory_s.size(); ++i) {
      slower_s.push_back(std::max(memory_s[i], bare_s[i]));
    }
    const std::string name = fmt::format("always_{}_clients", clients);
    (*report)[name + "_memory_ms"] = 1e3 * Median(memory_s);
    (*report)[name + "_bare_ms"] = 1e3 * Median(bare_s);
    (*report)[name + "_ms"] = 1e3 * Median(push_s);
    (*report)[name + "_to_slower"] = Median(Ratios(slower_s, push_s));
  }
  return OkStatus();
}

Status AllCoresRounds(const ManyClients& options, const MutableTensorSpec& spec,
                      const std::vector<ReceivedRows>& pushes, Json* report) {
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const BenchStores stores(options.folder);
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<StateStore> store,
                      stores.Open("all-cores", SyncLevel::kInterval, true));
  std::vector<RowTable> tables;
  std::vector<BenchClient> clients;
  for (int i = 0; i < threads; ++i) {
    MutableTensorSpec own = spec;
    own.ref.name = fmt::format("bench{}", i);
    HG_RETURN_IF_ERROR(store->Create(own));
    clients.emplace_back(store.get(), static_cast<uint64_t>(i + 1), own.ref.name);
    HG_ASSIGN_OR_RETURN(RowTable table, MakeBenchTable(spec));
    tables.push_back(std::move(table));
  }
  const int each = std::max(1, options.pushes / threads);
  std::vector<double> memory_s, push_s;
  for (int round = -kWarmUpRounds; round < options.rounds; ++round) {
    HG_ASSIGN_OR_RETURN(const double updated, TimeTogether(threads, [&](int thread) {
                          for (int i = 0; i < each; ++i) {
                            const PushedRows view = PushOf(pushes, thread + i).view();
                            tables[static_cast<size_t>(thread)].ApplyGradients({&view, 1}, nullptr);
                          }
                          return OkStatus();
                        }));
    HG_ASSIGN_OR_RETURN(const double pushed, TimeTogether(threads, [&](int thread) -> Status {
                          for (int i = 0; i < each; ++i) {
                            HG_RETURN_IF_ERROR(clients[static_cast<size_t>(thread)].Push(
                                PushOf(pushes, thread + i)));
                          }
                          return OkStatus();
                        }));
    HG_RETURN_IF_ERROR(store->Checkpoint());
    if (round < 0) continue;
    memory_s.push_back(updated / (threads * each));
    push_s.push_back(pushed / (threads * each));
  }
  (*report)["all_cores"] = threads;
  (*report)["all_cores_memory_ms"] = 1e3 * Median(memory_s);
  (*report)["all_cores_interval_ms"] = 1e3 * Median(push_s);
  (*report)["all_cores_interval_to_memory"] = Median(Ratios(memory_s, push_s));
  return OkStatus();
}

}  // namespace halograph
