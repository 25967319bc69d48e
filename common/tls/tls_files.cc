#include "common/tls/tls_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/wall_clock.h"

namespace halograph {
namespace {

constexpr double kSoonSeconds = 7 * 86400.0;
constexpr mode_t kOwnerAlone = 0600;

std::string Beside(const std::filesystem::path& path) { return path.string() + ".new"; }

// No fsync: what a crash loses is written anew at the next start.
Status WriteBeside(const std::filesystem::path& path, std::string_view text) {
  const std::string beside = Beside(path);
  const int fd =
      open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kOwnerAlone);
  if (fd < 0) return ErrnoStatus(errno, "create", beside);
  Status status;
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      status = ErrnoStatus(errno, "write", beside);
      break;
    }
    text.remove_prefix(static_cast<size_t>(wrote));
  }
  if (close(fd) != 0 && status.ok()) status = ErrnoStatus(errno, "close", beside);
  return status;
}

// Path -> text. A full disk leaves all as it was: names change when all is written. Readers see an
// old file or the new one.
using NewFiles = std::vector<std::pair<std::filesystem::path, std::string_view>>;
Status Replace(const NewFiles& files) {
  Status status;
  for (const auto& [path, text] : files) {
    if (status.ok()) status = WriteBeside(path, text);
  }
  for (const auto& [path, text] : files) {
    if (status.ok() && rename(Beside(path).c_str(), path.c_str()) != 0) {
      status = ErrnoStatus(errno, "rename", Beside(path));
    }
    if (!status.ok()) unlink(Beside(path).c_str());
  }
  return status;
}

// Those of PEM between lines; a comment is read over.
std::string WithGeneration(const std::string& roots, int64_t generation) {
  return fmt::format("{}\n# generation {}\n", roots, generation);
}

}  // namespace

std::filesystem::path PrivateRoot() {
  const char* runtime = std::getenv("RUNTIME_DIRECTORY");
  // Of several, with colons between them, the first.
  const std::string_view text = runtime == nullptr ? "" : runtime;
  const std::filesystem::path first(text.substr(0, text.find(':')));
  return first.is_absolute() ? first : TemporaryParent();
}

TlsFiles::TlsFiles(TlsPaths paths, TlsRole role, TlsBounds bounds,
                   std::unique_ptr<RunFolder> folder)
    : paths_(std::move(paths)),
      role_(role),
      bounds_(std::move(bounds)),
      folder_(std::move(folder)) {}

StatusOr<std::unique_ptr<TlsFiles>> TlsFiles::Start(const TlsPaths& paths, TlsRole role,
                                                    TlsBounds bounds) {
  const std::filesystem::path root =
      bounds.private_root.empty() ? PrivateRoot() : bounds.private_root;
  HG_ASSIGN_OR_RETURN(TlsTexts texts, bounds.read(paths));
  HG_ASSIGN_OR_RETURN(std::unique_ptr<RunFolder> folder, RunFolder::Make(root));
  std::unique_ptr<TlsFiles> files(new TlsFiles(paths, role, std::move(bounds), std::move(folder)));
  if (mkdir(files->crl_folder().c_str(), 0700) != 0) {
    return ErrnoStatus(errno, "make", files->crl_folder());
  }
  {
    const MutexLock lock(files->look_mutex_);
    HG_RETURN_IF_ERROR(files->Take(texts));
    files->WarnOfEnds();
  }
  try {
    files->looks_.emplace("hg-tls", files->bounds_.pace, [raw = files.get()] {
      raw->LookNow();
      return raw->bounds_.pace;
    });
  } catch (const std::system_error& error) {
    return ResourceExhausted("no thread to follow the files of TLS: {}", error.what());
  }
  return files;
}

TlsFiles::~TlsFiles() {
  looks_.reset();
  OPENSSL_cleanse(texts_.key.data(), texts_.key.size());
}

double TlsFiles::Now() const { return bounds_.now ? bounds_.now() : SecondsSince1970(); }

TlsFigures TlsFiles::Figures() const {
  const MutexLock lock(mutex_);
  return figures_;
}

Status TlsFiles::Write(const TlsSet& set, int64_t generation) const {
  const std::string roots = WithGeneration(set.roots, generation);
  NewFiles files;
  std::set<std::string> names;
  for (const TlsSet::Crl& crl : set.crls) {
    names.insert(crl.file);
    files.emplace_back(std::filesystem::path(crl_folder()) / crl.file, crl.pem);
  }
  if (has_identity()) files.emplace_back(identity_path(), set.identity);
  // The roots last: these make gRPC read the lists.
  files.emplace_back(roots_path(), roots);
  HG_RETURN_IF_ERROR(Replace(files));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(crl_folder(), error)) {
    if (!names.contains(entry.path().filename())) std::filesystem::remove(entry.path(), error);
  }
  return OkStatus();
}

Status TlsFiles::Take(const TlsTexts& texts) {
  HG_ASSIGN_OR_RETURN(const TlsSet set, CheckTls(texts, paths_, role_, Now()));
  const bool first = texts_.roots.empty();
  const int64_t generation = first ? 1 : Figures().generation + 1;
  HG_RETURN_IF_ERROR(Write(set, generation));
  for (const std::string& warning : set.warnings) spdlog::warn("TLS: {}", warning);
  if (!first) {
    spdlog::info("TLS: new files hold{}", set.expires
                                              ? fmt::format("; the certificate of {} expires {}",
                                                            set.subject, UtcText(*set.expires))
                                              : "");
  }
  texts_ = texts;
  const MutexLock lock(mutex_);
  figures_.subject = set.subject;
  figures_.expires = set.expires;
  figures_.crl_expires = set.crl_expires;
  figures_.generation = generation;
  return OkStatus();
}

Status TlsFiles::Look() {
  TlsPaths paths = paths_;
  if (texts_.crl.has_value()) paths.crl_may_be_missing = false;
  HG_ASSIGN_OR_RETURN(const TlsTexts texts, bounds_.read(paths));
  if (texts == texts_) return OkStatus();
  return Take(texts);
}

void TlsFiles::LookNow() {
  const MutexLock look_lock(look_mutex_);
  const Status found = Look();
  WarnOfEnds();
  const MutexLock lock(mutex_);
  if (found.ok()) {
    if (!figures_.error.empty()) spdlog::info("TLS: the files are in order again");
    figures_.error.clear();
    return;
  }
  ++figures_.bad_looks;
  if (Message(found) == figures_.error) return;
  figures_.error = Message(found);
  spdlog::warn("TLS: {}; what was there before holds on", figures_.error);
}

void TlsFiles::WarnOfEnds() {
  const TlsFigures figures = Figures();
  const double now = Now();
  std::optional<double> end = figures.expires;
  if (figures.crl_expires) end = std::min(end.value_or(*figures.crl_expires), *figures.crl_expires);
  if (!end || now + kSoonSeconds < *end) return;
  // Twice a set: soon, and when it has ended.
  const double told = now < *end ? *end - kSoonSeconds : *end;
  if (warned_until_ && *warned_until_ >= told) return;
  warned_until_ = told;
  spdlog::warn("TLS: the {} {} {}: put a new one in its place",
               end == figures.expires ? "certificate of " + figures.subject : "revocation list",
               now < *end ? "expires" : "has expired; calls are refused for it since",
               UtcText(*end));
}

}  // namespace halograph
