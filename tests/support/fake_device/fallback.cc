#include "tests/support/fake_device/fallback.h"

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/EmptyTensor.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/enum_tag.h>

#include "tests/support/fake_device/kernels.h"

namespace halograph::fake_device {
namespace {

using torch::jit::Stack;
using Tensors = std::vector<at::Tensor>;

// The value with `replace(tensor)` for each defined tensor in it.
template <typename Replace>
at::IValue Replaced(const at::IValue& value, const Replace& replace) {
  const auto replaced = [&](const at::Tensor& tensor) {
    return tensor.defined() ? replace(tensor) : tensor;
  };
  if (value.isTensor()) return replaced(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(replaced(tensor));
    return list;
  }
  if (value.isOptionalTensorList()) {
    auto list = value.toOptionalTensorList().copy();
    for (size_t i = 0; i < list.size(); ++i) {
      const auto tensor = list.get(i);
      if (tensor.has_value()) list.set(i, replaced(*tensor));
    }
    return list;
  }
  if (value.isDevice()) return at::Device(at::kCPU);
  return value;
}

// The values with the tensors in them replaced by `others`, in turn.
Stack WithTensors(const Stack& values, const Tensors& others) {
  Stack result;
  size_t next = 0;
  for (const at::IValue& value : values) {
    result.push_back(
        Replaced(value, [&](const at::Tensor& /*tensor*/) { return others.at(next++); }));
  }
  return result;
}

Tensors TensorsOf(const Stack& values) {
  Tensors tensors;
  for (const at::IValue& value : values) {
    (void)Replaced(value, [&](const at::Tensor& tensor) {
      tensors.push_back(tensor);
      return tensor;
    });
  }
  return tensors;
}

// A number that takes part in an operation takes no part in choosing its type.
at::Tensor AsNumberLike(const at::Tensor& like, at::Tensor tensor) {
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) {
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return tensor;
}

at::Tensor ZerosLike(const at::Tensor& tensor) {
  const size_t elements = at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), 1);
  const auto options = at::TensorOptions(at::kCPU).dtype(tensor.dtype());
  return at::zeros({static_cast<int64_t>(elements)}, options)
      .as_strided(tensor.sizes(), tensor.strides());
}

// The arguments outlive the call: libtorch reads results that are arguments after it has let go of
// its own.
Stack Call(const c10::OperatorHandle& op, const Stack& arguments) {
  Stack stack = arguments;
  op.callBoxed(&stack);
  return stack;
}

// The operators that take indices of the host, since they copy them.
bool TakesHostIndices(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"aten::index", "aten::index_put",
                                                      "aten::index_put_", "aten::_index_put_impl_"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

struct FakeResult {
  enum class Is { kArgument, kViewOfArgument, kFresh };
  at::Tensor tensor;
  Is is;
};

// One call of an operator.
class FakeCall {
 public:
  FakeCall(const c10::OperatorHandle& op, Stack arguments)
      : op_(op), arguments_(std::move(arguments)), tensors_(TensorsOf(arguments_)) {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      argument_of_.resize(argument_of_.size() + TensorsOf({arguments_[i]}).size(),
                          &op_.schema().arguments().at(i));
    }
    Refuse();
    for (at::Tensor& tensor : tensors_) {
      if (!IsOnDevice(tensor)) tensor = AsNumberLike(tensor, tensor.clone());
    }
  }

  // Its results.
  [[nodiscard]] Stack Run() const;

 private:
  void Refuse() const;
  [[nodiscard]] bool HangsOnValues() const;
  [[nodiscard]] Stack RunLater(const Stack& trial, const Tensors& zeros) const;
  [[nodiscard]] Stack RunNow() const;

  struct HostCopy {
    at::Tensor from;
    at::Tensor to;
  };
  // Of what the operator wrote to `from` for tensors given as `out=`, which get the sizes of
  // `like`.
  [[nodiscard]] std::vector<HostCopy> CopiesOfOut(const Tensors& like, const Tensors& from) const;
  // The tensors of the arguments, those on the device replaced by what `make` makes of them, and
  // those given as `out=` by empty ones: some operators have them of several sizes in turn.
  template <typename Make>
  [[nodiscard]] Tensors OfHost(const Make& make) const;
  // What stands for a result of the operator called with `of_host`.
  [[nodiscard]] FakeResult OnDevice(const at::Tensor& result, const Tensors& of_host) const;

  const c10::OperatorHandle op_;
  const Stack arguments_;
  Tensors tensors_;                                // of the arguments; those of the host are copies
  std::vector<const c10::Argument*> argument_of_;  // of each
};

void FakeCall::Refuse() const {
  const std::string& name = op_.schema().name();
  TORCH_CHECK(!op_.hasTag(at::Tag::nondeterministic_seeded), name,
              ": the fake device draws no random numbers: draw them on the CPU, and copy");
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const auto* const alias = argument_of_[i]->alias_info();
    const bool is_written = alias != nullptr && alias->isWrite();
    const bool is_on_host = !IsOnDevice(tensors_[i]);
    const bool may_be = !is_written && (tensors_[i].dim() == 0 || TakesHostIndices(name));
    TORCH_CHECK(!is_on_host || may_be, name,
                ": expected all tensors to be on the same device, but one is on the host");
  }
}

bool FakeCall::HangsOnValues() const {
  if (op_.schema().name() == "aten::index") {  // only where a mask says which
    return std::any_of(tensors_.begin() + 1, tensors_.end(), [](const at::Tensor& index) {
      return index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
    });
  }
  return op_.hasTag(at::Tag::data_dependent_output) || op_.hasTag(at::Tag::dynamic_output_shape);
}

template <typename Make>
Tensors FakeCall::OfHost(const Make& make) const {
  Tensors made;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const at::Tensor& tensor = tensors_[i];
    if (argument_of_[i]->is_out()) {
      made.push_back(at::empty({0}, at::TensorOptions(at::kCPU).dtype(tensor.dtype())));
    } else {
      made.push_back(IsOnDevice(tensor) ? AsNumberLike(tensor, make(tensor)) : tensor);
    }
  }
  return made;
}

FakeResult FakeCall::OnDevice(const at::Tensor& result, const Tensors& of_host) const {
  for (size_t i = 0; i < of_host.size(); ++i) {  // in place, or `out=`
    if (result.is_same(of_host[i])) return {tensors_[i], FakeResult::Is::kArgument};
  }
  for (size_t i = 0; i < of_host.size(); ++i) {
    const at::Tensor& argument = tensors_[i];
    if (!IsOnDevice(argument) || !result.is_alias_of(of_host[i])) continue;
    const int64_t offset = result.storage_offset() - of_host[i].storage_offset();
    return {ViewOnDevice(argument, result.sizes(), result.strides(),
                         argument.storage_offset() + offset),
            FakeResult::Is::kViewOfArgument};
  }
  return {EmptyOnDevice(result.sizes(), result.strides(), result.scalar_type()),
          FakeResult::Is::kFresh};
}

Stack FakeCall::Run() const {
  if (HangsOnValues()) return RunNow();
  const Tensors zeros = OfHost(ZerosLike);
  Stack trial;
  try {
    trial = Call(op_, WithTensors(arguments_, zeros));
  } catch (const std::exception&) {
    // With the values as they are it may run, or say better what is wrong with them.
    return RunNow();
  }
  for (const at::IValue& value : trial) {
    if (!value.isTensor() && !value.isTensorList()) return RunNow();
  }
  return RunLater(trial, zeros);
}

Stack FakeCall::RunLater(const Stack& trial, const Tensors& zeros) const {
  Tensors fresh;  // of each result, undefined where the operator itself writes to the device
  bool are_views = !trial.empty();
  Stack results;
  for (const at::IValue& value : trial) {
    results.push_back(Replaced(value, [&](const at::Tensor& result) {
      const FakeResult made = OnDevice(result, zeros);
      are_views = are_views && made.is == FakeResult::Is::kViewOfArgument;
      fresh.push_back(made.is == FakeResult::Is::kFresh ? OnHost(made.tensor) : at::Tensor());
      return made.tensor;
    }));
  }
  if (are_views) return results;
  const Tensors of_host = OfHost(OnHost);
  QueueOnCurrent([op = op_, arguments = WithTensors(arguments_, of_host), fresh,
                  copies = CopiesOfOut(zeros, of_host)] {
    const Tensors made = TensorsOf(Call(op, arguments));
    for (size_t i = 0; i < fresh.size(); ++i) {
      if (fresh[i].defined()) fresh[i].copy_(made.at(i));
    }
    for (const auto& [from, to] : copies) to.copy_(from);
  });
  return results;
}

std::vector<FakeCall::HostCopy> FakeCall::CopiesOfOut(const Tensors& like,
                                                      const Tensors& from) const {
  std::vector<HostCopy> copies;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!argument_of_[i]->is_out()) continue;
    if (tensors_[i].sizes() != like[i].sizes()) {
      ResizeOnDevice(tensors_[i], like[i].sizes(), like[i].strides());
    }
    copies.push_back({from[i], OnHost(tensors_[i])});
  }
  return copies;
}

Stack FakeCall::RunNow() const {
  FinishCurrent();
  const Tensors of_host = OfHost(OnHost);
  const Stack values = Call(op_, WithTensors(arguments_, of_host));
  std::vector<HostCopy> copies = CopiesOfOut(of_host, of_host);
  Stack results;
  for (const at::IValue& value : values) {
    results.push_back(Replaced(value, [&](const at::Tensor& result) {
      const FakeResult made = OnDevice(result, of_host);
      if (made.is == FakeResult::Is::kFresh) copies.push_back({result, OnHost(made.tensor)});
      return made.tensor;
    }));
  }
  QueueOnCurrent([copies] {
    for (const auto& [from, to] : copies) to.copy_(from);
  });
  return results;
}

}  // namespace

void RunOnHost(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const at::AutoDispatchBelowADInplaceOrView below;
  Stack arguments = torch::jit::pop(*stack, op.schema().arguments().size());
  for (at::IValue& result : FakeCall(op, std::move(arguments)).Run()) {
    stack->push_back(std::move(result));
  }
}

}  // namespace halograph::fake_device
