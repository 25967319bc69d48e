// The cache of the remote rows that training reads: whether there is one, and what ranks its rows.
#pragma once

#include "common/base/status.h"
#include "trainer/run/prepare.h"

namespace halograph {

// Gives the session its cache, in front of its stores, as --cache and --cache-memory say; none
// where no row of the inputs is cached: without servers, where all parts are mapped here, or where
// models are averaged. Rows rank by how likely a step of this rank reads them
// (common/sampling/inclusion.h) where the whole topology is here, which also forecasts the first
// epoch; else by how often the steps of the first epoch do. Ranks meet meanwhile: every one calls
// it. Takes up to 20 bytes a node for a while, and for each layer a pass over the in-edges, which a
// signal does not cut short.
//   InvalidArgument    --cache-memory has no room for a row: what it takes is named
//   ResourceExhausted  no memory
//   else               as PartsPresent, SeedSource::Collect and WorkTogether
// Where the user gave no --cache-memory, the first two are told, and there is no cache.
[[nodiscard]] Status OpenRowCache(Session& session, const RunInputs& inputs);

}  // namespace halograph
