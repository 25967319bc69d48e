// A library to preload (LD_PRELOAD) with which every sync of a file takes $SLOW_SYNC_MS
// milliseconds longer, as on a slow disk.
#include <chrono>
#include <cstdlib>
#include <thread>

#include <dlfcn.h>
#include <unistd.h>

namespace {

int Synced(const char* name, int fd) {
  static const char* const text = std::getenv("SLOW_SYNC_MS");
  if (text != nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(text)));
  return reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, name))(fd);
}

}  // namespace

extern "C" {
int fsync(int fd) { return Synced("fsync", fd); }
int fdatasync(int fd) { return Synced("fdatasync", fd); }
}
