#include "common/program/address_row.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "absl/strings/str_split.h"
#include "common/base/host_port.h"

namespace halograph {

StatusOr<std::vector<std::string>> ReadAddresses(const std::vector<std::string>& addresses) {
  std::vector<std::string> read;
  for (const std::string& text : addresses) {
    HG_ASSIGN_OR_RETURN(const HostPort address, ParseServerAddress(text));
    std::string known = ToString(address);
    if (std::find(read.begin(), read.end(), known) != read.end()) {
      return InvalidArgument("'{}' is listed twice", known);
    }
    read.push_back(std::move(known));
  }
  return read;
}

OptionRow& AddAddressRow(OptionTable& rows, std::string name, std::vector<std::string>* addresses,
                         std::string help, AddressReader read) {
  return rows
      .AddText(
          std::move(name),
          [addresses, read = std::move(read)](std::string_view text) -> Status {
            const std::vector<std::string> words = absl::StrSplit(std::string(text), ',');
            HG_ASSIGN_OR_RETURN(*addresses, read(words));
            return OkStatus();
          },
          [addresses] { return fmt::format("{}", fmt::join(*addresses, ",")); }, "",
          std::move(help))
      .AsList([addresses] { return Json(*addresses); })
      .ValueName("HOST:PORT");
}

}  // namespace halograph
