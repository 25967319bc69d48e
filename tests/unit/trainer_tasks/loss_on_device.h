// The loss of a task on the fake device: the CPU's bits, and nobody waits while it is made.
#pragma once

#include <vector>

#include "tests/support/fake_device/bits.h"
#include "trainer/tasks/task.h"

namespace halograph {

// Before any backward pass of the process (FakeDevice::Install).
inline const bool kFakeDeviceIsThere = (FakeDevice::Install(), true);

// What a step makes of a task: its loss, what it measures, and all gradients.
inline Tensors LearnOn(const torch::Device& device, TrainingTask& task, const Tensors& outputs,
                       const Step& batch) {
  task.MoveTo(device);
  Tensors variables;
  for (const torch::Tensor& output : outputs) {
    variables.push_back(output.detach().to(device).requires_grad_());
  }
  const Tensors given = variables;
  for (const torch::Tensor& weight : task.parameters()) variables.push_back(weight);
  for (const torch::Tensor& variable : variables) variable.mutable_grad() = torch::Tensor();
  // As feeds copy it ahead of the step.
  Step step;
  step.labels = batch.labels;
  step.row_weights = batch.row_weights;
  step.rows = batch.rows;
  step.seed_types = batch.seed_types;
  step.minibatch.seed_positions = batch.minibatch.seed_positions;
  step.minibatch.nodes = batch.minibatch.nodes;
  auto there = std::make_unique<TaskTensors>();
  there->labels = LabelsOf(batch).to(device);
  if (!batch.row_weights.empty()) there->row_weights = RowWeightsOf(batch, device);
  for (size_t list = 0; list < batch.minibatch.seed_positions.size(); ++list) {
    there->positions.push_back(PositionsOf(batch, list).to(device));
  }
  step.tensors = std::move(there);
  const int64_t waits = FakeDevice::Waits();
  const BatchLoss loss = task.Loss(given, step);
  (loss.sum / 3).backward();
  EXPECT_EQ(FakeDevice::Waits(), waits) << "a step waits for nothing";
  Tensors found = {loss.sum.detach()};
  found.insert(found.end(), loss.scores.begin(), loss.scores.end());
  for (const torch::Tensor& variable : variables) found.push_back(variable.grad());
  for (torch::Tensor& tensor : found) tensor = tensor.to(torch::kCPU).clone();
  std::vector<double> sums(task.metric().sums);
  task.Measure({found.begin() + 1, found.begin() + 1 + std::ssize(loss.scores)}, step, sums);
  found.push_back(torch::tensor(sums, torch::kFloat64));
  for (const torch::Tensor& variable : variables) variable.mutable_grad() = torch::Tensor();
  task.MoveTo(torch::kCPU);
  return found;
}

inline void ExpectLossOfCpu(TrainingTask& task, const Tensors& outputs, const Step& batch) {
  FakeDevice::Reset();
  // The first use of weights copies them.
  static_cast<void>(LearnOn(torch::kCPU, task, outputs, batch));
  const Tensors wanted = LearnOn(torch::kCPU, task, outputs, batch);
  static_cast<void>(task.Loss({outputs.front().to(FakeDevice::Get())}, batch));
  const Tensors found = LearnOn(FakeDevice::Get(), task, outputs, batch);
  FakeDevice::Reset();
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_TRUE(HaveSameBits(found[i], wanted[i])) << i << ":\n"
                                                   << found[i] << "\nexpected\n"
                                                   << wanted[i];
  }
}

}  // namespace halograph
