// A certificate authority of a test's own: it makes roots, certificates and revocation lists, in
// date by the clock that it is told.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/tls/openssl_types.h"

namespace halograph {

inline constexpr double kTestTime = 1800000000;  // 2027-01-15T08:00:00Z
inline constexpr double kTestDay = 86400;

// A certificate and its key, in PEM.
struct TestPair {
  std::string certificate;
  std::string key;
  int64_t serial = 0;
};

struct TestLeaf {
  std::string common_name = "leaf";
  // As OpenSSL's configuration has them: "DNS:localhost,IP:127.0.0.1"; empty: none.
  std::string alternative_names = "DNS:localhost,IP:127.0.0.1,IP:::1";
  // In seconds from the authority's time.
  double not_before = -3600;
  double not_after = 30 * 86400.0;
  std::string extended_key_usage = {};  // "serverAuth"; empty: for all uses
};

class TestCa {
 public:
  // `now`: seconds since 1970.
  explicit TestCa(double now, const std::string& name = "test root");

  // A later time, for what is made from here on.
  void SetNow(double now) { now_ = now; }
  [[nodiscard]] const std::string& root() const { return root_pem_; }
  [[nodiscard]] TestPair Make(const TestLeaf& leaf = {});
  // An authority whose certificate this one signed: leaves of `between` come with its certificate
  // behind their own.
  [[nodiscard]] TestCa MakeBetween(const std::string& name);
  // A list of all certificates that are revoked, from an hour ago to `seconds` from now.
  [[nodiscard]] std::string MakeCrl(double seconds = 86400);
  void Revoke(const TestPair& pair) { revoked_.push_back(pair.serial); }

 private:
  TestCa(double now, openssl::KeyPtr key, openssl::CertificatePtr certificate, std::string behind);

  double now_;
  openssl::KeyPtr key_;
  openssl::CertificatePtr certificate_;
  std::string root_pem_;
  std::string behind_;  // what leaves have behind their own certificate
  std::vector<int64_t> revoked_;
};

// Writes in place: what reads meanwhile may see a half. For files that are whole at once: rename.
void WriteTestFile(const std::filesystem::path& path, const std::string& text, int mode = 0600);
// tls.crt, tls.key and ca.crt, each by rename.
void WriteTlsFolder(const std::filesystem::path& folder, const TestPair& pair,
                    const std::string& roots);

}  // namespace halograph
