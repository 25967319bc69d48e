#include "server/rights/policy.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "common/storage/file.h"

namespace halograph::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// printf %s TOKEN | sha256sum
constexpr char kToken[] = "0123456789abcdef";
constexpr char kHash[] = "9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f";
constexpr char kOther[] =
    "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";  // foo

std::string ErrorOf(const std::string& text) {
  const StatusOr<Policy> policy = Policy::Parse(text, "policy.yaml");
  EXPECT_FALSE(policy.ok()) << text;
  if (policy.ok()) return "";
  EXPECT_TRUE(absl::IsInvalidArgument(policy.status())) << policy.status();
  return std::string(Message(policy.status()));
}

Policy Parsed(const std::string& text) {
  StatusOr<Policy> policy = Policy::Parse(text, "policy.yaml");
  EXPECT_TRUE(policy.ok()) << policy.status();
  return policy.ok() ? *std::move(policy) : Policy();
}

TEST(TokenHashTest, IsThatOfSha256sum) {
  const auto hash = HashOfToken(kToken);
  ASSERT_TRUE(hash.has_value());
  const auto parsed = ParseTokenHash(fmt::format("sha256:{}", kHash));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_TRUE(SameHash(*hash, *parsed));
  EXPECT_FALSE(SameHash(*hash, *HashOfToken("0123456789abcdeg")));
  for (const auto* none : {"", "sha256:", kHash, "sha1:00", "sha256:zz"}) {
    EXPECT_FALSE(ParseTokenHash(none).has_value()) << none;
  }
  EXPECT_FALSE(ParseTokenHash(fmt::format("sha256:{}0", kHash)).has_value());
  EXPECT_FALSE(ParseTokenHash(fmt::format("sha256:g{}", kHash + 1)).has_value());
}

TEST(NamePatternTest, IsANameOrItsBeginning) {
  const auto matches = [](std::string_view pattern, std::string_view name) {
    const auto parsed = NamePattern::Parse(pattern);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return parsed->Matches(name);
  };
  EXPECT_TRUE(matches("paper/feat", "paper/feat"));
  EXPECT_FALSE(matches("paper/feat", "paper/feats"));
  EXPECT_FALSE(matches("paper/feat", "paper/fea"));
  EXPECT_FALSE(matches("paper/feat", "Paper/feat"));
  EXPECT_TRUE(matches("paper/*", "paper/feat"));
  EXPECT_TRUE(matches("paper/*", "paper/"));
  EXPECT_FALSE(matches("paper/*", "papers/feat"));
  EXPECT_TRUE(matches("a:*", "a:b:c/x"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*", "task:x"));
  for (const char* none : {"", "*/feat", "a*b", "**"}) {
    EXPECT_THAT(Message(NamePattern::Parse(none).status()), HasSubstr("is no pattern")) << none;
  }
}

TEST(PolicyTest, MapsNamesAndTokensToPrincipalsAndTheirVerbs) {
  const Policy policy = Parsed(fmt::format(R"(
principals:
  trainer:
    certificates: ["spiffe://a/trainer", trainer.a]
    tokens: ["sha256:{}"]
    may: {{sample: ["*"], pull: ["paper/*", "task:t"], admin: []}}
  nobody: {{certificates: [n]}}
)",
                                           kHash));
  ASSERT_EQ(policy.principals().size(), 2U);
  const Principal* const trainer = policy.Find("trainer");
  ASSERT_NE(trainer, nullptr);
  EXPECT_EQ(policy.FindToken(kToken), trainer);
  EXPECT_EQ(policy.FindToken(kHash), nullptr) << "the hash is no token";
  EXPECT_EQ(policy.FindToken(""), nullptr);
  const std::vector<std::string> names = {"unknown", "trainer.a", "n"};
  EXPECT_EQ(policy.FindCertificate(names), trainer);
  EXPECT_EQ(policy.FindCertificate({}), nullptr);
  EXPECT_TRUE(trainer->May(Right::kPull, "paper/feat"));
  EXPECT_FALSE(trainer->May(Right::kPull, "author/feat"));
  EXPECT_FALSE(trainer->May(Right::kPush, "paper/feat"));
  EXPECT_TRUE(trainer->MayEverything(Right::kSample));
  EXPECT_FALSE(trainer->MayEverything(Right::kPull));
  EXPECT_TRUE(trainer->MayAnything(Right::kPull));
  EXPECT_FALSE(trainer->MayAnything(Right::kAdmin));
  EXPECT_FALSE(policy.Find("nobody")->MayAnything(Right::kSample));
}

TEST(PolicyTest, WhatIsWrongIsNamedWithItsLineAndWhatToDo) {
  EXPECT_THAT(ErrorOf(""), AllOf(StartsWith("policy.yaml: "), HasSubstr("empty"),
                                 HasSubstr("at least one principal")));
  EXPECT_THAT(ErrorOf("# nothing\n"), HasSubstr("empty"));
  EXPECT_THAT(ErrorOf("principals: [\n"), HasSubstr("policy.yaml:2"));
  EXPECT_THAT(ErrorOf("principals: {}\n"), HasSubstr("at least one"));
  EXPECT_THAT(ErrorOf("principals:\n"), HasSubstr("`principals` is missing"));
  EXPECT_THAT(ErrorOf("- a\n"), HasSubstr("expected a map"));
  EXPECT_THAT(ErrorOf("principals: {a: {certificates: [x]}}\nroles: 1\n"),
              AllOf(StartsWith("policy.yaml:2: "), HasSubstr("`roles`"), HasSubstr("principals")));
  EXPECT_THAT(ErrorOf("principals:\n  a: {certificates: [x]}\n  a: {certificates: [y]}\n"),
              AllOf(StartsWith("policy.yaml:3: "), HasSubstr("`a` is given twice")));
  EXPECT_THAT(ErrorOf("principals:\n  a: {certificate: [x]}\n"),
              AllOf(StartsWith("policy.yaml:2: "), HasSubstr("`certificate`"),
                    HasSubstr("certificates, tokens, may")));
  EXPECT_THAT(
      ErrorOf("principals:\n  a: {certificates: [x]}\n  b:\n    certificates:\n      - x\n"),
      AllOf(StartsWith("policy.yaml:5: "), HasSubstr("'x' is a certificate of a already")));
  EXPECT_THAT(ErrorOf("principals:\n  a: {may: {sample: [x]}}\n"),
              AllOf(StartsWith("policy.yaml:2: "), HasSubstr("nobody can be this principal")));
  EXPECT_THAT(ErrorOf("principals:\n  a:\n"), HasSubstr("nobody can be"));
  EXPECT_THAT(ErrorOf("principals:\n  a: {certificates: []}\n"), HasSubstr("nobody can be"));
  EXPECT_THAT(ErrorOf("principals:\n  a: {certificates: ['b*']}\n"), HasSubstr("has a *"));
  EXPECT_THAT(ErrorOf("principals:\n  a: {certificates: b}\n"), HasSubstr("expected a list"));
  EXPECT_THAT(ErrorOf("principals:\n  'a b': {certificates: [b]}\n"), HasSubstr("without blanks"));
  EXPECT_THAT(ErrorOf("principals:\n  a: {certificates: [b], may: {\n    write: [x]}}\n"),
              AllOf(StartsWith("policy.yaml:3: "), HasSubstr("no verb `write`"),
                    HasSubstr("sample, pull, push, create, snapshot, admin")));
  for (const char* none : {"any", "none", ""}) {
    EXPECT_THAT(ErrorOf(fmt::format(
                    "principals: {{a: {{certificates: [b], may: {{\"{}\": [x]}}}}}}", none)),
                HasSubstr("no verb"));
  }
  EXPECT_THAT(ErrorOf("principals:\n  a: {certificates: [b], may: {pull: ['*/x']}}\n"),
              AllOf(StartsWith("policy.yaml:2: "), HasSubstr("is no pattern")));
  EXPECT_THAT(ErrorOf("principals:\n  a: {certificates: [b], may: {pull: x}}\n"),
              HasSubstr("expected a list"));
}

TEST(PolicyTest, AHashThatIsNoneIsNotShownAndOneIsSomebodysAlone) {
  const std::string mistake = ErrorOf("principals:\n  a:\n    tokens: [my-secret-token-1]\n");
  EXPECT_THAT(mistake, AllOf(StartsWith("policy.yaml:3: "), HasSubstr("sha256sum"),
                             Not(HasSubstr("my-secret"))));
  EXPECT_THAT(ErrorOf(fmt::format("principals:\n  a: {{tokens: ['sha256:{0}']}}\n"
                                  "  b: {{tokens: ['sha256:{1}', 'sha256:{0}']}}\n",
                                  kHash, kOther)),
              AllOf(StartsWith("policy.yaml:3: "), HasSubstr("a token of a already")));
}

// What users copy.
TEST(PolicyTest, TheExamplesParse) {
  const auto text = ReadTextFile(POLICY_OF_DEPLOY);
  ASSERT_TRUE(text.ok()) << text.status();
  const auto deployed = Policy::Parse(*text, POLICY_OF_DEPLOY);
  ASSERT_TRUE(deployed.ok()) << deployed.status();
  ASSERT_NE(deployed->Find("readers"), nullptr);
  EXPECT_TRUE(deployed->Find("readers")->May(Right::kPull, "task:paper"));
  const auto page = ReadTextFile(PAGE_ON_RIGHTS);
  ASSERT_TRUE(page.ok()) << page.status();
  constexpr std::string_view kBegin = "```yaml\nprincipals:";
  const size_t begin = page->find(kBegin);
  ASSERT_NE(begin, std::string::npos);
  const size_t first = begin + std::string_view("```yaml\n").size();
  const Policy shown = Parsed(page->substr(first, page->find("```", first) - first));
  EXPECT_EQ(shown.FindToken(kToken), shown.Find("trainers"));
}

TEST(PolicyTest, BoundsAreKept) {
  std::string many = "principals:\n";
  for (size_t p = 0; p <= Policy::kMostPrincipals; ++p) {
    many += fmt::format("  p{0}: {{certificates: [c{0}]}}\n", p);
  }
  EXPECT_THAT(ErrorOf(many), HasSubstr("1025 principals, of 1024"));
  std::string patterns;
  for (size_t p = 0; p <= Policy::kMostPatterns; ++p) patterns += "x,";
  EXPECT_THAT(ErrorOf(fmt::format("principals: {{a: {{certificates: [b], may: {{pull: [{}]}}}}}}",
                                  patterns)),
              HasSubstr("257 entries, of 256"));
  EXPECT_THAT(ErrorOf(fmt::format("principals: {{a: {{certificates: [{}]}}}}",
                                  std::string(Policy::kMostPatternBytes + 1, 'c'))),
              HasSubstr("513 bytes, of 512"));
  EXPECT_THAT(ErrorOf(std::string(Policy::kMostBytes + 1, '#')), HasSubstr("1048576 at most"));
}

}  // namespace
}  // namespace halograph::server
