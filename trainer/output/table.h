// What a run tells its user at its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halograph {

// Two columns of the model's inputs that do not vary alike: `ratio` is the deviation of the wide
// one by that of the narrow one. Named as "3 of 'feat'".
struct UnlikeColumns {
  double ratio = 1;
  std::string wide, narrow;
};

struct RunSummary {
  int64_t epochs = 0;  // asked for
  int64_t epochs_done = 0;
  bool stopped = false;         // by a signal, before the end
  std::string_view limit = {};  // the option that ended training before its last epoch; or none
  // Of the best epoch by validation, all of them.
  int64_t best_epoch = 0;  // from 0
  double loss = 0;
  double train = 0;  // the metric of the minibatches that were trained on; NaN: not to be compared
  std::string_view metric;  // "accuracy"
  bool share = true;        // it is from 0 to 1; else differences count by its own size
  bool higher_is_better = true;
  std::optional<double> valid;  // none: no such set
  std::optional<double> test;
  // The best validation metric of the first three quarters of the epochs; none: not known.
  std::optional<double> earlier;
  // The metric of naming always the most frequent class of the test set (else of the validation
  // set). None: there is no such thing, or no such set.
  std::optional<double> most_frequent;

  double train_seconds = 0;  // over all epochs
  double eval_seconds = 0;
  double total_seconds = 0;  // of the whole run: opening, training, evaluation, prediction
  double sampled_edges = 0;
  double learning_rate = 0;
  bool warming_up = false;  // to its end: the rate never came to learning_rate
  double weight_decay = 0;
  bool normalized = false;  // --normalize-features row or standard
  // Where inputs are learnt: their own decay; and the option by which the model would have inputs
  // of its own, if no node has features.
  std::optional<double> embed_weight_decay = {};
  std::string_view own_inputs_by = {};
  // The two that vary least alike; none: not known, or nothing can be done.
  std::optional<UnlikeColumns> unlike = std::nullopt;
};

// As lines for people, each with its end of line. Advice stands at the end.
[[nodiscard]] std::string SummaryTable(const RunSummary& summary);

// What to try where a run has learnt little, a sentence each; empty where nothing is amiss.
[[nodiscard]] std::vector<std::string> Advice(const RunSummary& summary);

}  // namespace halograph
