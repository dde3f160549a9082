# The models of assets/models, built into the program: a C++ file with their files as string
# constants, made when one of them changes.
#
#   cmake -DFOLDER=assets/models -DOUT=bundled_models.cpp -P cmake/models.cmake
#
# and headlight_embed_models(OUT_VAR) in a CMakeLists.txt.
if(CMAKE_SCRIPT_MODE_FILE)
  set(body "// Made by cmake/models.cmake.\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n#include <array>\n\n#include \"core/model/bundled.h\"\n\nnamespace headlight {\nnamespace {\n\n")
  set(rows "")
  file(GLOB folders ${FOLDER}/*)
  list(SORT folders)
  set(count 0)
  foreach(folder ${folders})
    if(NOT EXISTS ${folder}/model.safetensors)
      continue()
    endif()
    get_filename_component(name ${folder} NAME)
    set(row "\"${name}\"")
    foreach(file config.json tokenizer.json recipe.json model.safetensors)
      file(READ ${folder}/${file} bytes HEX)
      string(LENGTH "${bytes}" digits)
      math(EXPR size "${digits} / 2")
      string(REGEX REPLACE "(................................................................................)" "\\1\"\n\"" bytes "${bytes}")
      string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${bytes}")
      string(MAKE_C_IDENTIFIER "k_${name}_${file}" id)
      string(APPEND body "constexpr char ${id}[] =\n\"${bytes}\";\n")
      string(APPEND row ", {${id}, ${size}}")
    endforeach()
    string(APPEND rows "    BundledModel{${row}},\n")
    math(EXPR count "${count} + 1")
  endforeach()
  string(APPEND body "constexpr std::array<BundledModel, ${count}> kModels = {{\n${rows}}};\n\n}  // namespace\n\nstd::span<const BundledModel> bundled_models() { return kModels; }\n\n}  // namespace headlight\n")
  file(WRITE ${OUT} "${body}")
  return()
endif()

function(headlight_embed_models out_var)
  set(out ${CMAKE_BINARY_DIR}/bundled_models.cpp)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/assets/models/*)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_SOURCE_DIR}/assets/models -DOUT=${out}
            -P ${CMAKE_SOURCE_DIR}/cmake/models.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/models.cmake
    VERBATIM)
  set(${out_var} ${out} PARENT_SCOPE)
endfunction()
