# Targets of this project. A folder is a target, and a target sees the headers of its own folder
# and of the folders it links to, and no others: each include directory is a view that holds one
# folder only. So an include that the layers forbid does not compile, and an edge that they forbid
# does not configure. docs/architecture.md#layers says why; tests/lint/layers_test.py proves it.

# The layers, lowest first. A target may depend only on lower ones.
set(GALEN_LAYERS
  "common/base"
  "common/(observability/trace|crypto|timeseries|profile/hangs|log_analysis/templates|svg|yaml)"
  "common/(host|observability/log|http)"
  "common/(security|phrases)"
  "common/(observability/metrics|store|knowledge|log_analysis/scan|perfmodel)"
  "common/(rpc|log_analysis/triage|profile|intake|incident_history|run_records)"
  "common/(remediation|node_history|llm)"
  "common/(clients|kube|telemetry)"
  "common/(reasoner|curation|service|log_sources)"
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
    # Folders of one group may stand on one layer, or on several.
    if(("${folder}/" MATCHES "^${family}/" AND NOT other GREATER own) OR rel MATCHES "^(tests|bench)/")
      continue()
    endif()
    if(NOT other LESS own)
      message(FATAL_ERROR "${rel} must not depend on ${dep}: see docs/architecture.md#layers")
    endif()
  endforeach()
endfunction()

# The build that ships compiles a target's files together (CMAKE_UNITY_BUILD) and precompiles the headers that most files
# read: a third of the time. Presets `dev` and `clang` do neither, so there a file that forgets an include does not build.
# Only headers of others: touching one of ours must not build everything anew.
set(GALEN_COMMON_HEADERS <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstdint> <deque> <filesystem> <fstream>
  <functional> <map> <memory> <mutex> <optional> <random> <set> <sstream> <string> <thread> <tuple> <utility> <vector>
  <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/functional/any_invocable.h> <absl/functional/function_ref.h>
  <absl/status/status.h> <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_format.h> <absl/strings/str_join.h>
  <absl/strings/str_replace.h> <absl/strings/str_split.h> <absl/strings/string_view.h> <absl/time/clock.h> <absl/time/time.h>
  <google/protobuf/util/json_util.h> <grpcpp/grpcpp.h> <nlohmann/json.hpp> <re2/re2.h>
  <galen/advisor/v1/advisor.pb.h> <galen/eval/v1/eval.pb.h> <galen/knowledge/v1/knowledge.pb.h> <galen/planning/v1/planning.pb.h>
  <galen/v1/diagnosis_event.pb.h> <galen/v1/diagnosis_service.pb.h>)

# Target `pch` that compiles `headers`; what is linked and defined here must be so in the targets that use it.
function(galen_precompile pch)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${pch}.cc CONTENT "// Empty: the headers are what is compiled.\n")
  add_library(${pch} OBJECT ${PROJECT_BINARY_DIR}/${pch}.cc)
  target_precompile_headers(${pch} PRIVATE ${GALEN_COMMON_HEADERS})
  target_link_libraries(${pch} PRIVATE galen::proto_grpc absl::flat_hash_map absl::flat_hash_set nlohmann_json::nlohmann_json
    PkgConfig::re2 galen_warnings ${ARGN})
  # A compiler that finds the last result of this rule reads it instead of the headers, and ccache takes what it prints for
  # what they hold: it would hand out the old result for headers that have changed.
  set_target_properties(${pch} PROPERTIES CXX_COMPILER_LAUNCHER "")
  target_compile_options(${pch} PRIVATE -pthread $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
endfunction()

# Lets `target` use the headers that `pch` compiled.
function(galen_use_precompiled target pch)
  target_precompile_headers(${target} REUSE_FROM ${pch})
  target_compile_options(${target} PRIVATE -pthread)  # as the headers were: it defines _REENTRANT
  # ccache needs it to tell what a precompiled header holds.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()

# galen_optimize(LEVEL files...): these files have an optimisation level of their own, in every build. They are compiled alone and without
# precompiled headers: g++ crashes on headers that were compiled at another level.
function(galen_optimize level)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${level}" SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# galen_library([SUFFIX rpc] [HOT] SRCS ... DEPS ... [PRIVATE_DEPS ...]): the library of this folder.
# services/planning becomes target services_planning, alias galen::services::planning. With SUFFIX
# rpc it is the folder's adapter to gRPC, a library of its own: galen::services::planning_rpc. HOT: its inner loops decide how
# long a diagnosis takes, so it is compiled with -O2; the rest has -O1, which compiles in two thirds of the time.
function(galen_library)
  cmake_parse_arguments(ARG "HOT" "SUFFIX" "SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
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
    if(ARG_HOT AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
      target_compile_options(${target} PRIVATE -O2)  # so it has no precompiled headers, as in galen_optimize
    else()
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
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc)
  target_link_libraries(galen_allocator INTERFACE PkgConfig::jemalloc)
endif()

# galen_binary(name SRCS ... DEPS ... [SMALL] [TOOL]): a program in build/bin. Target `programs` is all that ship. SMALL: one whose
# memory at rest counts for more than its speed. TOOL: one that does not ship; tests run it, so `test_programs` includes it.
add_custom_target(programs)
add_custom_target(test_programs)
function(galen_binary name)
  cmake_parse_arguments(ARG "SMALL;TOOL" "" "SRCS;DEPS" ${ARGN})
  galen_name(target alias rel)
  galen_check_edges(${rel} TRUE ${ARG_DEPS})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} galen_warnings)
  galen_use_precompiled(${name} galen_pch)
  if(NOT ARG_SMALL)
    target_link_libraries(${name} PRIVATE galen_allocator)
  endif()
  if(NOT ARG_TOOL)
    add_dependencies(programs ${name})
  elseif(GALEN_TESTS STREQUAL "ALL")
    add_dependencies(test_programs ${name})
  endif()
endfunction()

# galen_test(name SRCS ... DEPS ... [LABELS ...] [SHARDS count] [TIMEOUT seconds]): one executable per tested folder, linked to
# that folder only: a dependency that the library did not declare fails here, at link. Label
# `grpc` keeps a test out of the sanitizers' builds (PLAIN, CONCURRENT), which gRPC's own libraries are not made for.
# It is one CTest entry, or SHARDS of them where one would keep a core busy long after the others are done.
function(galen_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;SHARDS" "SRCS;DEPS;LABELS" ${ARGN})
  if("grpc" IN_LIST ARG_LABELS AND GALEN_TESTS MATCHES "PLAIN|CONCURRENT")
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)
  endif()
  # What takes ten seconds takes a minute and more under a sanitizer: a limit is for what hangs.
  if("${CMAKE_CXX_FLAGS_DEBUG}" MATCHES "-fsanitize")
    math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")
  endif()
  add_executable(${name} ${ARG_SRCS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_compile_options(${name} PRIVATE -O0)
  galen_use_precompiled(${name} galen_test_pch)
  target_compile_definitions(${name} PRIVATE
    GALEN_SOURCE_DIR="${PROJECT_SOURCE_DIR}" GALEN_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock_main galen_warnings)
  add_dependencies(test_programs ${name})
  if(NOT ARG_SHARDS)
    add_test(NAME ${name} COMMAND ${name})
    set(entries ${name})
  else()
    math(EXPR last "${ARG_SHARDS} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${name}.${shard} COMMAND ${name})
      set_tests_properties(${name}.${shard} PROPERTIES ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${shard}")
      list(APPEND entries ${name}.${shard})
    endforeach()
  endif()
  set_tests_properties(${entries} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "unit;${ARG_LABELS}")
endfunction()

# galen_bench(name SRCS ... DEPS ...): a benchmark, in build/bench; not a test.
function(galen_bench name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_compile_definitions(${name} PRIVATE GALEN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} benchmark::benchmark_main galen_warnings galen_allocator)
endfunction()
