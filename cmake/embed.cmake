# headlight_embed(OUT_VAR FUNCTION file...) makes one .cpp with each text file as a string constant,
# found at run time by headlight::FUNCTION("shaders/heatmap.frag").
function(headlight_embed out_var function)
  set(out ${CMAKE_BINARY_DIR}/${function}s.cpp)
  set(body "// Made by cmake/embed.cmake.\n#include <string_view>\nnamespace headlight {\nstd::string_view ${function}(std::string_view name) {\n")
  foreach(file ${ARGN})
    file(READ ${CMAKE_SOURCE_DIR}/${file} text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${file})
    string(APPEND body "  if (name == \"${file}\") return R\"EMBED(${text})EMBED\";\n")
  endforeach()
  string(APPEND body "  return {};\n}\n}  // namespace headlight\n")
  file(GENERATE OUTPUT ${out} CONTENT "${body}")
  set(${out_var} ${out} PARENT_SCOPE)
endfunction()

# headlight_embed_texts(OUT_VAR file...): the same for the tables of texts, read by core/base/texts.
# Each file may hold far more than one string literal may in the standard's eyes; GCC and Clang take it.
function(headlight_embed_texts out_var)
  set(out ${CMAKE_BINARY_DIR}/embedded_texts.cpp)
  set(body "// Made by cmake/embed.cmake.\n#include <string_view>\n#include <vector>\nnamespace headlight {\nstd::vector<std::string_view> embedded_texts() {\n  return {\n")
  foreach(file ${ARGN})
    file(READ ${file} text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    string(APPEND body "  R\"EMBED(${text})EMBED\",\n")
  endforeach()
  string(APPEND body "  };\n}\n}  // namespace headlight\n")
  file(GENERATE OUTPUT ${out} CONTENT "${body}")
  set(${out_var} ${out} PARENT_SCOPE)
endfunction()
