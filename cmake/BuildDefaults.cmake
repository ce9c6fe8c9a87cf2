# How every target is compiled and linked: language level, warnings, sanitizers, ccache, mold.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# -O3 buys nothing measurable here and costs build time.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g -DNDEBUG")
# Options that only g++ knows are for g++ only, here and below: clang, which must compile the tree without warnings too, calls them unknown.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # With optimisation g++ takes the unused members of variants and optionals for uninitialised.
  string(APPEND CMAKE_CXX_FLAGS_RELEASE " -Wno-maybe-uninitialized")
  string(APPEND CMAKE_CXX_FLAGS_RELWITHDEBINFO " -Wno-maybe-uninitialized")
endif()

set(OPSAGENT_SANITIZE "" CACHE STRING "Value for -fsanitize=, empty for none")

find_program(CCACHE ccache)
if(CCACHE)
  # Without the first it does not cache what uses precompiled headers; with the next two every clone, worktree and build folder shares
  # the cache, the one that releases are built in too.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
                                  CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                    -Woverloaded-virtual -Wconversion -Wimplicit-fallthrough -Werror
                    # Designated initialisers leave members at their defaults on purpose.
                    -Wno-missing-field-initializers
                    # g++ 12 sees overlaps in "text" + std::string when it optimises (GCC bug 105651).
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                    # What only clang sees: views of what is gone, and data that is read without its lock.
                    $<$<CXX_COMPILER_ID:Clang>:-Wdangling> $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
                    # The stable_sort of g++ 12's library uses a deprecated function of its own. g++ still tells of ours.
                    $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
add_compile_options(-fstack-protector-strong -fdata-sections -ffunction-sections)
add_link_options(-Wl,--gc-sections -Wl,--as-needed -Wl,-z,relro -Wl,-z,now)

# What makes a defect in memory harder to use. tests/hardening_test looks for it in the programs.
include(CheckCXXCompilerFlag)
foreach(option -fstack-clash-protection -fcf-protection)
  string(MAKE_C_IDENTIFIER "has${option}" has_option)
  check_cxx_compiler_flag(${option} ${has_option})  # the second is for x86 only
  if(${has_option})
    add_compile_options(${option})
  endif()
endforeach()
# The checked variants of memcpy and its like need optimisation, and the sanitizers bring their own. Level 3 where the compiler has it
# (g++ 12, clang 15); libc takes it as 2 where not.
if(NOT OPSAGENT_SANITIZE)
  add_compile_options($<$<CONFIG:Release,RelWithDebInfo>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release,RelWithDebInfo>:-D_FORTIFY_SOURCE=3>)
endif()
add_compile_definitions(_FILE_OFFSET_BITS=64 _GNU_SOURCE)

if(OPSAGENT_SANITIZE)
  add_compile_options(-fsanitize=${OPSAGENT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${OPSAGENT_SANITIZE})
  # Instrumented, g++ 12 takes members of a std::variant for uninitialised that are not.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()

find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Boost 1.81 REQUIRED)  # or newer
find_package(PkgConfig REQUIRED)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
