# What every target of ours is compiled with; generated code is not ours.
add_library(galen_warnings INTERFACE)
target_compile_options(galen_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror
  # Members that are left out get their declared default, which is what is meant.
  -Wno-missing-field-initializers)
