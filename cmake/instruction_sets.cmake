# A build for all x86-64 processors (HEADLIGHT_NATIVE=OFF) is as fast as one for the machine at hand:
# the processor's backend is compiled once for each instruction set, and core/backends/cpu/choice/
# takes the best at run time.
#
# Each compilation becomes one object of which a single name is seen. The linker would else take any
# one of the inline functions that all of them have, and an older processor would run a newer one's.
if(HEADLIGHT_NATIVE OR HEADLIGHT_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
   OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  return()
endif()

file(GLOB_RECURSE cpu_sources CONFIGURE_DEPENDS core/backends/cpu/*.cpp)
list(FILTER cpu_sources EXCLUDE REGEX "/choice/")
target_compile_definitions(headlight_core PRIVATE HEADLIGHT_SEVERAL_INSTRUCTION_SETS HEADLIGHT_INSTRUCTIONS="sse2")

# headlight_instruction_set(NAME KIND VARIABLE)
function(headlight_instruction_set name kind variable)
  set(target headlight_cpu_${name})
  add_library(${target} OBJECT ${cpu_sources})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE headlight_flags Eigen3::Eigen nlohmann_json::nlohmann_json)
  # Optimized in any build: Eigen's own constants would have initializers (see below). No unique
  # symbols: those of inline variables would be seen.
  target_compile_options(${target} PRIVATE -march=${kind} -fno-gnu-unique $<$<CONFIG:Debug>:-O1>)
  target_compile_definitions(${target} PRIVATE HEADLIGHT_CPU_BACKENDS=${variable}
                             HEADLIGHT_INSTRUCTIONS="${name}" HEADLIGHT_VERSION="${PROJECT_VERSION}")
  string(LENGTH ${variable} length)
  set(object ${CMAKE_BINARY_DIR}/${target}.o)
  # Nothing of it may run before it is chosen: no initializers.
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${object}.all $<TARGET_OBJECTS:${target}>
    COMMAND ${CMAKE_OBJCOPY} --keep-global-symbol=_ZN9headlight${length}${variable}E ${object}.all ${object}
    COMMAND sh -c "! ${CMAKE_OBJDUMP} -h ${object} | grep -q init_array"
    COMMAND ${CMAKE_COMMAND} -E rm ${object}.all
    DEPENDS ${target} $<TARGET_OBJECTS:${target}> COMMAND_EXPAND_LISTS VERBATIM)
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(headlight_core PRIVATE ${object})
endfunction()
headlight_instruction_set(avx2 x86-64-v3 kCpuBackendsAvx2)
headlight_instruction_set(avx512 x86-64-v4 kCpuBackendsAvx512)
