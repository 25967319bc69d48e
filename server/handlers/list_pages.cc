#include "server/handlers/list_pages.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace halograph::server {
namespace {

constexpr int64_t kTokenBytes = 2048;  // room for the token of the next page
constexpr int64_t kPartBytes = 256;    // of a part's own figures
constexpr int64_t kLeastBytes = 16;    // of an entry
constexpr std::string_view kTensors = "tensors";
constexpr std::string_view kSnapshots = "snapshots";

// What a page still has room for.
class Room {
 public:
  Room(const PageRequest& request, int64_t max_bytes)
      : bytes_(max_bytes - kTokenBytes),
        entries_(request.size > 0 ? request.size : std::numeric_limits<int64_t>::max()) {}

  // Whether a page that has something already is to end here.
  [[nodiscard]] bool IsFull() const { return used_ && (entries_ == 0 || bytes_ < kLeastBytes); }
  void TakePart() { bytes_ -= kPartBytes; }
  // Of an entry that was told, and goes on.
  void TakeAgain(size_t bytes) { bytes_ -= static_cast<int64_t>(bytes); }
  // False: the entry is for the next page.
  [[nodiscard]] bool Take(size_t bytes) {
    if (used_ && (entries_ == 0 || static_cast<int64_t>(bytes) > bytes_)) return false;
    bytes_ -= static_cast<int64_t>(bytes);
    --entries_;
    return used_ = true;
  }
  // One more than there can be, so that it shows whether there are more.
  [[nodiscard]] size_t Most() const {
    const int64_t most = std::min(entries_, std::max<int64_t>(bytes_, 0) / kLeastBytes + 1);
    return static_cast<size_t>(most) + 1;
  }

 private:
  int64_t bytes_;
  int64_t entries_;
  bool used_ = false;
};

// The fields of a token, one after the other: what is left of it is the last one.
class TokenFields {
 public:
  explicit TokenFields(const std::string& token) : left_(token) {}

  [[nodiscard]] bool AtEnd() const { return left_.empty(); }
  [[nodiscard]] std::string_view Rest() const { return left_; }
  std::optional<std::string_view> Text() {
    const size_t end = left_.find('/');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view field = left_.substr(0, end);
    left_.remove_prefix(end + 1);
    return field;
  }
  std::optional<std::string_view> Bytes(size_t bytes) {
    if (bytes > left_.size()) return std::nullopt;
    const std::string_view field = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return field;
  }
  template <typename Int>
  std::optional<Int> Number() {
    const std::optional<std::string_view> field = Text();
    Int number = 0;
    if (!field.has_value()) return std::nullopt;
    const auto [end, error] = std::from_chars(field->data(), field->data() + field->size(), number);
    if (error != std::errc() || end != field->data() + field->size()) return std::nullopt;
    return number;
  }

 private:
  std::string_view left_;
};

// Where a page begins: behind `last`, or with the part.
template <typename Last>
struct Begin {
  int part = 0;
  std::optional<Last> last = std::nullopt;
};

std::string ToToken(std::string_view list, int part) { return fmt::format("{}/{}/", list, part); }
std::string ToToken(int part, const TensorRef& last) {
  return fmt::format("{}{}/{}/{}{}", ToToken(kTensors, part), last.edge ? 1 : 0, last.type.size(),
                     last.type, last.name);
}
std::string ToToken(int part, const SnapshotRange::Place& last) {
  return fmt::format("{}{}/{}", ToToken(kSnapshots, part), last.tensors, last.snapshot);
}

std::optional<TensorRef> ReadTensorRef(TokenFields fields) {
  const auto edge = fields.Number<int>();
  const auto bytes = fields.Number<size_t>();
  if (!edge.has_value() || !bytes.has_value()) return std::nullopt;
  const auto type = fields.Bytes(*bytes);
  if (!type.has_value()) return std::nullopt;
  return TensorRef{*edge != 0, std::string(*type), std::string(fields.Rest())};
}

std::optional<SnapshotRange::Place> ReadPlace(TokenFields fields) {
  const auto tensors = fields.Number<size_t>();
  if (!tensors.has_value()) return std::nullopt;
  return SnapshotRange::Place{.snapshot = std::string(fields.Rest()), .tensors = *tensors};
}

template <typename Last>
StatusOr<Begin<Last>> ReadToken(const PageRequest& request, std::string_view list,
                                std::optional<Last> (*read)(TokenFields)) {
  if (request.size < 0) {
    return InvalidArgument("page_size is {}; it must be 0 or above", request.size);
  }
  Begin<Last> begin;
  if (request.token.empty()) return begin;
  TokenFields fields(request.token);
  const std::optional<std::string_view> of_list = fields.Text();
  const std::optional<int> part = fields.Number<int>();
  const bool good = of_list == list && part.has_value();
  if (good && fields.AtEnd()) return Begin<Last>{.part = *part};
  if (good) begin = {.part = *part, .last = read(fields)};
  if (begin.last.has_value()) return begin;
  return InvalidArgument(
      "page_token is none that a page of the list of {} gave: begin with the first page, without "
      "one",
      list);
}

Status CheckWhole(const PageRequest& request, const std::string& next, std::string_view list,
                  int64_t max_bytes) {
  if (next.empty() || request.wants_page()) return OkStatus();
  return ResourceExhausted(
      "the list of {} does not fit into a message of {} bytes: ask for it in pages (page_size, "
      "page_token), or start the server with a larger --max-message-bytes",
      list, max_bytes);
}

}  // namespace

StatusOr<TensorPage> PageOfTensors(const PartStates& states, const PageRequest& request,
                                   int64_t max_bytes, const EntryBytes& bytes) {
  HG_ASSIGN_OR_RETURN(const auto begin, ReadToken(request, kTensors, &ReadTensorRef));
  Room room(request, max_bytes);
  TensorPage page;
  for (const auto& [part, store] : states.stores()) {
    if (part < begin.part) continue;
    if (room.IsFull()) {
      page.next = ToToken(kTensors, part);
      break;
    }
    room.TakePart();
    TensorRange range{.most = room.Most()};
    if (part == begin.part) range.after = begin.last;
    StateStats stats = store->stats(range);
    const auto fit =
        std::find_if(stats.tensors.begin(), stats.tensors.end(),
                     [&](const auto& tensor) { return !room.Take(bytes.tensor(tensor)); });
    const bool all = fit == stats.tensors.end();
    stats.tensors.erase(fit, stats.tensors.end());
    if (!all && stats.tensors.empty()) {
      page.next = range.after.has_value() ? ToToken(part, *range.after) : ToToken(kTensors, part);
      break;
    }
    if (!all) page.next = ToToken(part, stats.tensors.back().spec.ref);
    page.parts.emplace(part, std::move(stats));
    if (!all) break;
  }
  HG_RETURN_IF_ERROR(CheckWhole(request, page.next, kTensors, max_bytes));
  return page;
}

StatusOr<SnapshotsPage> PageOfSnapshots(const PartStates& states, const SnapshotsRequest& request,
                                        int64_t max_bytes, const EntryBytes& bytes) {
  HG_ASSIGN_OR_RETURN(const auto begin, ReadToken(request.page, kSnapshots, &ReadPlace));
  Room room(request.page, max_bytes);
  SnapshotsPage page;
  for (const auto& [part, store] : states.stores()) {
    if (part < begin.part) continue;
    if (room.IsFull()) {
      page.next = ToToken(kSnapshots, part);
      break;
    }
    SnapshotRange range{
        .name = request.name, .tensors = !request.without_tensors, .most = room.Most()};
    if (part == begin.part) range.from = begin.last;
    std::optional<SnapshotRange::Place> last = range.from;
    std::vector<SnapshotInfo>& told = page.parts[part];
    bool all = true;
    for (SnapshotInfo& info : store->Snapshots(range)) {
      if (last.has_value() && last->snapshot == info.name) {
        room.TakeAgain(bytes.snapshot(info));
      } else {
        all = room.Take(bytes.snapshot(info));
        if (!all) break;
        last = {.snapshot = info.name};
      }
      const auto fit = std::find_if(info.tensors.begin(), info.tensors.end(),
                                    [&](const auto& spec) { return !room.Take(bytes.spec(spec)); });
      all = fit == info.tensors.end();
      info.tensors.erase(fit, info.tensors.end());
      last->tensors += info.tensors.size();
      told.push_back(std::move(info));
      if (!all) break;
    }
    if (all) continue;
    page.next = last.has_value() ? ToToken(part, *last) : ToToken(kSnapshots, part);
    break;
  }
  HG_RETURN_IF_ERROR(CheckWhole(request.page, page.next, kSnapshots, max_bytes));
  return page;
}

}  // namespace halograph::server
