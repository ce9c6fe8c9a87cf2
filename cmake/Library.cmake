# What nearly every file includes is parsed once for each target: half of the time that a build takes. Files include what they
# use all the same; -DOPSAGENT_PRECOMPILE=OFF shows whether they do.
option(OPSAGENT_PRECOMPILE "Precompile the headers of the standard library" ON)
function(opsagent_precompile target)
  if(OPSAGENT_PRECOMPILE)
    # g++ 12 forgets that precompiled headers are the system's, and sees in them what is not there.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread>)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <chrono> <cstdint> <functional> <map> <memory>
                              <optional> <span> <sstream> <string> <string_view> <thread> <utility> <variant> <vector> ${ARGN})
  endif()
endfunction()

# opsagent_library(NAME USES lib... )
#   Makes the static library NAME from every .cpp of the calling folder, and, from its *_test.cpp, the
#   program NAME_tests, run by CTest under the folder's name. Unit tests sit beside the code they test.
#   LEAF_FOLDERS: also take the .cpp files one folder down (one folder per state).
#   PRECOMPILE: headers that many files of this folder include and that seldom change.
function(opsagent_library name)
  cmake_parse_arguments(ARG "LEAF_FOLDERS" "" "USES;EXTRA;PRECOMPILE" ${ARGN})
  set(patterns ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(test_patterns ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  if(ARG_LEAF_FOLDERS)
    list(APPEND patterns ${CMAKE_CURRENT_SOURCE_DIR}/*/*.cpp)
    list(APPEND test_patterns ${CMAKE_CURRENT_SOURCE_DIR}/*/*_test.cpp)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  file(GLOB test_sources CONFIGURE_DEPENDS ${test_patterns})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")

  add_library(${name} STATIC ${sources} ${ARG_EXTRA})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_USES} Threads::Threads)
  opsagent_precompile(${name} ${ARG_PRECOMPILE})

  if(test_sources)
    add_executable(${name}_tests ${test_sources} ${PROJECT_SOURCE_DIR}/tests/doctest_main.cpp)
    target_link_libraries(${name}_tests PRIVATE ${name})
    if(NOT name STREQUAL base)
      target_link_libraries(${name}_tests PRIVATE test_support)
    endif()
    opsagent_precompile(${name}_tests <doctest/doctest.h> ${ARG_PRECOMPILE})
    # Optimising tests costs more than it gains.
    target_compile_options(${name}_tests PRIVATE $<$<CONFIG:Release>:-O0>)
    # What changes the machine itself (accounts, packages, units) is in the doctest suite "system" and runs in a
    # container of its own, see tests/container/.
    add_test(NAME ${name} COMMAND ${name}_tests --test-suite-exclude=system*)
    set_tests_properties(${name} PROPERTIES LABELS "unit;quick" TIMEOUT 300)
  endif()
endfunction()
