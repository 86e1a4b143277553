# SPDX-License-Identifier: GPL-3.0-or-later
# report --pdf with a browser that this test writes: how it is called, what becomes of what it prints, and that nothing is left.
. "$(dirname "$0")/lib/check.bash"

run 0 counts --fn 30 --tp 970 --fp 20 --tn 980 --json=a.json
run 0 report a.json --out a.html
mkdir scratch
cat >browser <<'SH'
#!/bin/sh
printf '%s\n' "$@" >"$SEEN/arguments"
echo "words of the browser"
echo "complaints of the browser" >&2
for word in "$@"; do
    case $word in
    --user-data-dir=*) mkdir -p "${word#*=}/deep" && : >"${word#*=}/deep/file" ;;
    --print-to-pdf=*) printf '%s' "$PRINTS" >"${word#*=}" ;;
    file://*) cp "${word#file://}" "$SEEN/page.html" ;;
    esac
done
exit "${ENDS:-0}"
SH
chmod +x browser
export SEEN=$PWD PRINTS="%PDF-1.4 a page
and its end" TMPDIR=$PWD/scratch DPAUDIT_CHROMIUM=$PWD/browser

run 0 report a.json --pdf a.pdf
[ "$(cat a.pdf)" = "$PRINTS" ] || fail "the PDF is not what the browser printed"
[ "$(wc -c <a.pdf)" -eq "${#PRINTS}" ] || fail "the PDF has $(wc -c <a.pdf) bytes"
cmp -s page.html a.html || fail "the browser got another page than --out writes"
[ ! -s out ] && [ ! -s err ] || { fail "the browser's words came through:"; cat out err; }
[ -z "$(ls scratch)" ] || fail "left behind: $(find scratch)"
folder=$(sed -n 's,^--user-data-dir=\(.*\)/profile$,\1,p' arguments)
case $folder in "$TMPDIR"/dpaudit-pdf-??????) ;; *) fail "works in '$folder', not in a folder of its own under TMPDIR" ;; esac
{
    printf '%s\n' --headless --disable-gpu --no-first-run --disable-background-networking --disable-component-update \
        --disable-sync --no-pdf-header-footer --virtual-time-budget=20000 "--user-data-dir=$folder/profile" "--print-to-pdf=$folder/page.pdf"
    [ "$(id -u)" -ne 0 ] || echo --no-sandbox
    echo "file://$folder/page.html"
} >wanted
diff wanted arguments || fail "the browser is called otherwise"

# A browser that complains but prints is good enough; one that prints an empty file is not.
ENDS=3 run 0 report a.json --pdf b.pdf
cmp -s a.pdf b.pdf || fail "what a browser printed before it failed is lost"
PRINTS="" run 4 report a.json --pdf none.pdf
says err "did not print the page"
[ ! -e none.pdf ] || fail "an empty PDF"
[ -z "$(ls scratch)" ] || fail "left behind after a failure: $(find scratch)"

# Beside a page; where it cannot be written; where no folder can be made.
run 0 report a.json --out c.html --pdf c.pdf
cmp -s a.html c.html && cmp -s a.pdf c.pdf || fail "page and PDF together"
run 4 report a.json --pdf nowhere/a.pdf
says err "nowhere/a.pdf"
TMPDIR=$PWD/nothing run 4 report a.json --pdf d.pdf
says err "cannot make a folder $PWD/nothing/dpaudit-pdf-"
TMPDIR=not/absolute run 0 report a.json --pdf e.pdf
grep -q '^--user-data-dir=/tmp/dpaudit-pdf-' arguments || fail "a TMPDIR that is not absolute: $(cat arguments)"

# Without a name the usual ones are tried, in this order; the first that is there is asked, whatever it says.
mkdir bin
for name in sh mkdir cp; do ln -s "$(command -v $name)" bin/; done
printf '#!/bin/sh\nexit 1\n' >bin/google-chrome
chmod +x bin/google-chrome
usual() { # CODE ARGUMENTS…
    DPAUDIT=$(command -v "$DPAUDIT") DPAUDIT_CHROMIUM='' PATH=$PWD/bin run "$@"
}
cp browser bin/chromium-browser
usual 0 report a.json --pdf f.pdf
cmp -s a.pdf f.pdf || fail "chromium-browser was not found"
mv bin/chromium-browser bin/google-chrome-stable
usual 4 report a.json --pdf g.pdf
says err "did not print the page"
rm bin/google-chrome
usual 0 report a.json --pdf g.pdf
rm bin/google-chrome-stable
usual 4 report a.json --pdf h.pdf
says err "needs Chromium"
[ -z "$(ls scratch)" ] || fail "left behind at the end: $(find scratch)"
finish
