#include "trainer/training/late_figures.h"

#include <cmath>
#include <utility>

#include "trainer/training/not_finite.h"

namespace halograph {

LateFigures::LateFigures(const Session& session, Take take)
    : session_(session),
      take_(std::move(take)),
      late_(session.device, [this](const Step& step, const std::vector<torch::Tensor>& figures) {
        return TakeOne(step, figures);
      }) {}

void LateFigures::Begin(std::shared_ptr<const Step> step, const BatchLoss& loss) {
  std::vector<torch::Tensor> figures = {loss.sum};
  figures.insert(figures.end(), loss.scores.begin(), loss.scores.end());
  late_.Begin(std::move(step), figures);
}

Status LateFigures::TakeOne(const Step& step, std::vector<torch::Tensor> figures) const {
  const auto loss = figures.front().item<double>();
  if (!std::isfinite(loss)) {
    return Annotate(NotFinite("the loss", loss, session_.options.learning_rate),
                    fmt::format("rank {}, epoch {}, step {}", session_.options.rank, step.key.epoch,
                                step.key.step));
  }
  figures.erase(figures.begin());
  take_(step, loss, figures);
  return OkStatus();
}

}  // namespace halograph
