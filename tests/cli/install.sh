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

# The programs of examples/c, by pkg-config, with what the build was sanitized with: a sanitized library wants a sanitized program.
flags=$(sed -n 's/^CMAKE_C_FLAGS:STRING=//p' "$DPA_BUILD/CMakeCache.txt")
export PKG_CONFIG_PATH=$libdir/pkgconfig
libraries="$(pkg-config --cflags --libs dpaudit) -Wl,-rpath,$libdir"
for name in first counts account; do
    cc $flags -std=c17 -Wall -Wextra -Werror "$DPA_SOURCE/examples/c/$name.c" -o $name $libraries || fail "pkg-config: $name"
done
c++ $flags -std=c++17 -Wall -Wextra -Wno-missing-field-initializers -Werror "$DPA_SOURCE/examples/c/scores.cpp" -o scores $libraries || fail "C++"
data=$DPA_SOURCE/examples
code=0
./first "$data/members.npy" "$data/nonmembers.npy" 0.1 >out || code=$?
[ $code = 1 ] || fail "first: exit $code"
"$prefix/bin/dpaudit" scores "$data/members.npy" "$data/nonmembers.npy" --claim-epsilon 0.1 >command || true
[ "$(tr -s ' \n' ' ' <command | head -c "$(wc -c <out)" | head -c 150)" = "$(head -c 150 out)" ] || fail "library and command: $(cat out) | $(head -n 1 command)"
code=0
./first nowhere.npy "$data/nonmembers.npy" 0.1 2>err || code=$?
[ $code = 3 ] || fail "first without a file: exit $code"
says err nowhere.npy
./counts >out || fail counts
"$prefix/bin/dpaudit" counts --fn 76 --tp 24 --fp 4 --tn 96 --delta 1e-5 >command || fail "counts of the command"
says command "$(sed 's/.*at least \([0-9.]*\) .*/\1/' out)"
./account >out || fail account
says out "epsilon is between 4.4"
./scores >out || fail scores
says out scan

# A program that bounds counts loads nothing of the laboratory.
ldd ./counts >libraries
says libraries libdpaudit.so
for name in mpi blas sqlite uv yaml zip crypto dpaudit-lab; do
    grep -qi "lib$name" libraries && fail "a program that bounds counts loads lib$name"
done
python3 -m zipfile -c both.npz "$data/members.npy" "$data/nonmembers.npy"
"$prefix/bin/dpaudit" scores both.npz >out || fail "an NPZ"
"$prefix/bin/dpaudit" scores "$data/members.npy" "$data/nonmembers.npy" >command || fail "two NPY"
[ "$(grep -v npz out)" = "$(grep -v npy command)" ] || fail "the scores of an NPZ are others: $(diff out command)"
# What takes long to load is loaded when it is needed.
ldd "$prefix/bin/dpaudit" >libraries
for name in mpi blas zip crypto; do
    grep -qi "lib$name" libraries && fail "the command loads lib$name when it starts"
done

cat >example.c <<'C'
#include <dpaudit/dpaudit.h>
#include <dpaudit/lab.h>
#include <stdio.h>

int main(void) {
    char mpi[100];
    (void)dpa_ranks_library(mpi, sizeof mpi);
    (void)printf("%.6f\n", dpa_gaussian_epsilon(1.0, 1e-5));
    return 0;
}
C
cat >CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.22)
project(example C)
find_package(dpaudit REQUIRED)
add_executable(example example.c)
target_link_libraries(example PRIVATE dpaudit::dpaudit_lab)
C
cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="$flags" >log 2>&1 && cmake --build build >>log 2>&1 ||
    fail "find_package build: $(tail -n 5 log)"
[ "$(build/example)" = 4.377178 ] || fail "the CMake program says $(build/example)"
finish
