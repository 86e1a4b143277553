# SPDX-License-Identifier: GPL-3.0-or-later
# Every link of every page leads to a file that is there, and every heading that is linked to exists.
. "$(dirname "$0")/lib/check.bash"

python3 - "$DPA_SOURCE" <<'PY' || fail "links"
import pathlib, re, sys
root = pathlib.Path(sys.argv[1])
def anchors(page):
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}
pages = [p for p in root.rglob("*.md") if not {"build", "node_modules", "out", ".git"} & set(p.relative_to(root).parts)]
bad = checked = 0
for page in pages:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name) if name else page
        checked += 1
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            bad += 1
            print(f"{page.relative_to(root)}: {target}")
print(checked, "links on", len(pages), "pages")
sys.exit(bad > 0 or checked < 40)
PY
finish
