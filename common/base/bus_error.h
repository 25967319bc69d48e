// A mapped file that is cut short, or whose disk fails, raises SIGBUS where it is next read.
#pragma once

namespace halograph {

// From now on that ends the process with code 1 and one line on stderr that names the file, where
// it would have been a bare signal; also when several threads meet it at once: the first one
// reports, the others wait for the end of the process. For main; `program` lives as long as the
// process.
void EndOnBusErrors(const char* program);

}  // namespace halograph
