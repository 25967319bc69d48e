#include "tests/support/fake_device/kernels.h"

#include <cstring>
#include <utility>

#include <ATen/EmptyTensor.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>

#include "tests/support/fake_device/memory.h"
#include "tests/support/fake_device/streams.h"
#include "trainer/torch/torch_api.h"

namespace halograph::fake_device {
namespace {

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

at::Tensor Empty(at::IntArrayRef sizes, TorchOptional<at::ScalarType> type,
                 TorchOptional<at::Layout> /*layout*/, TorchOptional<at::Device> /*device*/,
                 TorchOptional<bool> is_pinned, TorchOptional<at::MemoryFormat> format) {
  TORCH_CHECK(!is_pinned.value_or(false), "Only memory of the host can be pinned");
  return at::detail::empty_generic(sizes, DeviceAllocator(), kKeys, c10::dtype_or_default(type),
                                   format);
}

at::Tensor EmptyStrided(at::IntArrayRef sizes, at::IntArrayRef strides,
                        TorchOptional<at::ScalarType> type, TorchOptional<at::Layout> /*layout*/,
                        TorchOptional<at::Device> /*device*/, TorchOptional<bool> /*is_pinned*/) {
  return EmptyOnDevice(sizes, strides, c10::dtype_or_default(type));
}

const at::Tensor& Resize(const at::Tensor& tensor, at::IntArrayRef sizes,
                         TorchOptional<at::MemoryFormat> format) {
  TORCH_CHECK(format.value_or(at::MemoryFormat::Contiguous) == at::MemoryFormat::Contiguous,
              "The fake device resizes to contiguous tensors only");
  const at::Tensor like = at::empty(sizes, tensor.options().device(at::kMeta));
  ResizeOnDevice(tensor, sizes, like.strides());
  return tensor;
}

// One block of memory on either side, of the same elements in the same places: what a device copies
// without a temporary.
bool IsPlainCopy(const at::Tensor& from, const at::Tensor& to) {
  return from.scalar_type() == to.scalar_type() && from.sizes() == to.sizes() &&
         from.is_contiguous() && to.is_contiguous();
}

void QueuePlainCopy(const at::Tensor& from, const at::Tensor& to) {
  QueueOnCurrent([source = from.data_ptr(), target = to.data_ptr(), bytes = from.nbytes()] {
    std::memcpy(target, source, bytes);
  });
}

// Between pinned memory and the device, when its turn comes.
void CopyLater(const at::Tensor& from, const at::Tensor& to, MemoryBlock* pinned) {
  QueuePlainCopy(from, to);
  pinned->busy.push_back(Streams::The().Record(Streams::Current()));
}

void CopyToDevice(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  const auto lock = Lock();
  MemoryBlock* const pinned = PinnedBlockOf(from.data_ptr());
  if (non_blocking && pinned != nullptr && IsPlainCopy(from, to)) {
    CopyLater(from, to, pinned);
    return;
  }
  at::Tensor staged =
      at::empty(to.sizes(), from.options().dtype(to.scalar_type()).pinned_memory(false));
  staged.copy_(from);  // as the host has it now
  QueueOnCurrent([staged, target = OnHost(to)] { target.copy_(staged); });
  if (!non_blocking) FinishCurrent();
}

void CopyToHost(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  const auto lock = Lock();
  MemoryBlock* const pinned = PinnedBlockOf(to.data_ptr());
  if (non_blocking && pinned != nullptr && IsPlainCopy(from, to)) {
    CopyLater(from, to, pinned);
    return;
  }
  FinishCurrent();
  to.copy_(OnHost(from));
}

at::Tensor CopyFrom(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  if (from.numel() == 0 && to.numel() == 0) return to;
  if (!IsOnDevice(from)) {
    CopyToDevice(from, to, non_blocking);
  } else if (!IsOnDevice(to)) {
    CopyToHost(from, to, non_blocking);
  } else {
    QueueOnCurrent([source = OnHost(from), target = OnHost(to)] { target.copy_(source); });
  }
  return to;
}

at::Scalar Item(const at::Tensor& tensor) {
  FinishCurrent();
  return at::_local_scalar_dense(OnHost(tensor));
}

void RecordStream(at::Tensor& tensor, at::Stream stream) {
  UseOnStream(tensor.storage().data_ptr(), static_cast<int>(stream.id()));
}

// So that a module's parameters move from the host to the device and back, as they do with CUDA.
bool CanShareMetadata(const at::Tensor& /*tensor*/, const at::Tensor& /*from*/) { return true; }

}  // namespace

at::Tensor EmptyOnDevice(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type) {
  return at::detail::empty_strided_generic(sizes, strides, DeviceAllocator(), kKeys, type);
}

at::Tensor OnHost(const at::Tensor& tensor) {
  const auto options = at::TensorOptions(at::kCPU).dtype(tensor.dtype());
  if (tensor.numel() == 0) return at::empty_strided(tensor.sizes(), tensor.strides(), options);
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(), options);
}

at::Tensor ViewOnDevice(const at::Tensor& tensor, at::IntArrayRef sizes, at::IntArrayRef strides,
                        int64_t storage_offset) {
  return at::native::as_strided_tensorimpl(tensor, sizes, strides, storage_offset);
}

void ResizeOnDevice(const at::Tensor& tensor, at::IntArrayRef sizes, at::IntArrayRef strides) {
  const c10::Storage storage = tensor.storage();
  const size_t bytes = at::detail::computeStorageNbytes(sizes, strides, tensor.dtype().itemsize(),
                                                        tensor.storage_offset());
  if (bytes > storage.nbytes()) {
    const auto lock = Lock();
    c10::DataPtr memory = DeviceAllocator()->allocate(bytes);
    QueueOnCurrent(
        [source = storage.data_ptr().get(), target = memory.get(), held = storage.nbytes()] {
          if (held > 0) std::memcpy(target, source, held);
        });
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(memory));
    storage.unsafeGetStorageImpl()->set_nbytes(bytes);
  }
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
}

void QueueOnCurrent(std::function<void()> task) {
  const auto lock = Lock();
  Streams::The().Queue(Streams::Current(), [run = std::move(task)] {
    const at::AutoDispatchBelowADInplaceOrView below;
    run();
  });
}

void FinishCurrent() {
  const auto lock = Lock();
  Streams::The().WaitFor(Streams::Current());
  Streams::The().ThrowKept();
}

void RegisterOwnKernels(torch::Library& library) {
  library.impl("empty.memory_format", &Empty);
  library.impl("empty_strided", &EmptyStrided);
  library.impl("as_strided", &at::native::as_strided_tensorimpl);
  library.impl("view",
               static_cast<at::Tensor (*)(const at::Tensor&, at::IntArrayRef)>(&at::native::view));
  library.impl("_reshape_alias", &at::native::_reshape_alias);
  library.impl("resize_", &Resize);
  library.impl("_copy_from", &CopyFrom);
  library.impl("_local_scalar_dense", &Item);
  library.impl("record_stream", &RecordStream);
  library.impl("_has_compatible_shallow_copy_type", &CanShareMetadata);
}

void RegisterAboveAutograd(torch::Library& library) {
  library.impl("_has_compatible_shallow_copy_type", &CanShareMetadata);
}

}  // namespace halograph::fake_device
