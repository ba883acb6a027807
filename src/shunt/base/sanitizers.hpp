/// Which sanitizers this code is compiled with, for every compiler alike.
///
///   SHUNT_ASAN   AddressSanitizer
///   SHUNT_TSAN   ThreadSanitizer
///
/// Each is 1, or not defined. gcc alone also defines __SANITIZE_THREAD__ and the like; code asks for these where it
/// means the limits of gcc's sanitizers.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define SHUNT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define SHUNT_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHUNT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SHUNT_TSAN 1
#endif
#endif
