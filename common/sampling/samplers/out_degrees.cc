#include "common/sampling/samplers/out_degrees.h"

#include <utility>

#include "common/sampling/kernel/add_column_sums.h"

namespace halograph {

std::shared_ptr<const OutDegrees> OutDegreeTables::Find(int relation) const {
  const MutexLock lock(mutex_);
  return tables_[static_cast<size_t>(relation)];
}

ColumnGroup OutDegreeTables::PageOf(int relation, int part) const {
  return {.relation = relation,
          .value = ColumnValue::kOne,
          .destinations = {},
          .page = ColumnGroup::Page{part, {0, SourceNodes(relation)}}};
}

Status OutDegreeTables::Add(int relation, const ColumnSums& answer,
                            std::vector<uint32_t>* degrees) const {
  degrees->resize(static_cast<size_t>(SourceNodes(relation)));
  return AddOutDegrees(schema_.relations[static_cast<size_t>(relation)].triple(),
                       {answer.sources, answer.sums}, *degrees);
}

void OutDegreeTables::Keep(int relation, std::vector<uint32_t> degrees) {
  degrees.resize(static_cast<size_t>(SourceNodes(relation)));
  auto table = std::make_shared<const OutDegrees>(std::move(degrees));
  const MutexLock lock(mutex_);
  std::shared_ptr<const OutDegrees>& kept = tables_[static_cast<size_t>(relation)];
  if (kept == nullptr) kept = std::move(table);
}

}  // namespace halograph
