#include "server/rights/access.h"

#include <fmt/format.h>

#include "common/base/printable.h"

namespace halograph::server {
namespace {

Status Denied(const Principal& principal, Right right, std::string_view what) {
  return MakeStatus(
      absl::StatusCode::kPermissionDenied,
      fmt::format("{} may not {}: {}; who runs the servers can grant it in the file of --policy",
                  principal.name, WordOf(right), what));
}

}  // namespace

std::string NameInPolicy(const TensorRef& tensor) { return tensor.type + "/" + tensor.name; }

std::string TaskInPolicy(std::string_view task) { return fmt::format("task:{}", task); }

Status Decide(const Principal& principal, Right right, std::string_view kind,
              std::string_view what) {
  if (right == Right::kAny || principal.May(right, what)) return OkStatus();
  return Denied(principal, right, fmt::format("{} {}", kind, Printable(what, kNameShown)));
}

Status Access::ToTensor(Right right, const TensorRef& tensor) {
  decided_ = true;
  if (principal_ == nullptr) return OkStatus();
  return Decide(*principal_, right, "tensor", NameInPolicy(tensor));
}

Status Access::ToRelation(Right right, std::string_view relation) {
  decided_ = true;
  if (principal_ == nullptr) return OkStatus();
  return Decide(*principal_, right, "relation", relation);
}

Status Access::ToTask(Right right, std::string_view task) {
  decided_ = true;
  if (principal_ == nullptr) return OkStatus();
  return Decide(*principal_, right, "task set", TaskInPolicy(task));
}

Status Access::ToEverything(Right right) {
  decided_ = true;
  if (principal_ == nullptr || principal_->MayEverything(right)) return OkStatus();
  return Denied(*principal_, right, "every tensor ('*'), which this concerns");
}

Status Access::ToAnything(Right right) {
  decided_ = true;
  if (principal_ == nullptr || right == Right::kAny || principal_->MayAnything(right)) {
    return OkStatus();
  }
  return Denied(*principal_, right, "any tensor or relation");
}

bool Access::Sees(const TensorRef& tensor) const {
  return principal_ == nullptr || SeesName(NameInPolicy(tensor));
}

bool Access::SeesName(std::string_view name_in_policy) const {
  if (principal_ == nullptr) return true;
  for (auto right = static_cast<size_t>(Right::kSample); right < static_cast<size_t>(Right::kEnd);
       ++right) {
    if (principal_->May(static_cast<Right>(right), name_in_policy)) return true;
  }
  return false;
}

bool Access::SeesCallers() const {
  return principal_ == nullptr || principal_->MayAnything(Right::kAdmin);
}

bool Access::SeesEverything() const {
  return principal_ == nullptr || principal_->MayEverything(Right::kAdmin);
}

}  // namespace halograph::server
