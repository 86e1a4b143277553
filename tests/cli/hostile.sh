# SPDX-License-Identifier: GPL-3.0-or-later
# Files that are made to hurt: settings of 100 kB that are slow to parse, files that unpack to all memory, archives cut anywhere.
. "$(dirname "$0")/lib/check.bash"

python3 - <<'PY'
import gzip, io, lzma, struct, zipfile
def write(name, text):
    open(name + ".yaml", "w").write(text)
size = 100000
for name, piece in {"list": "[", "map": "{", "item": "- ", "key": "? ", "pair": "a: ", "listed": "[a,", "section": "{a: ",
                    "keys": "[[a]: b,", "anchor": "&a ", "tag": "!a ", "document": "---\n", "comment": "#", "tab": "\t"}.items():
    write(name, piece * (size // len(piece)))
write("nested", "\n".join(" " * i + "a:" for i in range(440)))
write("aliases", "a: &x 1\n" + "".join(f"k{i}: *x\n" for i in range(size // 9)))
write("anchors", "".join(f"a{i}: &a{i} 1\n" for i in range(size // 16)))
write("laughs", "a0: &a0 [1,1]\n" + "".join(f"a{i}: &a{i} [*a{i-1},*a{i-1}]\n" for i in range(1, 40)))
write("tags", "".join(f"%TAG !a{i}! b\n" for i in range(size // 15)))
write("quoted", '"' + "a\n" * (size // 2))
write("long", "game: [" + "a, " * (size // 3) + "]")
gzip.open("bomb.yaml.gz", "wb").write(b"#" * 50_000_000)
lzma.open("bomb.csv.xz", "wb").write(b"0\n" * 60_000_000)
header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }"
def array(count):
    text = (header % count).ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + bytes(8 * count)
with zipfile.ZipFile("bomb.npz", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("members.npy", array(15_000_000))
    z.writestr("nonmembers.npy", array(3))
with zipfile.ZipFile("whole.npz", "w") as z:
    z.writestr("members.npy", array(30))
    z.writestr("nonmembers.npy", array(30))
bytes_ = open("whole.npz", "rb").read()
for i in range(1, len(bytes_), 37):
    open(f"cut{i}.npz", "wb").write(bytes_[:i])
PY

# 100 kB take a tenth of a second; two seconds of processor time (eight under a sanitizer) are an end by SIGXCPU.
seconds=2
nm -D "$DPAUDIT" 2>/dev/null | grep -q __asan_init && seconds=8
for file in ./*.yaml bomb.yaml.gz; do
    for command in run train; do
        (ulimit -t $seconds; exec "$DPAUDIT" $command "$file") >out 2>err </dev/null
        code=$?
        [ $code -eq 3 ] || fail "$command $file: exit $code"
    done
done
run 3 run list.yaml
says err "list.yaml:1:17: more than 16"
run 3 run aliases.yaml
says err "more than 100 aliases"
run 3 run bomb.yaml.gz
says err "longer than"
run 3 scores bomb.npz
says err "more than 200 times its size"
run 3 scores bomb.csv.xz bomb.csv.xz
says err "more than 200 times its size"
for file in cut*.npz; do
    run 3 scores "$file"
    grep -q "CSV" err && [ "${file//[!0-9]/}" -ge 8 ] && fail "$file: $(cat err)"
done
echo "training: x.yaml
game: {kind: command, command: ''}" >empty.yaml
run 3 run empty.yaml
says err "found nothing; expected a text"
finish
