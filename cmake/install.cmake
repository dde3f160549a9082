# What is installed besides the program.
set(HEADLIGHT_HOMEPAGE "" CACHE STRING
    "Where Headlight comes from; whoever publishes a build sets it. Empty: no metadata for software centres")

# SOURCE_DATE_EPOCH sets it, so that two builds have the same bytes.
string(TIMESTAMP HEADLIGHT_DATE "%Y-%m-%d" UTC)

set(made ${CMAKE_BINARY_DIR}/installed)
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
if(HEADLIGHT_HOMEPAGE)
  configure_file(assets/desktop/headlight.metainfo.xml.in ${made}/headlight.metainfo.xml @ONLY)
  install(FILES ${made}/headlight.metainfo.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo)
endif()
install(FILES ${made}/copyright docs/dependencies.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
