#include "common/state/engine/rows/keyed_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/state/engine/rows/memory_rows.h"
#include "common/state/push_order.h"
#include "common/state/row_kernels.h"
#include "common/storage/row_gather.h"

namespace halograph {
namespace {

// What the lists of a push have for some of its rows, with the rows' places among them.
class Slice {
 public:
  // Of at most `most` rows, from entry `first` of the lists' order on.
  Slice(const PushOrder& order, size_t first, std::span<const PushedRows> lists, size_t most)
      : end_(first), places_(lists.size()), values_(lists.size()) {
    std::vector<std::vector<int64_t>> positions(lists.size());
    for (; end_ < order.size(); ++end_) {
      const int64_t row = order.Row(end_);
      if (rows_.empty() || rows_.back() != row) {
        if (rows_.size() == most) break;
        rows_.push_back(row);
      }
      const PushOrder::Place from = order.PlaceOf(end_);
      places_[from.list].push_back(std::ssize(rows_) - 1);
      positions[from.list].push_back(static_cast<int64_t>(from.position));
    }
    for (size_t i = 0; i < lists.size(); ++i) {
      const PushedRows& list = lists[i];
      if (positions[i].empty()) continue;
      const size_t row_bytes = list.values.size() / list.rows.size();
      values_[i].resize(positions[i].size() * row_bytes);
      GatherRows(list.values, row_bytes, 0, positions[i], values_[i].data());
    }
    for (size_t i = 0; i < lists.size(); ++i) {
      lists_.push_back({places_[i], lists[i].dtype, values_[i]});
    }
  }
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;

  [[nodiscard]] std::span<const int64_t> rows() const { return rows_; }  // ascending
  // Of places instead of rows. Entries of one row are in the order of the push.
  [[nodiscard]] std::span<const PushedRows> lists() const { return lists_; }
  // The first entry behind it.
  [[nodiscard]] size_t end() const { return end_; }

 private:
  size_t end_;
  std::vector<int64_t> rows_;
  std::vector<std::vector<int64_t>> places_;  // by list
  std::vector<std::vector<std::byte>> values_;
  std::vector<PushedRows> lists_;
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

StatusOr<int64_t> KeyedRows::Apply(PushKind kind, std::span<const PushedRows> lists) {
  PushOrder order;
  order.Sort(lists, rows());
  int64_t not_finite = 0;
  for (size_t first = 0; first < order.size();) {
    const Slice slice(order, first, lists, rows_at_a_time());
    HG_ASSIGN_OR_RETURN(const int64_t of_slice, ApplyTo(slice.rows(), kind, slice.lists()));
    not_finite += of_slice;
    first = slice.end();
  }
  return not_finite;
}

StatusOr<int64_t> KeyedRows::ApplyTo(std::span<const int64_t> rows, PushKind kind,
                                     std::span<const PushedRows> lists) {
  const size_t bytes = image_bytes();
  images_.resize(rows.size() * bytes);
  HG_RETURN_IF_ERROR(SaveImages(rows, images_.data()));
  for (size_t i = 0; i < rows.size(); ++i) {
    table_.LoadImage(static_cast<int64_t>(i), images_.data() + i * bytes);
  }
  const int64_t not_finite = halograph::ApplyTo(kind, lists, &table_, nullptr);
  for (size_t i = 0; i < rows.size(); ++i) {
    table_.SaveImage(static_cast<int64_t>(i), images_.data() + i * bytes);
  }
  HG_RETURN_IF_ERROR(space_->Put(owner_, rows, images_));
  return not_finite;
}

}  // namespace halograph
