// How often the steps of a rank's training read the rows of each node, before they do: what ranks
// the rows that a cache keeps.
#pragma once

#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/sampling/inclusion.h"
#include "trainer/training/session.h"

namespace halograph {

struct ReadForecast {
  NodeChances of_step;  // the chance of each node that a step reads it; empty: not known
  double steps = 0;     // that an epoch of this rank comes to, of whole size
};

// Whether the graph tells it: the whole topology is here, and each node's draws are by itself.
// Requires session.train_maker.
[[nodiscard]] bool CanForecastReads(const Session& session);

// By the graph (common/sampling/inclusion.h). Not known where CanForecastReads says so, or the rank
// has no rows to train on. Takes up to 20 bytes a node for a while, and for each layer a
// pass over the in-edges, which `cancel` does not cut short. Requires session.train_maker.
// Errors as SeedSource::Collect; Cancelled.
[[nodiscard]] StatusOr<ReadForecast> ForecastReads(const Session& session,
                                                   const CancelToken& cancel);

// By sampling the steps of an epoch, kCountedSteps at most, spread over the rank's seeds: works
// wherever the graph is. Not known where the rank has no rows to train on. The same in every run.
// Errors as SeedSource::Collect and BatchMaker::Sample.
inline constexpr int64_t kCountedSteps = 256;
[[nodiscard]] StatusOr<ReadForecast> CountReads(const Session& session, const CancelToken& cancel);

}  // namespace halograph
