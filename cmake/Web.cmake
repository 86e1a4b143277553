# SPDX-License-Identifier: GPL-3.0-or-later
# The report's script: bundled by npm in the build tree (a source archive brings it ready in web/dist), embedded by
# src/report/render/assets.c. Without npm (DPA_WEB=OFF) reports have tables instead of charts and say so.
find_program(NPM npm)
set(DPA_WEB_READY ${CMAKE_SOURCE_DIR}/web/dist/report.js)
if(NPM OR EXISTS ${DPA_WEB_READY})
  set(DPA_WEB_DEFAULT ON)
else()
  set(DPA_WEB_DEFAULT OFF)
endif()
option(DPA_WEB "Build the report's charts with npm" ${DPA_WEB_DEFAULT})

if(DPA_WEB AND EXISTS ${DPA_WEB_READY})
  set(DPA_WEB_DIR ${CMAKE_SOURCE_DIR}/web)
  set(DPA_WEB_SCRIPT ${DPA_WEB_READY})
elseif(DPA_WEB)
  set(DPA_WEB_DIR ${CMAKE_BINARY_DIR}/web)
  set(DPA_WEB_SCRIPT ${DPA_WEB_DIR}/dist/report.js)
  file(GLOB web_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/src/*.js)
  add_custom_command(OUTPUT ${DPA_WEB_DIR}/installed.stamp
    DEPENDS ${CMAKE_SOURCE_DIR}/web/package.json ${CMAKE_SOURCE_DIR}/web/package-lock.json
    COMMAND ${CMAKE_COMMAND} -E make_directory ${DPA_WEB_DIR}
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/web/package.json ${CMAKE_SOURCE_DIR}/web/package-lock.json ${DPA_WEB_DIR}
    COMMAND ${NPM} ci --silent --no-audit --no-fund
    COMMAND ${CMAKE_COMMAND} -E touch installed.stamp
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/web COMMENT "Installing the report's front end")
  add_custom_command(OUTPUT ${DPA_WEB_SCRIPT} ${DPA_WEB_DIR}/dist/report_hash.h
    DEPENDS ${DPA_WEB_DIR}/installed.stamp ${CMAKE_SOURCE_DIR}/web/build.mjs ${web_sources}
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${CMAKE_SOURCE_DIR}/web/src src
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/web/build.mjs .
    COMMAND node build.mjs dist
    WORKING_DIRECTORY ${DPA_WEB_DIR} COMMENT "Bundling the report's front end")
  file(MAKE_DIRECTORY ${DPA_WEB_DIR})
  add_custom_target(dpa_web DEPENDS ${DPA_WEB_SCRIPT} ${DPA_WEB_DIR}/dist/report_hash.h)
  add_dependencies(dpaudit_objects dpa_web)
endif()
if(DPA_WEB)
  set(DPA_WEB_DEFINITION "DPA_WEB_SCRIPT=\"${DPA_WEB_SCRIPT}\"")
  set(DPA_WEB_FILES ${DPA_WEB_SCRIPT} ${DPA_WEB_DIR}/dist/report_hash.h)
endif()

set_source_files_properties(${CMAKE_SOURCE_DIR}/src/report/render/assets.c TARGET_DIRECTORY dpaudit_objects PROPERTIES
  COMPILE_DEFINITIONS "DPA_STYLE_SHEET=\"${CMAKE_SOURCE_DIR}/web/style.css\";DPA_CHARTS=\"${CMAKE_SOURCE_DIR}/web/charts.json\";${DPA_WEB_DEFINITION}"
  INCLUDE_DIRECTORIES "${DPA_WEB_DIR}/dist"
  OBJECT_DEPENDS "${CMAKE_SOURCE_DIR}/web/style.css;${CMAKE_SOURCE_DIR}/web/charts.json;${DPA_WEB_FILES}")
