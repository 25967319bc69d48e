#include "common/http/http_access.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "common/http/token_file.h"
#include "tests/support/captured_log.h"
#include "tests/support/test_folder.h"

namespace halograph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

constexpr const char* kToken = "0123456789abcdef-secret";
const std::optional<std::string> kHasToken = kToken;

int StatusOf(const std::optional<HttpReply>& refused) { return refused ? refused->status : 200; }

HttpCaller From(const std::string& host) { return {.hosts = {host}, .authorizations = {}}; }
HttpCaller With(const std::string& authorization) {
  return {.hosts = {"localhost"}, .authorizations = {authorization}};
}

TEST(HostHeaderTest, AtLoopbackOnlyLoopbackIsAnswered) {
  for (const char* host :
       {"localhost", "LOCALHOST:7000", "127.0.0.1", "127.3.2.1:80", "[::1]", "[::1]:9100"}) {
    EXPECT_EQ(StatusOf(RefuseCaller(From(host), true)), 200) << host;
  }
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "127.evil.example:7000", "",
                           "localhost.evil.example", "10.0.0.1:7000", "[::2]", "[::1", "::1", "[]",
                           "0.0.0.0", "127.1"}) {
    EXPECT_EQ(StatusOf(RefuseCaller(From(host), true)), 403) << host;
    EXPECT_EQ(StatusOf(RefuseCaller(From(host), false)), 200) << host;
  }
  EXPECT_EQ(StatusOf(RefuseCaller({}, true)), 200) << "HTTP/1.0 has no Host";
}

TEST(HostHeaderTest, OneOfEachHeader) {
  EXPECT_EQ(StatusOf(RefuseCaller({.hosts = {"localhost", "localhost"}}, false)), 400);
  EXPECT_EQ(StatusOf(RefuseCaller({.authorizations = {"Bearer a", "Bearer b"}}, false)), 400);
}

TEST(GuardedTest, WithoutATokenOnlyAtLoopback) {
  EXPECT_EQ(StatusOf(RefuseGuarded({}, "/status", true, std::nullopt)), 200);
  const auto refused = RefuseGuarded(With(std::string("Bearer ") + kToken), "/status", false, {});
  ASSERT_EQ(StatusOf(refused), 403);
  EXPECT_THAT(refused->text, HasSubstr("--http-token-file"));
  EXPECT_THAT(refused->text, HasSubstr("/status"));
}

TEST(GuardedTest, TheTokenOpensWhereverItIsAskedFor) {
  for (const bool at_loopback : {false, true}) {
    const auto status = [&](const HttpCaller& caller) {
      return StatusOf(RefuseGuarded(caller, "/ui", at_loopback, kHasToken));
    };
    const std::string token = kToken;
    EXPECT_EQ(status(With("Bearer " + token)), 200);
    EXPECT_EQ(status(With("bearer   " + token + " ")), 200);
    EXPECT_EQ(status({.authorizations = {"Basic eA=="}, .password = token}), 200);
    EXPECT_EQ(status({}), 401);
    for (const std::string& wrong :
         {"Bearer " + token + "x", "Bearer " + token.substr(1), std::string("Bearer"),
          std::string("Bearer "), token, "Basic " + token, "Bearer " + token + token,
          std::string("Bearer 0123456789abcdef-secreT")}) {
      EXPECT_EQ(status(With(wrong)), 401) << wrong;
    }
  }
}

TEST(GuardedTest, ARefusalSaysHowAndNotWhat) {
  const auto refused = RefuseGuarded(With("Bearer wrong-wrong-wrong"), "/ui", false, kHasToken);
  ASSERT_EQ(StatusOf(refused), 401);
  ASSERT_FALSE(refused->headers.empty());
  EXPECT_THAT(refused->headers.front(), Pair("WWW-Authenticate", "Bearer"));
  EXPECT_THAT(refused->text, HasSubstr("Authorization: Bearer"));
  EXPECT_THAT(refused->text, Not(HasSubstr(kToken)));
  EXPECT_THAT(refused->text, Not(HasSubstr("wrong-wrong")));
}

TEST(QueryTest, FieldsAreDecodedInOrder) {
  EXPECT_THAT(ParseQuery("cluster&a=1%2f2&a=x+y&=v&&b=%zz%4"),
              ElementsAre(Pair("cluster", ""), Pair("a", "1/2"), Pair("a", "x y"), Pair("", "v"),
                          Pair("b", "%zz%4")));
  EXPECT_THAT(ParseQuery(""), IsEmpty());
  EXPECT_THAT(ParseQuery("a=%00b").front().second, testing::SizeIs(2));
  std::string many;
  for (size_t i = 0; i < 1000; ++i) many += "a&";
  EXPECT_EQ(ParseQuery(many).size(), kMostQueryFields);
  const HttpRequest request{"/status", ParseQuery("cluster&a=1&a=2")};
  EXPECT_TRUE(request.Has("cluster"));
  EXPECT_FALSE(request.Has("clust"));
}

TEST(QueryTest, ATokenDoesNotBelongThere) {
  const auto refusal = [](const std::string& query) {
    return RefuseTokenInQuery({"/status", ParseQuery(query)}, kToken);
  };
  for (const std::string& query :
       {std::string("token=abc"), std::string("cluster&Access_Token=abc"),
        "x=" + std::string(kToken), std::string(kToken),
        std::string("x=0123456789abcdef%2dsecret")}) {
    const auto refused = refusal(query);
    ASSERT_EQ(StatusOf(refused), 400) << query;
    EXPECT_THAT(refused->text, HasSubstr("header \"Authorization: Bearer TOKEN\""));
    EXPECT_THAT(refused->text, Not(HasSubstr("0123456789")));
  }
  EXPECT_EQ(StatusOf(refusal("cluster&tokens=3&x=")), 200);
  EXPECT_EQ(StatusOf(RefuseTokenInQuery({"/status", ParseQuery("cluster&x=")}, "")), 200);
}

TEST(SameSecretTest, AnEmptySecretIsNobodys) {
  EXPECT_TRUE(SameSecret("abc", "abc"));
  EXPECT_FALSE(SameSecret("", ""));
  EXPECT_FALSE(SameSecret("abc", ""));
  EXPECT_FALSE(SameSecret("", "abc"));
  EXPECT_FALSE(SameSecret("abcabc", "abc"));
  EXPECT_FALSE(SameSecret("ab", "abc"));
}

class TokenFileTest : public testing::Test {
 protected:
  void Write(const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path_, std::ios::trunc) << text;
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
  }
  [[nodiscard]] Status Error() const { return ReadToken(path_).status(); }

  TestFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "token";
  const std::string token_ = kToken;
};

TEST_F(TokenFileTest, IsOneLine) {
  for (const char* end : {"", "\n", "\r\n"}) {
    Write(token_ + end);
    EXPECT_EQ(ReadToken(path_).value_or("?"), token_);
  }
  for (const std::string& text :
       {token_ + "\n" + token_, "\n" + token_, token_ + "\n\n", token_ + " x",
        token_ + std::string(1, '\0'), token_ + "\xc3\xa4", std::string("0123456789abcde"),
        std::string(), std::string(5000, 'a')}) {
    Write(text);
    EXPECT_TRUE(absl::IsInvalidArgument(Error())) << text;
    EXPECT_THAT(Message(Error()), HasSubstr(path_.string()));
    EXPECT_THAT(Message(Error()), Not(HasSubstr("0123456789"))) << "the token is in the error";
  }
}

TEST_F(TokenFileTest, OthersMayNotReadIt) {
  for (const mode_t mode : {0640, 0604, 0620, 0601, 0644}) {
    Write(token_, mode);
    EXPECT_TRUE(absl::IsFailedPrecondition(Error())) << mode;
    EXPECT_THAT(Message(Error()), HasSubstr("chmod 600 " + path_.string()));
  }
  Write(token_, 0400);
  EXPECT_TRUE(Error().ok());
}

TEST_F(TokenFileTest, MustBeThere) { EXPECT_TRUE(absl::IsNotFound(Error())); }

TEST_F(TokenFileTest, ANewTokenHoldsOnceItIsReadAndABadOneNever) {
  Write(token_);
  TokenFile file(path_, token_, {.pace = std::chrono::hours(1)});
  const auto read_again = [&file] {
    file.ReadAgain();
    return file.Token();
  };
  CapturedLog log;
  EXPECT_EQ(file.Token(), token_);
  Write("another-token-of-some-length\n");
  EXPECT_EQ(read_again(), "another-token-of-some-length");
  Write("short");
  EXPECT_EQ(read_again(), "another-token-of-some-length");
  EXPECT_EQ(read_again(), "another-token-of-some-length");
  std::filesystem::remove(path_);
  EXPECT_EQ(read_again(), "another-token-of-some-length");
  Write(token_);
  EXPECT_EQ(read_again(), token_);
  Write("short");
  EXPECT_EQ(read_again(), token_);
  const std::string text = log.End();
  const auto count = [&](const std::string& word) {
    int times = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
      ++times;
    return times;
  };
  EXPECT_EQ(count("5 characters"), 2) << "once each time it turns bad\n" << text;
  EXPECT_EQ(count("token before holds on"), 3) << text;
  EXPECT_THAT(text, Not(HasSubstr("0123456789")));
  EXPECT_THAT(text, Not(HasSubstr("another-token")));
}

}  // namespace
}  // namespace halograph
