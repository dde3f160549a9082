# What cpack makes of an installation: the Debian package. scripts/package.sh makes it, and the archive.
set(HEADLIGHT_MAINTAINER "" CACHE STRING
    "Who answers for the Debian package: Name <address>. Empty: DEBFULLNAME and DEBEMAIL, where they are set")
set(maintainer "${HEADLIGHT_MAINTAINER}")
if(NOT maintainer AND DEFINED ENV{DEBEMAIL})
  set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
elseif(NOT maintainer)  # a package must name somebody
  set(maintainer "Whoever built this <nobody@headlight.invalid>")
endif()

# The same program, which looks for libraries beside itself: for the archive.
add_executable(headlight_portable app/main.cpp)
target_link_libraries(headlight_portable PRIVATE headlight_cli)
target_link_options(headlight_portable PRIVATE -Wl,--disable-new-dtags)  # also for what these need
set_target_properties(headlight_portable PROPERTIES OUTPUT_NAME headlight
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/portable
                      BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib")

# Debian wants a changelog in its own form.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(debian ${made}/debian/share/doc/headlight)
file(WRITE ${debian}/changelog "headlight (${PROJECT_VERSION}) unstable; urgency=medium

  * What is new stands in CHANGELOG.md.

 -- ${maintainer}  ${date}
")
if(GZIP)
  execute_process(COMMAND ${GZIP} -9nf ${debian}/changelog)
endif()
set(CPACK_INSTALLED_DIRECTORIES ${made}/debian /usr)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME headlight)
set(CPACK_PACKAGE_VENDOR "The Headlight authors")
set(CPACK_PACKAGE_CONTACT "${maintainer}")
set(CPACK_PACKAGE_HOMEPAGE_URL "${HEADLIGHT_HOMEPAGE}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "see every number of a transformer as you type")
set(CPACK_PACKAGE_DESCRIPTION "Headlight runs a small transformer on a sentence and shows every step:
embedding, queries, keys and values, scores, mask, softmax, the weighted sum,
and so on to the probabilities of the next token.

Any number can be asked where it came from, any setting be changed, small
models be trained, and model folders of other programs be opened. In English
and Chinese; on the processor and in OpenGL compute shaders; offline.")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
    GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION education)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What is loaded or read at run time, which no library says: OpenGL and fonts, as scripts/setup.sh has them.
file(STRINGS scripts/setup.sh run_time REGEX "^(libgl1|libegl1|fonts-[a-z-]+)\\|")
list(TRANSFORM run_time REPLACE "\\|.*" "")
list(JOIN run_time ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
include(CPack)
