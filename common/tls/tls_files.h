// The files of TLS, followed: what passes the check is copied into a private folder, which gRPC
// watches; what does not is logged, and what was there before holds on.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/mutex.h"
#include "common/base/repeated_work.h"
#include "common/base/status.h"
#include "common/storage/run_folder.h"
#include "common/tls/tls_set.h"

namespace halograph {

// How the files are followed; tests have readers and clocks of their own.
struct TlsBounds {
  std::chrono::nanoseconds pace = std::chrono::seconds(1);  // between two looks (--tls-refresh)
  std::function<StatusOr<TlsTexts>(const TlsPaths&)> read = ReadTlsTexts;
  std::function<double()> now = {};         // seconds since 1970; empty: the system's clock
  std::filesystem::path private_root = {};  // has the private folder; empty: as PrivateRoot
};

// What a follower tells: of the set that holds, and of the last look.
struct TlsFigures {
  std::string subject;            // of the own certificate; empty: there is none
  std::optional<double> expires;  // seconds since 1970, as TlsSet
  std::optional<double> crl_expires;
  int64_t generation = 1;  // sets that held so far
  int64_t bad_looks = 0;   // that found a set which does not pass
  std::string error;       // of the last look; empty: it passed
};

// Follows the files in a thread of its own. Thread-safe.
//
// The private folder is of mode 0700 and has `identity.pem` (key and chain in one file, so that
// they always fit), `roots.pem`, and `crl`, a folder of revocation lists under the names that
// OpenSSL looks for. Each file is written beside its name, with mode 0600, and renamed. gRPC reads
// revocation lists again only when the roots change: a comment at their end has the generation.
// The folder is a RunFolder: it goes with this object, and what a killed process left goes when
// the next one begins. What is left until then only this user (and root) can read, who can read
// the key's own file, too.
class TlsFiles {
 public:
  // Reads and checks the files. Errors as ReadTlsTexts, CheckTls and RunFolder::Make.
  [[nodiscard]] static StatusOr<std::unique_ptr<TlsFiles>> Start(const TlsPaths& paths,
                                                                 TlsRole role,
                                                                 TlsBounds bounds = {});
  ~TlsFiles();  // waits for a look that is under way
  TlsFiles(const TlsFiles&) = delete;
  TlsFiles& operator=(const TlsFiles&) = delete;

  // In the private folder. Paths stay the same.
  [[nodiscard]] bool has_identity() const { return !paths_.certificate.empty(); }
  [[nodiscard]] std::string identity_path() const { return folder_->path() / "identity.pem"; }
  [[nodiscard]] std::string roots_path() const { return folder_->path() / "roots.pem"; }
  [[nodiscard]] std::string crl_folder() const { return folder_->path() / "crl"; }

  // Where the own certificate was read; empty: there is none.
  [[nodiscard]] const std::filesystem::path& certificate_path() const { return paths_.certificate; }
  // By the follower's clock.
  [[nodiscard]] double Now() const;
  [[nodiscard]] TlsFigures Figures() const HG_EXCLUDES(mutex_);
  // Looks now. A set that does not pass counts as a bad look and is logged once, until another
  // error takes its place or a look passes. A revocation list that was once there and is gone does
  // not pass.
  void LookNow() HG_EXCLUDES(mutex_);

 private:
  TlsFiles(TlsPaths paths, TlsRole role, TlsBounds bounds, std::unique_ptr<RunFolder> folder);

  // What holds from now on; the folder has it, as far as it differs from what it had.
  [[nodiscard]] Status Take(const TlsTexts& texts) HG_REQUIRES(look_mutex_);
  [[nodiscard]] Status Look() HG_REQUIRES(look_mutex_);
  // All of it; nothing where the disk has no room.
  [[nodiscard]] Status Write(const TlsSet& set, int64_t generation) const HG_REQUIRES(look_mutex_);
  // Warns of what ends soon, or has ended: each once a set.
  void WarnOfEnds() HG_REQUIRES(look_mutex_);

  const TlsPaths paths_;
  const TlsRole role_;
  const TlsBounds bounds_;
  const std::unique_ptr<RunFolder> folder_;
  Mutex look_mutex_;                           // held for a whole look; before mutex_
  TlsTexts texts_ HG_GUARDED_BY(look_mutex_);  // of the set that holds
  std::optional<double> warned_until_ HG_GUARDED_BY(look_mutex_);
  mutable Mutex mutex_;
  TlsFigures figures_ HG_GUARDED_BY(mutex_);
  std::optional<RepeatedWork> looks_;
};

// Where a private folder is made: RUNTIME_DIRECTORY, which a service manager gives a program for
// itself, in memory; else as TemporaryParent.
[[nodiscard]] std::filesystem::path PrivateRoot();

}  // namespace halograph
