# Metadata for software centres, into METAINFO_FOLDER; METAINFO_FILE is what was written. The program's name
# there begins with the homepage's host, backwards. Also runs by itself, for a test: cmake -D… -P
file(READ ${CMAKE_CURRENT_LIST_DIR}/../assets/desktop/headlight.metainfo.xml.in metainfo)
set(HEADLIGHT_APP_ID local.headlight)
if(HEADLIGHT_HOMEPAGE)
  string(REGEX REPLACE "^[a-z]+://([^/:]+).*" "\\1" host "${HEADLIGHT_HOMEPAGE}")
  string(REPLACE "." ";" host "${host}")
  list(REVERSE host)
  list(JOIN host "." HEADLIGHT_APP_ID)
else()  # no address leads anywhere
  string(REGEX REPLACE " *<!-- on the net -->.*<!-- /on the net -->\n" "" metainfo "${metainfo}")
endif()
string(APPEND HEADLIGHT_APP_ID ".headlight")
string(REGEX REPLACE " *<!--[^>]*-->\n" "" metainfo "${metainfo}")
set(METAINFO_FILE ${METAINFO_FOLDER}/${HEADLIGHT_APP_ID}.metainfo.xml)
file(CONFIGURE OUTPUT ${METAINFO_FILE} CONTENT "${metainfo}" @ONLY)
