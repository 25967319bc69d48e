#include "common/state/engine/keyed_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/state/engine/memory_rows.h"
#include "common/state/row_kernels.h"

namespace halograph {
namespace {

// The entries of a list that are of some rows, with the rows' places among them.
struct Part {
  std::vector<int64_t> places;
  std::vector<std::byte> values;  // empty if it is the whole list

  // `rows` ascend.
  Part(const PushedRows& list, std::span<const int64_t> rows) {
    std::vector<size_t> entries;
    for (size_t i = 0; i < list.rows.size(); ++i) {
      const auto at = std::lower_bound(rows.begin(), rows.end(), list.rows[i]);
      if (at == rows.end() || *at != list.rows[i]) continue;
      places.push_back(at - rows.begin());
      entries.push_back(i);
    }
    if (entries.empty() || entries.size() == list.rows.size()) return;
    const size_t row_bytes = list.values.size() / list.rows.size();
    values.resize(entries.size() * row_bytes);
    for (size_t i = 0; i < entries.size(); ++i) {
      std::memcpy(values.data() + i * row_bytes, list.values.data() + entries[i] * row_bytes,
                  row_bytes);
    }
  }

  [[nodiscard]] PushedRows Of(const PushedRows& list) const {
    const bool whole = places.size() == list.rows.size();
    return {places, list.dtype, whole ? list.values : std::span<const std::byte>(values)};
  }
};

}  // namespace

KeyedRows::KeyedRows(const MutableTensorSpec& spec, RowOrigins origins,
                     std::shared_ptr<RowSpace> space, RowTable table)
    : layout_(RowLayout::Of(spec)),
      initial_(spec, origins.total_rows()),
      origins_(std::move(origins)),
      space_(std::move(space)),
      owner_(space_->NewOwner()),
      table_(std::move(table)) {}

KeyedRows::~KeyedRows() {
  // What stays is in nobody's way: numbers of owners are never used again.
  static_cast<void>(space_->Drop(owner_).ok());
}

StatusOr<std::unique_ptr<KeyedRows>> KeyedRows::Make(const MutableTensorSpec& spec,
                                                     RowOrigins origins,
                                                     std::shared_ptr<RowSpace> space,
                                                     int64_t bytes_at_a_time) {
  const RowLayout layout = RowLayout::Of(spec);
  const auto image_bytes = static_cast<int64_t>(layout.value_bytes + layout.state_bytes);
  HG_ASSIGN_OR_RETURN(RowTable table,
                      RowTable::Make(spec, std::max<int64_t>(1, bytes_at_a_time / image_bytes)));
  return std::unique_ptr<KeyedRows>(
      new KeyedRows(spec, std::move(origins), std::move(space), std::move(table)));
}

void KeyedRows::Fill(int64_t row, float* values, std::byte* image) const {
  initial_.Fill(origins_.Of(row), values);
  WriteRow(layout_, values, image);
  std::memset(image + layout_.value_bytes, 0, layout_.state_bytes);
}

// Rows begin when they are read.
Status KeyedRows::Begin(int64_t /*begin*/, int64_t /*end*/) { return OkStatus(); }

Status KeyedRows::LoadImages(std::span<const int64_t> rows, std::span<const std::byte> images) {
  return space_->Put(owner_, rows, images);
}

Status KeyedRows::SaveImages(std::span<const int64_t> rows, std::byte* out) const {
  const size_t bytes = image_bytes();
  std::vector<bool> found;
  std::vector<float> values(static_cast<size_t>(layout_.dim));
  for (size_t first = 0; first < rows.size(); first += rows_at_a_time()) {
    const std::span<const int64_t> some =
        rows.subspan(first, std::min(rows_at_a_time(), rows.size() - first));
    std::byte* const to = out + first * bytes;
    HG_RETURN_IF_ERROR(space_->Get(owner_, some, {to, some.size() * bytes}, &found));
    for (size_t i = 0; i < some.size(); ++i) {
      if (!found[i]) Fill(some[i], values.data(), to + i * bytes);
    }
  }
  return OkStatus();
}

Status KeyedRows::Gather(std::span<const int64_t> rows, std::span<const int64_t> positions,
                         std::byte* out) const {
  const size_t bytes = image_bytes();
  std::vector<std::byte> images(std::min(rows.size(), rows_at_a_time()) * bytes);
  for (size_t first = 0; first < rows.size(); first += rows_at_a_time()) {
    const std::span<const int64_t> some =
        rows.subspan(first, std::min(rows_at_a_time(), rows.size() - first));
    HG_RETURN_IF_ERROR(SaveImages(some, images.data()));
    for (size_t i = 0; i < some.size(); ++i) {
      const size_t place =
          positions.empty() ? first + i : static_cast<size_t>(positions[first + i]);
      std::memcpy(out + place * layout_.value_bytes, images.data() + i * bytes,
                  layout_.value_bytes);
    }
  }
  return OkStatus();
}

Status KeyedRows::Apply(PushKind kind, std::span<const PushedRows> lists) {
  std::vector<int64_t> rows;
  for (const PushedRows& list : lists) rows.insert(rows.end(), list.rows.begin(), list.rows.end());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  for (size_t first = 0; first < rows.size(); first += rows_at_a_time()) {
    const size_t count = std::min(rows_at_a_time(), rows.size() - first);
    HG_RETURN_IF_ERROR(ApplyTo(std::span(rows).subspan(first, count), kind, lists));
  }
  return OkStatus();
}

Status KeyedRows::ApplyTo(std::span<const int64_t> rows, PushKind kind,
                          std::span<const PushedRows> lists) {
  const size_t bytes = image_bytes();
  images_.resize(rows.size() * bytes);
  HG_RETURN_IF_ERROR(SaveImages(rows, images_.data()));
  for (size_t i = 0; i < rows.size(); ++i) {
    table_.LoadImage(static_cast<int64_t>(i), images_.data() + i * bytes);
  }
  std::vector<Part> parts;
  std::vector<PushedRows> here;
  parts.reserve(lists.size());
  for (const PushedRows& list : lists) here.push_back(parts.emplace_back(list, rows).Of(list));
  halograph::ApplyTo(kind, here, &table_);
  for (size_t i = 0; i < rows.size(); ++i) {
    table_.SaveImage(static_cast<int64_t>(i), images_.data() + i * bytes);
  }
  return space_->Put(owner_, rows, images_);
}

}  // namespace halograph
