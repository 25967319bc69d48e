// What one caller may do, by the policy of the moment its call came: what handlers ask before they
// look anything up, so that nobody learns what there is from an error. One thread at a time, as the
// call that it is of.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/graph/tensor_ref.h"
#include "server/rights/policy.h"

namespace halograph::server {

// As policies name what rights are about (policy.h).
[[nodiscard]] std::string NameInPolicy(const TensorRef& tensor);
[[nodiscard]] std::string TaskInPolicy(std::string_view task);

// Whether `principal` may do that to `what`, a name as above; `kind`: "tensor", "relation", "task
// set". OK, or PermissionDenied, which names the principal, the verb and what it is about, and is
// never worth repeating. kAny is granted.
[[nodiscard]] Status Decide(const Principal& principal, Right right, std::string_view kind,
                            std::string_view what);

class Access {
 public:
  // Everything, of nobody: there is no policy.
  Access() = default;
  // `principal` is one of `policy`, which is kept.
  Access(std::shared_ptr<const Policy> policy, const Principal& principal)
      : policy_(std::move(policy)), principal_(&principal) {}

  // Empty: there is no policy.
  [[nodiscard]] std::string_view name() const {
    return principal_ == nullptr ? std::string_view() : principal_->name;
  }

  // OK, or as Decide.
  [[nodiscard]] Status ToTensor(Right right, const TensorRef& tensor);
  [[nodiscard]] Status ToRelation(Right right, std::string_view relation);
  [[nodiscard]] Status ToTask(Right right, std::string_view task);
  // What concerns every tensor: the verb for "*".
  [[nodiscard]] Status ToEverything(Right right);
  // What concerns none in particular: the verb for anything.
  [[nodiscard]] Status ToAnything(Right right);

  // Whether one of them was asked: a call whose method takes a verb and that asked for none was
  // let through by mistake.
  [[nodiscard]] bool decided() const { return decided_; }

  // Whether lists and statistics tell of it: the principal has a verb for it.
  [[nodiscard]] bool Sees(const TensorRef& tensor) const;
  [[nodiscard]] bool SeesName(std::string_view name_in_policy) const;
  // Whether they tell of other callers: the principal has `admin` for something, or there is no
  // policy.
  [[nodiscard]] bool SeesCallers() const;
  // Whether they tell everything.
  [[nodiscard]] bool SeesEverything() const;

 private:
  std::shared_ptr<const Policy> policy_;
  const Principal* principal_ = nullptr;  // null: there is no policy
  bool decided_ = false;
};

}  // namespace halograph::server
