#include "tests/simulation/sim_history.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace halograph::sim {
namespace {

// Pushes that were in progress together come in any order: of nine there are 362,880, of which most
// come to the same.
constexpr int64_t kMostTries = 60'000;

bool RefusedForGood(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kResourceExhausted:
      return true;
    default:
      return false;
  }
}

}  // namespace

ServerHistory::ServerHistory(const std::vector<ModelTensor>& tensors, int64_t first_lsn)
    : tensors_(tensors), beginning_(tensors), first_lsn_(first_lsn), settled_lsn_(first_lsn) {}

void ServerHistory::PushBegins(PushRecord* push) {
  ++push->calls;
  if (push->lsn == 0 && std::find(begun_.begin(), begun_.end(), push) == begun_.end()) {
    begun_.push_back(push);
  }
}

std::string ServerHistory::PushReturned(PushRecord* push, const StatusOr<PushReceipt>& result,
                                        int64_t now_ns) {
  if (!result.ok()) {
    if (RefusedForGood(result.status()) && --push->calls == 0) std::erase(begun_, push);
    return "";
  }
  if (!push->promised) {
    push->promised = true;
    push->promised_ns = now_ns;
  }
  if (result->repeated) {
    if (push->lsn > 0 || push->calls > 1) return "";
    return fmt::format("{} was acknowledged as repeated, and had not been there", push->ToString());
  }
  if (push->lsn > 0) return fmt::format("{} was applied again", push->ToString());
  if (const auto [at, is_new] = log_.try_emplace(result->lsn, push); !is_new) {
    return fmt::format("{} got LSN {}, which {} has", push->ToString(), result->lsn,
                       at->second->ToString());
  }
  if (result->lsn <= settled_lsn_) {
    return fmt::format("{} got LSN {}, though {} was recovered", push->ToString(), result->lsn,
                       settled_lsn_);
  }
  push->lsn = result->lsn;
  push->promised_ticket = ++ticket_;
  std::erase(begun_, push);
  return "";
}

void ServerHistory::PullReturned(int64_t began, int tensor, std::vector<int64_t> positions,
                                 int64_t min_lsn, std::vector<std::byte> bytes) {
  reads_.push_back({began, ++ticket_, tensor, std::move(positions), min_lsn, std::move(bytes)});
}

void ServerHistory::CheckpointReturned(int64_t began_ns) {
  checkpointed_ns_ = std::max(checkpointed_ns_, began_ns);
}

void ServerHistory::SnapshotReturned(const SnapshotInfo& info, bool of_step) {
  // Another may have deleted it before whoever made it heard of it.
  if (deleted_.contains(info.name)) return;
  new_snapshots_[info.name] = {info.lsn, of_step ? info.step : INT64_MAX};
}

void ServerHistory::SnapshotDeleted(const std::string& name) {
  deleted_.insert(name);
  new_snapshots_.erase(name);
  snapshots_.erase(name);
}

// Finds the pushes at LSNs that are not known, so that the recovered rows follow.
class ServerHistory::OrderSearch {
 public:
  OrderSearch(const Recovered& recovered, const Log& log, std::vector<PushRecord*> candidates)
      : recovered_(recovered), log_(log), candidates_(std::move(candidates)) {
    // Those that were in the log take their place, those that were not take none.
    std::erase_if(candidates_, [&](PushRecord* push) {
      const auto known = recovered.in_log.find(push);
      return known != recovered.in_log.end() && known->second == 0;
    });
    for (PushRecord* push : candidates_) must_ += recovered.in_log.contains(push);
  }

  bool From(int64_t lsn, StoreModel model) {
    for (; lsn <= recovered_.lsn; ++lsn) {
      const auto known = log_.find(lsn);
      if (known == log_.end()) return AtGap(lsn, model);
      model.Apply(*known->second);
    }
    ++tries_;
    return must_ == 0 && model.Rows() == recovered_.rows;
  }
  const Log& found() const { return found_; }
  int64_t tries() const { return tries_; }

 private:
  bool AtGap(int64_t lsn, StoreModel& model) {
    std::vector<bool> left(candidates_.size());
    for (size_t i = 0; i < left.size(); ++i) left[i] = candidates_[i] != nullptr;
    // An order that came here with the same rows and the same pushes left has been tried.
    if (!tried_.emplace(lsn, std::move(left), model.Fingerprint()).second) return false;
    for (size_t i = 0; i < candidates_.size() && tries_ < kMostTries; ++i) {
      PushRecord* push = candidates_[i];
      if (push == nullptr) continue;
      const auto known = recovered_.in_log.find(push);
      const int must = known != recovered_.in_log.end() ? 1 : 0;
      if (must == 1 && known->second != lsn) continue;
      candidates_[i] = nullptr;
      must_ -= must;
      found_[lsn] = push;
      StoreModel next = model;
      next.Apply(*push);
      if (From(lsn + 1, std::move(next))) return true;
      found_.erase(lsn);
      must_ += must;
      candidates_[i] = push;
    }
    return false;
  }

  const Recovered& recovered_;
  const Log& log_;
  std::vector<PushRecord*> candidates_;
  int must_ = 0;
  Log found_;
  int64_t tries_ = 0;
  std::set<std::tuple<int64_t, std::vector<bool>, uint64_t>> tried_;
};

StoreModel ServerHistory::StateAt(int64_t lsn) const {
  StoreModel model = beginning_;
  for (const auto& [at, push] : log_) {
    if (at > lsn) break;
    model.Apply(*push);
  }
  return model;
}

bool ServerHistory::FollowsLost(const PushRecord& push, int64_t lsn) const {
  for (auto it = log_.upper_bound(lsn); it != log_.end(); ++it) {
    const PushRecord& lost = *it->second;
    if (lost.client_id != push.client_id) continue;
    const bool step_before =
        push.step.has_value() && lost.tensor == push.tensor && lost.sequence < push.sequence;
    if (step_before || lost.sequence <= push.answered) return true;
  }
  return false;
}

std::string ServerHistory::CheckKept(const EndOfLife& end, int64_t lsn) const {
  for (auto it = log_.upper_bound(lsn); it != log_.end(); ++it) {
    const PushRecord& push = *it->second;
    if (!push.promised) continue;
    if (push.promised_ns < std::max(end.may_lose_from_ns, checkpointed_ns_)) {
      return fmt::format("{} was acknowledged and is lost: LSN {} was recovered after {}",
                         push.ToString(), lsn, end.how);
    }
  }
  return "";
}

// Of this life.
ServerHistory::Moments ServerHistory::MomentsOf(const Log& log) const {
  Moments all;
  std::vector<std::vector<Moment>>& moments = all.by_tensor;
  moments.resize(tensors_.size());
  std::map<const PushRecord*, int64_t> lsns;
  StoreModel model = beginning_;
  for (const auto& [lsn, push] : log) {
    lsns[push] = lsn;
    Moment moment;
    for (const PushRecord* one : model.Apply(*push)) moment.lsns.insert(lsns[one]);
    all.applied.insert(moment.lsns.begin(), moment.lsns.end());
    if (lsn <= settled_lsn_ || moment.lsns.empty()) continue;
    if (!push->step.has_value()) moment.promised = push->promised_ticket;
    moment.rows = model.RowsOf(push->tensor);
    moments[static_cast<size_t>(push->tensor)].push_back(std::move(moment));
  }
  StoreModel before = StateAt(settled_lsn_);
  for (size_t t = 0; t < tensors_.size(); ++t) {
    moments[t].insert(moments[t].begin(), Moment{.rows = before.RowsOf(static_cast<int>(t))});
  }
  return all;
}

bool ServerHistory::Shows(const Read& read, const Moment& moment) const {
  const MutableTensorSpec& spec = tensors_[static_cast<size_t>(read.tensor)].spec;
  const size_t row_bytes = RowBytes(spec.dtype, spec.dim);
  for (size_t i = 0; i < read.positions.size(); ++i) {
    const std::byte* row = moment.rows.data() + static_cast<size_t>(read.positions[i]) * row_bytes;
    if (std::memcmp(read.bytes.data() + i * row_bytes, row, row_bytes) != 0) return false;
  }
  return true;
}

// A step asks for itself, and for what was applied before: moments stand in their order.
bool ServerHistory::Asks(int64_t min_lsn, const Moment& moment, const Log& log) {
  const auto push = log.find(min_lsn);
  if (push != log.end() && push->second->step.has_value()) return moment.lsns.contains(min_lsn);
  return !moment.lsns.empty() && *moment.lsns.begin() <= min_lsn;
}

std::string ServerHistory::CheckReads(const Log& log) const {
  const Moments moments = MomentsOf(log);
  std::vector<size_t> shown;  // the first moment that each read can have shown
  for (const Read& read : reads_) {
    const auto& of_tensor = moments.by_tensor[static_cast<size_t>(read.tensor)];
    const auto asked = log.find(read.min_lsn);
    if (asked != log.end() && asked->second->step.has_value() &&
        !moments.applied.contains(read.min_lsn)) {
      return fmt::format("a pull from tensor {} with min_lsn {} did not wait for its step",
                         read.tensor, read.min_lsn);
    }
    size_t at = 0;
    for (size_t m = 0; m < of_tensor.size(); ++m) {
      const Moment& moment = of_tensor[m];
      if (Asks(read.min_lsn, moment, log) || moment.promised < read.began) at = m;
    }
    for (size_t i = 0; i < shown.size(); ++i) {
      if (reads_[i].tensor == read.tensor && reads_[i].returned < read.began) {
        at = std::max(at, shown[i]);
      }
    }
    const auto found =
        std::find_if(of_tensor.begin() + static_cast<std::ptrdiff_t>(at), of_tensor.end(),
                     [&](const Moment& moment) { return Shows(read, moment); });
    if (found == of_tensor.end()) {
      const bool before = std::any_of(of_tensor.begin(), of_tensor.end(),
                                      [&](const Moment& moment) { return Shows(read, moment); });
      return fmt::format(
          "a pull from tensor {} with min_lsn {} shows {}", read.tensor, read.min_lsn,
          before ? "a moment before what it asked for, or what pulls before it showed"
                 : "no moment of the tensor");
    }
    shown.push_back(static_cast<size_t>(found - of_tensor.begin()));
  }
  return "";
}

// Pulls may have shown pushes in progress that were lost: then some order of those explains all.
std::string ServerHistory::JudgeReads() {
  constexpr size_t kMostLost = 3;
  if (begun_.size() > kMostLost) return "";
  num_judged_pulls_ += static_cast<int64_t>(reads_.size());
  std::vector<size_t> order(begun_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::string wrong;
  do {
    Log log = log_;
    int64_t lsn = settled_lsn_ + 1;
    for (const size_t i : order) {
      while (log.contains(lsn)) ++lsn;
      log[lsn] = begun_[i];
    }
    wrong = CheckReads(log);
  } while (!wrong.empty() && std::next_permutation(order.begin(), order.end()));
  return wrong;
}

// `log` is complete up to `known_lsn`.
void ServerHistory::SettleSnapshots(const Log& log, int64_t known_lsn) {
  for (const auto& [name, taken] : new_snapshots_) {
    if (taken.lsn > known_lsn) {
      snapshots_[name] = std::nullopt;
      continue;
    }
    StoreModel model = beginning_;
    for (const auto& [at, push] : log) {
      const bool later = push->step.has_value() && push->step->step > taken.last_step;
      if (at <= taken.lsn && !later) model.Apply(*push);
    }
    snapshots_[name] = model.Rows();
  }
  new_snapshots_.clear();
}

void ServerHistory::Truncate(int64_t lsn, std::vector<PushRecord*>* lost) {
  const auto forget = [&](PushRecord* push) {
    push->lsn = 0;
    if (!push->promised) return;
    push->promised = false;
    push->promised_ticket = INT64_MAX;
    lost->push_back(push);
    ++num_lost_;
  };
  for (auto it = log_.upper_bound(lsn); it != log_.end(); it = log_.erase(it)) forget(it->second);
  for (PushRecord* push : begun_) {
    push->calls = 0;
    if (push->lsn == 0) forget(push);
  }
  for (const auto& [at, push] : log_) push->calls = 0;
  begun_.clear();
}

std::string ServerHistory::Difference(const StoreRows& found, int64_t lsn) const {
  const StoreRows expected = StateAt(lsn).Rows();
  for (size_t t = 0; t < tensors_.size(); ++t) {
    if (t >= found.size() || found[t].size() != expected[t].size()) {
      return fmt::format("tensor {} is missing", t);
    }
    const size_t row_bytes = RowBytes(tensors_[t].spec.dtype, tensors_[t].spec.dim);
    for (size_t i = 0; i < found[t].size(); ++i) {
      if (found[t][i] != expected[t][i]) {
        return fmt::format("tensor {} ({}) differs first at row {}", t,
                           tensors_[t].spec.ref.ToString(), i / row_bytes);
      }
    }
  }
  return "no difference without those pushes";
}

std::string ServerHistory::LifeEnds(const EndOfLife& end, const Recovered& recovered,
                                    std::vector<PushRecord*>* lost) {
  if (std::string wrong = CheckKept(end, recovered.lsn); !wrong.empty()) return wrong;
  const int64_t from = std::min(settled_lsn_, recovered.lsn);
  OrderSearch search(recovered, log_, begun_);
  if (!search.From(from + 1, StateAt(from))) {
    std::string text = fmt::format(
        "what was recovered after {} follows from no order of the log up to LSN {} (of {} pushes "
        "known and {} in progress; {} orders tried): {}\n",
        end.how, recovered.lsn, log_.size(), begun_.size(), search.tries(),
        Difference(recovered.rows, recovered.lsn));
    for (const auto& [push, at] : recovered.in_log) {
      text += fmt::format("  {} {}\n", push->ToString(),
                          at == 0 ? "is not in the log" : fmt::format("has LSN {}", at));
    }
    for (auto it = log_.upper_bound(std::max<int64_t>(0, last_lsn() - 12)); it != log_.end();
         ++it) {
      text += fmt::format("  {}\n", it->second->ToString());
    }
    return text;
  }
  for (const auto& [lsn, push] : search.found()) {
    push->lsn = lsn;
    log_[lsn] = push;
  }
  std::erase_if(begun_, [](const PushRecord* push) { return push->lsn > 0; });
  for (const PushRecord* push : begun_) {
    if (push->promised && push->promised_ns < std::max(end.may_lose_from_ns, checkpointed_ns_)) {
      return fmt::format("{} was acknowledged and is lost after {}", push->ToString(), end.how);
    }
  }
  if (std::string wrong = JudgeReads(); !wrong.empty()) return wrong;
  SettleSnapshots(log_, begun_.empty() ? last_lsn() : recovered.lsn);
  Truncate(recovered.lsn, lost);
  settled_lsn_ = recovered.lsn;
  reads_.clear();
  checkpointed_ns_ = -1;
  return "";
}

}  // namespace halograph::sim
