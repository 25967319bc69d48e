#include "trainer/models/layer_on_device.h"

#include <algorithm>
#include <bit>

namespace halograph {
namespace {

// float32 stand as their bits.
static_assert(sizeof(float) == sizeof(int32_t));

int64_t Size(const auto& values) { return static_cast<int64_t>(values.size()); }

// Of each edge; gives the place behind them.
int32_t* WriteDestinations(const Block& block, int32_t* to) {
  for (size_t v = 0; v + 1 < block.indptr.size(); ++v) {
    to = std::fill_n(to, block.indptr[v + 1] - block.indptr[v], static_cast<int32_t>(v));
  }
  return to;
}

}  // namespace

BlockLayout::BlockLayout(const Minibatch& minibatch, const LayerBlocks& made) {
  for (size_t layer = 0; layer < minibatch.layers.size(); ++layer) {
    const LayerBlocks::Layer* const own = made.layers.empty() ? nullptr : &made.layers[layer];
    const bool looped = own != nullptr && !own->looped.empty();
    const std::vector<Block>& blocks = looped ? own->looped : minibatch.layers[layer].blocks;
    std::vector<Place>& places = layers_.emplace_back();
    for (size_t i = 0; i < blocks.size(); ++i) {
      const bool by_source = own != nullptr && !own->transposed.empty();
      places.push_back({&blocks[i], by_source ? &own->transposed[i] : nullptr});
      size_ += Size(blocks[i].indptr) + 2 * Size(blocks[i].indices);
      size_ += Size(blocks[i].coefficients) + Size(blocks[i].degrees);
      if (by_source) size_ += Size(own->transposed[i].indptr) + 2 * Size(own->transposed[i].edges);
    }
  }
}

void BlockLayout::Write(int32_t* to) const {
  const auto add = [&to](const auto& values) {
    to = std::transform(values.begin(), values.end(), to,
                        [](auto value) { return static_cast<int32_t>(value); });
  };
  const auto add_bits = [&to](const std::vector<float>& values) {
    to = std::transform(values.begin(), values.end(), to,
                        [](float value) { return std::bit_cast<int32_t>(value); });
  };
  for (const std::vector<Place>& layer : layers_) {
    for (const Place& place : layer) {
      add(place.block->indptr);
      add(place.block->indices);
      to = WriteDestinations(*place.block, to);
      add_bits(place.block->coefficients);
      add_bits(place.block->degrees);
      if (place.by_source == nullptr) continue;
      add(place.by_source->indptr);
      add(place.by_source->edges);
      add(place.by_source->destinations);
    }
  }
}

std::vector<LayerOnDevice> BlockLayout::Views(const torch::Tensor& values) const {
  int64_t begin = 0;
  const auto next = [&](int64_t count) {
    begin += count;
    return values.narrow(0, begin - count, count);
  };
  const auto next_floats = [&](const std::vector<float>& floats) {
    return floats.empty() ? torch::Tensor() : next(Size(floats)).view(torch::kFloat32);
  };
  std::vector<LayerOnDevice> layers;
  for (const std::vector<Place>& places : layers_) {
    LayerOnDevice& layer = layers.emplace_back();
    for (const Place& place : places) {
      BlockOnDevice& block = layer.blocks.emplace_back();
      block.indptr = next(Size(place.block->indptr));
      block.indices = next(Size(place.block->indices));
      block.destinations = next(Size(place.block->indices));
      block.coefficients = next_floats(place.block->coefficients);
      block.degrees = next_floats(place.block->degrees);
      if (place.by_source == nullptr) continue;
      block.by_source_indptr = next(Size(place.by_source->indptr));
      block.by_source_edges = next(Size(place.by_source->edges));
      block.by_source_destinations = next(Size(place.by_source->edges));
    }
  }
  return layers;
}

}  // namespace halograph
