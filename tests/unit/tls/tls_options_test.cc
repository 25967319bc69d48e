#include "common/tls/tls_options.h"

#include <string>

#include <gmock/gmock.h>

#include "common/base/wall_clock.h"
#include "common/tls/tls_files.h"
#include "tests/support/test_ca.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::HasSubstr;

std::string ErrorOf(const TlsOptions& options, TlsRole role) {
  return Message(options.Validate(role));
}

TEST(TlsOptionsTest, WhatGoesTogetherIsGivenTogether) {
  EXPECT_EQ(ErrorOf({}, TlsRole::kServer), "");
  EXPECT_EQ(ErrorOf({.folder = "d"}, TlsRole::kServer), "");
  EXPECT_EQ(ErrorOf({.certificate = "c", .key = "k", .roots = "a"}, TlsRole::kServer), "");
  EXPECT_EQ(ErrorOf({.roots = "a"}, TlsRole::kClient), "");
  EXPECT_THAT(ErrorOf({.roots = "a"}, TlsRole::kServer), HasSubstr("--tls-cert and --tls-key"));
  EXPECT_THAT(ErrorOf({.certificate = "c", .roots = "a"}, TlsRole::kClient),
              HasSubstr("--tls-key is missing"));
  EXPECT_THAT(ErrorOf({.key = "k", .roots = "a"}, TlsRole::kClient),
              HasSubstr("--tls-cert is missing"));
  EXPECT_THAT(ErrorOf({.certificate = "c", .key = "k"}, TlsRole::kServer),
              HasSubstr("--tls-ca is missing"));
  EXPECT_THAT(ErrorOf({.crl = "r"}, TlsRole::kClient), HasSubstr("--tls-ca is missing"));
  EXPECT_THAT(ErrorOf({.crl = "r", .folder = "d"}, TlsRole::kClient),
              HasSubstr("give it, or them"));
}

TEST(TlsOptionsTest, RowsSetTheFields) {
  TlsOptions options;
  OptionTable rows;
  AddTlsRows(rows, &options);
  ASSERT_TRUE(rows.Set("tls-dir", "d").ok());
  ASSERT_TRUE(rows.Set("tls-refresh", "50ms").ok());
  EXPECT_FALSE(rows.Set("tls-refresh", "0s").ok());
  EXPECT_EQ(options.Paths().certificate, "d/tls.crt");
  EXPECT_EQ(options.Paths().crl, "d/crl.pem");
  EXPECT_EQ(options.refresh, std::chrono::milliseconds(50));
}

TEST(TlsOptionsTest, NothingGivenFollowsNothing) {
  const auto none = FollowTls({}, TlsRole::kServer);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, nullptr);
  const TestFolder folder;
  const TlsOptions options{.folder = folder.path()};
  EXPECT_THAT(Message(FollowTls(options, TlsRole::kServer).status()), HasSubstr("tls.crt"));
  TestCa ca(SecondsSince1970());
  WriteTlsFolder(folder.path(), ca.Make(), ca.root());
  const auto files = FollowTls(options, TlsRole::kServer);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ((*files)->certificate_path(), folder.path() / "tls.crt");
}

}  // namespace
}  // namespace halograph
