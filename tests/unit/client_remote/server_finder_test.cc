#include "client/remote/server_finder.h"

#include <future>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

using testing::ElementsAre;

ServerPlace At(const std::string& address) { return {address, "graph:1"}; }

// Its hooks run on the finder's thread; what they share is guarded here.
class ServerFinderTest : public testing::Test {
 protected:
  // `serving`: which server answers at an address.
  void Begin(std::vector<std::string> places, std::map<std::string, int> serving) {
    for (const std::string& address : places) places_.push_back(At(address));
    serving_ = std::move(serving);
    auto finder = ServerFinder::Start(
        {.find = [this] { return Find(); },
         .places =
             [this] {
               const MutexLock lock(mutex_);
               return places_;
             },
         .move = [this](int server, const ServerPlace& place) { return Move(server, place); },
         .wait = [this](std::chrono::milliseconds pause) { Wait(pause); }});
    ASSERT_TRUE(finder.ok());
    finder_ = *std::move(finder);
  }
  ~ServerFinderTest() override {
    {
      const MutexLock lock(mutex_);
      ended_ = true;
      changed_.NotifyAll();
    }
    finder_.reset();
  }

  void Says(StatusOr<std::vector<ServerPlace>> found) {
    const MutexLock lock(mutex_);
    found_ = std::move(found);
  }
  // Until the finder has looked so often; its pauses then.
  std::vector<int64_t> AwaitPauses(size_t count) {
    const MutexLock lock(mutex_);
    changed_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return pauses_.size() >= count; });
    return pauses_;
  }
  std::vector<std::string> Places() {
    const MutexLock lock(mutex_);
    std::vector<std::string> addresses;
    for (const ServerPlace& place : places_) addresses.push_back(place.address);
    return addresses;
  }
  // Lets the finder end its last pause.
  void Release() {
    const MutexLock lock(mutex_);
    ++released_;
    changed_.NotifyAll();
  }

  std::unique_ptr<ServerFinder> finder_;
  std::vector<std::string> tried_;  // read when the finder waits

 private:
  StatusOr<std::vector<ServerPlace>> Find() {
    const MutexLock lock(mutex_);
    return found_;
  }
  Status Move(int server, const ServerPlace& place) {
    const MutexLock lock(mutex_);
    tried_.push_back(place.address);
    const auto there = serving_.find(place.address);
    if (there == serving_.end()) return Unavailable("nobody answers");
    if (there->second != server) return FailedPrecondition("it serves another part");
    places_[static_cast<size_t>(server)] = place;
    return OkStatus();
  }
  void Wait(std::chrono::milliseconds pause) {
    const MutexLock lock(mutex_);
    pauses_.push_back(pause.count());
    changed_.NotifyAll();
    const size_t own = pauses_.size();
    changed_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return ended_ || released_ >= own; });
  }

  Mutex mutex_;
  CondVar changed_;
  StatusOr<std::vector<ServerPlace>> found_ HG_GUARDED_BY(mutex_) = std::vector<ServerPlace>();
  std::vector<ServerPlace> places_ HG_GUARDED_BY(mutex_);
  std::map<std::string, int> serving_;
  std::vector<int64_t> pauses_ HG_GUARDED_BY(mutex_);
  size_t released_ HG_GUARDED_BY(mutex_) = 0;
  bool ended_ HG_GUARDED_BY(mutex_) = false;
};

TEST_F(ServerFinderTest, AServerThatMovedIsTakenFromTheNewAddressThatServesTheSame) {
  Begin({"a:1", "b:1"}, {{"c:1", 0}, {"d:1", 1}});
  Says(std::vector{At("a:1"), At("c:1"), At("d:1")});
  finder_->Gone(1);
  AwaitPauses(1);
  EXPECT_THAT(tried_, ElementsAre("c:1", "d:1"));
  EXPECT_THAT(Places(), ElementsAre("a:1", "d:1"));
}

TEST_F(ServerFinderTest, AServerThatIsOnlyDownIsLeftWhereItIs) {
  Begin({"a:1", "b:1"}, {{"c:1", 1}});
  Says(std::vector{At("a:1"), At("b:1"), At("c:1")});
  finder_->Gone(1);
  AwaitPauses(1);
  EXPECT_THAT(tried_, ElementsAre("b:1"));
  EXPECT_THAT(Places(), ElementsAre("a:1", "b:1"));
}

TEST_F(ServerFinderTest, ServersThatExchangedTheirAddressesAreFound) {
  Begin({"a:1", "b:1", "c:1"}, {{"a:1", 1}, {"b:1", 0}, {"c:1", 2}});
  finder_->Gone(0);  // nothing is listed: it pauses, while the others are found gone
  AwaitPauses(1);
  Says(std::vector{At("a:1"), At("b:1"), At("c:1")});
  finder_->Gone(0);
  finder_->Gone(1);
  Release();
  AwaitPauses(2);
  EXPECT_THAT(Places(), ElementsAre("b:1", "a:1", "c:1"));
}

TEST_F(ServerFinderTest, WhereNobodyAnswersYetItLooksAgainAfterPausesThatGrow) {
  Begin({"a:1"}, {{"b:1", 0}});
  Says(NotFound("graph: no such name"));
  for (size_t n = 1; n <= 6; ++n) {
    finder_->Gone(0);
    AwaitPauses(n);
    Release();
  }
  Says(std::vector{At("b:1")});
  finder_->Gone(0);
  EXPECT_THAT(AwaitPauses(7), ElementsAre(500, 1000, 2000, 4000, 5000, 5000, 250));
  EXPECT_THAT(Places(), ElementsAre("b:1"));
}

TEST_F(ServerFinderTest, TwoServersThatChangePlacesAtOnceAreToldApart) {
  Begin({"a:1", "b:1"}, {{"c:1", 1}, {"d:1", 0}});
  Says(std::vector{At("c:1"), At("d:1")});
  finder_->Gone(0);
  AwaitPauses(1);
  finder_->Gone(1);
  Release();
  AwaitPauses(2);
  EXPECT_THAT(Places(), ElementsAre("d:1", "c:1"));
}

}  // namespace
}  // namespace halograph
