#include "common/tls/tls_set.h"

#include <string>

#include <gmock/gmock.h>

#include "common/tls/openssl_types.h"
#include "tests/support/test_ca.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class TlsSetTest : public testing::Test {
 protected:
  [[nodiscard]] StatusOr<TlsSet> Check(TlsRole role = TlsRole::kServer,
                                       double now = kTestTime) const {
    return CheckTls(texts_, TlsPathsIn("d"), role, now);
  }
  [[nodiscard]] std::string Error(TlsRole role = TlsRole::kServer, double now = kTestTime) const {
    const auto set = Check(role, now);
    return set.ok() ? "it passed" : ToString(set.status());
  }
  void Use(const TestPair& pair) {
    texts_.certificate = pair.certificate;
    texts_.key = pair.key;
  }

  TestCa ca_{kTestTime};
  TestPair pair_ = ca_.Make({.common_name = "node7"});
  TlsTexts texts_{.certificate = pair_.certificate,
                  .key = pair_.key,
                  .roots = ca_.root(),
                  .crl = {},
                  .key_mode = 0600};
};

TEST_F(TlsSetTest, AGoodSetSaysWhoAndHowLong) {
  const auto set = Check();
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->subject, "CN=node7");
  EXPECT_EQ(set->expires, kTestTime + 30 * kTestDay);
  EXPECT_EQ(set->crl_expires, std::nullopt);
  EXPECT_THAT(set->crls, IsEmpty());
  EXPECT_THAT(set->warnings, IsEmpty());
  EXPECT_THAT(set->identity,
              AllOf(StartsWith("-----BEGIN PRIVATE KEY-----"), HasSubstr(pair_.certificate)));
}

TEST_F(TlsSetTest, AKeyOfAnotherCertificateIsRefused) {
  texts_.key = ca_.Make().key;
  EXPECT_THAT(Error(), AllOf(StartsWith("INVALID_ARGUMENT: d/tls.key: the key does not belong"),
                             HasSubstr("d/tls.crt (CN=node7)")));
}

TEST_F(TlsSetTest, EveryCutOfEveryFileIsRefused) {
  const TlsTexts whole = texts_;
  for (std::string TlsTexts::*field : {&TlsTexts::certificate, &TlsTexts::key, &TlsTexts::roots}) {
    const size_t size = (whole.*field).size();
    for (size_t cut = 0; cut + 2 < size; cut += 7) {  // the last line's dashes and end may lack
      texts_ = whole;
      (texts_.*field).resize(cut);
      ASSERT_FALSE(Check().ok()) << "cut at " << cut << " of " << size;
    }
  }
}

TEST_F(TlsSetTest, WhatCannotBeReadIsNamed) {
  texts_.certificate = "hello";
  EXPECT_THAT(Error(), HasSubstr("d/tls.crt: there is no certificate in it"));
  Use(pair_);
  texts_.key = "";
  EXPECT_THAT(Error(), HasSubstr("d/tls.key: no key can be read"));
  Use(pair_);
  texts_.roots += "-----BEGIN CERTIFICATE-----\nAAAA\n";
  EXPECT_THAT(Error(), HasSubstr("d/ca.crt: certificate 2 cannot be read"));
  texts_.roots = ca_.root();
  texts_.crl = "";
  EXPECT_THAT(Error(), HasSubstr("d/crl.pem: there is no revocation list in it"));
}

TEST_F(TlsSetTest, AKeyWithAPassphraseIsRefusedWithoutAsking) {
  texts_.key =
      "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "
      "AES-256-CBC,0F8E3B7B1C5F0E5B1A2B3C4D5E6F7081\n\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
      "-----END EC PRIVATE KEY-----\n";
  EXPECT_THAT(Error(),
              AllOf(HasSubstr("d/tls.key: the key has a passphrase"), HasSubstr("openssl pkey")));
}

TEST_F(TlsSetTest, OutOfDateIsToldWithBothTimes) {
  Use(ca_.Make({.common_name = "old", .not_after = -1}));
  EXPECT_THAT(Error(), AllOf(StartsWith("FAILED_PRECONDITION: d/tls.crt"), HasSubstr("CN=old"),
                             HasSubstr("has expired at 2027-01-15T07:59:59Z"),
                             HasSubstr("clock it is 2027-01-15T08:00:00Z")));
  Use(ca_.Make({.common_name = "new", .not_before = 60}));
  EXPECT_THAT(Error(), HasSubstr("is valid from 2027-01-15T08:01:00Z on"));
  Use(pair_);
  EXPECT_TRUE(Check(TlsRole::kServer, kTestTime + 30 * kTestDay - 1).ok());
  EXPECT_FALSE(Check(TlsRole::kServer, kTestTime + 30 * kTestDay).ok());
}

TEST_F(TlsSetTest, AChainMustLeadToARoot) {
  TestCa other(kTestTime, "other root");
  texts_.roots = other.root();
  EXPECT_THAT(Error(), AllOf(HasSubstr("CN=node7 does not lead to a root of d/ca.crt"),
                             HasSubstr("add the root")));
  texts_.roots += ca_.root();
  EXPECT_TRUE(Check().ok()) << "one root follows another";
  TestCa between = ca_.MakeBetween("between");
  const TestPair below = between.Make({.common_name = "below"});
  Use(below);
  EXPECT_TRUE(Check().ok()) << Error();
  texts_.certificate.resize(texts_.certificate.find("-----BEGIN", 1));
  EXPECT_THAT(Error(), HasSubstr("CN=below does not lead to a root"));
}

TEST_F(TlsSetTest, ARootOfTheSameNameIsNotTheRoot) {
  texts_.roots = TestCa(kTestTime).root();
  EXPECT_THAT(Error(), HasSubstr("does not lead to a root"));
}

TEST_F(TlsSetTest, ACertificateIsForItsRole) {
  Use(ca_.Make({.extended_key_usage = "clientAuth"}));
  EXPECT_THAT(Error(), AllOf(HasSubstr("is not for a server"), HasSubstr("serverAuth")));
  EXPECT_TRUE(Check(TlsRole::kClient).ok());
  Use(ca_.Make({.extended_key_usage = "serverAuth"}));
  EXPECT_THAT(Error(TlsRole::kClient), HasSubstr("is not for a client"));
  EXPECT_THAT(Error(TlsRole::kBoth), AllOf(HasSubstr("--peers"), HasSubstr("and clientAuth")));
  EXPECT_TRUE(Check().ok());
}

TEST_F(TlsSetTest, AKeyThatEveryoneMayReadIsToldAndNotRefused) {
  texts_.key_mode = 0644;
  const auto set = Check();
  ASSERT_TRUE(set.ok());
  EXPECT_THAT(set->warnings, ElementsAre(AllOf(HasSubstr("d/tls.key"), HasSubstr("chmod 600"))));
  texts_.key_mode = 0640;
  EXPECT_THAT(Check()->warnings, IsEmpty());
}

TEST_F(TlsSetTest, ARevocationListIsARootsAndInDate) {
  texts_.crl = ca_.MakeCrl(2 * kTestDay);
  const auto set = Check();
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->crl_expires, kTestTime + 2 * kTestDay);
  ASSERT_THAT(set->crls, SizeIs(1));
  EXPECT_THAT(set->crls[0].file, testing::MatchesRegex("[0-9a-f]{8}\\.r0"));
  EXPECT_THAT(Error(TlsRole::kServer, kTestTime + 2 * kTestDay),
              AllOf(StartsWith("FAILED_PRECONDITION: d/crl.pem"), HasSubstr("CN=test root"),
                    HasSubstr("everybody would be refused")));
  EXPECT_THAT(Error(TlsRole::kServer, kTestTime - 3601), HasSubstr("is valid from"));

  texts_.crl = TestCa(kTestTime, "other root").MakeCrl();
  EXPECT_THAT(Error(), HasSubstr("of CN=other root is signed by no certificate of d/ca.crt"));
  texts_.crl = TestCa(kTestTime).MakeCrl();
  EXPECT_THAT(Error(), HasSubstr("is signed by no certificate")) << "the name alone is right";
}

TEST_F(TlsSetTest, ListsOfOneIssuerHaveNumbersAndAnAuthorityBetweenHasItsOwn) {
  TestCa between = ca_.MakeBetween("between");
  Use(between.Make());
  texts_.crl = ca_.MakeCrl() + between.MakeCrl() + ca_.MakeCrl();
  const auto set = Check();
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_THAT(set->crls, SizeIs(3));
  EXPECT_EQ(set->crls[0].file.substr(0, 10), set->crls[2].file.substr(0, 10));
  EXPECT_THAT(set->crls[2].file, testing::EndsWith(".r1"));
  EXPECT_NE(set->crls[0].file, set->crls[1].file);
}

TEST_F(TlsSetTest, AnOwnRevokedCertificateIsToldSoThatTheListCounts) {
  ca_.Revoke(pair_);
  texts_.crl = ca_.MakeCrl();
  const auto set = Check();
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->warnings, ElementsAre(HasSubstr("CN=node7 is revoked by d/crl.pem")));
}

TEST_F(TlsSetTest, RootsAloneAreEnoughForAClientWithoutACertificate) {
  const auto set =
      CheckTls({.roots = ca_.root()}, {.roots = "ca.crt"}, TlsRole::kClient, kTestTime);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->identity, IsEmpty());
  EXPECT_EQ(set->expires, std::nullopt);
}

TEST_F(TlsSetTest, FilesAreReadWithTheirNamesInErrors) {
  const TestFolder folder;
  const TlsPaths paths = TlsPathsIn(folder.path());
  const auto missing = ReadTlsTexts(paths);
  ASSERT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_THAT(Message(missing.status()), HasSubstr("tls.crt"));
  WriteTlsFolder(folder.path(), pair_, ca_.root());
  WriteTestFile(paths.key, pair_.key, 0640);
  texts_.key_mode = 0640;
  auto texts = ReadTlsTexts(paths);
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_EQ(*texts, texts_);
  TlsPaths strict = paths;
  strict.crl_may_be_missing = false;
  EXPECT_TRUE(absl::IsNotFound(ReadTlsTexts(strict).status()));
  WriteTestFile(paths.crl, std::string((1 << 20) + 1, 'x'));
  EXPECT_TRUE(absl::IsOutOfRange(ReadTlsTexts(paths).status()));
}

}  // namespace
}  // namespace halograph
