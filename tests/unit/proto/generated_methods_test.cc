// The table of methods and the services of proto/halograph/v1 are the same methods.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "halograph/v1/admin.pb.h"
#include "halograph/v1/graph.pb.h"
#include "halograph/v1/kv.pb.h"
#include "proto/methods/methods.h"

namespace halograph {
namespace {

TEST(MethodsTest, TheTableHasEachMethodOfTheServices) {
  std::set<std::string> declared;
  for (const auto* file :
       {v1::DescribeReply::descriptor()->file(), v1::PullReply::descriptor()->file(),
        v1::StatsReply::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      const auto* service = file->service(s);
      for (int m = 0; m < service->method_count(); ++m) {
        declared.insert("/" + service->full_name() + "/" + service->method(m)->name());
      }
    }
  }
  std::set<std::string> listed;
  for (const MethodRow& row : kMethodRows) listed.emplace(row.path);
  EXPECT_EQ(listed, declared);
}

}  // namespace
}  // namespace halograph
