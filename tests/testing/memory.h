#ifndef TESTS_TESTING_MEMORY_H_
#define TESTS_TESTING_MEMORY_H_

namespace galen::testing {

// Whether the memory of this process is what the code allocated: sanitizers keep shadows and freed
// memory, so that a limit proves nothing under them.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GALEN_SANITIZED
#endif
#endif
#if defined(GALEN_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kMemoryIsOurs = false;
#else
inline constexpr bool kMemoryIsOurs = true;
#endif
#undef GALEN_SANITIZED

}  // namespace galen::testing

#endif  // TESTS_TESTING_MEMORY_H_
