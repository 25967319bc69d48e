// Which sanitizers the program is built with: GCC and Clang say it in different ways.
#pragma once

namespace halograph {

#if defined(__has_feature)
#define HG_HAS_FEATURE(name) __has_feature(name)
#else
#define HG_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HG_HAS_FEATURE(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || HG_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

#undef HG_HAS_FEATURE

// Both bring an allocator of their own: it holds memory beside what was asked for, keeps what is
// freed, and ends the process where malloc would fail.
inline constexpr bool kSanitizerAllocator = kAddressSanitizer || kThreadSanitizer;

}  // namespace halograph
