# Flags that every target of ours shares: warnings, instruction set, sanitizers.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # A clone or worktree elsewhere finds what another one compiled: paths count relative to the source.
  # What `native` means on this processor is part of the key, because a cache can outlive a machine.
  set(cpu_macros ${CMAKE_BINARY_DIR}/cpu_macros.txt)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -dM -E -x c++ /dev/null
                  OUTPUT_FILE ${cpu_macros} ERROR_QUIET)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 CCACHE_EXTRAFILES=${cpu_macros} ${CCACHE})
endif()
if(CCACHE OR HEADLIGHT_UNITY)
  # GCC refuses a precompiled header that was made in another folder; the cache saves more than they do.
  # Loading one takes as long as reading, once for several files, what is in it.
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

add_library(headlight_flags INTERFACE)
target_compile_options(headlight_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports these for correct code of the standard library (its bugs 105562, 105651), more of
  # them where headers are precompiled.
  target_compile_options(headlight_flags INTERFACE -Wno-maybe-uninitialized -Wno-restrict
                         -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()
if(HEADLIGHT_WERROR)
  target_compile_options(headlight_flags INTERFACE -Werror)
endif()
if(HEADLIGHT_NATIVE)
  # Eigen runs at about twice the rate with AVX-512 than with AVX2; never -ffast-math (NaN, infinity).
  target_compile_options(headlight_flags INTERFACE -march=native)
endif()
# One rounding per operation in the reference backend, whatever the machine can fuse.
target_compile_options(headlight_flags INTERFACE -ffp-contract=off)
# Packages ask for what the program uses, whichever compiler links it.
target_link_options(headlight_flags INTERFACE LINKER:--as-needed)
if(HEADLIGHT_SANITIZE)
  target_compile_options(headlight_flags INTERFACE -fsanitize=${HEADLIGHT_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(headlight_flags INTERFACE -fsanitize=${HEADLIGHT_SANITIZE})
  # Sanitized programs are large: the usual linker takes four times as long.
  find_program(LLD ld.lld)
  if(LLD)
    target_link_options(headlight_flags INTERFACE -fuse-ld=lld)
  endif()
  if(HEADLIGHT_SANITIZE MATCHES address)
    # What it could find, reads and writes outside of an object, AddressSanitizer finds too, and a
    # build takes a sixth longer with both.
    target_compile_options(headlight_flags INTERFACE -fno-sanitize=object-size)
  endif()
endif()
