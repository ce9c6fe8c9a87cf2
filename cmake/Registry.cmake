# opsagent_registry(NAMESPACE FUNCTION OUTPUT)
#   Writes OUTPUT: the function NAMESPACE::FUNCTION(), which lists the state of every folder below the calling one, with the
#   folder's page.md. A folder foo_bar/ must define `const states::StateType& kState` in NAMESPACE::foo_bar.
function(opsagent_registry namespace function output)
  file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/page.md)
  list(SORT pages)
  set(declarations "")
  set(rows "")
  foreach(page IN LISTS pages)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
    cmake_path(GET page PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    file(READ ${page} text)
    string(APPEND declarations "namespace ${folder} {\nextern const states::StateType& kState;\n}\n")
    string(APPEND rows "    {&${folder}::kState, R\"page(${text})page\"},\n")
  endforeach()
  list(LENGTH pages count)
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
"// Generated from the folders below ${namespace}/; do not edit.
#include <array>

#include \"states/state.hpp\"

namespace ${namespace} {
@declarations@
std::span<const states::RegistryEntry> ${function}() {
  static const std::array<states::RegistryEntry, ${count}> kEntries{{
@rows@  }};
  return kEntries;
}

}  // namespace ${namespace}
")
endfunction()
