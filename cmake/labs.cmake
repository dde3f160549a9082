# The files of assets/labs, built into the program as string constants, made when one changes.
#
#   cmake -DFOLDER=assets/labs -DOUT=lab_assets.cpp -P cmake/labs.cmake
#
# and headlight_embed_labs(OUT_VAR) in a CMakeLists.txt.
if(CMAKE_SCRIPT_MODE_FILE)
  set(body "// Made by cmake/labs.cmake.\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n#include \"core/lab/lab_assets.h\"\n\nnamespace headlight {\nnamespace {\n\n")
  set(rows "")
  file(GLOB files ${FOLDER}/*.py ${FOLDER}/*.safetensors)
  list(SORT files)
  foreach(file ${files})
    get_filename_component(name ${file} NAME)
    file(READ ${file} bytes HEX)
    string(LENGTH "${bytes}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "(................................................................................)" "\\1\"\n\"" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${bytes}")
    string(MAKE_C_IDENTIFIER "k_${name}" id)
    string(APPEND body "constexpr char ${id}[] =\n\"${bytes}\";\n")
    string(APPEND rows "  if (name == \"${name}\") return {${id}, ${size}};\n")
  endforeach()
  string(APPEND body "}  // namespace\n\nstd::string_view lab_asset(std::string_view name) {\n${rows}  return {};\n}\n\n}  // namespace headlight\n")
  file(WRITE ${OUT} "${body}")
  return()
endif()

function(headlight_embed_labs out_var)
  set(out ${CMAKE_BINARY_DIR}/lab_assets.cpp)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/assets/labs/*)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_SOURCE_DIR}/assets/labs -DOUT=${out}
            -P ${CMAKE_SOURCE_DIR}/cmake/labs.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/labs.cmake
    VERBATIM)
  set(${out_var} ${out} PARENT_SCOPE)
endfunction()
