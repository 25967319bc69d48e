// How the options of a run open its stores.
#pragma once

#include "client/open/chosen_state.h"
#include "trainer/options/train_options.h"

namespace halograph {

// `options` with what follows the files of --tls-*, for all ranks of this process. Errors as
// RemoteOptions::OpenTls.
[[nodiscard]] StatusOr<TrainOptions> WithOpenTls(const TrainOptions& options);

// How the threads that prepare minibatches are shared out (PlanSampler).
[[nodiscard]] SamplerThreads SamplerThreadsOf(const TrainOptions& options);
// Where the graph of a run is. With part_only, part_alone is left open.
[[nodiscard]] StoreOptions StoreOptionsOf(const TrainOptions& options);
// Opens it; with part_only the first part of the rank. Errors as OpenStoresWith and CountPartsOf.
[[nodiscard]] StatusOr<Stores> OpenStoresOf(const TrainOptions& options, const ChooseState& choose,
                                            const CancelToken* cancel);

// Logs a line if the graph's parts were divided among trainers (halograph-partition run
// --trainers-per-part) of whose number the ranks a part are no multiple: then the seeds of a rank
// are not those of one sub-part. Knows it of a graph whose manifest is here.
void TellOfSubParts(const TrainOptions& options);

}  // namespace halograph
