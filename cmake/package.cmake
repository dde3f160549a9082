# What a package holds besides the program, and cpack's settings. scripts/package.sh makes the packages.
set(HEADLIGHT_HOMEPAGE "https://headlight.example" CACHE STRING
    "Where packages say that Headlight comes from; whoever publishes them sets it")
set(HEADLIGHT_MAINTAINER "The Headlight authors <headlight@headlight.example>" CACHE STRING
    "Who answers for the Debian package")

# SOURCE_DATE_EPOCH sets both, so that two builds have the same bytes.
string(TIMESTAMP HEADLIGHT_DATE "%Y-%m-%d" UTC)
string(TIMESTAMP changelog_date "%a, %d %b %Y %H:%M:%S +0000" UTC)

set(made ${CMAKE_BINARY_DIR}/package)
configure_file(assets/desktop/headlight.metainfo.xml.in ${made}/headlight.metainfo.xml @ONLY)
file(READ LICENSE licence)
string(REGEX REPLACE "^MIT License\n\n[^\n]*\n\n" "" LICENSE_TEXT "${licence}")
string(STRIP "${LICENSE_TEXT}" LICENSE_TEXT)
string(REPLACE "\n\n" "\n.\n" LICENSE_TEXT "${LICENSE_TEXT}")
string(REPLACE "\n" "\n " LICENSE_TEXT " ${LICENSE_TEXT}")
configure_file(assets/desktop/copyright.in ${made}/copyright @ONLY)
file(WRITE ${made}/changelog "headlight (${PROJECT_VERSION}) unstable; urgency=medium

  * What is new stands in CHANGELOG.md.

 -- ${HEADLIGHT_MAINTAINER}  ${changelog_date}
")

find_program(GZIP gzip)
if(GZIP)
  # Without a name and a date: the same text has the same bytes.
  add_custom_command(OUTPUT ${made}/headlight.1.gz ${made}/changelog.gz
    COMMAND headlight man > ${made}/headlight.1
    COMMAND ${GZIP} -9nf ${made}/headlight.1
    COMMAND ${GZIP} -9nkf ${made}/changelog
    DEPENDS headlight ${made}/changelog VERBATIM)
  add_custom_target(package_texts ALL DEPENDS ${made}/headlight.1.gz)
  install(FILES ${made}/headlight.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
  install(FILES ${made}/changelog.gz DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
endif()
install(FILES ${made}/headlight.metainfo.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo)
install(FILES ${made}/copyright docs/dependencies.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The same program, which looks for libraries beside itself: for the archive.
add_executable(headlight_portable EXCLUDE_FROM_ALL app/main.cpp)
target_link_libraries(headlight_portable PRIVATE headlight_cli)
target_link_options(headlight_portable PRIVATE -Wl,--disable-new-dtags)  # also for what these need
set_target_properties(headlight_portable PROPERTIES OUTPUT_NAME headlight
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/portable
                      BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib")

set(CPACK_PACKAGE_NAME headlight)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "The Headlight authors")
set(CPACK_PACKAGE_CONTACT "${HEADLIGHT_MAINTAINER}")
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
set(CPACK_DEBIAN_PACKAGE_SECTION education)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What is loaded at run time, which no library says.
set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "libgl1, libegl1, fonts-inter, fonts-jetbrains-mono, fonts-noto-cjk, fonts-dejavu-core")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libgl1-mesa-dri, fonts-symbola")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_GENERATOR DEB)
include(CPack)
