#include "client/server_list.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include <arpa/inet.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "common/base/host_port.h"
#include "common/storage/file.h"

namespace halograph {
namespace {

constexpr int64_t kMostFileBytes = 1 << 20;

bool IsFile(std::string_view word) { return word.starts_with('@'); }

// Also one with a zone: "fe80::1%eth0".
bool IsNumber(const std::string& host) {
  in6_addr ignored{};
  return inet_pton(AF_INET, host.c_str(), &ignored) == 1 || host.find(':') != std::string::npos;
}

StatusOr<std::vector<HostPort>> ReadFile(const std::filesystem::path& path) {
  HG_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMostFileBytes));
  std::vector<HostPort> found;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view said = line.substr(0, line.find('#'));
    const std::vector<std::string> words =
        absl::StrSplit(said, absl::ByAnyChar(", \t\r"), absl::SkipEmpty());
    for (const std::string& word : words) {
      StatusOr<HostPort> address = ParseServerAddress(word);
      if (!address.ok()) {
        return InvalidArgument("{}:{}: {}", path.string(), number, Message(address.status()));
      }
      found.push_back(*std::move(address));
    }
  }
  if (found.empty()) {
    return InvalidArgument("{}: names no server: write HOST:PORT, a line each", path.string());
  }
  return found;
}

StatusOr<std::vector<HostPort>> Listed(const std::vector<std::string>& words) {
  std::vector<HostPort> listed;
  for (const std::string& word : words) {
    if (IsFile(word)) {
      HG_ASSIGN_OR_RETURN(const std::vector<HostPort> in_file, ReadFile(word.substr(1)));
      listed.insert(listed.end(), in_file.begin(), in_file.end());
    } else {
      HG_ASSIGN_OR_RETURN(listed.emplace_back(), ParseServerAddress(word));
    }
  }
  return listed;
}

// Its places, out of what the name service says.
std::vector<ServerPlace> PlacesOf(const HostPort& listed, const HostAddresses& addresses) {
  const std::string name = ToString(listed);
  std::vector<ServerPlace> places;
  for (const SocketAddress& address : addresses) {
    if (address.bytes.ss_family != addresses.front().bytes.ss_family) continue;
    const ServerPlace place = {ToString({address.number, listed.port}), name};
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  }
  return places;
}

}  // namespace

bool ServerList::may_change() const {
  return std::any_of(words_.begin(), words_.end(), [](const std::string& word) {
    const auto address = ParseServerAddress(word);
    return IsFile(word) || (address.ok() && !IsNumber(address->host));
  });
}

StatusOr<std::vector<ServerPlace>> ServerList::Find(
    std::chrono::steady_clock::time_point deadline) const {
  return FindAll(deadline, false);
}

StatusOr<std::vector<ServerPlace>> ServerList::FindNumbers(
    std::chrono::steady_clock::time_point deadline) const {
  return FindAll(deadline, true);
}

StatusOr<std::vector<ServerPlace>> ServerList::FindAll(
    std::chrono::steady_clock::time_point deadline, bool numbers) const {
  HG_ASSIGN_OR_RETURN(const std::vector<HostPort> listed, Listed(words_));
  std::vector<HostPort> names;
  std::copy_if(listed.begin(), listed.end(), std::back_inserter(names),
               [](const HostPort& address) { return !IsNumber(address.host); });
  const std::vector<StatusOr<HostAddresses>> answers = LookUpAll(names, deadline, ask_);
  std::vector<ServerPlace> all;
  const auto add = [&all](const ServerPlace& place) {
    const bool there = std::any_of(all.begin(), all.end(), [&](const ServerPlace& other) {
      return other.address == place.address;
    });
    if (!there) all.push_back(place);
  };
  auto answer = answers.begin();
  for (const HostPort& address : listed) {
    if (IsNumber(address.host)) {
      add({ToString(address), ToString(address)});
      continue;
    }
    const StatusOr<HostAddresses>& addresses = *answer++;
    std::vector<ServerPlace> places;
    if (addresses.ok()) places = PlacesOf(address, *addresses);
    if (!numbers && places.size() <= 1) places = {{ToString(address), ToString(address)}};
    std::for_each(places.begin(), places.end(), add);
  }
  return all;
}

StatusOr<std::vector<std::string>> ReadServerWords(const std::vector<std::string>& words) {
  std::vector<std::string> read;
  for (const std::string& text : words) {
    std::string word(absl::StripAsciiWhitespace(text));
    if (!IsFile(word)) {
      HG_ASSIGN_OR_RETURN(const HostPort address, ParseServerAddress(word));
      word = ToString(address);
    } else if (word.size() == 1) {
      return InvalidArgument("'@' without a file: write @FILE");
    }
    if (std::find(read.begin(), read.end(), word) != read.end()) {
      return InvalidArgument("'{}' is listed twice", word);
    }
    read.push_back(std::move(word));
  }
  return read;
}

}  // namespace halograph
