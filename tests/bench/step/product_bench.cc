// The products of a training step, one by one, against the same of libtorch's BLAS, by shape: those
// of three layers of GraphSAGE unless --shape names another. Rounds are interleaved; ratios are
// medians over rounds of the ratio within a round. Products:
//   forward   x w^T
//   weights   the transpose of dz, times x; and by the bits of the mask
//   inputs    dz w; and by the bits of the mask
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/build_info.h"
#include "common/base/stopwatch.h"
#include "common/program/program.h"
#include "hwy/highway.h"
#include "tests/bench/cpu_model.h"
#include "tests/bench/measure.h"
#include "tests/bench/step/bare_products.h"

namespace halograph {
namespace {

struct Options {
  std::vector<std::vector<int64_t>> shapes = {{18600, 200, 256}, {2930, 512, 256}, {1000, 512, 47}};
  double density = 0.25;
  int threads = 1;
  int rounds = 15;
};

torch::Tensor RandomRows(int64_t rows, int64_t cols) {
  return RowsWithRoom(rows, cols).copy_(torch::rand({rows, cols}) - 0.5);
}

// Bits where `values` are not 0.
torch::Tensor MaskOf(const torch::Tensor& values) {
  const int64_t words = MaskWords(values.size(1));
  torch::Tensor mask = torch::zeros({values.size(0), words}, torch::kInt64);
  int64_t* bits = mask.data_ptr<int64_t>();
  const ConstRows rows = ConstRowsOf(values);
  for (int64_t row = 0; row < values.size(0); ++row) {
    for (int64_t c = 0; c < values.size(1); ++c) {
      const auto set = static_cast<uint64_t>(rows.data[row * rows.stride + c] != 0);
      bits[row * words + c / 64] |= static_cast<int64_t>(set << (c % 64));
    }
  }
  return mask;
}

struct Timed {
  const char* name;
  const char* of;  // the one that it is compared with
  std::function<void()> run;
};

void Measure(const Options& options, const std::vector<int64_t>& shape) {
  const int64_t rows = shape[0], in = shape[1], out = shape[2];
  const torch::Tensor x = RandomRows(rows, in), w = RandomRows(out, in), wt = RandomRows(in, out);
  torch::Tensor dz = RandomRows(rows, out);
  dz *= torch::rand({rows, out}) < options.density;
  const torch::Tensor mask = MaskOf(dz), none;
  torch::Tensor z = RowsWithRoom(rows, out), dx = RowsWithRoom(rows, in),
                dw = RowsWithRoom(out, in);
  const torch::Tensor parts = torch::empty({4, out, PaddedStride(in)}).narrow(2, 0, in);
  const std::vector<Timed> all = {
      {"forward, BLAS", "forward, BLAS", [&] { torch::mm_out(z, x, wt); }},
      {"forward", "forward, BLAS", [&] { BareProduct(x, none, wt, z); }},
      {"weights, BLAS", "weights, BLAS", [&] { torch::mm_out(dw, dz.t(), x); }},
      {"weights", "weights, BLAS", [&] { BareTransposedProduct(dz, none, x, parts); }},
      {"weights by bits", "weights, BLAS", [&] { BareTransposedProduct(dz, mask, x, parts); }},
      {"inputs, BLAS", "inputs, BLAS", [&] { torch::mm_out(dx, dz, w); }},
      {"inputs", "inputs, BLAS", [&] { BareProduct(dz, none, w, dx); }},
      {"inputs by bits", "inputs, BLAS", [&] { BareProduct(dz, mask, w, dx); }},
  };
  std::vector<std::vector<double>> seconds(all.size()), ratios(all.size());
  for (int round = -1; round < options.rounds; ++round) {  // the first warms up
    for (size_t i = 0; i < all.size(); ++i) {
      const Stopwatch watch;
      all[i].run();
      if (round >= 0) seconds[i].push_back(watch.Seconds());
    }
  }
  for (size_t i = 0, base = 0; i < all.size(); ++i) {
    if (std::string(all[i].name) == all[i].of) base = i;
    for (size_t r = 0; r < seconds[i].size(); ++r) {
      ratios[i].push_back(seconds[i][r] / seconds[base][r]);
    }
    const nlohmann::json line = {
        {"build", BuildVersion()},
        {"cpu", CpuModel()},
        {"rows", rows},
        {"in", in},
        {"out", out},
        {"product", all[i].name},
        {"threads", options.threads},
        {"rounds", options.rounds},
        {"wall_s", Median(seconds[i])},
        {"gflop_s", 2e-9 * static_cast<double>(rows * in * out) / Median(seconds[i])},
        {"times_blas", Median(ratios[i])}};
    std::puts(line.dump().c_str());
  }
}

// InvalidArgument if the processor has none of this name.
Status UseTarget(const std::string& name) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name != hwy::TargetName(target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return OkStatus();
  }
  return InvalidArgument("--target {} is none of this processor's", name);
}

Status MeasureAll(const Options& options, const std::string& target) {
  if (!target.empty()) HG_RETURN_IF_ERROR(UseTarget(target));
  at::set_num_threads(options.threads);
  torch::manual_seed(1);
  const torch::NoGradGuard no_grad;
  for (const std::vector<int64_t>& one : options.shapes) Measure(options, one);
  return OkStatus();
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) {
  using namespace halograph;
  Program program("product_bench",
                  "The products of a training step by shape; prints a JSON line a product.");
  Options options;
  std::vector<int64_t> shape;
  std::string target;
  OptionTable& rows = program.options();
  rows.Add("shape", &shape, "rows, inputs and outputs of one layer")
      .AtLeast(1)
      .Check([](const std::vector<int64_t>& sizes) {
        return sizes.empty() || sizes.size() == 3 ? OkStatus()
                                                  : InvalidArgument("expected three numbers");
      });
  rows.Add("density", &options.density, "share of rows' values that are not 0").Range(0, 1);
  rows.Add("target", &target, "of Highway, for the own products, such as AVX2");
  rows.Add("threads", &options.threads, "threads that compute").Range(1, 256);
  rows.Add("rounds", &options.rounds, "of which medians are taken").Range(1, 1000);
  program.Run([&] {
    if (!shape.empty()) options.shapes = {shape};
    return MeasureAll(options, target);
  });
  return program.Main(argc, argv);
}
