# SPDX-License-Identifier: GPL-3.0-or-later
# What `cmake --install` puts down can be used: the command runs, a program builds by pkg-config and by find_package,
# man pages and completion are where shells look.
. "$(dirname "$0")/lib/check.bash"

prefix=$work/prefix
cmake --install "$DPA_BUILD" --prefix "$prefix" >log 2>&1 || fail "install: $(tail -n 3 log)"
libdir=$(dirname "$(find "$prefix" -name libdpaudit.so)")
"$prefix/bin/dpaudit" --version >out || fail "the installed command does not run"
says out "dpaudit 0."
for file in share/man/man1/dpaudit.1 share/man/man1/dpaudit-account.1 share/man/man5/dpaudit-formats.5 \
    share/bash-completion/completions/dpaudit share/zsh/site-functions/_dpaudit \
    share/fish/vendor_completions.d/dpaudit.fish include/dpaudit/dpaudit.h; do
    [ -s "$prefix/$file" ] || fail "$file is not installed"
done

cat >example.c <<'C'
#include <dpaudit/dpaudit.h>
#include <stdio.h>

int main(void) {
    (void)printf("%.6f\n", dpa_gaussian_epsilon(1.0, 1e-5));
    return 0;
}
C
# A sanitized library wants a sanitized program: the flags of the build go along.
flags=$(sed -n 's/^CMAKE_C_FLAGS:STRING=//p' "$DPA_BUILD/CMakeCache.txt")
export PKG_CONFIG_PATH=$libdir/pkgconfig
cc $flags example.c -o by-pkg-config $(pkg-config --cflags --libs dpaudit) -Wl,-rpath,"$libdir" || fail "pkg-config build"
[ "$(./by-pkg-config)" = 4.377178 ] || fail "the program says $(./by-pkg-config)"

cat >CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.22)
project(example C)
find_package(dpaudit REQUIRED)
add_executable(example example.c)
target_link_libraries(example PRIVATE dpaudit::dpaudit)
C
cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="$flags" >log 2>&1 && cmake --build build >>log 2>&1 ||
    fail "find_package build: $(tail -n 5 log)"
[ "$(build/example)" = 4.377178 ] || fail "the CMake program says $(build/example)"
finish
