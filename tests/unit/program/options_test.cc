#include "common/program/options.h"

#include <limits>

#include <gmock/gmock.h>

namespace halograph {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

enum class Level { kHeaders, kContents };

struct Settings {
  int threads = 2;
  int64_t epochs = 10;
  int64_t memory = 4 << 20;
  uint64_t seed = 0;
  double dropout = 0.5;
  double lambda = 1.1;
  bool replace = false;
  std::string model = "sage";
  std::filesystem::path folder;
  std::chrono::nanoseconds timeout = seconds(30);
  std::vector<int> fanouts = {15, 10};
  std::vector<double> shares;
  std::vector<std::string> servers;
  Level level = Level::kContents;
  int parts = 0;
};

OptionTable RowsOf(Settings* s) {
  OptionTable rows;
  rows.Add("threads", &s->threads, "threads for computation").Range(0, 16).DefaultText("the cores");
  rows.Add("epochs", &s->epochs, "passes").AtLeast(1).AllRanks();
  rows.AddBytes("memory", &s->memory, "bytes held").Range(4096, int64_t{1} << 30);
  rows.Add("seed", &s->seed, "of all that is random");
  rows.Add("dropout", &s->dropout, "share dropped").AtLeast(0).Below(1).AllRanks();
  rows.Add("lambda", &s->lambda, "weight").Above(0);
  rows.Add("replace", &s->replace, "with replacement");
  rows.Add("model", &s->model, "which").OneOf({"sage", "gat", "gcn"});
  rows.Add("folder", &s->folder, "where");
  rows.Add("timeout", &s->timeout, "of a call").Range(milliseconds(1), seconds(60));
  rows.Add("fanouts", &s->fanouts, "one a layer").AtLeast(-1).AllRanks();
  rows.Add("shares", &s->shares, "of each");
  rows.Add("servers", &s->servers, "addresses")
      .Check([](const std::vector<std::string>& servers) {
        return servers.size() > 2 ? InvalidArgument("at most 2") : OkStatus();
      })
      .ValueName("HOST:PORT");
  rows.AddChoice("level", &s->level, {{"headers", Level::kHeaders}, {"contents", Level::kContents}},
                 "what is checked");
  rows.AddText(
      "parts",
      [s](std::string_view text) {
        if (text != "auto") return InvalidArgument("'{}' is not auto", text);
        s->parts = -1;
        return OkStatus();
      },
      [s] { return s->parts < 0 ? "auto" : ""; }, "auto", "how many");
  return rows;
}

class OptionTableTest : public testing::Test {
 protected:
  void Set(std::string_view name, std::string_view text) {
    const Status status = rows_.Set(name, text);
    EXPECT_TRUE(status.ok()) << Message(status);
  }
  std::string Refusal(std::string_view name, std::string_view text) {
    const Json before = rows_.ToJson();
    const Status status = rows_.Set(name, text);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name << " " << text;
    EXPECT_EQ(rows_.ToJson(), before) << "a refused value left its mark";
    return Message(status);
  }

  Settings s_;
  OptionTable rows_ = RowsOf(&s_);
};

TEST_F(OptionTableTest, TextOfEveryKindReachesItsField) {
  Set("threads", "+3");
  Set("memory", "64KiB");
  Set("seed", "0xffffffffffffffff");
  Set("dropout", "1e-3");
  Set("replace", "true");
  Set("model", "gat");
  Set("folder", "a b");
  Set("timeout", "1.5s");
  Set("fanouts", "-1,3,2");
  Set("shares", ".5,2");
  Set("servers", "a:1,b:2");
  Set("level", "headers");
  Set("parts", "auto");
  EXPECT_EQ(s_.threads, 3);
  EXPECT_EQ(s_.memory, 64 << 10);
  EXPECT_EQ(s_.seed, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(s_.dropout, 1e-3);
  EXPECT_TRUE(s_.replace);
  EXPECT_EQ(s_.model, "gat");
  EXPECT_EQ(s_.folder, "a b");
  EXPECT_EQ(s_.timeout, milliseconds(1500));
  EXPECT_THAT(s_.fanouts, ElementsAre(-1, 3, 2));
  EXPECT_THAT(s_.shares, ElementsAre(0.5, 2));
  EXPECT_THAT(s_.servers, ElementsAre("a:1", "b:2"));
  EXPECT_EQ(s_.level, Level::kHeaders);
  EXPECT_EQ(s_.parts, -1);
  EXPECT_TRUE(rows_.given("threads"));
  EXPECT_FALSE(rows_.given("epochs"));
}

TEST_F(OptionTableTest, AValueReplacesTheOneBeforeInListsToo) {
  Set("fanouts", "1,2");
  Set("fanouts", "3");
  EXPECT_THAT(s_.fanouts, ElementsAre(3));
}

TEST_F(OptionTableTest, AWordInQuotesMayHaveCommas) {
  Set("servers", R"("a,b",c)");
  EXPECT_THAT(s_.servers, ElementsAre("a,b", "c"));
  EXPECT_EQ(rows_.Find("servers")->Text(), R"("a,b",c)");
  Set("servers", R"(a"b,"""c""")");
  EXPECT_THAT(s_.servers, ElementsAre("a\"b", "\"c\"")) << "a quote within a word is none";
  EXPECT_EQ(rows_.Find("servers")->Text(), R"(a"b,"""c""")");
  EXPECT_EQ(Refusal("servers", R"(a,"b,c)"), R"(--servers has "b,c: a quote has no end)");
  EXPECT_EQ(Refusal("servers", R"("a"b)"), R"(--servers has "a"b: no comma after a quote's end)");
  EXPECT_EQ(Refusal("servers", R"(a,"")"), "--servers has '', expected text");
  EXPECT_EQ(Refusal("fanouts", R"("1,2")"),
            "--fanouts has '1,2', expected a whole number, at least -1");
}

TEST_F(OptionTableTest, TextThatIsNoValueNamesOptionValueAndWhatIsAllowed) {
  EXPECT_EQ(Refusal("threads", "ten"), "--threads is 'ten', expected a whole number, 0 to 16");
  EXPECT_EQ(Refusal("threads", "2.5"), "--threads is '2.5', expected a whole number, 0 to 16");
  EXPECT_EQ(Refusal("epochs", "9223372036854775808"),
            "--epochs is '9223372036854775808', expected a whole number, at least 1");
  EXPECT_EQ(Refusal("seed", "-1"), "--seed is '-1', expected a whole number of 0 or more");
  EXPECT_EQ(Refusal("memory", "lots"),
            "--memory is 'lots', expected a size such as 4096, 64KiB, 8GiB or 10MB, 4KiB to 1GiB");
  EXPECT_EQ(Refusal("timeout", "soon"),
            "--timeout is 'soon', expected a duration such as 500ms, 30s, 2m or 1h, 1ms to 60s");
  EXPECT_EQ(Refusal("replace", "maybe"), "--replace is 'maybe', expected true or false");
  for (const char* text : {"x", "nan", "inf", "1e999", "1,2", " 1", "1 "}) {
    EXPECT_THAT(Refusal("dropout", text), HasSubstr("expected a number, at least 0 and below 1"));
  }
  EXPECT_EQ(Refusal("fanouts", "5,x"), "--fanouts has 'x', expected a whole number, at least -1");
  EXPECT_EQ(Refusal("fanouts", "5,"), "--fanouts has '', expected a whole number, at least -1");
  EXPECT_EQ(Refusal("level", "both"), "--level is 'both', expected headers or contents");
  EXPECT_EQ(Refusal("parts", "two"), "--parts: 'two' is not auto");
}

TEST_F(OptionTableTest, ValuesOutOfBoundsAreRefused) {
  EXPECT_EQ(Refusal("threads", "17"), "--threads is 17, expected 0 to 16");
  EXPECT_EQ(Refusal("threads", "-1"), "--threads is -1, expected 0 to 16");
  EXPECT_EQ(Refusal("memory", "1000"), "--memory is 1000, expected 4KiB to 1GiB");
  EXPECT_EQ(Refusal("memory", "2GiB"), "--memory is 2GiB, expected 4KiB to 1GiB");
  EXPECT_EQ(Refusal("dropout", "1"), "--dropout is 1, expected at least 0 and below 1");
  EXPECT_EQ(Refusal("lambda", "0"), "--lambda is 0, expected above 0");
  EXPECT_EQ(Refusal("model", "magic"), "--model is 'magic', expected sage, gat or gcn");
  EXPECT_EQ(Refusal("timeout", "2m"), "--timeout is 120s, expected 1ms to 60s");
  EXPECT_EQ(Refusal("fanouts", "5,-2"), "--fanouts has -2, expected at least -1");
  EXPECT_EQ(Refusal("servers", "a,b,c"), "--servers: at most 2");
}

TEST_F(OptionTableTest, EmptyTextIsNotTakenForAnOptionThatWasNotGiven) {
  for (const auto& row : rows_.rows()) {
    EXPECT_THAT(Refusal(row->name(), ""), HasSubstr("--" + row->name() + " is empty"));
  }
}

TEST_F(OptionTableTest, UnknownNamesSuggestTheNearest) {
  EXPECT_EQ(Refusal("thread", "1"), "there is no option thread; did you mean threads?");
  EXPECT_EQ(Refusal("xyz", "1"), "there is no option xyz");
}

TEST_F(OptionTableTest, ValidateSeesFieldsThatWereSetByHand) {
  EXPECT_TRUE(rows_.Validate().ok());
  s_.fanouts = {1, -5};
  EXPECT_EQ(Message(rows_.Validate()), "--fanouts has -5, expected at least -1");
  s_.threads = 99;
  EXPECT_EQ(Message(rows_.Validate()), "--threads is 99, expected 0 to 16");
}

TEST_F(OptionTableTest, JsonHasEveryRowUnderItsKey) {
  Set("parts", "auto");
  const Json json = rows_.ToJson();
  EXPECT_EQ(json.size(), rows_.rows().size());
  EXPECT_EQ(json["epochs"], 10);
  EXPECT_EQ(json["memory"], 4 << 20);
  EXPECT_EQ(json["timeout"], 30.0);
  EXPECT_EQ(json["fanouts"], Json({15, 10}));
  EXPECT_EQ(json["servers"], Json::array());
  EXPECT_EQ(json["replace"], false);
  EXPECT_TRUE(json["folder"].is_null());
  EXPECT_EQ(json["level"], "contents");
  EXPECT_EQ(json["parts"], "auto");
}

TEST_F(OptionTableTest, JsonOfWhatAllRanksMustAgreeOnHasOnlyThat) {
  EXPECT_EQ(rows_.ToJson(OptionTable::Which::kAllRanks),
            Json({{"epochs", 10}, {"dropout", 0.5}, {"fanouts", {15, 10}}}));
}

TEST_F(OptionTableTest, TextOfAFieldSetsItAgain) {
  s_ = {.threads = 7,
        .memory = 12345,
        .seed = uint64_t{1} << 63,
        .dropout = 0.1,
        .lambda = 1e-9,
        .replace = true,
        .folder = "x/y",
        .timeout = std::chrono::nanoseconds(1'234'567),
        .shares = {0.25, 1e300},
        .servers = {"a", "b"},
        .level = Level::kHeaders};
  s_.timeout = std::chrono::nanoseconds(1'234'567);
  Settings copy;
  OptionTable rows = RowsOf(&copy);
  for (const auto& row : rows_.rows()) {
    if (row->Text().empty()) continue;
    const Status status = rows.Set(row->name(), row->Text());
    EXPECT_TRUE(status.ok()) << Message(status);
  }
  EXPECT_EQ(rows.ToJson(), rows_.ToJson());
  EXPECT_EQ(copy.timeout, s_.timeout);
}

TEST_F(OptionTableTest, RowsCanBeAddedFromSeveralPlacesButOnceEach) {
  int heads = 1;
  rows_.Group("Model gat");
  rows_.Add("heads", &heads, "attention heads").Range(1, 64);
  EXPECT_TRUE(rows_.CheckNames().ok());
  Set("heads", "8");
  EXPECT_EQ(heads, 8);
  rows_.Add("epochs", &heads, "again");
  EXPECT_THAT(Message(rows_.CheckNames()), HasSubstr("--epochs is added twice"));
}

TEST_F(OptionTableTest, ARowKeepsTheMarksThatItGets) {
  constexpr OptionMarks kFirst = 1, kSecond = 2, kThird = 4;
  int heads = 1;
  OptionRow& row = rows_.Add("heads", &heads, "attention heads").Mark(kFirst).Mark(kThird);
  EXPECT_TRUE(row.marked(kFirst) && row.marked(kThird) && row.marked(kFirst | kSecond));
  EXPECT_FALSE(row.marked(kSecond));
}

// One option for two structs, as before it is known which of them counts.
class SharedOptionTest : public testing::Test {
 protected:
  SharedOptionTest() {
    second_.epochs = 20;
    one_.Add("epochs", &first_.epochs, "passes").Range(1, 100).AllRanks().DefaultText("ten");
    one_.Add("replace", &first_.replace, "with replacement");
    other_.Add("epochs", &second_.epochs, "other passes").Range(1, 50);
    for (const char* name : {"epochs", "replace"}) {
      std::vector<OptionRow*> rows = {one_.Find(name)};
      if (OptionRow* const row = other_.Find(name)) rows.push_back(row);
      shared_.AddShared(std::move(rows));
    }
  }
  Settings first_, second_;
  OptionTable one_, other_, shared_;
};

TEST_F(SharedOptionTest, WhatIsSetIsGivenInAllItsRows) {
  ASSERT_TRUE(shared_.Set("epochs", "30").ok());
  EXPECT_EQ(first_.epochs, 30);
  EXPECT_EQ(second_.epochs, 30);
  EXPECT_TRUE(one_.given("epochs") && other_.given("epochs") && shared_.given("epochs"));
  EXPECT_FALSE(one_.given("replace"));
  EXPECT_THAT(Message(shared_.Set("epochs", "70")), HasSubstr("--epochs is 70, expected 1 to 50"));
}

TEST_F(SharedOptionTest, IsOfTheFirstRowsKind) {
  const OptionRow& epochs = *shared_.Find("epochs");
  EXPECT_EQ(epochs.help(), "passes");
  EXPECT_EQ(epochs.default_text(), "ten");
  EXPECT_TRUE(epochs.all_ranks());
  EXPECT_TRUE(shared_.Find("replace")->is_flag());
  EXPECT_EQ(shared_.ToJson(), one_.ToJson());
  second_.epochs = 60;
  EXPECT_THAT(Message(shared_.Validate()), HasSubstr("--epochs is 60, expected 1 to 50"));
}

TEST(NearestNameTest, FewLettersApartOrTheBeginning) {
  const std::vector<std::string> names = {"batch-size", "eval-batch-size", "epochs", "lr"};
  EXPECT_EQ(NearestName("batchsize", names), "batch-size");
  EXPECT_EQ(NearestName("batch", names), "batch-size");
  EXPECT_EQ(NearestName("epcohs", names), "epochs");
  EXPECT_EQ(NearestName("eval_batch_size", names), "eval-batch-size");
  EXPECT_EQ(NearestName("rl", names), "");
  EXPECT_EQ(NearestName("no-such-option", names), "");
  EXPECT_EQ(NearestName("", names), "");
}

TEST(NearestNameTest, ANameThatTheWordGoesOnFromIsNearerThanOneOfOtherLetters) {
  const std::vector<std::string> names = {"embed-name", "embed", "embed-lr", "lr"};
  EXPECT_EQ(NearestName("embed-dim", names), "embed");
  EXPECT_EQ(NearestName("embed-nam", names), "embed-name");
  EXPECT_EQ(NearestName("embed-lr-decay", names), "embed-lr") << "the longest";
  EXPECT_EQ(NearestName("embed-rl", names), "embed-lr") << "a slip";
  EXPECT_EQ(NearestName("embedding-size", names), "");
}

TEST(OrListTest, ReadsAsASentenceDoes) {
  EXPECT_EQ(OrList({}), "");
  EXPECT_EQ(OrList({"a"}), "a");
  EXPECT_EQ(OrList({"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace halograph
