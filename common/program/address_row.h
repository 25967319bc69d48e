// An option that lists addresses to call: HOST:PORT,... The one place that reads such lists.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/program/options.h"

namespace halograph {

// The addresses as ToString has them (common/base/host_port.h), in their order. InvalidArgument
// with the text: one is no address to call, or is listed twice.
[[nodiscard]] StatusOr<std::vector<std::string>> ReadAddresses(
    const std::vector<std::string>& addresses);

// A row named `name` of a list of addresses, without the dashes, as `read` takes them. Blanks
// around an address do not count, and of an IPv6 address without brackets the port stands behind
// the last colon: the field holds it with brackets. Returned so that a program may refine it.
using AddressReader =
    std::function<StatusOr<std::vector<std::string>>(const std::vector<std::string>&)>;
OptionRow& AddAddressRow(OptionTable& rows, std::string name, std::vector<std::string>* addresses,
                         std::string help, AddressReader read = ReadAddresses);

}  // namespace halograph
