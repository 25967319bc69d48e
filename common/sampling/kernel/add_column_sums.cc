#include "common/sampling/kernel/add_column_sums.h"

#include <limits>

namespace halograph {
namespace {

ColumnSumsView ViewOf(const ColumnSums& sums) { return {sums.sources, sums.sums}; }

// Without a branch on which list is behind, as a guess would often be wrong. False if a sum wraps.
bool AddTwo(const ColumnSumsView& a, const ColumnSumsView& b, ColumnSums* total) {
  total->sources.resize(a.sources.size() + b.sources.size());
  total->sums.resize(total->sources.size());
  size_t i = 0, j = 0, size = 0;
  bool wraps = false;
  while (i < a.sources.size() && j < b.sources.size()) {
    const int64_t of_a = a.sources[i], of_b = b.sources[j];
    const uint64_t from_a = of_a <= of_b ? a.sums[i] : 0;
    const uint64_t from_b = of_b <= of_a ? b.sums[j] : 0;
    total->sources[size] = of_a <= of_b ? of_a : of_b;
    total->sums[size] = from_a + from_b;
    wraps |= from_a + from_b < from_a;
    ++size;
    i += of_a <= of_b ? 1 : 0;
    j += of_b <= of_a ? 1 : 0;
  }
  total->sources.resize(size);
  total->sums.resize(size);
  const auto append = [&](const ColumnSumsView& rest, size_t from) {
    const std::span<const int64_t> sources = rest.sources.subspan(from);
    const std::span<const uint64_t> sums = rest.sums.subspan(from);
    total->sources.insert(total->sources.end(), sources.begin(), sources.end());
    total->sums.insert(total->sums.end(), sums.begin(), sums.end());
  };
  append(a, i);
  append(b, j);
  return !wraps;
}

// In pairs, so that each entry moves as often as the logarithm of the answers.
bool AddAll(std::span<const ColumnSumsView> answers, ColumnSums* total) {
  if (answers.size() < 2) {
    const ColumnSumsView only = answers.empty() ? ColumnSumsView() : answers[0];
    total->sources.assign(only.sources.begin(), only.sources.end());
    total->sums.assign(only.sums.begin(), only.sums.end());
    return true;
  }
  if (answers.size() == 2) return AddTwo(answers[0], answers[1], total);
  const size_t half = answers.size() / 2;
  ColumnSums first, second;
  return AddAll(answers.first(half), &first) && AddAll(answers.subspan(half), &second) &&
         AddTwo(ViewOf(first), ViewOf(second), total);
}

}  // namespace

Status CheckColumnSums(std::string_view relation, int64_t num_sources,
                       const ColumnSumsView& answer) {
  if (answer.sources.size() != answer.sums.size()) {
    return Internal("{}: an owner answered {} sums for {} sources", relation, answer.sums.size(),
                    answer.sources.size());
  }
  int64_t before = -1;
  for (const int64_t source : answer.sources) {
    if (source <= before) {
      return Internal("{}: an owner's sums of columns do not ascend: source {} after {}", relation,
                      source, before);
    }
    before = source;
  }
  if (before >= num_sources) {
    return Internal("{}: an owner answered a sum of source {}, which its type does not have",
                    relation, before);
  }
  for (size_t i = 0; i < answer.sums.size(); ++i) {
    if (answer.sums[i] == 0) {
      return Internal("{}: an owner answered a sum of 0 of source {}", relation, answer.sources[i]);
    }
  }
  return OkStatus();
}

Status AddColumnSums(std::string_view relation, int64_t num_sources,
                     std::span<const ColumnSumsView> answers, ColumnSums* total) {
  for (const ColumnSumsView& answer : answers) {
    HG_RETURN_IF_ERROR(CheckColumnSums(relation, num_sources, answer));
  }
  if (!AddAll(answers, total)) {
    return Internal("{}: the sums of columns that the owners answered exceed 64 bits", relation);
  }
  return OkStatus();
}

Status AddOutDegrees(std::string_view relation, const ColumnSumsView& more,
                     std::span<uint32_t> degrees) {
  HG_RETURN_IF_ERROR(CheckColumnSums(relation, std::ssize(degrees), more));
  for (size_t i = 0; i < more.sources.size(); ++i) {
    uint32_t& degree = degrees[static_cast<size_t>(more.sources[i])];
    if (more.sums[i] > std::numeric_limits<uint32_t>::max() - degree) {
      return TooManyOutEdges(relation, more.sources[i]);
    }
    degree += static_cast<uint32_t>(more.sums[i]);
  }
  return OkStatus();
}

Status TooManyOutEdges(std::string_view relation, int64_t source) {
  return OutOfRange(
      "{}: source {} has more than 4294967295 edges, which is the most that FastGCN draws by; use "
      "another sampler",
      relation, source);
}

}  // namespace halograph
