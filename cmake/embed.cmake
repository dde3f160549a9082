# Files that the build puts into the program, byte by byte, by the assembler's `.incbin`: nothing has to
# be read as C++.
#
# headlight_embed(OUT_VAR FUNCTION FOLDER file...) makes one .cpp of these files, which defines
#
#   std::string_view headlight::FUNCTION(std::string_view name);    // its bytes; empty when it is not there
#   std::span<const std::string_view> headlight::FUNCTION_names();  // relative to FOLDER, as given here
function(headlight_embed out_var function folder)
  set(out ${CMAKE_BINARY_DIR}/${function}s.cpp)
  foreach(part bytes declared rows names)
    set(${part} "")
  endforeach()
  set(at 0)
  foreach(file ${ARGN})
    file(RELATIVE_PATH name ${folder} ${file})
    set(begin ${function}_${at})
    math(EXPR at "${at} + 1")
    string(APPEND bytes "${begin}: .incbin \"${file}\"\n")
    string(APPEND declared "extern \"C\" const char ${begin}[];\n")
    string(APPEND rows "  if (name == \"${name}\") return bytes_between(${begin}, ${function}_${at});\n")
    string(APPEND names "\"${name}\", ")
  endforeach()
  string(APPEND bytes "${function}_${at}: .byte 0\n")
  string(APPEND declared "extern \"C\" const char ${function}_${at}[];\n")
  file(CONFIGURE OUTPUT ${out} CONTENT [[// Made by cmake/embed.cmake.
#include <span>
#include <string_view>

asm(R"(.section .rodata
@bytes@.previous)");

@declared@
namespace headlight {
namespace {

// One file ends where the next begins.
std::string_view bytes_between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

constexpr std::string_view kNames[] = {@names@};

}  // namespace

std::string_view @function@(std::string_view name) {
@rows@  return {};
}

std::span<const std::string_view> @function@_names() { return kNames; }

}  // namespace headlight
]] @ONLY)
  set_source_files_properties(${out} PROPERTIES OBJECT_DEPENDS "${ARGN}" SKIP_UNITY_BUILD_INCLUSION ON
                              SKIP_PRECOMPILE_HEADERS ON)
  set(${out_var} ${out} PARENT_SCOPE)
endfunction()
