#include "trainer/training/late_figures.h"

#include <cmath>
#include <utility>

#include "trainer/training/not_finite.h"

namespace halograph {

void LateFigures::Begin(std::shared_ptr<const Step> step, const BatchLoss& loss) {
  std::vector<torch::Tensor> figures = {loss.sum};
  figures.insert(figures.end(), loss.scores.begin(), loss.scores.end());
  coming_.push_back({std::move(step), HostCopies(session_.device, figures)});
}

Status LateFigures::TakeAllBut(int64_t late) {
  while (!coming_.empty() && (std::ssize(coming_) > late || coming_.front().figures.There())) {
    const Coming come = std::move(coming_.front());
    coming_.pop_front();
    std::vector<torch::Tensor> figures = come.figures.Wait();
    const auto loss = figures.front().item<double>();
    if (!std::isfinite(loss)) {
      return Annotate(NotFinite("the loss", loss, session_.options.learning_rate),
                      fmt::format("rank {}, epoch {}, step {}", session_.options.rank,
                                  come.step->key.epoch, come.step->key.step));
    }
    figures.erase(figures.begin());
    take_(*come.step, loss, figures);
  }
  return OkStatus();
}

}  // namespace halograph
