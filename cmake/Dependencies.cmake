# SPDX-License-Identifier: GPL-3.0-or-later
# Every library we stand on, as imported targets. scripts/install-deps installs them on Debian.
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(FFTW REQUIRED IMPORTED_TARGET fftw3)
pkg_check_modules(NETTLE REQUIRED IMPORTED_TARGET nettle)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(LIBUV REQUIRED IMPORTED_TARGET libuv)

find_library(RMATH_LIBRARY Rmath REQUIRED)
find_path(RMATH_INCLUDE Rmath.h REQUIRED)
find_path(RANDOM123_INCLUDE Random123/philox.h REQUIRED)

# Many machines (docs/cluster.md). AUTO takes MPI where it is; without it everything else works the same.
set(DPAUDIT_MPI AUTO CACHE STRING "Spread runs over the ranks of an MPI job: AUTO, ON or OFF")
set_property(CACHE DPAUDIT_MPI PROPERTY STRINGS AUTO ON OFF)
if(DPAUDIT_MPI STREQUAL "ON")
  find_package(MPI REQUIRED COMPONENTS C)
elseif(NOT DPAUDIT_MPI STREQUAL "OFF")
  find_package(MPI QUIET COMPONENTS C)
endif()

message(STATUS "Runs on many machines (MPI module): ${MPI_C_FOUND}")

# What libdpaudit stands on, and what its laboratory (training, games, runs) adds.
add_library(dpa_core_deps INTERFACE)
target_include_directories(dpa_core_deps SYSTEM INTERFACE ${RMATH_INCLUDE} ${RANDOM123_INCLUDE} ${LIBZIP_INCLUDE_DIRS})
target_compile_definitions(dpa_core_deps INTERFACE MATHLIB_STANDALONE)
target_link_libraries(dpa_core_deps INTERFACE ${RMATH_LIBRARY} PkgConfig::JANSSON PkgConfig::FFTW
  PkgConfig::NETTLE PkgConfig::LZMA ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS} m)
add_library(dpa_lab_deps INTERFACE)
target_link_libraries(dpa_lab_deps INTERFACE dpa_core_deps PkgConfig::YAML PkgConfig::SQLITE PkgConfig::LIBUV)
