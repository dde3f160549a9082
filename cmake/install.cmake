# What is installed besides the program.
set(HEADLIGHT_HOMEPAGE "https://headlight.example" CACHE STRING
    "Where it says that Headlight comes from; whoever publishes a build sets it")

# SOURCE_DATE_EPOCH sets it, so that two builds have the same bytes.
string(TIMESTAMP HEADLIGHT_DATE "%Y-%m-%d" UTC)

set(made ${CMAKE_BINARY_DIR}/installed)
configure_file(assets/desktop/headlight.metainfo.xml.in ${made}/headlight.metainfo.xml @ONLY)
file(READ LICENSE licence)
string(REGEX REPLACE "^MIT License\n\n[^\n]*\n\n" "" LICENSE_TEXT "${licence}")
string(STRIP "${LICENSE_TEXT}" LICENSE_TEXT)
string(REPLACE "\n\n" "\n.\n" LICENSE_TEXT "${LICENSE_TEXT}")
string(REPLACE "\n" "\n " LICENSE_TEXT " ${LICENSE_TEXT}")
configure_file(assets/desktop/copyright.in ${made}/copyright @ONLY)
find_program(GZIP gzip)
if(GZIP)
  # Without a name and a date: the same text has the same bytes.
  add_custom_command(OUTPUT ${made}/headlight.1.gz
    COMMAND headlight man > ${made}/headlight.1
    COMMAND ${GZIP} -9nf ${made}/headlight.1
    DEPENDS headlight VERBATIM)
  add_custom_target(manual_page ALL DEPENDS ${made}/headlight.1.gz)
  install(FILES ${made}/headlight.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
endif()
install(FILES ${made}/headlight.metainfo.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo)
install(FILES ${made}/copyright docs/dependencies.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
