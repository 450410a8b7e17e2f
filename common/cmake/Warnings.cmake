# What every target of ours is compiled with; generated code is not ours. Presets for developers turn warnings into errors; what
# people build on a compiler that we have not seen does not fail for a new warning of it.
option(GALEN_WARNINGS_ARE_ERRORS "Fail at the first warning" OFF)
add_library(galen_warnings INTERFACE)
target_compile_options(galen_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor $<$<BOOL:${GALEN_WARNINGS_ARE_ERRORS}>:-Werror>
  # Members that are left out get their declared default, which is what is meant.
  -Wno-missing-field-initializers
  # g++ takes each file of a unity build for a header, and its warnings about data flow are false at some levels of optimisation.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)
