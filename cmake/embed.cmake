# headlight_embed(OUT_VAR file...) makes one .cpp with each text file as a string constant,
# found at run time by headlight::embedded_file("shaders/heatmap.frag").
function(headlight_embed out_var)
  set(out ${CMAKE_BINARY_DIR}/embedded_files.cpp)
  set(body "// Made by cmake/embed.cmake.\n#include <string_view>\nnamespace headlight {\nstd::string_view embedded_file(std::string_view name) {\n")
  foreach(file ${ARGN})
    file(READ ${CMAKE_SOURCE_DIR}/${file} text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${file})
    string(APPEND body "  if (name == \"${file}\") return R\"EMBED(${text})EMBED\";\n")
  endforeach()
  string(APPEND body "  return {};\n}\n}  // namespace headlight\n")
  file(GENERATE OUTPUT ${out} CONTENT "${body}")
  set(${out_var} ${out} PARENT_SCOPE)
endfunction()
