// Ways to damage a written partition folder. Each fails the test that calls it if it cannot.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "common/graph/manifest.h"

namespace halograph {

// Adds 1 to the byte at `offset`, from the end if negative.
void FlipByte(const std::filesystem::path& file, int64_t offset);

void Truncate(const std::filesystem::path& file, int64_t bytes_cut);

// Element `index` of the data of an .npy.
template <typename T>
void SetElement(const std::filesystem::path& file, int64_t index, T value);

// Gives a manifest another content under a fitting checksum.
void EditManifest(const std::filesystem::path& folder, const std::function<void(Json*)>& edit);

// Makes the part's manifest fit its files again, as a partitioner with a mistake would have
// written it. (The identity is then another: open the part alone.)
void Reseal(const std::filesystem::path& part_folder);

}  // namespace halograph
