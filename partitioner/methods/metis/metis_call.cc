#include "partitioner/methods/metis/metis_call.h"

#include <array>

#include <metis.h>
#include <pthread.h>
#include <unistd.h>

#include "common/base/mutex.h"
#include "common/base/rng.h"
#include "partitioner/methods/metis/rebalance.h"
#include "partitioner/methods/random_method.h"

namespace halograph {

namespace {

sigset_t OnlyTermination() {
  sigset_t set{};
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

TerminationGuard::TerminationGuard() {
  const sigset_t termination = OnlyTermination();
  ::pthread_sigmask(SIG_BLOCK, &termination, &before_);
  struct sigaction action {};
  const bool ends = ::sigaction(SIGTERM, nullptr, &action) == 0 &&
                    (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
  if (ends) watcher_ = std::thread([this] { Watch(); });
}

TerminationGuard::~TerminationGuard() {
  over_ = true;
  if (watcher_.joinable()) {
    ::pthread_kill(watcher_.native_handle(), SIGTERM);
    watcher_.join();
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

// The signal stays blocked in this thread too, so that it waits for it and METIS' handler, which
// belongs to the process, never runs.
void TerminationGuard::Watch() {
  const sigset_t termination = OnlyTermination();
  int signal = 0;
  ::sigwait(&termination, &signal);
  if (over_) return;
  ::signal(SIGTERM, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &termination, nullptr);
  ::raise(SIGTERM);
}

namespace {

static_assert(sizeof(idx_t) == sizeof(int32_t), "built for METIS with 32-bit ids");

// srand() makes one of 0 and 1.
idx_t MetisSeed(uint64_t seed) { return static_cast<idx_t>(2 + (Mix(seed) >> 34)); }

}  // namespace

StatusOr<std::vector<int32_t>> CallMetis(const FoldedGraph& graph, const VertexWeights& weights,
                                         int parts, uint64_t seed,
                                         const MetisImbalance& imbalance) {
  static Mutex metis_mutex;
  const MutexLock lock(metis_mutex);
  std::array<idx_t, METIS_NOPTIONS> options;
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_SEED] = MetisSeed(seed);
  auto nodes = static_cast<idx_t>(graph.num_nodes());
  auto constraints = static_cast<idx_t>(weights.count());
  auto num_parts = static_cast<idx_t>(parts);
  std::vector<real_t> aims;
  for (const Constraint& constraint : weights.constraints) {
    aims.push_back(constraint.tolerance > kNodeTolerance ? imbalance.edges : imbalance.nodes);
  }
  std::vector<int32_t> owners(static_cast<size_t>(nodes));
  idx_t cut = 0;
  const TerminationGuard guard;
  // METIS takes pointers to mutable arrays but only reads them.
  const int result = METIS_PartGraphKway(
      &nodes, &constraints, const_cast<idx_t*>(graph.xadj.data()),
      reinterpret_cast<idx_t*>(const_cast<uint32_t*>(graph.neighbours.data())),
      const_cast<idx_t*>(weights.values.data()), nullptr,
      graph.weights.empty() ? nullptr : const_cast<idx_t*>(graph.weights.data()), &num_parts,
      nullptr, aims.data(), options.data(), &cut, owners.data());
  if (result == METIS_ERROR_MEMORY) {
    return ResourceExhausted(
        "metis: out of memory for {} nodes and {} neighbours; use --method stream-metis with "
        "--memory, or a machine with more memory",
        graph.num_nodes(), graph.num_arcs());
  }
  if (result != METIS_OK) {
    return Internal(
        "metis: failed with code {} on {} nodes, {} neighbours, {} parts; use "
        "--method stream-metis",
        result, graph.num_nodes(), graph.num_arcs(), parts);
  }
  return owners;
}

namespace {

constexpr int kRebalanceRounds = 30;
// With fewer nodes a partition METIS leaves partitions empty.
constexpr int64_t kNodesPerPart = 8;

int64_t Cut(const FoldedGraph& graph, const std::vector<int32_t>& owners) {
  int64_t cut = 0;
  for (size_t v = 0; v < owners.size(); ++v) {
    for (auto i = static_cast<size_t>(graph.xadj[v]); i < static_cast<size_t>(graph.xadj[v + 1]);
         ++i) {
      if (owners[graph.neighbours.data()[i]] == owners[v]) continue;
      cut += graph.weights.empty() ? 1 : graph.weights[i];
    }
  }
  return cut / 2;
}

}  // namespace

StatusOr<MetisAttempt> AttemptMetis(const FoldedGraph& graph, const VertexWeights& weights,
                                    int parts, uint64_t seed, const MetisImbalance& aims) {
  MetisAttempt result;
  const bool metis = graph.num_arcs() > 0 && graph.num_nodes() >= kNodesPerPart * parts;
  if (metis) {
    HG_ASSIGN_OR_RETURN(result.owners, CallMetis(graph, weights, parts, seed, aims));
  } else {
    const std::vector<uint16_t> dealt = DealOwners(graph.num_nodes(), parts, Mix(seed));
    result.owners.assign(dealt.begin(), dealt.end());
  }
  PartLoads loads(weights, result.owners, parts);
  result.moves = Rebalance(graph, weights, parts, kRebalanceRounds, &result.owners, &loads);
  result.excess = loads.Excess();
  result.balance = loads.Balance();
  result.cut = Cut(graph, result.owners);
  return result;
}

}  // namespace halograph
