# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands say, as it was last looked at: text whole in CASE.txt; JSON, page, charts and files for CI as sums
of their words, with numbers to five digits. Right or wrong is for the other tests; this one sees that nothing changes unseen.

usage: golden.py [--write] [--keep DIR] [WORDS…]    cases whose name has all of the words, or =NAME…: these; $DPAUDIT is the command
--write makes the files anew: look at `git diff` before it is committed. --keep DIR leaves what was summed up there.

The file `cases` has a case per paragraph: its name and its first command, then one further command a line, in the same folder. Beside
commands of dpaudit there are `write FILE TEXT` and `on FILE COMMAND…` (the file is the standard input).
"""
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile

here = pathlib.Path(__file__).resolve().parent
examples = here.parent.parent / "examples"
sys.path.insert(0, str(here.parent / "conformance"))
import evidence  # noqa: E402

limits = {}  # of subprocess.run, for each command: scripts/mutate sets them
# Times, rates and names of machines.
MACHINE = (r'[\d.]+(?:e-\d+)? s\b|[\d.]+ MB\b|[\d.]+/s\b|(?<= on )\S+(?= slot)|(?<=r, )\S+(?= slot)|(?<=e, )\S+(?= slot)|"(?:kernel|host|place)": "[^"]*"|"threads": \d+'
           r'|"(?:seconds|seconds_left|rate|updated|trial_seconds|time)": [\d.e-]+'
           r"|(?<=^    \d ) +\d+ +[\d.e-]+(?= +\d+  )")  # fmt: skip
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:[eE][-+]?\d+)?|(?<![\w.])-?\d+[eE][-+]?\d+")


def cases():
    """{name: [words of each command]}"""
    found = {}
    for line in (here / "cases").read_text().splitlines():
        words = shlex.split(line, comments=True)
        if words and not line[0].isspace():
            name = words.pop(0)
            found[name] = []
        if words:
            found[name].append(words)
    return found


def prepare(folder):
    for path in [*examples.glob("*.csv"), *examples.glob("*.npy"), *examples.glob("*.yaml")]:
        shutil.copy(path, folder)
    rows = (examples / "scores.csv").read_text().split("\n")
    grouped = [rows[0].split(",")[0] + ",member,site"] if rows[0].startswith("score,member") else []
    grouped += [f"{','.join(r.split(',')[:2])},{'north' if i % 3 else 'south'}" for i, r in enumerate(rows[1:]) if r]
    (folder / "groups.csv").write_text("\n".join(grouped) + "\n")
    (folder / "small.csv").write_text("score,member\n" + "".join(f"{(i * 37 % 80) / 40 + i % 2!r},{i % 2}\n" for i in range(80)))
    (folder / "twice.csv").write_text("score,member\n" + "".join(f"{(i * 37 % 80) / 40 + i % 2!r},{i % 2}\n" for i in range(80)) * 2)
    (folder / "one-seed.csv").write_text("score,member\n" + "1.25,1\n0.5,0\n" * 30)
    (folder / "backwards.csv").write_text("score,member\n" + "".join(f"{(i * 37 % 80) / 40 + i % 2!r},{1 - i % 2}\n" for i in range(80)))
    (folder / "chance.csv").write_text("score,member\n" + "".join(f"{i * 37 % 80!r},{i % 2}\n" for i in range(80)))
    (folder / "tiny.yaml").write_text("{training: train-black-box.yaml, game: {kind: black-box, canary: blank, observations: 6}, claim: {epsilon: 1}}\n")
    for name in ("toy", "toy-dp"):
        (folder / f"two-{name}.yaml").write_text((examples / f"train-{name}.yaml").read_text().replace("epochs: 20", "epochs: 2"))
    two = (folder / "two-toy-dp.yaml").read_text()
    (folder / "two-shuffled.yaml").write_text(two.replace("sampling: poisson", "sampling: shuffle").replace("epsilon: 3", "sigma: 1"))
    (folder / "two-target.yaml").write_text(two.replace("sampling: poisson", "sampling: shuffle"))
    (folder / "two-alone.yaml").write_text((folder / "two-toy.yaml").read_text().replace("  heldout: 400..600\n", ""))
    (folder / "two-average.yaml").write_text((folder / "two-toy.yaml").read_text() + "  average: mean\n")
    (folder / "curve.csv").write_text("fpr,fnr\n0,1\n0.1,0.6\n0.3,0.3\n0.6,0.1\n1,0\n")
    (folder / "cosines.txt").write_text("".join(f"{(i * 77 % 200 - 99.5) / 10000 + 0.03!r}\n" for i in range(200)))
    for n in (29, 30):
        (folder / f"cosines{n}.txt").write_text("".join(f"{(i * 77 % 200 - 99.5) / 10000 + 0.03!r}\n" for i in range(n)))
    (folder / "no-cosine.txt").write_text("0.1\n2\n")
    (folder / "null.txt").write_text("".join(f"{(i * 77 % 200 - 99.5) / 10000!r}\n" for i in range(200)))
    (folder / "losses-sites.csv").write_text("loss,member,site\n" + "".join(
        f"{0.2 + (i * 37 % 100) / 100 * (1 if i % 2 else 1.5)!r},{i % 2},{'north' if i % 5 else 'south'}\n" for i in range(240)))
    for i in range(3):
        (folder / f"model{i}.csv").write_text("loss,member\n" + "".join(
            f"{(j * 37 + 11 * i) % 101 / 100 * (0.3 if j % 2 else 1)!r},{j % 2}\n" for j in range(200)))
    words = ('a "quoted" name', "a,b", "back\\slash", "tab\there")
    (folder / "names.txt").write_bytes("".join(f"{words[i % 4]} {i}\r\n" for i in range(60)).encode())
    with zipfile.ZipFile(folder / "shadow.npz", "w") as out:
        out.write(examples / "signals.npy", "signals.npy")
        out.writestr("point_row.npy", evidence.npy([3.0 * i for i in range(60)]))
    (folder / "bad.npy").write_bytes(evidence.npy([1.0] * 63 + [float("inf")]))
    games(folder)


def games(folder):
    """Evidence as games write it, small."""
    write = lambda name, arrays, **meta: evidence.write(folder / name, arrays, **meta)
    step = {"q": 0.05, "steps": 200, "sigma": 1.0, "canary_rate": 1.0}
    known = {"kind": "cosines", "scope": "participation", "design": "one-run", "game": "federated", "dim": 1000, "direction": "hadamard"}
    facts = {"canary_rounds": 4, "spread": 1, "fixed_divisor": 1}
    of_steps = {"kind": "scores", "scope": "step", "design": "independent-runs", "game": "white-box"}
    of_runs = {"kind": "scores", "scope": "training", "design": "independent-runs", "game": "black-box"}
    write("steps.npz", evidence.normal(1.2, 120), training=step, **of_steps)
    write("half.npz", evidence.sampled(1.5, 0.5, 120), training=dict(step, canary_rate=0.5), **of_steps)
    write("runs.npz", evidence.normal(1.2, 120), training={"q": 1.0, "steps": 4, "sigma": 2.0}, planned=250, missing=10, **of_runs)
    trials = {"trials_members": 125, "trials_nonmembers": 120}
    write("failed.npz", evidence.normal(1.2, 120), training={}, failed=[30, 2], absent=[5, 0], facts=trials, **of_runs)
    write("failed-few.npz", evidence.normal(1.2, 120), training={}, failed=[2, 2], facts=trials, **of_runs)
    write("failed-many.npz", evidence.normal(1.2, 120), training={}, failed=[130, 2], facts=trials, **of_runs)
    write("failed-none.npz", evidence.normal(1.2, 40), training={}, facts=trials, **of_runs)
    write("failed-run.npz", evidence.normal(1.2, 40), training={}, failed=[30, 2], facts=trials, **dict(of_runs, design="one-run"))
    write("missing-20th.npz", evidence.normal(1.2, 40), training={}, planned=200, missing=10, **of_runs)
    write("missing.npz", evidence.normal(1.2, 40), training={}, planned=200, missing=11, **of_runs)
    write("copies.npz", evidence.normal(1.2, 120), training={"q": 1.0, "steps": 4, "sigma": 2.0, "records": 3}, **of_runs)
    write("copies-many.npz", evidence.normal(1.2, 120), training={"records": 300}, **of_runs)
    write("step-unknown.npz", evidence.normal(1.2, 120), training={}, **of_steps)
    write("replace.npz", evidence.normal(1.2, 120), training={"q": 0.5, "steps": 3, "sigma": 1.0, "replace_one": True}, **dict(of_runs, design="one-run"))
    write("claimed.npz", evidence.normal(1.2, 120), training={}, claim={"epsilon": 0.5, "delta": 1e-4}, protocol={"method": "cp", "select": "split", "confidence": 0.9, "sides": 2}, **of_runs)
    write("infinite.npz", {"members": [float("inf")] * 5 + [0.1 * i for i in range(30)], "nonmembers": [-float("inf")] * 3 + [0.1 * i - 2 for i in range(30)]}, training={}, **of_runs)
    write("signals.npz", {"signals": [1.0, 2.0]}, training={}, **dict(of_runs, kind="signals"))
    write("counted.npz", {"counts": [10, 90, 5, 95]}, training={}, **dict(of_runs, kind="counts"))
    write("whole.npz", evidence.normal(1.2, 120), training={"q": 1.0, "steps": 4, "sigma": 2.0, "sees_all": True}, **dict(of_runs, game="whole-training"))
    write("guessed.npz", evidence.guesses(0.9, 200), training={}, **dict(of_runs, kind="guesses", design="one-run", game="command"))
    write("membership.npz", evidence.normal(1.2, 200), training={"q": 1.0, "steps": 1, "sigma": 1.0}, **dict(of_runs, design="one-run", game="membership"))
    write("known.npz", evidence.normal(1.5, 120), training={"steps": 40, "sigma": 2.0, "participations": 4.0}, facts=facts, **known)
    write("known-sampled.npz", evidence.normal(1.5, 120), training={"steps": 40, "sigma": 2.0, "q": 0.1}, facts=facts, **known)
    write("known-bare.npz", evidence.normal(1.5, 120), training={"steps": 40, "sigma": 2.0, "participations": 4.0}, **known)
    write("known-divided.npz", evidence.normal(1.5, 120), training={"steps": 40, "sigma": 2.0, "participations": 4.0}, facts=dict(facts, fixed_divisor=0), **known)
    write("known-once.npz", evidence.normal(1.5, 120), training={"steps": 40, "sigma": 2.0, "participations": 1.0}, facts=dict(facts, canary_rounds=1), **known)
    write("known-silent.npz", evidence.normal(1.5, 120), training={}, facts=facts, **known)
    write("known-sphere.npz", evidence.normal(1.5, 120), training={"steps": 40, "sigma": 2.0, "participations": 4.0}, facts=dict(facts, spread=1.2), **dict(known, direction="sphere"))
    write("known-claimed.npz", evidence.normal(1.5, 120), training={"steps": 40, "sigma": 2.0}, claim={"sigma": 2.0, "q": 1.0, "steps": 4}, facts=facts, **known)
    write("runs-cosines.npz", {"final": [0.1 + x / 30 for x in evidence.normal(0, 60)["nonmembers"]]}, facts={"runs": 3}, training={"steps": 40, "sigma": 1.0}, **dict(known, scope="training", direction="sphere"))
    write("known-two.npz", {"members": [2.0, 3.0], "nonmembers": [0.1, -0.2]}, training={"steps": 40, "sigma": 2.0, "participations": 4.0}, facts=facts, **known)
    write("known-one.npz", {"members": [2.0], "nonmembers": [0.1, -0.2]}, training={"steps": 40, "sigma": 2.0, "participations": 4.0}, facts=facts, **known)
    write("known-none.npz", {"members": [2.0, 3.0], "nonmembers": [0.1]}, training={"steps": 40, "sigma": 2.0, "participations": 4.0}, facts=facts, **known)
    write("steps-nothing.npz", evidence.normal(evidence.NOTHING, 400), training=step, **of_steps)
    write("steps-little.npz", evidence.normal(0.3, 400), training=step, **of_steps)
    backwards = evidence.normal(-1.2, 60)
    write("failed-backwards.npz", {"members": [float("-inf")] * 5 + backwards["members"], "nonmembers": backwards["nonmembers"]}, training={}, failed=[5, 0], facts={"trials_members": 65, "trials_nonmembers": 60}, **of_runs)
    last = [0.1 + x / 30 for x in evidence.normal(0, 60)["nonmembers"]]
    most = lambda mean: [mean + x / 40 for x in evidence.normal(0, 60)["nonmembers"]]
    way = [n for t in (10, 20, 30) for n in (t, 0.003 * t, 0.03, 0.1 + 0.001 * t, 0.03, 0.08, 0.03)]
    write("federated.npz", {"final": last, "observed": most(0.2), "unobserved": most(0.1), "trajectory": way}, facts={"checkpoints": 3},
          training={"steps": 40, "sigma": 1.0, "q": 0.2, "participations": 4.0}, **dict(known, scope="training", direction="sphere"))
    write("federated-noisy.npz", {"final": last, "observed": most(0.2), "unobserved": most(0.1), "trajectory": way}, facts={"checkpoints": 3},
          training={"steps": 40, "sigma": 20.0, "q": 0.2, "participations": 4.0}, **dict(known, scope="training", direction="sphere"))


def words_of(text):
    """Without what changes from call to call; numbers to five digits."""
    text = re.sub(r"<script.*?</script>|<style.*?</style>", "", text, flags=re.S)
    text = re.sub(r'"time": "[^"]*"|\d{4}-\d\d-\d\d[T ][\d:]*Z?|"sha256": "[0-9a-f]*"|[0-9a-f]{64}', "", text)
    text = re.sub(r"^.*: \d+(?: of \d+ \(\d+%\)|, [\d.]+/s).*\n|^(?:mixtures, steps|powers computed|sizes tried|first trial|waiting for ranks): \d+\n", "", text, flags=re.M)  # progress, where the machine is slow
    text = re.sub(r"^([0-9a-f]{12}(?: +\d+){6}) +[\d.e-]+$", r"\1", text, flags=re.M)  # seconds a trial
    text = re.sub(MACHINE, "", text, flags=re.M)
    return NUMBER.sub(lambda m: f"{float(m.group()):.5g}", text)


def call(folder, words):
    if words[0] == "write":
        (folder / words[1]).write_text(words[2].replace("\\n", "\n"))
        return {}
    given = subprocess.DEVNULL
    if words[0] == "on":
        given, words = open(folder / words[1]), words[2:]
    done = subprocess.run([os.environ["DPAUDIT"], *words], cwd=folder, stdin=given, capture_output=True, env=dict(os.environ, TZ="UTC"), **limits)
    shown = (words_of(said.decode(errors="replace")) for said in (done.stdout, done.stderr))
    return dict(zip(("exit", "text", "error"), (str(done.returncode), *shown)))


def play(folder, commands):
    """What the commands said, as one text, and the words of the files they wrote."""
    said = ""
    for words in commands:
        did = call(folder, words)
        if did:
            if did["text"].startswith("{"):
                did["text"] = f"JSON {sum_of(did['text'])}\n"
            said += f"$ dpaudit {shlex.join(words)}\n" * (len(commands) > 1) + f"exit {did['exit']}\n{did['text']}\n{did['error']}\n"
    files = sorted(folder.glob("out.*")) + sorted((folder / "charts").glob("*"))
    return {"said": said} | {path.name: words_of(path.read_text(errors="replace")) for path in files}


def sum_of(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def record(said):
    said = dict(said)
    return said.pop("said") + "".join(f"{sum_of(text)} {name}\n" for name, text in said.items())


def check(name, commands, made, keep=None, is_write=False):
    """Whether the case is as recorded."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(shutil.copytree(made, folder, dirs_exist_ok=True))
        said = play(folder, commands)
    if keep is not None:
        (keep / name).mkdir(parents=True, exist_ok=True)
        for part, text in said.items():
            (keep / name / part).write_text(text)
    now, file = record(said), here / f"{name}.txt"
    if is_write:
        file.write_text(now)
    if file.exists() and file.read_text() == now:
        return True
    print(f"CHANGED {name}")
    if not os.environ.get("DPA_STOP_AT_FIRST"):
        subprocess.run(["diff", "-u", str(file), "-"], input=now, text=True)
    return False


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    keep = pathlib.Path(words.pop(0)) if "--keep" in sys.argv else None
    every, named = cases(), [w[1:] for w in words if w.startswith("=")]
    changed = 0
    with tempfile.TemporaryDirectory() as made:
        prepare(pathlib.Path(made))
        for name in named or [n for n in every if all(w in n for w in words)]:
            changed += not check(name, every[name], made, keep, "--write" in sys.argv)
            if changed and os.environ.get("DPA_STOP_AT_FIRST"):
                return 1
    if changed:
        print(f"{changed} changed; if that is meant: tests/golden/golden.py --write, and look at the difference")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
