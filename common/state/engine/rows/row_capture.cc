#include "common/state/engine/rows/row_capture.h"

#include <utility>

namespace halograph {
namespace {

// The images of rows[first] and those behind it.
Status AppendImages(size_t first, const StateRows& table, RowImages* out) {
  const size_t at = out->images.size();
  const std::span<const int64_t> rows = std::span(out->rows).subspan(first);
  out->images.resize(at + rows.size() * table.image_bytes());
  return table.SaveImages(rows, out->images.data() + at);
}

}  // namespace

Status RowCapture::WaitForSpace(const Patience& patience, std::function<void()> work) noexcept {
  const MonitorLock lock(*monitor_);
  while (saved_bytes_ > max_saved_bytes_ && !closed_) {
    Status waited = patience.Wait(*monitor_);
    if (waited.ok()) continue;
    left_ = std::move(work);
    return waited;
  }
  return OkStatus();
}

void RowCapture::RunLeft() {
  std::function<void()> work;
  {
    const MonitorLock lock(*monitor_);
    if (saved_bytes_ > max_saved_bytes_ && !closed_) return;
    work = std::exchange(left_, nullptr);
  }
  if (work != nullptr) work();
}

Status RowCapture::SaveBefore(std::span<const int64_t> rows, const StateRows& table) {
  const size_t first = saved_.rows.size();
  for (const int64_t row : rows) {
    if (remaining_.Take(row)) saved_.rows.push_back(row);
  }
  Status saved = AppendImages(first, table, &saved_);
  const MonitorLock lock(*monitor_);
  saved_bytes_ = static_cast<int64_t>(saved_.images.size());
  return saved;
}

StatusOr<bool> RowCapture::TakeNext(int64_t rows, const StateRows& table, RowImages* out) {
  if (out->rows.empty()) {
    std::swap(*out, saved_);
  } else {
    out->rows.insert(out->rows.end(), saved_.rows.begin(), saved_.rows.end());
    out->images.insert(out->images.end(), saved_.images.begin(), saved_.images.end());
    saved_ = RowImages();
  }
  const size_t first = out->rows.size();
  for (; rows > 0; --rows) {
    next_row_ = remaining_.Next(next_row_, true);
    if (next_row_ >= remaining_.rows()) break;
    remaining_.Take(next_row_);
    out->rows.push_back(next_row_);
  }
  HG_RETURN_IF_ERROR(AppendImages(first, table, out));
  const MonitorLock lock(*monitor_);
  saved_bytes_ = 0;
  monitor_->NotifyAll();
  return next_row_ < remaining_.rows();
}

void RowCapture::Close() {
  const MonitorLock lock(*monitor_);
  closed_ = true;
  monitor_->NotifyAll();
}

}  // namespace halograph
