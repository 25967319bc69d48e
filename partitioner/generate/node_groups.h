// Nodes dealt to groups at random, and each group's nodes together: the communities of a generated
// graph. Immutable.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace halograph {

// Memory: 8 bytes a node and a group.
class NodeGroups {
 public:
  // 1 to 2^32 of each; a pure function of the arguments.
  NodeGroups(int64_t nodes, int64_t groups, uint64_t key);

  [[nodiscard]] uint32_t Of(int64_t node) const { return groups_[static_cast<size_t>(node)]; }
  // Nodes of groups begin .. end - 1, ascending within each.
  [[nodiscard]] std::span<const uint32_t> Members(int64_t begin, int64_t end) const {
    return std::span(members_).subspan(static_cast<size_t>(starts_[static_cast<size_t>(begin)]),
                                       static_cast<size_t>(starts_[static_cast<size_t>(end)] -
                                                           starts_[static_cast<size_t>(begin)]));
  }

 private:
  std::vector<uint32_t> groups_;   // per node
  std::vector<int64_t> starts_;    // of each group in members_, and the end
  std::vector<uint32_t> members_;  // nodes by group
};

}  // namespace halograph
