# SPDX-License-Identifier: GPL-3.0-or-later
# On a terminal: colour and width of the text, the clock of a command that takes long, the progress of a run, status --watch. Elsewhere none of it.
. "$(dirname "$0")/lib/check.bash"
cat >trial.sh <<'SH'
sleep 0.3
echo "0.$1" >"$2"
SH
printf 'game: {kind: command, command: "sh trial.sh {trial} {out} {members}", points: 3, models: 14, design: leave-one-out, signal: logit}\n' >slow.yaml
printf 'score,member\n' >small.csv
for i in $(seq 40); do echo "$((i * 37 % 40)),$((i % 2))"; done >>small.csv

python3 - <<'PY' || fail "on a terminal"
import fcntl, json, os, pty, re, struct, subprocess, termios, time

dpaudit = os.environ["DPAUDIT"]
plain = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
ERASE = "\r\033[K"


class Screen:
    """A command with one of its streams on a terminal of so many columns."""

    def __init__(self, words, stream, columns=80, **more):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        modes = termios.tcgetattr(slave)
        modes[1] &= ~termios.OPOST  # what is written is what is read
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        streams = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.process = subprocess.Popen([dpaudit, *words], **{**streams, stream: slave, "env": plain, **more})
        os.close(slave)
        self.text = ""

    def until(self, wanted):
        while wanted not in self.text:
            assert self.read(), f"'{wanted}' never came: {self.text!r}"

    def read(self):
        try:
            bytes_read = os.read(self.master, 4096)
        except OSError:
            return False
        self.text += bytes_read.decode()
        return bool(bytes_read)

    def end(self, code):
        while self.read():
            pass
        os.close(self.master)
        assert self.process.wait() == code, (self.process.returncode, self.text)
        return self.text


def bare(text):
    return re.sub(r"\033\[[\d;]*m", "", text)


def widest(text):
    """Of the sentences; tables and charts have the width that they need."""
    return max(len(line) for part in bare(text).split("\n\n")[:2] for line in part.split("\n"))


# Colour and width.
call = ["scores", "small.csv", "--claim-epsilon", "1"]
coloured = Screen(call, "stdout").end(0)
piped = subprocess.run([dpaudit, *call], capture_output=True, text=True).stdout
assert "\033[" in coloured and "\033" not in piped
assert widest(piped) <= 80 and bare(coloured).startswith(piped), "80 columns are not what a pipe gets"
assert bare(coloured)[len(piped) :].startswith("\n  Bounds on ε; ┊ is the claim\n"), "a terminal gets the chart of the bounds"
for variable, colour in ((("NO_COLOR", "1"), False), (("NO_COLOR", ""), True)):
    text = Screen(call, "stdout", env=dict(plain, **dict([variable]))).end(0)
    assert ("\033" in text) == colour and bare(text) == bare(coloured), variable
narrow, wide = Screen(call, "stdout", 40).end(0), Screen(call, "stdout", 110).end(0)
assert widest(narrow) <= 40 < widest(coloured) < widest(wide) <= 110, [widest(t) for t in (narrow, coloured, wide)]
assert Screen(call, "stdout", 39).end(0) == coloured, "a terminal too narrow for text is taken as one of 80 columns"
assert Screen(call, "stdout", 400).end(0) == Screen(call, "stdout", 120).end(0), "lines of more than 120 columns are not read"

# The clock of a command that waits for its evidence.
quick = Screen(call, "stderr").end(0)
assert quick == "", quick
late = Screen(["scores", "-", "--claim-epsilon", "1"], "stderr", stdin=subprocess.PIPE)
late.until("for 3 s")
late.process.stdin.write(open("small.csv", "rb").read())
late.process.stdin.close()
ticks = late.end(0)
seconds = [int(s) for s in re.findall(re.escape(ERASE) + r"dpaudit scores: working for (\d+) s", ticks)]
assert seconds == list(range(2, seconds[-1] + 1)) and seconds[-1] >= 3, ticks
assert ticks == "".join(f"{ERASE}dpaudit scores: working for {s} s" for s in seconds) + ERASE, ticks

# Every command that can take long without a count has one; here each waits for a file.
os.mkfifo("pipe")
waits = {"account": ["--ledger"], "attack": ["lira", "--members", "small.csv", "--signals"], "calibrate": ["--epsilon", "1", "--ledger"],
         "cosines": ["--dim", "9"], "counts": ["--fn", "1", "--tp", "1", "--fp", "1", "--tn", "1", "--claim-curve"], "landscape": [], "one-run": [],
         "report": [], "verify": []}
screens = {name: Screen([name, *words, "pipe"], "stderr") for name, words in waits.items()}
for name, screen in screens.items():
    screen.until(f"{ERASE}dpaudit {name}: working for 2 s")
    screen.process.kill()
    screen.end(-9)

# Progress of a run: one line that is rewritten and taken away; its numbers agree with each other and with the clock on the wall.
LINE = r"(?P<what>[^:\n\r]+): (?P<done>\d+) of (?P<total>\d+) \((?P<part>\d+)%\), (?P<rate>[\d.]+)/s, about (?P<left>\d+) s left"
before = time.monotonic()
shown = Screen(["run", "slow.yaml", "--workers", "1", "--store", "one.db"], "stderr")
text = shown.end(0)
elapsed = time.monotonic() - before
assert text.endswith(ERASE) and text.count("\n") == 0, text
lines = text[: -len(ERASE)].split(ERASE)[1:]
found = [re.fullmatch(LINE, line) for line in lines]
assert len(found) >= 3 and all(found), text
for m in found:
    done, total, rate, left = int(m["done"]), int(m["total"]), float(m["rate"]), int(m["left"])
    assert total == 14 and int(m["part"]) == round(100 * done / total), m[0]
    assert 0.3 <= done / rate <= elapsed + 0.1, m[0]
    assert abs(left - (total - done) / rate) <= 0.51 + 0.01 * (total - done) / rate, m[0]
assert [int(m["done"]) for m in found] == sorted(int(m["done"]) for m in found)
before = time.monotonic()
said = subprocess.run([dpaudit, "run", "slow.yaml", "--workers", "1", "--store", "two.db"], capture_output=True, text=True).stderr
elapsed = time.monotonic() - before
lines = said.splitlines()
assert said.endswith("\n") and all(re.fullmatch(LINE, line) for line in lines) and 1 <= len(lines) <= 1 + elapsed / 10, said

# status --watch: its lines are replaced, by as many as there were, until the run ends.
state = {"state": 1, "process": 12, "host": "hydra", "started": 1e9, "updated": 4.1e9, "stages": 1, "planned": 9, "done": 1, "running": 2,
         "trials": [{"trial": i, "seconds": 200, "place": f"slot {i}", "done": 0, "total": 0} for i in (1, 2)]}
json.dump(state, open("w.db.status.json", "w"))
watch = Screen(["status", "w.db", "--watch"], "stdout")
watch.until("trial 2 on slot 2 for 3.33 min\n")
json.dump(dict(state, state=2, done=9, trials=[]), open("w.part", "w"))
os.rename("w.part", "w.db.status.json")
text = watch.end(0)
frames = text.split("\033[A\033[2K" * 3)
assert len(frames) >= 2 and all(f == frames[0] for f in frames[:-1]), text
assert frames[0] == "running (process 12 on hydra): 1 of 9 trials done, 2 running, 0 failed attempts\n" + "".join(
    f"  trial {i} on slot {i} for 3.33 min\n" for i in (1, 2)), frames[0]
assert frames[-1] == "done: 9 of 9 trials done, 0 failed attempts\n", frames[-1]
PY
finish
