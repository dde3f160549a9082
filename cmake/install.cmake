# What is installed besides the program.
set(HEADLIGHT_HOMEPAGE "" CACHE STRING
    "Where Headlight comes from; whoever publishes a build sets it. Empty: no address is named, and no pictures")

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
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS assets/desktop/headlight.metainfo.xml.in)
set(METAINFO_FOLDER ${made})
include(cmake/metainfo.cmake)
install(FILES ${METAINFO_FILE} DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo)

# Licences that want their text to go with a program of which their code is a part.
file(STRINGS docs/dependencies.md parts REGEX "\\| (linked|compiled) in")
foreach(part ${parts})
  string(REGEX REPLACE "^\\|[^|]*\\| *([a-z0-9-]+) .*" "\\1" part "${part}")
  if(EXISTS /usr/share/doc/${part}/copyright)
    install(FILES /usr/share/doc/${part}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences RENAME ${part})
  endif()
endforeach()
install(FILES ${made}/copyright docs/dependencies.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
