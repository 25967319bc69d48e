#include "common/sampling/samplers/out_degrees.h"

#include <limits>
#include <string>

#include "common/sampling/kernel/add_column_sums.h"

namespace halograph {

std::shared_ptr<const OutDegrees> OutDegreeTables::Find(int relation) const {
  const MutexLock lock(mutex_);
  return tables_[static_cast<size_t>(relation)];
}

void OutDegreeTables::Ask(int relation, std::vector<ColumnGroup>* groups) const {
  for (int part = 0; part < num_parts_; ++part) {
    groups->push_back({.relation = relation,
                       .value = ColumnValue::kOne,
                       .destinations = {},
                       .page = ColumnGroup::Page{part, {0, SourceNodes(relation)}}});
  }
}

Status OutDegreeTables::Take(int relation, std::span<const ColumnSums> answers) {
  const std::string triple = schema_.relations[static_cast<size_t>(relation)].triple();
  std::vector<ColumnSumsView> views;
  for (const ColumnSums& answer : answers) views.push_back({answer.sources, answer.sums});
  ColumnSums total;
  HG_RETURN_IF_ERROR(AddColumnSums(triple, SourceNodes(relation), views, &total));
  auto table = std::make_shared<OutDegrees>();
  table->degrees.resize(static_cast<size_t>(SourceNodes(relation)));
  for (size_t i = 0; i < total.sources.size(); ++i) {
    if (total.sums[i] > std::numeric_limits<uint32_t>::max()) {
      return TooManyOutEdges(triple, total.sources[i]);
    }
    table->degrees[static_cast<size_t>(total.sources[i])] = static_cast<uint32_t>(total.sums[i]);
  }
  table->sums.Reset(std::span<const uint32_t>(table->degrees));
  const MutexLock lock(mutex_);
  std::shared_ptr<const OutDegrees>& kept = tables_[static_cast<size_t>(relation)];
  if (kept == nullptr) kept = std::move(table);
  return OkStatus();
}

}  // namespace halograph
