// What LeakSanitizer finds in libraries and does not tell.

// c-ares, which gRPC asks for addresses, loses the names of a line of /etc/hosts with several.
extern "C" const char* __lsan_default_suppressions() { return "leak:libcares.so\n"; }
