// Training over batches that are copied ahead, on a device whose queues run in any order.
#include "trainer/device/batch_copier.h"

#include <deque>
#include <numeric>

#include "tests/support/fake_device/bits.h"
#include "tests/support/random_block.h"
#include "tests/unit/trainer_device/fake_one.h"
#include "trainer/device/host_memory.h"
#include "trainer/distributed/gradients.h"
#include "trainer/kernels/sage_layer.h"
#include "trainer/models/layer_on_device.h"
#include "trainer/training/optimizer.h"

namespace halograph {
namespace {

constexpr int64_t kSteps = 12;
constexpr int64_t kSources = 30;
constexpr int64_t kColumns = 4;
constexpr size_t kAhead = 2;

struct HostStep {
  Minibatch minibatch;
  torch::Tensor rows;
};

HostStep StepOf(int64_t step) {
  return {RandomMinibatch(static_cast<uint64_t>(10 * step)),
          (torch::arange(kSources * kColumns).view({kSources, kColumns}) + step).sin()};
}

// Two layers of GraphSAGE, clipped and stepped as training does.
class Net {
 public:
  explicit Net(const Device& device) {
    torch::manual_seed(5);
    for (const auto& sizes : {std::vector<int64_t>{6, kColumns},
                              {6, kColumns},
                              {6},
                              std::vector<int64_t>{3, 6},
                              {3, 6},
                              {3}}) {
      parameters_.push_back((torch::randn(sizes) * 0.5).to(device.torch()).requires_grad_());
    }
    gradients_ = std::make_unique<GradientBuffer>(parameters_, CarriedAs::kThemselves, device);
    optimizer_ = std::make_unique<Optimizer>(OptimizerKind::kAdam, parameters_, 0.05, 0);
  }

  // The loss.
  double Step(const torch::Tensor& rows, const std::vector<LayerOnDevice>& blocks,
              const std::function<torch::Tensor(const torch::Tensor&)>& home) {
    gradients_->Zero();
    const LayerOutput hidden = {.relu = true, .dropout = Dropout::Of(0.3, 7, 1)};
    const torch::Tensor h =
        SageLayer(rows, Ref(blocks[1]), {parameters_[0], parameters_[1], parameters_[2]}, hidden);
    const torch::Tensor out =
        SageLayer(h, Ref(blocks[0]), {parameters_[3], parameters_[4], parameters_[5]}, {});
    const torch::Tensor loss = home(out).square().sum();
    const auto value = loss.item<double>();
    loss.backward();
    static_cast<void>(ClipToNorm(gradients_->flat(), 2));
    optimizer_->Step();
    return value;
  }
  [[nodiscard]] const std::vector<torch::Tensor>& parameters() const { return parameters_; }

 private:
  static BlockRef Ref(const LayerOnDevice& layer) { return {.on_device = &layer.blocks.front()}; }

  std::vector<torch::Tensor> parameters_;
  std::unique_ptr<GradientBuffer> gradients_;
  std::unique_ptr<Optimizer> optimizer_;
};

LayerBlocks BlocksOf(const Minibatch& minibatch) {
  static const Schema schema = {.graph_name = "plain",
                                .node_types = {{.name = "node", .count = 40, .features = {}}},
                                .relations = {{"node", "edge", "node", 100, {}}},
                                .tasks = {}};
  return *MakeLayerBlocks(schema, minibatch, BlockForm::kSampled, BySource::kAll);
}

Tensors TrainOnHost() {
  Net net{Device()};
  std::vector<double> losses;
  for (int64_t step = 0; step < kSteps; ++step) {
    const HostStep host = StepOf(step);
    const LayerBlocks made = BlocksOf(host.minibatch);
    const BlockLayout layout(host.minibatch, made);
    torch::Tensor packed = torch::empty({layout.size()}, torch::kInt32);
    layout.Write(packed.data_ptr<int32_t>());
    losses.push_back(
        net.Step(host.rows, layout.Views(packed), [](const auto& out) { return out; }));
  }
  Tensors results = net.parameters();
  results.push_back(torch::tensor(losses));
  return results;
}

// As the pipeline does it: `kAhead` batches are copied while a step computes.
class DeviceRun {
 public:
  DeviceRun() : device_(FakeOne()), blocks_(device_), copier_(device_) {}

  Tensors Train() {
    Net net(device_);
    std::vector<double> losses;
    std::deque<Moved> ready;
    for (int64_t step = 0; step < kSteps; ++step) {
      for (int64_t next = step + static_cast<int64_t>(ready.size());
           ready.size() <= kAhead && next < kSteps; ++next) {
        ready.push_back(Move(next));
      }
      const Moved moved = std::move(ready.front());
      ready.pop_front();
      moved.batch->Use();
      losses.push_back(net.Step(moved.batch->tensors()[0], moved.blocks,
                                [&](const auto& out) { return device_.Home(out); }));
    }
    Tensors results = device_.Home(net.parameters());
    results.push_back(torch::tensor(losses));
    return results;
  }

 private:
  struct Moved {
    std::vector<LayerOnDevice> blocks;
    std::unique_ptr<DeviceBatch> batch;  // goes first
  };

  // In memory that the batches before it had.
  torch::Tensor OnHost(const torch::Tensor& values) {
    void* const data = blocks_.Take(values.nbytes());
    std::memcpy(data, values.data_ptr(), values.nbytes());
    return torch::from_blob(
        data, values.sizes(), [this](void* given) { blocks_.Give(given); }, values.scalar_type());
  }

  Moved Move(int64_t step) {
    const HostStep host = StepOf(step);
    const LayerBlocks made = BlocksOf(host.minibatch);
    const BlockLayout layout(host.minibatch, made);
    torch::Tensor packed = torch::empty({layout.size()}, torch::kInt32);
    layout.Write(packed.data_ptr<int32_t>());
    Moved moved;
    moved.batch = copier_.Copy({OnHost(host.rows), OnHost(packed)});
    moved.blocks = layout.Views(moved.batch->tensors()[1]);
    return moved;
  }

  const Device device_;
  HostBlocks blocks_;
  const BatchCopier copier_;
};

class BatchCopierTest : public FakeOrdersTest {};

// Where all work is done at once no wait matters: it gives what every order must give, and, but for
// rounding, what the CPU's kernels give.
TEST_P(BatchCopierTest, TrainingHasTheSameBitsInEveryOrder) {
  FakeDevice::SetOrder({FakeOrder::Runs::kAtOnce, 0});
  const Tensors wanted = DeviceRun().Train();
  const Tensors host = TrainOnHost();
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_TRUE(torch::allclose(wanted[i], host[i], 1e-3, 1e-4)) << i;
  }
  FakeDevice::SetOrder(GetParam());
  const Tensors found = DeviceRun().Train();
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_TRUE(HaveSameBits(found[i], wanted[i])) << i << ":\n" << found[i] << "\n" << wanted[i];
  }
}

// Nobody has read yet what was computed with the batch.
TEST_P(BatchCopierTest, MemoryOfTheHostIsFilledAgainOnlyAfterTheCopies) {
  const Device device = FakeOne();
  const BatchCopier copier(device);
  const torch::Tensor host = device.HostBuffer(400).view(torch::kFloat32);
  torch::Tensor sums = torch::zeros({kSteps}, device.torch());
  for (int64_t step = 0; step < kSteps; ++step) {
    host.fill_(static_cast<double>(step + 1));
    const auto batch = copier.Copy({host});
    batch->Use();
    sums[step] += batch->tensors()[0].sum();
  }
  EXPECT_TRUE(torch::equal(device.Home(sums), torch::arange(1, kSteps + 1) * 100.0F));
}

// Of rows that are there for good, and of copies that are gone when the step computes.
TEST_P(BatchCopierTest, WhatIsMadeOfCopiesIsThereWhenTheStepComputes) {
  const Device device(FakeDevice::Get(), [](int64_t bytes) {
    return FakeDevice::PinnedMemory({bytes}, torch::kUInt8);
  });
  const BatchCopier copier(device);
  torch::Tensor kept;
  static_cast<void>(copier.Copy({torch::ones({100})}, [&](std::vector<torch::Tensor>* there) {
    kept = torch::empty_like(there->front()).copy_(there->front());
    there->clear();
  }));
  torch::Tensor sums = torch::zeros({kSteps}, device.torch());
  std::deque<std::unique_ptr<DeviceBatch>> ready;
  for (int64_t step = 0; step < kSteps; ++step) {
    while (ready.size() <= kAhead) {
      const auto next = static_cast<double>(step + std::ssize(ready) + 1);
      ready.push_back(copier.Copy({torch::full({100}, next)},
                                  [&](auto* there) { there->front() = kept * there->front(); }));
    }
    ready.front()->Use();
    sums[step] += ready.front()->tensors()[0].sum();
    ready.pop_front();
  }
  EXPECT_TRUE(torch::equal(device.Home(sums), torch::arange(1, kSteps + 1) * 100.0F));
}

TEST_P(BatchCopierTest, ABatchThatNobodyUsesLeavesNothingBehind) {
  const int64_t before = FakeDevice::MemoryInUse();
  {
    const Device device = FakeOne();
    const BatchCopier copier(device);
    const auto batch = copier.Copy({torch::ones({100}), torch::Tensor()});
    EXPECT_FALSE(batch->tensors()[1].defined());
  }
  FakeDevice::Reset();
  EXPECT_EQ(FakeDevice::MemoryInUse(), before);
}

INSTANTIATE_TEST_SUITE_P(Orders, BatchCopierTest, testing::ValuesIn(FakeOrder::All()), NameOfOrder);

}  // namespace
}  // namespace halograph
