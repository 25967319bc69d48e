// A mapped file that is cut short, or whose disk fails, raises SIGBUS where it is next read.
#pragma once

namespace halograph {

// From now on such a signal ends the process with code 1 and one line on stderr that names the
// file. If several threads meet it at once, the first one reports, and the others wait for the end
// of the process. Called by main; `program` must live as long as the process.
void EndOnBusErrors(const char* program);

}  // namespace halograph
