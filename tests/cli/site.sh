# SPDX-License-Identifier: GPL-3.0-or-later
# The pages become a site: every link and picture in it leads to a file that is there, with the heading it names; the notebook has its
# outputs, and every function of Python its page.
. "$(dirname "$0")/lib/check.bash"

command -v mkdocs >/dev/null || { echo "SKIPPED: no mkdocs here"; exit 77; }
DPAUDIT_LIBRARY=$DPA_BUILD/lib/libdpaudit.so "$DPA_SOURCE/scripts/build-site" "$PWD/site" >out 2>err || { cat err; fail "scripts/build-site"; }
python3 - <<'PY' || fail "links of the site"
import html.parser, pathlib, sys, urllib.parse
root = pathlib.Path("site").resolve()

class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key in ("id", "name") and value:
                self.ids.add(value)
            elif key in ("href", "src") and value:
                self.links.append(value)

pages = {path: Page(path) for path in root.rglob("*.html")}
bad, checked = [], 0
for path, page in pages.items():
    for link in page.links:
        url = urllib.parse.urlsplit(link)
        if url.scheme or url.netloc or path.name == "404.html":  # mkdocs makes that one for a server's root
            continue
        target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
        target = target / "index.html" if target.is_dir() and (target / "index.html").exists() else target
        checked += 1
        if not target.exists() or (url.fragment and target in pages and url.fragment not in pages[target].ids):
            bad.append(f"{path.relative_to(root)}: {link}")
print(len(pages), "pages,", checked, "links,", len(bad), "broken")
print("\n".join(sorted(set(bad))[:30]))
sys.exit(bool(bad) or checked < 1000)
PY
says site/docs/notebook.html "REFUTED: the claim"
says site/docs/notebook.html "<svg"
says site/docs/api.html "must_detect: inconclusive unless"
says site/docs/glossary.html "trade-off curve"
finish
