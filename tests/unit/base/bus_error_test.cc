#include "common/base/bus_error.h"

#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/test_folder.h"

namespace halograph {
namespace {

// Maps two pages of a file, cuts the file to one, and reads the other on `readers` threads at once.
void ReadBehindTheEnd(const std::string& path, int readers) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  if (::ftruncate(fd, static_cast<off_t>(2 * page)) != 0) return;
  void* const data = ::mmap(nullptr, 2 * page, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED || ::ftruncate(fd, static_cast<off_t>(page)) != 0) return;
  std::latch all_are_here(readers);
  std::vector<std::jthread> threads;
  for (int i = 0; i < readers; ++i) {
    threads.emplace_back([&] {
      all_are_here.arrive_and_wait();
      static_cast<void>(static_cast<volatile char*>(data)[page]);
    });
  }
}

TEST(EndOnBusErrorsDeathTest, FileThatIsCutShortIsNamed) {
  const TestFolder folder;
  const std::string path = (folder.path() / "cut short.npy").string();
  EXPECT_EXIT(
      {
        EndOnBusErrors("some-program");
        ReadBehindTheEnd(path, 1);
      },
      testing::ExitedWithCode(1), "some-program: .*/cut short.npy: cut short");
}

TEST(EndOnBusErrorsDeathTest, ManyThreadsThatMeetItAtOnceGiveOneReport) {
  const TestFolder folder;
  const std::string path = (folder.path() / "cut short.npy").string();
  // Matched as a whole: a second report, or a part of one, is an error.
  EXPECT_EXIT(
      {
        EndOnBusErrors("some-program");
        ReadBehindTheEnd(path, 32);
      },
      testing::ExitedWithCode(1), "^some-program: [^\n]*/cut short.npy: cut short[^\n]*\n$");
}

}  // namespace
}  // namespace halograph
