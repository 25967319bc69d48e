// Whole runs on a device whose queues run in any order, prepared as run.cc prepares them: inputs
// that are learnt, checkpoints, models that are averaged, ranks that share the device. The same
// bits in every order, and but for rounding those of the CPU.
#include <filesystem>
#include <mutex>
#include <stdexcept>

#include <gmock/gmock.h>

#include "tests/support/fake_device/bits.h"
#include "tests/support/learnable_run.h"
#include "tests/support/ranks.h"
#include "tests/support/test_folder.h"
#include "trainer/averaging/averaged_training.h"
#include "trainer/checkpoint/checkpoints.h"
#include "trainer/launch/resolve.h"
#include "trainer/models/registry.h"
#include "trainer/run/own_state.h"
#include "trainer/run/part_sources.h"
#include "trainer/run/prepare.h"
#include "trainer/run/stores.h"

namespace halograph {
namespace {

constexpr int64_t kNever = 1 << 20;

class DeviceRunsTest : public FakeOrdersTest {
 protected:
  void SetUp() override {
    FakeOrdersTest::SetUp();
    options_ = LearnableRun(folder_.path(), 120, /*batch_size=*/20, /*epochs=*/3);
    options_.threads = 1;
    ChooseSage("batch");
    stop_ = std::move(*StopSignal::Install());
  }
  void Choose(const char* model, const std::vector<std::pair<std::string, std::string>>& words) {
    options_.model = model;
    options_.model_options = (*FindModelKind(model))->options();
    OptionTable rows;
    options_.model_options->AddRows(rows);
    for (const auto& [name, text] : words) ASSERT_TRUE(rows.Set(name, text).ok()) << name;
    Resolve(&options_);
  }
  // With batches normalised there are buffers, but the gradient of a bias is all rounding, of which
  // Adam makes steps as large as any.
  void ChooseSage(const char* norm) {
    Choose("sage", {{"hidden", "8"}, {"norm", norm}, {"dropout", "0.3"}});
  }

  static Device FakeOne() {
    return {FakeDevice::Get(),
            [](int64_t bytes) { return FakeDevice::PinnedMemory({bytes}, torch::kUInt8); }};
  }

  std::unique_ptr<Session> MakeSession(const TrainOptions& options, const Device& device,
                                       std::unique_ptr<Communicator> ranks) {
    static std::mutex generator;  // libtorch's is one for the process
    auto session = std::make_unique<Session>();
    session->options = options;
    session->options.rank = ranks->rank();
    session->options.world_size = ranks->world_size();
    session->stop = stop_.get();
    session->device = device;
    if (!device.is_cpu()) session->copier = std::make_unique<const BatchCopier>(device);
    session->stores = std::move(
        *OpenStoresOf(session->options, ChooseStateOfTraining(session->options), nullptr));
    RunInputs inputs;
    {
      const std::lock_guard lock(generator);
      session->ranks = std::move(*Communicator::Join({}));
      EXPECT_EQ(PrepareMinibatches(*session, &inputs), OkStatus());
      EXPECT_EQ(MakeModel(*session, inputs), OkStatus());
    }
    session->ranks = std::move(ranks);
    EXPECT_EQ(session->ranks->Barrier("models are made"), OkStatus());
    EXPECT_EQ(OpenLearntInputs(*session, inputs), OkStatus());
    return session;
  }

  // To its end, or until it dies after so many steps. Losses and metrics of its epochs, weights,
  // buffers, and the rows that it learnt.
  Tensors Train(const TrainOptions& options, const Device& device,
                std::unique_ptr<Communicator> ranks, int64_t steps = kNever) {
    const auto session = MakeSession(options, device, std::move(ranks));
    Tensors found;
    std::unique_ptr<Checkpoints> checkpoints;
    const auto on_step = [&](int64_t) {
      if (checkpoints != nullptr) checkpoints->Wait();  // for that of the step before
      if (--steps == 0) throw std::runtime_error("killed");
    };
    const auto on_epoch = [&](const EpochStats& stats) {
      found.push_back(torch::tensor({stats.figures[Figure::kLoss], stats.train_metric}));
      if (stats.valid.has_value()) {
        found.push_back(torch::tensor({stats.valid->metric, stats.valid->loss}));
      }
      return OkStatus();
    };
    if (!options.checkpoint.folder.empty()) {
      checkpoints = std::move(*Checkpoints::Open(*session, [](const Json&) { return OkStatus(); }));
    }
    const auto end = [&](auto& training) {
      if (checkpoints != nullptr) {
        EXPECT_EQ(checkpoints->RestoreOptimizer(training.optimizer()), OkStatus());
      }
      const auto result = training.Run();
      EXPECT_EQ(result.ok(), steps > 0) << result.status();
    };
    const TrainingStart start = checkpoints == nullptr ? TrainingStart() : checkpoints->start();
    if (options.average_every > 0) {
      const auto parts = MakePartSource(*session);
      EXPECT_TRUE(parts.ok()) << parts.status();
      AveragedTraining training(*session, parts->get(), on_step, on_epoch, start,
                                checkpoints.get());
      end(training);
    } else {
      TrainingLoop training(*session, on_step, on_epoch, start, checkpoints.get());
      end(training);
    }
    AddWhatIsLearnt(*session, &found);
    return found;
  }
  static void AddWhatIsLearnt(Session& session, Tensors* found) {
    for (const torch::Tensor& weight : session.Parameters()) {
      found->push_back(weight.detach().to(torch::kCPU));
    }
    for (const torch::Tensor& buffer : session.model->buffers()) {
      found->push_back(buffer.to(torch::kCPU));
    }
    if (session.learnt == nullptr) return;
    Minibatch all;
    all.nodes = {{}};
    for (int64_t node = 0; node < 120; ++node) all.nodes[0].push_back(node);
    const auto rows = session.learnt->Pull(all);
    EXPECT_TRUE(rows.ok()) << rows.status();
    found->push_back(rows->by_type[0].detach().clone());
  }
  Tensors Train(const TrainOptions& options, const Device& device, int64_t steps = kNever) {
    return Train(options, device, std::move(*Communicator::Join({})), steps);
  }
  // What the second run comes to, which goes on where the first died, in the midst of its second
  // epoch of three steps. (While a checkpoint is written no other is taken: the newest is that of
  // the step before or of the one before that.)
  Tensors DieAndGoOn(const Device& first, const Device& second) {
    TrainOptions options = options_;
    options.checkpoint.folder = (folder_.path() / "checkpoints").string();
    options.checkpoint.every = {.steps = 1, .time = {}};
    options.checkpoint.resume = true;
    std::filesystem::remove_all(options.checkpoint.folder);
    Train(options, first, 6);
    return Train(options, second);
  }
  // Rank 0's.
  Tensors TrainRanks(const TrainOptions& options, const Device& device, int processes,
                     int ranks_each) {
    Tensors of_first;
    RunHostedRanks(processes, ranks_each, [&](std::unique_ptr<Communicator> ranks) {
      torch::set_num_threads(1);  // of this thread
      const bool first = ranks->rank() == 0;
      Tensors found = Train(options, device, std::move(ranks));
      if (first) of_first = std::move(found);
    });
    return of_first;
  }

  // What `train` gives on the device has the same bits in this order as where all is done at once;
  // and its first epoch's loss is the CPU's but for rounding, of which Adam then makes much.
  template <typename TrainOn>
  Tensors ExpectSameBitsAndTheCpusLoss(const TrainOn& train) {
    FakeDevice::SetOrder({FakeOrder::Runs::kAtOnce, 0});
    const Tensors wanted = train(FakeOne());
    FakeDevice::SetOrder(GetParam());
    ExpectSameBits(train(FakeOne()), wanted);
    const Tensors cpu = train(Device());
    EXPECT_NEAR(wanted[0][0].template item<double>(), cpu[0][0].template item<double>(), 1e-4);
    return wanted;
  }
  static void ExpectSameBits(const Tensors& found, const Tensors& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_TRUE(HaveSameBits(found[i], wanted[i])) << "value " << i;
    }
  }
  static void ExpectClose(const Tensors& found, const Tensors& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_TRUE(torch::allclose(found[i], wanted[i], 1e-3, 1e-3)) << "value " << i;
    }
  }

  TestFolder folder_;
  TrainOptions options_;
  std::unique_ptr<StopSignal> stop_;
};

TEST_P(DeviceRunsTest, InputsThatAreLearntAreTheSameBitsInEveryOrder) {
  const auto train = [&](const Device& device) {
    TrainOptions options = options_;
    options.state.folder = folder_.path() / "state";
    std::filesystem::remove_all(options.state.folder);
    return Train(options, device);
  };
  options_.embeddings.types = {"node:8"};
  ExpectSameBitsAndTheCpusLoss(train);
  options_.embeddings.types.clear();
  Choose("rgcn", {{"hidden", "8"}, {"rgcn-input", "featureless"}});
  ExpectSameBitsAndTheCpusLoss(train);
}

TEST_P(DeviceRunsTest, ARunThatDiesGoesOnWithTheSameBits) {
  const Tensors whole = Train(options_, FakeOne());
  const Tensors rest = DieAndGoOn(FakeOne(), FakeOne());
  ASSERT_LT(rest.size(), whole.size());  // it did not begin anew
  ExpectSameBits(rest, Tensors(whole.end() - std::ssize(rest), whole.end()));
}

TEST_P(DeviceRunsTest, ARunThatDiesGoesOnOnTheOtherDevice) {
  ChooseSage("none");
  const Device cpu;
  const Tensors whole = Train(options_, cpu);
  for (const auto& [first, second] : {std::pair{FakeOne(), cpu}, {cpu, FakeOne()}}) {
    SCOPED_TRACE(first.name() + ", then " + second.name());
    const Tensors rest = DieAndGoOn(first, second);
    ASSERT_LT(rest.size(), whole.size());
    ExpectClose(rest, Tensors(whole.end() - std::ssize(rest), whole.end()));
  }
}

TEST_P(DeviceRunsTest, ModelsThatAreAveragedAreTheSameBitsInEveryOrder) {
  for (const int64_t steps : {0, 1}) {
    SCOPED_TRACE(steps);
    options_.average_every = 1;
    options_.average_steps = steps;
    ChooseSage("batch");
    ExpectSameBitsAndTheCpusLoss([&](const Device& device) { return Train(options_, device); });
    ChooseSage("none");
    ExpectClose(TrainRanks(options_, FakeOne(), 2, 1), TrainRanks(options_, Device(), 2, 1));
  }
}

TEST_P(DeviceRunsTest, RanksOfOneProcessShareTheDevice) {
  const Tensors together = ExpectSameBitsAndTheCpusLoss(
      [&](const Device& device) { return TrainRanks(options_, device, 1, 2); });
  ExpectSameBits(TrainRanks(options_, FakeOne(), 2, 1), together);
}

INSTANTIATE_TEST_SUITE_P(Orders, DeviceRunsTest, testing::ValuesIn(FakeOrder::All()), NameOfOrder);

}  // namespace
}  // namespace halograph
