# What concerns the programs that are shipped: the version they report, and where they look for their libraries.

# Of its own, so that another version compiles the files that name it and nothing else.
set(OPSAGENT_VERSION "" CACHE STRING "The version that the programs report; empty for the project's")
if(NOT OPSAGENT_VERSION)
  set(OPSAGENT_VERSION ${PROJECT_VERSION})
endif()

# opsagent_names_version(FILE)
#   FILE, of the calling folder, sees the version as the string OPSAGENT_VERSION.
function(opsagent_names_version file)
  set_source_files_properties(${file} PROPERTIES COMPILE_DEFINITIONS OPSAGENT_VERSION="${OPSAGENT_VERSION}")
endfunction()

# opsagent_shipped(TARGET)
#   The program finds the libraries of its release in ../lib, before those of the system. DT_RPATH, not DT_RUNPATH: the
#   libraries' own libraries must be found there too. In the build folder there is no ../lib, and the system's are used.
function(opsagent_shipped target)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib" BUILD_WITH_INSTALL_RPATH TRUE)
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endfunction()
