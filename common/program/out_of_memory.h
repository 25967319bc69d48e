// Memory that runs out, as an error with a name and with what to do.
#pragma once

#include <exception>
#include <string_view>

#include "common/base/status.h"

namespace halograph {

// What left a program's work as an exception. ResourceExhausted where memory ran out ("out of
// memory", with `advice`) or no thread can be started; else Internal.
[[nodiscard]] Status StatusOfException(const std::exception& error, std::string_view advice);

// Libraries in C, gRPC's for one, call abort() when they get no memory. From now on that ends the
// process with code 1 and one line on stderr, "PROGRAM: out of memory; ADVICE", where memory is out
// indeed; any other abort is left as it is. For main; call it once.
void EndOnAbortWithoutMemory(std::string_view program, std::string_view advice);

}  // namespace halograph
