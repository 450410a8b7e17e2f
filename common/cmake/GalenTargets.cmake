# Targets of this project. A folder is a target, and a target sees the headers of its own folder
# and of the folders it links to, and no others: each include directory is a view that holds one
# folder only. So an include that the layers forbid does not compile, and an edge that they forbid
# does not configure. docs/architecture.md#layers says why; tests/lint/layers_test.sh proves it.

# The layers, lowest first. A target may depend only on lower ones.
set(GALEN_LAYERS
  "common/base"
  "common/(trace|digest|series|collectives|templates)"
  "common/(host|log)"
  "common/(security|words)"
  "common/(metrics|store|knowledge|logs|retrieval|plot|perfmodel|talk)"
  "common/(rpc|triage|profile|warning)"
  "common/(actions|advisor|failures|llm|spending)"
  "common/http"
  "common/(clients|kube|telemetry)"
  "common/(reasoner|curation|program|playbook)"
  "services/(advisor|summarization|planning|execution|node|reflection|conclusion|orchestrator|watch|gateway)"
  "services/cli"
  "(tests|bench)/.*")

# Sets `out` to the number of the layer that folder `rel` belongs to.
function(galen_layer rel out)
  set(number 0)
  foreach(layer ${GALEN_LAYERS})
    if("${rel}/" MATCHES "^${layer}/")
      set(${out} ${number} PARENT_SCOPE)
      return()
    endif()
    math(EXPR number "${number} + 1")
  endforeach()
  message(FATAL_ERROR "${rel} belongs to no layer: add it to GALEN_LAYERS in common/cmake/GalenTargets.cmake")
endfunction()

function(galen_name out_target out_alias out_rel)
  file(RELATIVE_PATH rel ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "_" target ${rel})
  string(REPLACE "/" "::" alias ${rel})
  set(${out_target} ${target} PARENT_SCOPE)
  set(${out_alias} galen::${alias} PARENT_SCOPE)
  set(${out_rel} ${rel} PARENT_SCOPE)
endfunction()

# Refuses the edges that the layers forbid. `speaks_grpc` is true for adapters and programs.
function(galen_check_edges rel speaks_grpc)
  galen_layer(${rel} own)
  string(REGEX MATCH "^[a-z0-9_]+/[a-z0-9_]+" family ${rel})
  foreach(dep ${ARGN})
    if(dep MATCHES "^(galen::proto_grpc|gRPC::)" AND NOT speaks_grpc)
      message(FATAL_ERROR "${rel} must not depend on ${dep}: only adapters (SUFFIX rpc) and programs speak gRPC, see docs/architecture.md#layers")
    endif()
    if(NOT dep MATCHES "^galen::(common|services|tests|bench)::")
      continue()
    endif()
    string(REGEX REPLACE "_rpc$" "" folder ${dep})
    string(REGEX REPLACE "^galen::" "" folder ${folder})
    string(REPLACE "::" "/" folder ${folder})
    galen_layer(${folder} other)
    if("${folder}/" MATCHES "^${family}/" OR rel MATCHES "^(tests|bench)/")
      continue()
    endif()
    if(NOT other LESS own)
      message(FATAL_ERROR "${rel} must not depend on ${dep}: see docs/architecture.md#layers")
    endif()
  endforeach()
endfunction()

# Headers of others that nearly every file reads are compiled once for all files of a kind, which
# saves a third of a build's time (GALEN_PCH, of CMakePresets.json): TESTS for tests, ALL for libraries,
# too. The build that ships has them for tests only, so that a library that forgets an include does not build.
set(GALEN_COMMON_HEADERS <algorithm> <cstdint> <functional> <map> <memory> <optional> <set> <string> <utility> <vector>
  <absl/functional/any_invocable.h> <absl/status/status.h> <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_split.h>
  <absl/strings/string_view.h> <absl/time/time.h> <google/protobuf/message.h>)
set(GALEN_TEST_HEADERS ${GALEN_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)

# Target `pch` that compiles `headers`; what is linked and defined here must be so in the targets that use it.
function(galen_precompile pch headers)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${pch}.cc CONTENT "// Nothing: what is compiled is the headers.\n")
  add_library(${pch} OBJECT ${PROJECT_BINARY_DIR}/${pch}.cc)
  target_precompile_headers(${pch} PRIVATE ${headers})
  target_link_libraries(${pch} PRIVATE absl::any_invocable absl::status absl::statusor absl::strings absl::time protobuf::libprotobuf
    galen_warnings ${ARGN})
  target_compile_options(${pch} PRIVATE -pthread $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
endfunction()

# Lets `target` use what `pch` compiled.
function(galen_use_precompiled target pch)
  target_precompile_headers(${target} REUSE_FROM ${pch})
  target_compile_options(${target} PRIVATE -pthread)  # as the headers were: it defines _REENTRANT
  # So that ccache can tell what is in it.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()
if(GALEN_PCH STREQUAL "ALL")
  galen_precompile(galen_pch "${GALEN_COMMON_HEADERS}")
endif()

# With GALEN_UNITY the files of a target are compiled several at a time, which takes a third of the time: TESTS for tests, ALL
# for libraries, too. The build that ships has it for tests only, so that each file of a library stands by itself. Those that it is given further (ALONE, below) are not: a name within them stands in another file as well.
function(galen_unity target is_test)
  if(GALEN_UNITY STREQUAL "ALL" OR (GALEN_UNITY STREQUAL "TESTS" AND is_test))
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# galen_library([SUFFIX rpc] SRCS ... DEPS ... [PRIVATE_DEPS ...] [ALONE ...]): the library of this folder.
# services/planning becomes target services_planning, alias galen::services::planning. With SUFFIX
# rpc it is the folder's adapter to gRPC, a library of its own: galen::services::planning_rpc.
function(galen_library)
  cmake_parse_arguments(ARG "" "SUFFIX" "SRCS;DEPS;PRIVATE_DEPS;ALONE" ${ARGN})
  galen_name(target alias rel)
  set(speaks_grpc FALSE)
  if(ARG_SUFFIX STREQUAL "rpc" OR rel MATCHES "^(common/rpc|services/cli|tests/|bench/)")
    set(speaks_grpc TRUE)
  endif()
  galen_check_edges(${rel} ${speaks_grpc} ${ARG_DEPS} ${ARG_PRIVATE_DEPS})
  set(view ${PROJECT_BINARY_DIR}/view/${target})
  cmake_path(GET rel PARENT_PATH parent)
  file(MAKE_DIRECTORY ${view}/${parent})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${view}/${rel} SYMBOLIC)
  if(ARG_SUFFIX)
    string(APPEND target _${ARG_SUFFIX})
    string(APPEND alias _${ARG_SUFFIX})
  endif()
  if(ARG_SRCS)
    add_library(${target} STATIC ${ARG_SRCS})
    target_include_directories(${target} PUBLIC ${view})
    target_link_libraries(${target} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS} galen_warnings)
    galen_unity(${target} FALSE ${ARG_ALONE})
    if(GALEN_PCH STREQUAL "ALL" AND NOT rel MATCHES "^tests/")
      galen_use_precompiled(${target} galen_pch)
    endif()
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${view})
    target_link_libraries(${target} INTERFACE ${ARG_DEPS})
  endif()
  add_library(${alias} ALIAS ${target})
endfunction()

# Memory for programs that build and take apart many messages at a time: an eighth of the processor time of a
# diagnosis less than with glibc's. Sanitizers have their own.
add_library(galen_allocator INTERFACE)
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc)
  target_link_libraries(galen_allocator INTERFACE PkgConfig::jemalloc)
endif()

# galen_binary(name SRCS ... DEPS ... [SMALL]): a program that ships, in build/bin; target `programs` is all.
# SMALL: one whose memory at rest counts for more than its speed.
add_custom_target(programs)
function(galen_binary name)
  cmake_parse_arguments(ARG "SMALL" "" "SRCS;DEPS" ${ARGN})
  galen_name(target alias rel)
  galen_check_edges(${rel} TRUE ${ARG_DEPS})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} galen_warnings)
  if(NOT ARG_SMALL)
    target_link_libraries(${name} PRIVATE galen_allocator)
  endif()
  add_dependencies(programs ${name})
endfunction()

add_custom_target(test_programs)

# galen_test(name SRCS ... DEPS ... [LABELS ...] [ALONE ...]): one executable per tested folder, linked to
# that folder only: a dependency that the library did not declare fails here, at link. Label
# `grpc` keeps a test out of the sanitizers' builds (PLAIN, CONCURRENT), which gRPC's own libraries are not made for.
# Each case is a CTest test of its own, in a process of its own; with FILTER only those that match,
# and each "name=filter" of RUNS is one test of all that match: for cases that share what is
# expensive to start.
function(galen_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;FILTER" "SRCS;DEPS;LABELS;RUNS;ALONE" ${ARGN})
  if("grpc" IN_LIST ARG_LABELS AND GALEN_TESTS MATCHES "PLAIN|CONCURRENT")
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  # What takes ten seconds takes a minute and more under a sanitizer: a limit is for what hangs.
  if("${CMAKE_CXX_FLAGS_DEBUG}" MATCHES "-fsanitize")
    math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")
  endif()
  add_executable(${name} ${ARG_SRCS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  galen_unity(${name} TRUE ${ARG_ALONE})
  target_compile_options(${name} PRIVATE -O0)
  if(GALEN_PCH)
    galen_use_precompiled(${name} galen_test_pch)
  endif()
  target_compile_definitions(${name} PRIVATE
    GALEN_SOURCE_DIR="${PROJECT_SOURCE_DIR}" GALEN_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock_main galen_warnings)
  add_dependencies(test_programs ${name})
  set(filter)
  if(ARG_FILTER)
    set(filter TEST_FILTER ${ARG_FILTER})
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES ${filter}
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  foreach(run ${ARG_RUNS})
    string(REGEX MATCH "^([^=]+)=(.+)$" matched ${run})
    add_test(NAME ${CMAKE_MATCH_1} COMMAND ${name} --gtest_filter=${CMAKE_MATCH_2})
    set_tests_properties(${CMAKE_MATCH_1} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
  endforeach()
endfunction()

# galen_bench(name SRCS ... DEPS ...): a benchmark, in build/bench; not a test.
function(galen_bench name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_compile_definitions(${name} PRIVATE GALEN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} benchmark::benchmark_main galen_warnings galen_allocator)
endfunction()
