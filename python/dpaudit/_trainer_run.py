# SPDX-License-Identifier: GPL-3.0-or-later
"""Games from a notebook: `dpaudit.run(game, trainer, claim)`. The command `dpaudit run` plays, so that store, resuming,
budgets and failures are the same as on the command line; a trainer of this process answers over a socket."""

import contextlib
import hashlib
import inspect
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Optional, Union

from ._judge import Claim, Evidence, judge
from ._report import Report
from ._trainer import Trainer, make, serve

_Path = Union[str, "os.PathLike[str]"]
_Listener = Callable[[dict[str, Any]], None]
_STOPPED = 75


class Stopped(KeyboardInterrupt):
    """The run was interrupted; what was played is stored, and the same call goes on from there."""


class Run:
    """What a run gave: `report` (the verdict), `evidence`, `arrays` (numpy, by name), and where `store` and `audit` are."""

    def __init__(self, report: Report, evidence: Evidence, arrays: dict[str, Any], audit: Path, store: Path):
        self.report, self.evidence, self.arrays, self.audit, self.store = report, evidence, arrays, audit, store

    def __repr__(self) -> str:
        return f"Run({self.report.headline!r})"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def program() -> str:
    """The dpaudit command: DPAUDIT, beside this package's library, or on the PATH."""
    here = Path(__file__).resolve().parent.parent.parent / "build" / "release" / "bin" / "dpaudit"
    found = os.environ.get("DPAUDIT") or (str(here) if here.exists() else shutil.which("dpaudit"))
    if not found:
        raise FileNotFoundError("the command dpaudit was not found: put it on the PATH, or set DPAUDIT to its path")
    return found


class _Exchange:
    """A trainer of this process behind a socket: every connection has a thread, one training goes on at a time."""

    def __init__(self, made: Trainer, folder: Path):
        self.made, self.path = made, str(folder / "trainer.socket")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        while True:
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(link,), daemon=True).start()

    def answer(self, link: socket.socket) -> None:
        with contextlib.suppress(OSError), link:  # the other end may be killed at any time
            with link.makefile("r", encoding="utf-8") as requests, link.makefile("w", encoding="utf-8") as answers:
                serve(self.made, requests, answers)

    def command(self) -> str:
        relay = Path(__file__).with_name("_trainer_relay.py")
        return " ".join(shlex.quote(word) for word in (sys.executable, "-E", "-S", str(relay), self.path))

    def close(self) -> None:
        self.listener.close()


def _name(made: Trainer) -> str:
    """Names a trainer of this process in the key of its trials: a changed source plays anew."""
    try:
        source = inspect.getsource(made.made_of if inspect.isroutine(made.made_of) else made.kind)
    except (OSError, TypeError):
        source = made.__name__
    return "trainer-of-this-process " + hashlib.sha256(source.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """A number of numpy or torch as one of Python's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a setting must be a number, a text or a list of them, not {type(value).__name__}")


def _yaml(value: Any) -> str:
    """JSON is YAML, but for numbers like 1e-05, which readers of YAML take for text."""
    return json.dumps(value, default=_plain)


def _sections(game: Any, claim: Any, who: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(game, (str, dict)):
        raise TypeError(f"game: expected a kind such as \"black-box\", or a dict of settings, not {type(game).__name__}")
    game = {"kind": game} if isinstance(game, str) else dict(game)
    sections: dict[str, Any] = {"trainer": who, "game": game}
    for name in ("shadow", "federate", "budget", "estimators"):
        if name in game:
            sections[name] = game.pop(name)
    if isinstance(claim, Claim):
        claim = claim.said()
        if not set(claim) <= {"epsilon", "delta"}:
            raise TypeError(f"claim: a run is about ε of the whole training, not {', '.join(claim)}; judge(Evidence.read(FILE), Claim(...)) judges what it wrote")
    if claim is not None:
        given = {"epsilon": claim} if isinstance(claim, (int, float)) or hasattr(claim, "item") else claim
        if not isinstance(given, dict) and not (hasattr(given, "epsilon") and hasattr(given, "delta")):
            raise TypeError(f"claim: expected ε as a number, or {{\"epsilon\": ..., \"delta\": ...}}, not {type(claim).__name__}")
        sections["claim"] = given if isinstance(given, dict) else {"epsilon": given.epsilon, "delta": given.delta}
    sections.update(more)
    return sections


def _follow(process: "subprocess.Popen[str]", events: Path, start: int, listeners: list[_Listener]) -> None:
    """Tells the listeners of every event until the process has ended: lines of the file from byte `start` on."""
    with open(events, "rb") as log:
        log.seek(start)
        part = b""
        while True:
            ended = process.poll() is not None
            *lines, part = (part + log.read()).split(b"\n")
            for line in lines:
                event = json.loads(line)
                for listener in listeners:
                    listener(event)
            if ended:
                return
            time.sleep(0.02)


def _progress(tell: Callable[[dict[str, Any]], None]) -> _Listener:
    """Of events, those that say how far a stage is."""
    failed = 0

    def listen(event: dict[str, Any]) -> None:
        nonlocal failed
        failed += event.get("ended") == "failed"
        if event["event"] in ("stage", "trial"):
            tell({**{key: event[key] for key in ("stage", "stages", "planned", "done")}, "failed_trials": failed})

    return listen


def _trials(tell: _Listener) -> _Listener:
    """Of events, those of trials."""

    def listen(event: dict[str, Any]) -> None:
        if event["event"] == "trial":
            tell(event)

    return listen


def _bar() -> Optional[Callable[[dict[str, Any]], None]]:
    try:
        from tqdm.auto import tqdm  # type: ignore[import]
    except ImportError:
        return None
    bars: dict[int, Any] = {}

    def show(state: dict[str, Any]) -> None:
        stage = state["stage"]
        if stage not in bars:
            bars[stage] = tqdm(total=state["planned"], desc=f"stage {stage + 1} of {state['stages']}", unit="trial")
        bars[stage].update(state["done"] - bars[stage].n)
        if state["done"] == state["planned"]:
            bars[stage].close()

    return show


def run(
    game: Union[str, dict[str, Any]],
    trainer: Any,
    claim: Any = None,
    *,
    store: Optional[_Path] = None,
    workers: Optional[int] = None,
    seed: int = 1,
    progress: Union[None, bool, Callable[[dict[str, Any]], None]] = None,
    events: Optional[_Path] = None,
    on_trial: Optional[_Listener] = None,
    **options: Any,
) -> "Run":
    """Play a game against a trainer.

    game: a kind ("black-box"), or a dict with the keys of `game` in docs/games.md, and of `shadow`, `federate`,
    `budget`, `estimators` under these names. trainer: what `@dpaudit.trainer` made, played in this process; or a command (text)
    for a program that speaks the protocol, played by `workers` processes. claim: ε, {"epsilon": …, "delta": …}, or
    nothing: what `sigma`, `q` and `steps` in `options` (the keys of `trainer` in docs/trainer.md) mean.

    store: where finished trials are kept; the same call with the same store goes on after an interruption (Ctrl-C raises
    `Stopped`, everything played is kept) and plays nothing twice. progress: called with a dict (stage, stages, planned,
    done, failed_trials) whenever something has ended; True (default with tqdm installed): a bar. on_trial: called with a
    dict for every trial that has ended, in the order of their ends: stage, trial, ended ("played", "failed", …), seconds,
    values, done, planned (docs/runner.md). What it raises stops the run like Ctrl-C and is raised here. events: a file that
    gets all of these as JSON lines.

    >>> def leaky(members, seed, queries):
    ...     return [float(20 in members) + seed % 100 / 1000 for _ in queries]
    >>> game = {"kind": "black-box", "observations": 60}
    >>> run(game, make(leaky, points=20, canaries=1), claim=1.0, progress=False).report.state
    'refuted'
    """
    keep = tempfile.TemporaryDirectory(prefix="dpaudit-") if store is None else None
    base = Path(keep.name) / "run.db" if keep is not None else Path(store).resolve()  # type: ignore[arg-type]
    if not base.parent.is_dir():
        raise FileNotFoundError(f"store: there is no folder {base.parent}")
    made: Union[str, Trainer] = trainer if isinstance(trainer, str) else make(trainer)
    with tempfile.TemporaryDirectory(prefix="dpaudit-") as place:
        exchange = None if isinstance(made, str) else _Exchange(made, Path(place))
        try:
            who = {} if isinstance(made, str) else {k: getattr(made, k) for k in ("points", "canaries", "heldout")}
            who = {**who, **options, "command": made if isinstance(made, str) else _name(made)}
            shown = _bar() if progress is None or progress is True else (progress or None)
            listeners = [_progress(shown)] if shown is not None else []
            if on_trial is not None:
                listeners.append(_trials(on_trial))
            log = Path(events).resolve() if events is not None else Path(place) / "events"
            return _play(game, claim, who, seed, base, Path(place), exchange, workers, log, listeners)
        finally:
            if exchange is not None:
                exchange.close()
            if keep is not None:
                keep.cleanup()


def _play(
    game: Any, claim: Any, who: dict[str, Any], seed: int, base: Path, place: Path, exchange: Optional[_Exchange],
    workers: Optional[int], events: Path, listeners: list[_Listener],
) -> Run:  # fmt: skip
    audit, output = base.with_suffix(".yaml"), place / "evidence"
    audit.write_text(_yaml(_sections(game, claim, who, {"seed": seed})) + "\n")
    words = [program(), "run", str(audit), "--store", str(base), "--output", str(output)]
    words += ["--events", str(events)]
    words += ["--workers", str(workers or 1)] if exchange is not None or workers else []
    environment = dict(os.environ)
    if exchange is not None:
        environment["DPAUDIT_TRAINER_COMMAND"] = exchange.command()
    events.touch()
    start = events.stat().st_size
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    said: list[str] = ["", ""]
    stopped = f"stopped: the finished trials are in {base}; the same call goes on from there"
    reader = threading.Thread(target=lambda: said.__setitem__(slice(None), process.communicate()), daemon=True)
    reader.start()
    try:
        _follow(process, events, start, listeners)
    except BaseException as error:
        process.send_signal(signal.SIGINT)
        process.wait()
        if not isinstance(error, KeyboardInterrupt):
            raise
        raise Stopped(stopped) from None
    reader.join()
    if process.returncode == _STOPPED:
        raise Stopped(stopped)
    if process.returncode not in (0, 1, 5):
        raise RuntimeError(_reason(said[1], audit) or f"dpaudit run ended with exit code {process.returncode}")
    return _gather(output, audit, base)


def _reason(text: str, audit: Path) -> str:
    """What the command said, without its name and the place in a file that the caller has not written."""
    lines = [line for line in text.splitlines() if not line.startswith("Try: ")]
    place = re.escape(str(audit)) + r"(:\d+)*: "
    return re.sub(place, "", re.sub(r"^dpaudit run: ", "", "\n".join(lines[-1:]))).strip()


def _gather(output: Path, audit: Path, store: Path) -> Run:
    import numpy as np

    files = sorted(output.glob("*.npz"))
    evidence = Evidence.read(files[0])
    with np.load(files[0], allow_pickle=False) as found:
        arrays = {name: found[name] for name in found.files if not name.endswith(".json")}
    return Run(judge(evidence), evidence, arrays, audit, store)
