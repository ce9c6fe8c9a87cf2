# What nearly every file includes is parsed once: for the libraries, and for the tests, which are not optimised. Files include what
# they use all the same; -DOPSAGENT_PRECOMPILE=OFF shows whether they do.
option(OPSAGENT_PRECOMPILE "Precompile the headers of the standard library" ON)
# opsagent_precompiled(NAME HEADER...): makes the target NAME, whose headers others use.
function(opsagent_precompiled name)
  set(source ${PROJECT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Generated: a target needs a file.\n")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE Threads::Threads)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_precompile_headers(${name} PRIVATE <algorithm> <array> <chrono> <cstdint> <functional> <map> <memory> <optional> <span>
                            <sstream> <string> <string_view> <thread> <utility> <variant> <vector> ${ARGN})
endfunction()
# Optimising tests costs more than it gains.
set(OPSAGENT_TEST_OPTIONS $<$<CONFIG:Release>:-O0> $<$<CONFIG:Release>:-U_FORTIFY_SOURCE>)
if(OPSAGENT_PRECOMPILE)
  opsagent_precompiled(precompiled_for_libraries)
  opsagent_precompiled(precompiled_for_tests <doctest/doctest.h>)
  target_compile_options(precompiled_for_tests PRIVATE ${OPSAGENT_TEST_OPTIONS})
endif()
# opsagent_precompile(TARGET NAME): TARGET uses the headers of NAME.
function(opsagent_precompile target name)
  if(OPSAGENT_PRECOMPILE)
    # g++ 12 forgets that precompiled headers are the system's, and sees in them what is not there.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread>)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

# Several files are compiled together, so that what they all include is parsed once for each batch: a clean build takes half
# the time, and one changed file compiles its neighbours again. So it is for the presets that are shipped and tested, and off where
# people work on the code.
option(OPSAGENT_BATCHES "Compile several files together" OFF)
# Where a batch ends is decided by the names of its files, within bounds of its size: a file that is added, removed or grows changes the
# batches beside it, and no others. The sizes are bytes of source: a few seconds each, so that two processors end at the same time.
set(OPSAGENT_BATCH_LEAST 16000)
set(OPSAGENT_BATCH_MOST 96000)
if(OPSAGENT_BATCHES)
  # A class in an included .cpp file that uses an anonymous namespace looks to g++ like one in a header.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

# opsagent_batches(OUTPUT NAME FILE...)
#   OUTPUT: what a target compiles in the place of the files: batches that include them. Paths in them are relative to the project,
#   so that every clone makes the same objects. Files with compile definitions of their own, or with the property OPSAGENT_ALONE,
#   stay as they are: set properties before the library is made. What each state of a run passes is compiled alone, because in a batch,
#   where more call them, g++ inlines the functions of std::string less often. So does a file with a line "// Compiled alone": tests
#   whose own names are those of other tests have it.
function(opsagent_batches output name)
  if(NOT OPSAGENT_BATCHES)
    set(${output} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(sources "")
  set(batches "")
  set(batch "")  # the one that is being filled, and its size
  set(bytes 0)
  foreach(file IN LISTS ARGN)
    get_source_file_property(definitions ${file} COMPILE_DEFINITIONS)
    get_source_file_property(is_alone ${file} OPSAGENT_ALONE)
    file(STRINGS ${file} asks_to_be_alone LIMIT_COUNT 1 REGEX "^// Compiled alone")
    if(definitions OR is_alone OR asks_to_be_alone)
      list(APPEND sources ${file})
      continue()
    endif()
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
    file(SIZE ${file} size)
    math(EXPR bytes "${bytes} + ${size}")
    string(SHA1 hash ${path})
    string(SUBSTRING ${hash} 0 4 hash)
    math(EXPR is_inner "0x${hash} % 6")
    if(batch AND bytes GREATER OPSAGENT_BATCH_MOST OR NOT is_inner AND bytes GREATER OPSAGENT_BATCH_LEAST)
      set(batch "")
      set(bytes ${size})
    endif()
    if(NOT batch)
      cmake_path(REMOVE_EXTENSION path OUTPUT_VARIABLE batch)
      string(MAKE_C_IDENTIFIER ${batch} batch)
      list(APPEND batches ${batch})
    endif()
    string(APPEND text_${batch} "#include \"${path}\"\n")
  endforeach()
  foreach(batch IN LISTS batches)
    set(generated ${CMAKE_CURRENT_BINARY_DIR}/${name}_batches/${batch}.cpp)
    file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT "// Generated: files that are compiled together.\n${text_${batch}}")
    list(APPEND sources ${generated})
  endforeach()
  set(${output} ${sources} PARENT_SCOPE)
endfunction()

# opsagent_library(NAME USES lib... )
#   Makes the static library NAME from every .cpp of the calling folder, and, from its *_test.cpp, the
#   program NAME_tests, run by CTest under the folder's name. Unit tests sit beside the code they test.
#   ROOMS: also take the .cpp files of the folders below (one folder per state; the rooms of agent/ and backend/).
#   ALONE: every file is compiled by itself, so that a program that uses one of them links no other.
#   TESTS_ALONE HEADER: so are the tests only, which have the same names in every folder; what all of them include is precompiled.
function(opsagent_library name)
  cmake_parse_arguments(ARG "ROOMS;ALONE" "TESTS_ALONE" "USES;EXTRA" ${ARGN})
  set(glob GLOB)
  if(ARG_ROOMS)
    set(glob GLOB_RECURSE)
  endif()
  file(${glob} sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  file(${glob} test_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")

  if(NOT ARG_ALONE)
    opsagent_batches(sources ${name} ${sources})
  endif()
  add_library(${name} STATIC ${sources} ${ARG_EXTRA})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_USES} Threads::Threads)
  opsagent_precompile(${name} precompiled_for_libraries)

  if(test_sources)
    set(precompiled precompiled_for_tests)
    if(NOT ARG_TESTS_ALONE)
      set(OPSAGENT_BATCH_LEAST 8000)
      set(OPSAGENT_BATCH_MOST 40000)  # they change more often than what they test
      opsagent_batches(test_sources ${name}_tests ${test_sources})
    elseif(OPSAGENT_PRECOMPILE)
      set(precompiled precompiled_for_${name}_tests)
      opsagent_precompiled(${precompiled} <doctest/doctest.h> ${ARG_TESTS_ALONE})
      # By what is in the headers. By what they are preprocessed to, ccache takes those of before when only a comment has changed; and g++,
      # which compares the whole text, then reads a header of ours twice.
      if(CCACHE)
        set_target_properties(${precompiled} PROPERTIES CXX_COMPILER_LAUNCHER
                                             "${CMAKE_COMMAND};-E;env;CCACHE_DEPEND=1;${CMAKE_CXX_COMPILER_LAUNCHER}")
      endif()
      target_compile_options(${precompiled} PRIVATE ${OPSAGENT_TEST_OPTIONS})
    endif()
    add_executable(${name}_tests ${test_sources} ${PROJECT_SOURCE_DIR}/tests/doctest_main.cpp)
    target_link_libraries(${name}_tests PRIVATE ${name})
    if(NOT name STREQUAL base)
      target_link_libraries(${name}_tests PRIVATE test_support)
    endif()
    opsagent_precompile(${name}_tests ${precompiled})
    target_compile_options(${name}_tests PRIVATE ${OPSAGENT_TEST_OPTIONS})
    # What changes the machine itself (accounts, packages, units) is in the doctest suite "system" and runs in a
    # container of its own, see tests/container/; what needs an engine of Docker is in "docker", see tests/docker/;
    # what needs a kernel with device-mapper and md is in "block-devices", see tests/block_devices/.
    add_test(NAME ${name} COMMAND ${name}_tests --test-suite-exclude=system*,docker,block-devices)
    set_tests_properties(${name} PROPERTIES LABELS "unit;quick" TIMEOUT 600)
  endif()
endfunction()
