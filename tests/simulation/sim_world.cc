#include "tests/simulation/sim_world.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "tests/simulation/sim_client.h"
#include "tests/simulation/sim_server.h"

namespace halograph::sim {
namespace {

constexpr int64_t kSmallSegment = 8 << 10;

RowOptimizer AnOptimizer(Random& random) {
  RowOptimizer optimizer;
  constexpr RowOptimizer::Kind kKinds[] = {RowOptimizer::Kind::kSgd, RowOptimizer::Kind::kAdagrad,
                                           RowOptimizer::Kind::kRowAdagrad,
                                           RowOptimizer::Kind::kAdam};
  optimizer.kind = kKinds[random.Below(4)];
  optimizer.learning_rate = 0.1;
  if (optimizer.kind == RowOptimizer::Kind::kSgd && random.Chance(0.7)) optimizer.momentum = 0.9;
  return optimizer;
}

MutableTensorSpec ATensor(Random& random, int index, int64_t rows) {
  MutableTensorSpec spec;
  spec.ref.name = fmt::format("t{}", index);
  if (random.Chance(0.5)) {
    spec.ref.type = "node";
  } else {
    spec.placement = Placement::kRange;
    spec.rows = rows;
  }
  spec.dim = random.Between(1, 5);
  constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat32, DType::kBFloat16, DType::kFloat16};
  spec.dtype = kDTypes[random.Below(4)];
  spec.initializer = {.kind = Initializer::Kind::kUniform, .a = -1, .b = 1, .seed = random.Bits()};
  spec.optimizer = AnOptimizer(random);
  return spec;
}

}  // namespace

Plan MakePlan(uint64_t seed) {
  Random random(Mix(seed) + 1);
  Plan plan;
  plan.seed = seed;
  constexpr int kServers[] = {1, 1, 1, 2, 2, 3, 4};
  plan.num_servers = kServers[random.Below(7)];
  constexpr int kClients[] = {1, 2, 2, 3, 4, 5, 8};
  plan.num_clients = kClients[random.Below(7)];
  const int64_t work = std::max<int64_t>(1, 24 / (plan.num_clients * plan.num_servers));
  plan.num_steps = random.Chance(0.2) ? 0 : random.Between(1, 2 * work);
  plan.num_batches = static_cast<int>(random.Between(1, 2 * work));
  plan.ahead = random.Chance(0.3);
  plan.rows = plan.num_servers * random.Between(5, 25);
  constexpr SyncLevel kLevels[] = {SyncLevel::kAlways, SyncLevel::kAlways, SyncLevel::kInterval,
                                   SyncLevel::kInterval, SyncLevel::kNever};
  plan.sync = kLevels[random.Below(5)];
  plan.sync_interval_ns = random.Between(2, 50) * kMillisecond;
  constexpr int64_t kSegments[] = {16 << 10, 32 << 10, 64 << 10};
  plan.segment_bytes = kSegments[random.Below(3)];
  plan.log_bytes = plan.segment_bytes * random.Between(3, 8);
  plan.power_losses = random.Chance(0.6);
  plan.disk_faults = random.Chance(0.3);
  plan.bit_rot = random.Chance(0.3);
  plan.network.drop = random.Chance(0.5) ? 0.1 : 0;
  plan.network.twice = random.Chance(0.5) ? 0.2 : 0;
  plan.network.longest_delay_ns = random.Chance(0.5) ? kMillisecond : 30 * kMillisecond;
  plan.num_troubles = static_cast<int>(random.Between(1, 8));
  for (int64_t i = 0; i < random.Between(2, 3); ++i) {
    plan.tensors.push_back(ATensor(random, static_cast<int>(i), plan.rows));
  }
  constexpr int64_t kImages[] = {1, 100, 1000, int64_t{64} << 20};
  plan.max_image_bytes = kImages[random.Below(4)];
  plan.in_memory = random.Chance(0.5) ? plan.tensors.size() : random.Below(2);
  // By a seed of its own: what it adds leaves the plans of old seeds as they are.
  Random of_clients(Mix(seed) + 2);
  plan.registered = of_clients.Chance(0.5);
  plan.age_counts = of_clients.Chance(0.5);
  // An operator who comes seldom leaves the log to itself; a disk that fails often meets power
  // losses.
  constexpr int64_t kPauses[] = {10, 10, 100, 100, 1000};
  plan.operator_pause_ns = kPauses[of_clients.Below(5)] * kMillisecond;
  if (of_clients.Chance(0.3)) {
    plan.failing_syncs = 0.3;
    plan.num_troubles *= 2;
  }
  // Segments that are full after some pushes are freed, and used again, soon.
  if (of_clients.Chance(0.3)) {
    plan.log_bytes = plan.log_bytes / plan.segment_bytes * kSmallSegment;
    plan.segment_bytes = kSmallSegment;
  }
  // Many ranks that wait for a step in pulls leave no thread of a server to who is to push it.
  const bool few = plan.num_clients <= 4;
  if (plan.tensors.size() > 2 && few && random.Chance(0.6)) plan.step_tensors = 2;
  return plan;
}

World::World(const Plan& plan_in)
    : plan(plan_in),
      scheduler(plan.seed, {}),
      random(plan.seed + 77),
      network(&scheduler, random.Bits(), plan.num_servers + plan.num_clients) {
  schema.graph_name = "simulated";
  schema.node_types.push_back({.name = "node", .count = plan.rows, .features = {}});
  std::vector<int64_t> boundaries;
  for (int part = 0; part <= plan.num_servers; ++part) {
    boundaries.push_back(plan.rows / plan.num_servers * part);
  }
  book = PartitionBook::Create(schema, {boundaries}, {}).value();
  original_ids.resize(static_cast<size_t>(plan.rows));
  std::iota(original_ids.begin(), original_ids.end(), int64_t{0});
  network.chances() = plan.network;
  for (int i = 0; i < plan.num_servers; ++i) {
    servers.push_back(std::make_unique<SimServer>(this, i, random.Bits()));
  }
  for (int i = 0; i < plan.num_clients; ++i) {
    clients.push_back(std::make_unique<SimClient>(this, i, random.Bits()));
  }
}

World::~World() = default;

void World::Fail(const std::string& what) {
  if (failed()) return;
  failure = what + "\nlast calls:\n" + scheduler.LastCalls();
}

IdRange World::IdsOf(int server) const {
  const int64_t rows = plan.rows / plan.num_servers;
  return {rows * server, rows * (server + 1)};
}

namespace {

bool AllSettled(const World& world) {
  return std::all_of(world.clients.begin(), world.clients.end(),
                     [](const auto& client) { return client->finished() && client->settled(); });
}

void PlanCrash(World& world, SimServer& server) {
  Random& random = world.random;
  const bool power = world.plan.power_losses && random.Chance(0.6);
  const bool only_files = random.Chance(0.7);
  const int64_t calls = only_files ? random.Between(1, 60) : random.Between(1, 600);
  server.machine().CrashAfter(calls, only_files, power ? CrashKind::kPowerLoss : CrashKind::kKill);
}

void MakeTrouble(World& world) {
  Random& random = world.random;
  SimServer& server = *world.servers[random.Below(world.servers.size())];
  const uint64_t kind = random.Below(10);
  if (kind < 5) {
    PlanCrash(world, server);
  } else if (kind == 5) {
    server.Restart();
  } else if (kind < 8 && world.plan.disk_faults) {
    if (random.Chance(0.3)) {
      server.machine().disk().SetCapacity(server.machine().disk().used_bytes() +
                                          random.Between(0, 100'000));
    } else {
      server.machine().faults() = {
          .write = 0.03, .sync = world.plan.failing_syncs, .read = 0.02, .names = 0.05};
    }
  } else if (kind == 8) {
    const auto ends = static_cast<int64_t>(world.servers.size() + world.clients.size());
    world.network.Cut(static_cast<int>(random.Between(0, ends - 1)),
                      static_cast<int>(random.Between(0, ends - 1)),
                      world.scheduler.now_ns() + random.Between(10, 500) * kMillisecond);
  } else {
    server.machine().disk().SetCapacity(SimDisk::kPlenty);
    server.machine().faults() = {};
  }
}

void Heal(World& world) {
  world.healed = true;
  world.network.Heal();
  for (auto& server : world.servers) {
    server->machine().Heal();
  }
}

std::string WhoIsNotDone(const World& world) {
  std::string text = "after all healed, the clients were not done within a minute:";
  for (size_t i = 0; i < world.clients.size(); ++i) {
    if (!world.clients[i]->finished()) text += fmt::format(" client {} works", i);
  }
  for (const PushRecord& push : world.pushes) {
    if (push.answered_lsn < 0) text += "\n  no answer: " + push.ToString();
  }
  return text;
}

// The life of a run, on its first thread.
void Live(World& world) {
  SimScheduler& scheduler = world.scheduler;
  std::vector<std::unique_ptr<RunningThread>> threads;
  for (size_t i = 0; i < world.servers.size(); ++i) {
    SimServer* server = world.servers[i].get();
    threads.push_back(scheduler.Start(fmt::format("server{}", i), server->process(),
                                      [server] { server->Run(); }));
  }
  for (size_t i = 0; i < world.clients.size(); ++i) {
    SimClient* client = world.clients[i].get();
    threads.push_back(scheduler.Start(fmt::format("client{}", i), 0, [client] { client->Run(); }));
  }
  const auto ready = [&] { return world.failed() || AllSettled(world); };
  for (int i = 0; i < world.plan.num_troubles && !ready(); ++i) {
    scheduler.WaitUntil("trouble", scheduler.now_ns() + world.random.Between(1, 60) * kMillisecond,
                        ready);
    MakeTrouble(world);
  }
  scheduler.WaitUntil("the end of trouble",
                      scheduler.now_ns() + world.random.Between(10, 1000) * kMillisecond, ready);
  Heal(world);
  // What failed syncs dropped shows at the next start; its clients send it again.
  std::vector<int64_t> lives;
  for (auto& server : world.servers) {
    lives.push_back(server->lives());
    server->Restart();
  }
  const auto settled = [&] {
    if (world.failed()) return true;
    for (size_t i = 0; i < lives.size(); ++i) {
      if (world.servers[i]->lives() <= lives[i]) return false;
    }
    return AllSettled(world);
  };
  if (!scheduler.WaitUntil("all clients", scheduler.now_ns() + 60 * kSecond, settled)) {
    world.Fail(WhoIsNotDone(world));
  }
  world.finishing = true;
  for (auto& server : world.servers) server->Restart();
  const bool done = scheduler.WaitUntil("all servers", scheduler.now_ns() + 60 * kSecond, [&] {
    return world.failed() || std::all_of(world.servers.begin(), world.servers.end(),
                                         [](const auto& server) { return server->done(); });
  });
  if (!done) world.Fail("after all healed, the servers were not done within a minute");
  world.over = true;
  threads.clear();
}

}  // namespace

std::string RunPlan(const Plan& plan, RunStatistics* statistics) {
  auto world = std::make_unique<World>(plan);
  std::string stopped = world->scheduler.Run([&] { Live(*world); });
  *statistics = world->statistics;
  statistics->trace = world->scheduler.trace();
  statistics->calls = world->scheduler.steps();
  statistics->messages_dropped = world->network.num_dropped();
  statistics->messages_doubled = world->network.num_doubled();
  statistics->simulated_seconds =
      static_cast<double>(world->scheduler.now_ns() - kBeginningNs) * 1e-9;
  for (const auto& server : world->servers) {
    statistics->disk_faults += server->machine().num_faults();
  }
  std::string failure = stopped.empty() ? world->failure : stopped;
  if (!stopped.empty()) static_cast<void>(world.release());  // its threads stand still in it
  if (failure.empty()) return "";
  return fmt::format("seed {} ({} servers, {} clients, level {}): {}", plan.seed, plan.num_servers,
                     plan.num_clients, static_cast<int>(plan.sync), failure);
}

}  // namespace halograph::sim
