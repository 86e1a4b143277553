# SPDX-License-Identifier: GPL-3.0-or-later
# docs/federated.md as a user reads it: its commands and its Python run in an empty folder, in their order, with the exit codes that are
# written behind them.
. "$(dirname "$0")/lib/check.bash"

export PATH="$(dirname "$DPAUDIT"):$PATH" PYTHONPATH="$DPA_SOURCE/python" DPAUDIT_LIBRARY="$DPA_BUILD/lib/libdpaudit.so"
/usr/bin/python3 - "$DPA_SOURCE/docs/federated.md" <<'PY' || fail "the page"
import re
import subprocess
import sys

page = open(sys.argv[1], encoding="utf-8").read()
names, commands, programs, failed = {}, 0, 0, 0
for kind, code in re.findall(r"^```(sh|python)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
    if kind == "python":
        exec(compile(code, "docs/federated.md", "exec"), names)
        programs += 1
        continue
    for line in code.splitlines():
        want = re.search(r"exit (\d+)$", line)
        done = subprocess.run(["bash", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        commands += 1
        if done.returncode != (int(want.group(1)) if want else 0):
            print(f"FAIL: exit {done.returncode}: {line}\n{done.stdout[:500]}{done.stderr[:500]}")
            failed += 1
print(f"{commands} commands, {programs} programs")
sys.exit(failed > 0 or commands < 20 or programs < 5)
PY
finish
