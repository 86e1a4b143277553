# SPDX-License-Identifier: GPL-3.0-or-later
# Every library we stand on, as imported targets. scripts/install-deps installs them on Debian.
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(FFTW REQUIRED IMPORTED_TARGET fftw3)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
pkg_check_modules(CYAML REQUIRED IMPORTED_TARGET libcyaml)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(LIBUV REQUIRED IMPORTED_TARGET libuv)

find_library(RMATH_LIBRARY Rmath REQUIRED)
find_path(RMATH_INCLUDE Rmath.h REQUIRED)
find_path(RANDOM123_INCLUDE Random123/philox.h REQUIRED)

add_library(dpa_deps INTERFACE)
target_include_directories(dpa_deps SYSTEM INTERFACE ${RMATH_INCLUDE} ${RANDOM123_INCLUDE})
target_compile_definitions(dpa_deps INTERFACE MATHLIB_STANDALONE)
target_link_libraries(dpa_deps INTERFACE ${RMATH_LIBRARY} PkgConfig::JANSSON PkgConfig::LIBZIP
  PkgConfig::FFTW PkgConfig::LZMA PkgConfig::OPENBLAS PkgConfig::CYAML PkgConfig::SQLITE PkgConfig::LIBUV
  ZLIB::ZLIB Threads::Threads m)
