// CallMetis: METIS in a process of its own.
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <new>
#include <span>
#include <string>

#include <fcntl.h>
#include <malloc.h>
#include <metis.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/mutex.h"
#include "common/base/rng.h"
#include "common/base/sanitizers.h"
#include "common/base/units.h"
#include "partitioner/methods/metis/metis_call.h"

namespace halograph {
namespace {

static_assert(sizeof(idx_t) == sizeof(int32_t), "built for METIS with 32-bit ids");

// srand() makes one of 0 and 1.
idx_t MetisSeed(uint64_t seed) { return static_cast<idx_t>(2 + (Mix(seed) >> 34)); }

struct Call {
  const FoldedGraph& graph;
  const VertexWeights& weights;
  int parts;
  uint64_t seed;
  const MetisImbalance& imbalance;
};

// METIS itself; its own result code. `owners`: an entry a node.
int RunMetis(const Call& call, std::span<int32_t> owners) {
  std::array<idx_t, METIS_NOPTIONS> options;
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_SEED] = MetisSeed(call.seed);
  auto nodes = static_cast<idx_t>(call.graph.num_nodes());
  auto constraints = static_cast<idx_t>(call.weights.count());
  auto num_parts = static_cast<idx_t>(call.parts);
  std::vector<real_t> aims;
  for (const Constraint& constraint : call.weights.constraints) {
    aims.push_back(constraint.tolerance > kNodeTolerance ? call.imbalance.edges
                                                         : call.imbalance.nodes);
  }
  idx_t cut = 0;
  // METIS takes pointers to mutable arrays but only reads them.
  const FoldedGraph& graph = call.graph;
  return METIS_PartGraphKway(
      &nodes, &constraints, const_cast<idx_t*>(graph.xadj.data()),
      reinterpret_cast<idx_t*>(const_cast<uint32_t*>(graph.neighbours.data())),
      const_cast<idx_t*>(call.weights.values.data()), nullptr,
      graph.weights.empty() ? nullptr : const_cast<idx_t*>(graph.weights.data()), &num_parts,
      nullptr, aims.data(), options.data(), &cut, owners.data());
}

// ---- in the process of METIS -----------------------------------------------------------------
// It is a copy of one thread of a process that may have others, so it only computes: it takes no
// lock, logs nothing, and leaves by _exit.

// Bytes of private writable memory, touched or not: what RLIMIT_DATA counts. -1: cannot be told.
int64_t DataBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == "VmData:" && status >> kib) return kib * 1024;
  }
  return -1;
}

// From here on the process gets `room` bytes more at most; malloc fails beyond. A sanitizer's
// allocator gets no limit: it would end the process.
void LimitMemory(int64_t room) {
  if (kSanitizerAllocator) return;
  const int64_t held = DataBytes();
  rlimit limit{};
  if (room == kAnyMemory || held < 0 || ::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  // Arrays are mapped, each for itself, and go back to the system when METIS frees them.
  constexpr int kMappedFrom = 128 << 10;
  ::mallopt(M_MMAP_THRESHOLD, kMappedFrom);
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(held) + static_cast<rlim_t>(room));
  ::setrlimit(RLIMIT_DATA, &limit);
}

bool WriteAll(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

// Signals of a terminal are for the parent, and the handlers of the parent are not for here. METIS
// tells itself of errors by SIGTERM and SIGABRT, so these must come through.
void TakeOwnSignals(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it ended before that
  ::setpgid(0, 0);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGABRT}) ::signal(signal, SIG_DFL);
  sigset_t none{};
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Sends METIS' code, and the owners if it is METIS_OK.
[[noreturn]] void ServeCall(const Call& call, int64_t room, pid_t parent, int out) {
  TakeOwnSignals(parent);
  // METIS complains there when memory runs out; the parent says it better.
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) {
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
  }
  int32_t code = METIS_ERROR_MEMORY;
  std::vector<int32_t> owners;
  try {
    owners.resize(static_cast<size_t>(call.graph.num_nodes()));
    LimitMemory(room);
    code = RunMetis(call, owners);
  } catch (const std::bad_alloc&) {
    code = METIS_ERROR_MEMORY;
  }
  const bool told = WriteAll(out, std::as_bytes(std::span(&code, 1))) &&
                    (code != METIS_OK || WriteAll(out, std::as_bytes(std::span(owners))));
  ::_exit(told ? 0 : 1);
}

// ---- in this process -------------------------------------------------------------------------

// Reads until `bytes` are full; false if the other end closes before.
bool ReadAll(int fd, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::read(fd, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return true;
}

int WaitFor(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Status OutOfMemory(const Call& call, int64_t room) {
  const std::string limit =
      room == kAnyMemory ? ""
                         : fmt::format(" within the {} that --memory leaves it", FormatBytes(room));
  return ResourceExhausted(
      "metis: out of memory{} for {} nodes and {} neighbours; give more --memory, or use --method "
      "stream-metis, or a machine with more memory",
      limit, call.graph.num_nodes(), call.graph.num_arcs());
}

// `status`: as waitpid gives it, of a process that did not answer.
Status Died(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    return ResourceExhausted(
        "metis: its process was killed, probably because the machine's memory ran out; give a "
        "lower --memory, or use --method stream-metis");
  }
  return Internal("metis: its process ended with wait status {}; use --method stream-metis",
                  status);
}

}  // namespace

StatusOr<std::vector<int32_t>> CallMetis(const FoldedGraph& graph, const VertexWeights& weights,
                                         int parts, uint64_t seed, const MetisImbalance& imbalance,
                                         int64_t room) {
  static Mutex one_call;
  const MutexLock lock(one_call);
  const Call call{graph, weights, parts, seed, imbalance};
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno, "metis: cannot", "pipe");
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) ServeCall(call, room, parent, ends[1]);
  const int fork_error = errno;
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return ErrnoStatus(fork_error, "metis: cannot start", "a process");
  }
  int32_t code = METIS_ERROR;
  std::vector<int32_t> owners;
  bool answered = ReadAll(ends[0], std::as_writable_bytes(std::span(&code, 1)));
  if (answered && code == METIS_OK) {
    owners.resize(static_cast<size_t>(graph.num_nodes()));
    answered = ReadAll(ends[0], std::as_writable_bytes(std::span(owners)));
  }
  ::close(ends[0]);
  const int status = WaitFor(child);
  if (!answered) return Died(status);
  // METIS reports an error of its own where memory runs out in its initial partitioning.
  if (code == METIS_ERROR_MEMORY || (code == METIS_ERROR && room != kAnyMemory)) {
    return OutOfMemory(call, room);
  }
  if (code != METIS_OK) {
    return Internal(
        "metis: failed with code {} on {} nodes, {} neighbours, {} parts; use "
        "--method stream-metis",
        code, graph.num_nodes(), graph.num_arcs(), parts);
  }
  return owners;
}

}  // namespace halograph
