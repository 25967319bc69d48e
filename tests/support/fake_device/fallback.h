// All operators that the fake device has not of its own.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace halograph::fake_device {

// Queues the CPU's operator over the same memory. What its results are like, and whether the
// arguments fit at all, is found now, from the same operator on zeros; an operator that refuses
// zeros, or whose result's size hangs on values, finishes the stream and runs at once.
void RunOnHost(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace halograph::fake_device
