// The one door to libtorch: its headers, precompiled for all of the trainer, and the few places
// where its versions differ (1.13 on Debian 12; 2.x where a newer one is installed). Only the
// headers that something here uses: with all of <torch/torch.h> each source takes twice as long to
// begin, since GCC instantiates what precompiled headers left open in every source anew.
//
// A guard by name: GCC takes a file with another time stamp for another file, so `#pragma once`
// fails where ccache gives a clone the precompiled header that another clone made.
#ifndef HALOGRAPH_TRAINER_TORCH_TORCH_API_H_
#define HALOGRAPH_TRAINER_TORCH_TORCH_API_H_

#include <string>

#include <c10/util/Optional.h>
#include <torch/autograd.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/nn/functional/loss.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

// It is a template in libtorch's headers, and so compiled here.
#if AT_PARALLEL_OPENMP && !defined(_OPENMP)
#error "at::parallel_for is a loop on one thread without -fopenmp: link halograph::trainer_torch"
#endif

namespace halograph {

#if TORCH_VERSION_MAJOR >= 2
template <typename T>
using TorchOptional = std::optional<T>;
#else
template <typename T>
using TorchOptional = c10::optional<T>;
#endif

using GlooGroup = ::c10d::ProcessGroupGloo;

inline std::string TorchVersion() { return TORCH_VERSION; }

// The message of a libtorch exception without its C++ backtrace.
inline std::string TorchMessage(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  return torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
}

}  // namespace halograph

#endif  // HALOGRAPH_TRAINER_TORCH_TORCH_API_H_
