#include "tests/simulation/sim_client.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace halograph::sim {

SimClient::SimClient(World* world, int index, uint64_t seed)
    : world_(world),
      index_(index),
      random_(seed),
      client_id_(random_.Bits()),
      servers_(static_cast<size_t>(world->plan.num_servers)) {
  for (OfServer& server : servers_) server.last_lsn.resize(world->plan.tensors.size());
}

void SimClient::Run() {
  const Plan& plan = world_->plan;
  int64_t step = 0;
  int batches = 0;
  while ((step < plan.num_steps || batches < plan.num_batches) && !world_->over) {
    const int64_t steps_left = plan.num_steps - step;
    const int64_t left = steps_left + plan.num_batches - batches;
    if (random_.Between(1, left) <= steps_left) {
      Step(step++);
    } else {
      Batch();
      ++batches;
    }
  }
  finished_ = true;
  while (!world_->over) {
    Settle();
    world_->scheduler.WaitUntil("lost pushes or the end", kForever,
                                [this] { return world_->over || !AllDone(); });
  }
}

// Every rank pushes to every server, and then reads what the step made of the rows.
void SimClient::Step(int64_t step) {
  for (int server = 0; server < world_->plan.num_servers; ++server) {
    for (int tensor = 0; tensor < world_->plan.step_tensors; ++tensor) {
      NewPush(server, tensor)->step = SyncStep{.step = step,
                                               .rank = index_,
                                               .world_size = world_->plan.num_clients,
                                               .run = world_->plan.seed + 1};
    }
  }
  if (world_->plan.ahead && random_.Chance(0.5)) return;
  Settle();
  for (int server = 0; server < world_->plan.num_servers; ++server) {
    // All ranks have pushed the step to the others, if it is complete in the last.
    const int last = world_->plan.step_tensors - 1;
    if (!world_->plan.ahead || random_.Chance(0.5)) AddPull(server, last);
    if (last > 0 && random_.Chance(0.1)) AddPull(server, 0);
  }
  Settle();
}

void SimClient::Batch() {
  const auto num_tensors = static_cast<int64_t>(world_->plan.tensors.size());
  const int64_t first = world_->plan.step_tensors;
  if (num_tensors > first) {
    for (int64_t left = random_.Between(1, 4); left > 0; --left) {
      const auto server = static_cast<int>(random_.Below(servers_.size()));
      PushRecord* push = NewPush(server, static_cast<int>(random_.Between(first, num_tensors - 1)));
      constexpr PushKind kKinds[] = {PushKind::kGradient, PushKind::kGradient, PushKind::kAdd,
                                     PushKind::kAssign};
      push->kind = kKinds[random_.Below(4)];
    }
  }
  if (random_.Chance(0.5)) Settle();
  for (int64_t left = random_.Between(0, 2); left > 0; --left) {
    AddPull(static_cast<int>(random_.Below(servers_.size())),
            static_cast<int>(random_.Between(0, num_tensors - 1)));
  }
  Settle();
}

PushRecord* SimClient::NewPush(int server, int tensor) {
  OfServer& of = servers_[static_cast<size_t>(server)];
  PushRecord& push = world_->pushes.emplace_back();
  push.client = index_;
  push.server = server;
  push.tensor = tensor;
  push.client_id = client_id_;
  push.sequence = of.next_sequence++;
  push.registered = world_->plan.registered;
  const IdRange ids = world_->IdsOf(server);
  const MutableTensorSpec& spec = world_->plan.tensors[static_cast<size_t>(tensor)];
  // Long ones go over several blocks of the log. Sums of the values are rounded, so that order
  // shows.
  int64_t count = random_.Between(1, 8);
  if (random_.Chance(0.2)) count = random_.Between(20, 100);
  if (random_.Chance(0.05)) count = 0;
  for (; count > 0; --count) {
    push.ids.push_back(random_.Between(ids.begin, ids.end - 1));
    for (int64_t c = 0; c < spec.dim; ++c) {
      push.values.push_back(static_cast<float>(random_.Between(-1'000'000, 1'000'000)) / 333333.0F);
    }
  }
  of.pushes.push_back(&push);
  ++world_->statistics.pushes;
  return &push;
}

void SimClient::AddPull(int server, int tensor) {
  const IdRange ids = world_->IdsOf(server);
  const auto call = std::make_shared<Call>();
  call->client = index_;
  call->server = server;
  call->number = next_number_++;
  call->tensor = tensor;
  for (int64_t left = random_.Between(1, 10); left > 0; --left) {
    call->positions.push_back(random_.Between(0, ids.size() - 1));
  }
  pulls_.push_back({.call = call});
  ++world_->statistics.pulls;
}

bool SimClient::AllDone() const {
  return settled() &&
         std::all_of(pulls_.begin(), pulls_.end(), [](const auto& p) { return p.done; });
}

bool SimClient::settled() const {
  for (const OfServer& server : servers_) {
    for (const PushRecord* push : server.pushes) {
      if (push->answered_lsn < 0) return false;
    }
  }
  return true;
}

void SimClient::Settle() {
  const int end = world_->EndOfClient(index_);
  while (!AllDone() && !world_->over) {
    SendDue();
    int64_t until_ns = kForever;
    for (const OfServer& server : servers_) {
      for (const PushRecord* push : server.pushes) {
        if (push->answered_lsn < 0 && MayGo(*push))
          until_ns = std::min(until_ns, push->next_try_ns);
      }
    }
    for (const Pending& pull : pulls_) {
      if (!pull.done) until_ns = std::min(until_ns, pull.next_try_ns);
    }
    until_ns = std::min(until_ns, world_->network.NextArrivalNs(end));
    world_->scheduler.WaitUntil("answers", until_ns, [this, end] {
      return world_->over || world_->network.HasArrived(end);
    });
    while (const auto answer = world_->network.Take(end)) Receive(*answer);
  }
  pulls_.clear();
}

// Synchronous pushes go one after the other, others at most kPushWindow ahead of the first that
// waits.
bool SimClient::MayGo(const PushRecord& push) const {
  for (const PushRecord* before : servers_[static_cast<size_t>(push.server)].pushes) {
    if (before == &push) return true;
    if (before->answered_lsn >= 0) continue;
    if (before->step.has_value() && push.step.has_value()) return false;
    if (push.sequence >= before->sequence + kPushWindow) return false;
  }
  return true;
}

uint64_t SimClient::AnsweredBefore(const OfServer& server, const PushRecord& push) {
  for (const PushRecord* before : server.pushes) {
    if (before == &push || before->answered_lsn < 0) return before->sequence - 1;
  }
  return 0;
}

int64_t SimClient::RetryDelayNs() { return random_.Between(20, 120) * kMillisecond; }

void SimClient::SendDue() {
  const int64_t now_ns = world_->scheduler.now_ns();
  for (OfServer& server : servers_) {
    for (PushRecord* push : server.pushes) {
      if (push->answered_lsn >= 0 || push->next_try_ns > now_ns || !MayGo(*push)) continue;
      const auto call = std::make_shared<Call>();
      call->client = index_;
      call->server = push->server;
      call->push = push;
      call->losses = server.losses;
      if (push->registered && !std::exchange(push->sent, true)) {
        push->answered = AnsweredBefore(server, *push);
      }
      push->next_try_ns = now_ns + RetryDelayNs();
      world_->network.Send(world_->EndOfClient(index_), push->server, call);
    }
  }
  for (Pending& pull : pulls_) {
    if (pull.done || pull.next_try_ns > now_ns) continue;
    const OfServer& server = servers_[static_cast<size_t>(pull.call->server)];
    pull.call = std::make_shared<Call>(*pull.call);
    // Where ranks go ahead, or push lost steps again, it may come after that of another rank's push
    // of a later step, which waits for this client.
    pull.call->min_lsn = server.last_lsn[static_cast<size_t>(pull.call->tensor)];
    pull.call->losses = server.losses;
    pull.next_try_ns = now_ns + RetryDelayNs();
    world_->network.Send(world_->EndOfClient(index_), pull.call->server, pull.call);
  }
}

void SimClient::Receive(const Call& answer) {
  OfServer& server = servers_[static_cast<size_t>(answer.server)];
  if (answer.losses != server.losses) return;  // of a server that has forgotten since
  if (answer.push != nullptr) {
    if (answer.status.ok() && answer.push->answered_lsn < 0) {
      answer.push->answered_lsn = answer.receipt.lsn;
      int64_t& last_lsn = server.last_lsn[static_cast<size_t>(answer.push->tensor)];
      last_lsn = std::max(last_lsn, answer.receipt.lsn);
    }
    return;
  }
  for (Pending& pull : pulls_) {
    if (pull.call->number == answer.number && answer.status.ok()) pull.done = true;
  }
}

void SimClient::ForgetLsns(int server) {
  OfServer& of = servers_[static_cast<size_t>(server)];
  std::fill(of.last_lsn.begin(), of.last_lsn.end(), 0);
  for (PushRecord* push : of.pushes) {
    if (push->answered_lsn < 0) push->sent = false;  // less is answered than it said
  }
  ++of.losses;
}

}  // namespace halograph::sim
