# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands say, as it was last looked at: text whole in CASE.txt; JSON, page and charts as sums of their words, with
numbers to five digits. Right or wrong is for the other tests; this one sees that nothing changes unseen.

usage: golden.py [--write] [--keep DIR] [WORDS…]    cases whose name has all of the words, =NAME: this one; $DPAUDIT is the command
--write makes the files anew: look at `git diff` before it is committed. --keep DIR leaves what was summed up there.
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
examples = here.parent.parent / "examples"
CASES = """
scores                scores scores.csv --claim-epsilon 1 --json=out.json --report out.html --vega charts
scores-refuted        scores scores.csv --claim-epsilon 0.2 --all --explain --curve --at-epsilon 0.5 --json=out.json --report out.html --vega charts --plot
scores-family         scores members.npy nonmembers.npy --family gaussian+laplace --two-sided --claim-sigma 1 --json=out.json --report out.html
scores-max            scores scores.csv --method cp --select max --json=out.json
scores-max-all        scores scores.csv --select max --confidence 0.9 --json=out.json
scores-methods        scores scores.csv --method bayes+jeffreys --claim-epsilon 1 --json=out.json
scores-posterior      scores scores.csv --decide posterior --claim-epsilon 0.1 --json=out.json --report out.html
scores-groups         scores groups.csv --group site --claim-epsilon 1 --json=out.json --report out.html
scores-must           scores scores.csv --claim-epsilon 3 --must-detect 3.1 --json=out.json --report out.html
scores-sampled        scores scores.csv --claim-sigma 1 --claim-q 0.5 --claim-steps 2 --json=out.json
scores-step           scores scores.csv --scope step --claim-sigma 0.6 --claim-q 0.1 --claim-steps 20 --json=out.json --report out.html
counts                counts --fn 10 --tp 90 --fp 5 --tn 95 --claim-epsilon 1 --all --explain --curve --at-epsilon 1 --json=out.json --report out.html --vega charts --plot
counts-small          counts --fn 3 --tp 17 --fp 2 --tn 17 --claim-epsilon 0.5 --json=out.json
counts-twenty         counts --fn 3 --tp 17 --fp 2 --tn 18 --claim-epsilon 0.5 --method cp --must-detect 9 --json=out.json
counts-reversed       counts --fn 90 --tp 10 --fp 95 --tn 5 --claim-epsilon 0.5 --json=out.json --report out.html
counts-curve          counts --fn 10 --tp 90 --fp 5 --tn 95 --claim-curve curve.csv --json=out.json
one-run               one-run one-run.csv --claim-epsilon 1 --all --json=out.json --report out.html --vega charts --plot
one-run-max           one-run one-run.csv --guesses max --json=out.json
one-run-counts        one-run --canaries 1000 --guesses 200 --correct 180 --claim-epsilon 3 --json=out.json --report out.html
one-run-options       one-run --canaries 1000 --guesses 200 --correct 120 --options 4 --claim-epsilon 1 --json=out.json
one-run-rate          one-run scores.csv --inclusion-rate 0.4 --claim-epsilon 0.5 --json=out.json
losses                losses losses.csv --bootstrap 50 --claim-epsilon 1 --json=out.json --report out.html --vega charts --plot
losses-plain          losses losses.csv --bootstrap 0 --json=out.json
cosines               cosines cosines.txt --dim 10000 --claim-epsilon 0.5 --json=out.json --report out.html --vega charts
cosines-posterior     cosines cosines.txt --dim 10000 --claim-epsilon 0.05 --decide posterior --json=out.json
cosines-null          cosines cosines.txt --null null.txt --claim-epsilon 0.5 --json=out.json --report out.html
account               account --sigma 1 --q 0.01 --steps 1000 --deltas 1e-6,1e-5 --epsilons 1,2 --epsilon 1 --orders 2,8 --check 1.5 --json=out.json --report out.html --vega charts
account-phases        account --phase sigma=1,q=0.01,steps=10 --phase sigma=2,steps=3 --adjacency replace-one --json=out.json
account-zcdp          account --zcdp 0.1 --json=out.json
calibrate             calibrate --epsilon 2 --delta 1e-5 --q 0.01 --steps 1000 --json=out.json
plan                  plan --claim-epsilon 1 --leak 4 --json=out.json --report out.html --vega charts --plot
plan-steps            plan --claim-sigma 1 --leak-sigma 0.8 --q 0.01 --steps 1000 --game steps --json=out.json --report out.html
plan-width            plan --half-width 0.15 --fnr 0.4 --fpr 0.4 --confidence 0.9 --family dp --json=out.json
landscape             landscape landscape.csv --json=out.json --report out.html --vega charts
version               --version
help                  help
help-methods          help methods
help-scores           help scores
wrong-option          scores scores.csv --nonsense
wrong-file            scores nothing.csv
wrong-family          scores scores.csv --family nonsense
wrong-method          scores scores.csv --method nonsense
wrong-confidence      scores scores.csv --confidence 0.4
""".strip().splitlines()
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:[eE][-+]?\d+)?|(?<![\w.])-?\d+[eE][-+]?\d+")


def prepare(folder):
    for path in [*examples.glob("*.csv"), *examples.glob("*.npy")]:
        shutil.copy(path, folder)
    rows = (examples / "scores.csv").read_text().split("\n")
    grouped = [rows[0].split(",")[0] + ",member,site"] if rows[0].startswith("score,member") else []
    grouped += [f"{','.join(r.split(',')[:2])},{'north' if i % 3 else 'south'}" for i, r in enumerate(rows[1:]) if r]
    (folder / "groups.csv").write_text("\n".join(grouped) + "\n")
    (folder / "curve.csv").write_text("fpr,fnr\n0,1\n0.1,0.6\n0.3,0.3\n0.6,0.1\n1,0\n")
    (folder / "cosines.txt").write_text("".join(f"{(i * 7 % 20 - 9.5) / 1000 + 0.03!r}\n" for i in range(200)))
    (folder / "null.txt").write_text("".join(f"{(i * 7 % 20 - 9.5) / 1000!r}\n" for i in range(200)))


def words_of(text):
    """Without what changes from call to call; numbers to five digits."""
    text = re.sub(r"<script.*?</script>|<style.*?</style>", "", text, flags=re.S)
    text = re.sub(r'"time": "[^"]*"|\d{4}-\d\d-\d\dT[\d:]*Z|"sha256": "[0-9a-f]*"|[0-9a-f]{64}', "", text)
    text = re.sub(r"^.*: \d+(?: of \d+ \(\d+%\)|, [\d.]+/s).*\n|^mixtures, steps: \d+\n", "", text, flags=re.M)  # progress, where the machine is slow
    return NUMBER.sub(lambda m: f"{float(m.group()):.5g}", text)


def play(folder, words):
    done = subprocess.run([os.environ["DPAUDIT"], *words], cwd=folder, capture_output=True, text=True, env=dict(os.environ, TZ="UTC"))
    said = {"exit": str(done.returncode), "text": words_of(done.stdout), "error": words_of(done.stderr)}
    for path in sorted(folder.glob("out.*")) + sorted((folder / "charts").glob("*")):
        said[path.name] = words_of(path.read_text())
        path.unlink()
    return said


def record(said):
    lines = [f"exit {said.pop('exit')}", said.pop("text"), said.pop("error")]
    sums = [f"{hashlib.sha256(text.encode()).hexdigest()[:16]} {name}" for name, text in said.items()]
    return "\n".join(lines + sums) + "\n"


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    is_write = "--write" in sys.argv
    keep = pathlib.Path(words.pop(0)) if "--keep" in sys.argv else None
    changed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        for case in CASES:
            title, *call = case.split()
            if not all(w[1:] == title if w.startswith("=") else w in title for w in words):
                continue
            said = play(folder, call)
            if keep is not None:
                (keep / title).mkdir(parents=True, exist_ok=True)
                for part, text in said.items():
                    (keep / title / part).write_text(text)
            now, file = record(dict(said)), here / f"{title}.txt"
            if is_write:
                file.write_text(now)
            elif not file.exists() or file.read_text() != now:
                print(f"CHANGED {title}: dpaudit {' '.join(call)}")
                changed += 1
                if os.environ.get("DPA_STOP_AT_FIRST"):
                    return 1
                subprocess.run(["diff", "-u", str(file), "-"], input=now, text=True)
    if changed:
        print(f"{changed} changed; if that is meant: tests/golden/golden.py --write, and look at the difference")
    return 1 if changed else 0


sys.exit(main())
