// A RowSpace in memory. Its reads and writes fail while it is told so.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/state/env.h"

namespace halograph {

class PlainRowSpace : public RowSpace {
 public:
  // `fails` outlives it; null: never.
  explicit PlainRowSpace(const std::atomic<bool>* fails = nullptr) : fails_(fails) {}

  [[nodiscard]] Status Put(uint32_t owner, std::span<const int64_t> rows,
                           std::span<const std::byte> images) override {
    HG_RETURN_IF_ERROR(Check());
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < rows.size(); ++i) {
      const size_t bytes = images.size() / rows.size();
      const std::span<const std::byte> image = images.subspan(i * bytes, bytes);
      images_[{owner, rows[i]}].assign(image.begin(), image.end());
    }
    return OkStatus();
  }
  [[nodiscard]] Status Get(uint32_t owner, std::span<const int64_t> rows,
                           std::span<std::byte> images, std::vector<bool>* found) override {
    HG_RETURN_IF_ERROR(Check());
    const std::lock_guard lock(mutex_);
    found->assign(rows.size(), false);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto at = images_.find({owner, rows[i]});
      if (at == images_.end()) continue;
      if (at->second.size() != images.size() / rows.size()) return DataLoss("another size");
      std::memcpy(images.data() + i * at->second.size(), at->second.data(), at->second.size());
      (*found)[i] = true;
    }
    return OkStatus();
  }
  [[nodiscard]] Status Drop(uint32_t owner) override {
    HG_RETURN_IF_ERROR(Check());
    const std::lock_guard lock(mutex_);
    std::erase_if(images_, [&](const auto& image) { return image.first.first == owner; });
    return OkStatus();
  }

 private:
  [[nodiscard]] Status Check() const {
    if (fails_ != nullptr && *fails_) return Internal("the space for rows is broken");
    return OkStatus();
  }

  const std::atomic<bool>* fails_;
  std::mutex mutex_;
  std::map<std::pair<uint32_t, int64_t>, std::vector<std::byte>> images_;
};

}  // namespace halograph
