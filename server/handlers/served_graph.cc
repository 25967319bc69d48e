#include "server/handlers/served_graph.h"

#include <algorithm>

#include <fmt/format.h>

namespace halograph::server {

ServedGraph::ServedGraph(std::unique_ptr<PartitionSet> set)
    : set_(std::move(set)),
      tensors_(MakeSchemaCatalog(&set_->schema(), &set_->book(), set_.get())) {
  for (const auto& partition : set_->parts()) part_numbers_.push_back(partition->part());
  parts_text_ = fmt::format("part{} {}", part_numbers_.size() == 1 ? "" : "s",
                            fmt::join(part_numbers_, ", "));
}

const Partition* ServedGraph::Find(int64_t part) const {
  if (part < 0 || part >= book().num_parts()) return nullptr;
  return set_->Find(static_cast<int>(part));
}

Status ServedGraph::CheckServesTopology() const {
  if (contents().topology) return OkStatus();
  return FailedPrecondition(
      "this server serves the features of {} but not the topology (--serve features): start it "
      "with --serve all, or trainers with --topology DIR, or with --topology local from a server "
      "that has it",
      parts_text_);
}

std::vector<std::string> ServedGraph::RowsBeyond(int64_t max_message_bytes) const {
  constexpr int64_t kHeaderBytes = 64;
  constexpr int64_t kLeftFree = 64 << 10;
  std::vector<std::string> lines;
  const auto look = [&](bool edge, const std::string& type, std::span<const TensorSpec> features) {
    for (const TensorSpec& feature : features) {
      const auto row_bytes = static_cast<int64_t>(feature.row_bytes());
      const int64_t reply = row_bytes + kHeaderBytes;
      const int64_t message = reply + std::min(reply, kLeftFree);
      if (message <= max_message_bytes) continue;
      lines.push_back(fmt::format(
          "one row of {} has {} bytes, which takes --max-message-bytes {} of client and "
          "server: with {} here nobody can pull it",
          TensorRef{edge, type, feature.name}.ToString(), row_bytes, message, max_message_bytes));
    }
  };
  for (const NodeType& type : schema().node_types) look(false, type.name, type.features);
  for (const Relation& relation : schema().relations) {
    look(true, relation.triple(), relation.features);
  }
  return lines;
}

Status ServedGraph::CheckOwned(std::span<const int64_t> boundaries, std::span<const int64_t> ids,
                               std::string_view what) const {
  if (part_numbers_.size() == 1) {  // no search: one range
    const IdRange range{boundaries[part_numbers_[0]], boundaries[part_numbers_[0] + 1]};
    for (size_t i = 0; i < ids.size(); ++i) {
      if (!range.contains(ids[i])) return NotOwned(boundaries, ids, i, what);
    }
    return OkStatus();
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= boundaries.back() ||
        set_->Find(FindRange(boundaries, ids[i])) == nullptr) {
      return NotOwned(boundaries, ids, i, what);
    }
  }
  return OkStatus();
}

Status ServedGraph::NotOwned(std::span<const int64_t> boundaries, std::span<const int64_t> ids,
                             size_t position, std::string_view what) const {
  const int64_t id = ids[position];
  if (id < 0 || id >= boundaries.back()) {
    return OutOfRange("{}: id {} at position {} of the request is outside [0, {})", what,
                      static_cast<uint64_t>(id), position, boundaries.back());
  }
  return OutOfRange(
      "{}: id {} at position {} of the request is owned by part {}; this server serves {}: ask the "
      "owner",
      what, id, position, FindRange(boundaries, id), parts_text_);
}

}  // namespace halograph::server
