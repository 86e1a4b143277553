# SPDX-License-Identifier: GPL-3.0-or-later
# --junit and --sarif say what the JSON says, whatever a file is called.
. "$(dirname "$0")/lib/check.bash"

run 0 example scores
name=$(printf 'a & <b> "q" \001é%%.npy')
cp members.npy "$name"
run 1 scores "$name" nonmembers.npy --claim-epsilon 1.27 --junit r.xml --sarif r.sarif --json=r.json
run 0 scores members.npy nonmembers.npy --claim-epsilon 3 --junit n.xml --sarif n.sarif --json=n.json
run 5 scores members.npy nonmembers.npy --claim-epsilon 3 --must-detect 3.1 --junit i.xml --sarif i.sarif --json=i.json
run 0 scores members.npy nonmembers.npy --junit c.xml --sarif c.sarif --json=c.json
run 2 scores members.npy nonmembers.npy --junit members.npy # an input is never overwritten
python3 - "$name" <<'PY' || fail "what the files say"
import json, sys, urllib.parse, xml.etree.ElementTree as tree
name = sys.argv[1]
want = {"r": ("failure", "fail", "error"), "n": (None, "pass", "none"), "i": ("error", "open", "none"), "c": (None, "informational", "none")}
for which, (element, kind, level) in want.items():
    headline = json.load(open(which + ".json"))["verdict"]["headline"]
    suite = tree.parse(which + ".xml").getroot().find("testsuite")
    case = suite.find("testcase")
    assert [suite.get(k) for k in ("tests", "failures", "errors")] == ["1", str(int(which == "r")), str(int(which == "i"))]
    assert [c.tag for c in case] == ([element] if element else []) + ["system-out"], which
    assert case.find("system-out").text == headline
    if element: assert case.find(element).get("message") == headline
    log = json.load(open(which + ".sarif"))
    (run,), = (log["runs"],)
    (result,) = run["results"]
    assert log["version"] == "2.1.0" and run["tool"]["driver"]["name"] == "dpaudit"
    assert result["ruleId"] in [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert (result["kind"], result["level"], result["message"]["text"]) == (kind, level, headline)
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert urllib.parse.unquote(uri) == (name if which == "r" else "members.npy"), uri
assert tree.parse("r.xml").getroot().find(".//testcase").get("name") == "scores " + name.replace("\x01", "?")
PY

# The recipes: exit codes go through, in make and pytest too.
run 0 example ci --to there
cd there || exit 1
export PATH="$(dirname "$DPAUDIT"):$PATH"
cp ci/* .
sh audit.sh members.npy nonmembers.npy 1.27 >out && fail "audit.sh: a refuted claim passes"
[ -s audit.xml ] && [ -s audit.sarif ] && [ -s audit.html ] || fail "audit.sh leaves no files"
make CLAIM=3 >log 2>&1 || fail "make: $(cat log)"
make CLAIM=1.27 >log 2>&1 && fail "make: a refuted claim passes"
finish
