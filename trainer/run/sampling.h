// What training's minibatches are drawn by, and what a sampler knows of the whole graph before the
// first step.
#pragma once

#include "common/base/status.h"
#include "common/sampling/request.h"
#include "trainer/options/model_options.h"
#include "trainer/training/session.h"

namespace halograph {

// What is drawn. Evaluation draws neighbours, whatever training does. Requires session.task.
// Errors name the options.
[[nodiscard]] StatusOr<SamplingSpec> SamplingOf(const Session& session, const ModelNeeds& needs,
                                                bool training);

// Makes steps be about the rows that subgraphs have, where these are drawn. Reads what a sampler
// knows of the whole graph before the first step: draws by degree hold those of all nodes;
// GraphSAINT's need a relation that is symmetric, and those of walks chances (Session::tables).
// Where estimates are divided by sums of edge weights, these. All ranks call it, and meet
// meanwhile (WorkTogether). Requires the makers, which have to be made again where there are tables
// then.
//   ResourceExhausted   what --sampler-memory has no room for: its size is named
//   FailedPrecondition  a relation that is not symmetric; no clusters, where these are drawn
//   InvalidArgument     sums of edge weights, and a task that leaves edges out; subgraphs, and a
//                       task about edges; clusters, as CheckClusters
//   else                as GraphStore::Sample and Ask, ReadWeightSums and WorkTogether
[[nodiscard]] Status PrepareSampler(Session& session, const ModelNeeds& needs);

// Of what is probably not meant. On one rank. Requires PrepareSampler.
void WarnOfSampler(const Session& session, const ModelNeeds& needs);

}  // namespace halograph
