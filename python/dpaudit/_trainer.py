# SPDX-License-Identifier: GPL-3.0-or-later
"""Trainers in Python: a function or a class becomes a program that games can play against (docs/trainer.md).

The program stays: imports and data are paid for once. Whatever the trainer prints goes to standard error, because
standard output belongs to the protocol.
"""

import inspect
import json
import os
import sys
import traceback
from typing import IO, Any, Callable, Optional

PROTOCOL = 1
_INLINE = 1000  # numbers; longer arrays go through files
_LEVELS = {
    "train": ("train",),
    "step": ("start", "batch", "step"),
    "gradient": ("start", "gradient"),
    "round": ("start", "batch", "step", "weights"),
    "canary": ("start", "gradient", "canary"),
}


def _take_output() -> IO[str]:
    """Standard output for the answers alone: what is printed from now on goes to standard error."""
    sys.stdout.flush()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


# A game has started this program: what it prints before it serves must not get among the answers, either.
_output = _take_output() if os.environ.pop("DPAUDIT_TRAINER", None) else None


class Trainer:
    """A trainer with how many examples it has. Made by `@dpaudit.trainer`; calling it calls what was decorated.

    Arguments:
        made_of: the function, class or object.
        points: examples of data.
        canaries: examples that are in only where a game puts them.
        heldout: examples that are never in.
    """

    def __init__(self, made_of: Any, points: int, canaries: int, heldout: int):
        self.made_of, self.points, self.canaries, self.heldout = made_of, points, canaries, heldout
        self.__doc__ = made_of.__doc__
        self.__name__ = getattr(made_of, "__name__", type(made_of).__name__)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.made_of(*arguments, **named)

    @property
    def kind(self) -> type:
        """The class that was decorated, or that of the object."""
        return self.made_of if inspect.isclass(self.made_of) else type(self.made_of)

    def methods(self) -> dict[str, Callable[..., Any]]:
        """Whom to call for which request; a class is made once."""
        if inspect.isclass(self.made_of):
            made = self.made_of()
        elif inspect.isroutine(self.made_of):
            return {"train": self.made_of}
        else:
            made = self.made_of
        names = ("train", "start", "batch", "step", "gradient", "signals", "weights", "canary")
        found = {name: getattr(made, name) for name in names if callable(getattr(made, name, None))}
        if "start" in found:
            found["size"] = lambda: getattr(made, "size", None)
        return found

    def serve(self) -> None:
        """Answer the games' requests until there are no more. The last line of a trainer's script."""
        serve(self)


def _takes(method: Callable[..., Any], *names: str) -> bool:
    given = inspect.signature(method).parameters
    return any(p.kind is p.VAR_KEYWORD for p in given.values()) or any(name in given for name in names)


def _levels(methods: dict[str, Callable[..., Any]]) -> list[str]:
    found = [level for level, needs in _LEVELS.items() if all(name in methods for name in needs)]
    if "step" in found and not _takes(methods["step"], "update", "look"):
        found.remove("step")  # a step that always updates can play rounds, but not look
    return found


def make(what: Any, points: int = 0, canaries: int = 0, heldout: int = 0) -> Trainer:
    """A trainer of a function, a class or an object; one that is a trainer stays as it is."""
    if isinstance(what, Trainer):
        return what
    if inspect.isroutine(what) or any(all(hasattr(what, name) for name in needs) for needs in _LEVELS.values()):
        return Trainer(what, points, canaries, heldout)
    raise TypeError("a trainer has train, or start, batch and step, or start and gradient")


class trainer:
    """Make a trainer of a function `train(members, seed, queries)` that gives a number for each query, or of a class.

    As a decorator: what follows it is `made_of`, the function or class.

    members, queries: numbers of examples (numpy arrays). Examples 0 to points − 1 are data, the next `canaries` are
    in a training only where a game puts them, the next `heldout` never. The function may also take `init` (same
    number, same initial weights), `signal` ("confidence", log(p/(1−p)), or "loss") and `accuracy`; asked for the
    latter it gives (signals, accuracy). A class has `train`, or `start(members, seed)` that gives the number of
    weights, `batch()` that samples, `step(batch, extra, update)` that gives the private sum, and may have
    `gradient(example)`.

    >>> @trainer(points=100, canaries=1)
    ... def mean(members, seed, queries):
    ...     return [len(members) - 100.0 for _ in queries]
    >>> mean.points
    100
    """

    def __new__(cls, made_of: Any = None, *, points: int = 0, canaries: int = 0, heldout: int = 0) -> Any:
        if made_of is None:
            return lambda what: make(what, points, canaries, heldout)
        return make(made_of, points, canaries, heldout)

    @staticmethod
    def serve(what: Optional[Any] = None) -> None:
        """Serve a trainer; without an argument, the one that the calling script has made.

        Arguments:
            what: a trainer, or what one can be made of.
        """
        if what is None:
            main = vars(sys.modules["__main__"]).values()
            found = [value for value in main if isinstance(value, Trainer)]
            if len(found) != 1:
                raise ValueError(f"the script has {len(found)} trainers: say which one to serve")
            what = found[0]
        serve(make(what))


def serve(made: Trainer, requests: Optional[IO[str]] = None, answers: Optional[IO[str]] = None) -> None:
    """Answer requests, one JSON object a line. Without files: standard input and output."""
    if requests is None:
        requests = sys.stdin
    if answers is None:
        answers = _output if _output is not None else _take_output()
    server = _Server(made)
    for line in requests:
        answers.write(json.dumps(server.answer(line), allow_nan=False) + "\n")
        answers.flush()


class _Server:
    def __init__(self, made: Trainer):
        self.made, self.folder, self.size = made, "", 0
        self.methods: dict[str, Callable[..., Any]] = {}
        self.takes: dict[str, Optional[set[str]]] = {}  # arguments of the methods called so far; None: any

    def answer(self, line: str) -> dict[str, Any]:
        request: dict[str, Any] = {}
        try:
            request = json.loads(line)
            call = getattr(self, "on_" + str(request.get("call")), None)
            if call is None:
                raise ValueError(f"there is no call {request.get('call')!r}")
            return {"id": request.get("id"), **call(request)}
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            inner = [f for f in frames if os.path.basename(f.filename) != os.path.basename(__file__)]
            place = f" ({os.path.basename(inner[-1].filename)}:{inner[-1].lineno})" if inner else ""
            traceback.print_exc()
            return {"id": request.get("id"), "error": {"message": f"{type(error).__name__}: {error}{place}"}}

    def on_hello(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("protocol") != PROTOCOL:
            raise ValueError(f"this trainer speaks protocol {PROTOCOL}")
        self.folder = request["folder"]
        self.methods = self.made.methods()
        said = {"protocol": PROTOCOL, "levels": _levels(self.methods), "canaries": self.made.canaries}
        said["heldout"] = self.made.heldout
        if self.made.points:
            said["points"] = self.made.points
        return said

    def call(self, name: str, **known: Any) -> Any:
        """Calls a method with those of the known arguments that it takes."""
        if name not in self.methods:
            raise ValueError(f"the trainer has no {name}")
        if name not in self.takes:
            given = inspect.signature(self.methods[name]).parameters
            self.takes[name] = None if any(p.kind is p.VAR_KEYWORD for p in given.values()) else set(given)
        takes = self.takes[name]
        if takes is not None:
            known = {key: value for key, value in known.items() if key in takes}
        return self.methods[name](**known)

    def take(self, request: dict[str, Any], key: str, kind: str) -> Any:
        import numpy as np

        value = request[key]
        if isinstance(value, dict):
            value = np.load(os.path.join(self.folder, value["npy"]), allow_pickle=False)
        return np.asarray(value, dtype=kind)

    def give(self, key: str, values: Any, count: Optional[int] = None, kind: str = "f8") -> dict[str, Any]:
        import numpy as np

        if hasattr(values, "detach"):
            values = values.detach().cpu().numpy()
        array = np.asarray(values, dtype=kind).reshape(-1)
        if count is not None and array.size != count:
            raise ValueError(f"{key}: {array.size} numbers, expected {count}")
        if not np.isfinite(array).all():
            raise ValueError(f"{key}: number {int(np.flatnonzero(~np.isfinite(array))[0]) + 1} is not finite")
        if array.size <= _INLINE:
            return {key: array.tolist()}
        name = f"from-{key}.npy"
        np.save(os.path.join(self.folder, name), array)
        return {key: {"npy": name}}

    def answer_queries(self, name: str, request: dict[str, Any], **known: Any) -> dict[str, Any]:
        queries = self.take(request, "queries", "i8")
        wanted = bool(request.get("accuracy"))
        said = self.call(name, queries=queries, signal=request.get("signal"), accuracy=wanted, **known)
        accuracy = None
        if isinstance(said, tuple) and len(said) == 2:
            said, accuracy = said
        out = self.give("signals", said, len(queries))
        if wanted:
            if accuracy is None:
                raise ValueError(f"{name} was asked for the accuracy, too: return (signals, accuracy)")
            out["accuracy"] = float(accuracy)
        return out

    def on_train(self, request: dict[str, Any]) -> dict[str, Any]:
        members = self.take(request, "members", "i8")
        return self.answer_queries("train", request, members=members, seed=request["seed"], init=request["init"])

    def on_signals(self, request: dict[str, Any]) -> dict[str, Any]:
        return self.answer_queries("signals", request)

    def on_start(self, request: dict[str, Any]) -> dict[str, Any]:
        known = {key: request[key] for key in ("seed", "init", "look_seed")}
        size = self.call("start", members=self.take(request, "members", "i8"), **known)
        if size is None:
            size = self.methods["size"]()
        if not size:
            raise ValueError("start must give the number of weights (or set self.size)")
        self.size = int(size)
        return {"size": self.size}

    def on_batch(self, request: dict[str, Any]) -> dict[str, Any]:
        batch = self.call("batch", look=bool(request.get("look")))
        return self.give("batch", batch, kind="i8")

    def extra(self, request: dict[str, Any]) -> Any:
        import numpy as np

        if "places" in request:
            places = self.take(request, "places", "i8")
            rows = np.zeros((len(places), self.size), "f4")
            rows[np.arange(len(places)), places] = self.take(request, "value", "f4")[0]
            return rows
        if "extra" in request:
            return self.take(request, "extra", "f4").reshape(-1, self.size)
        return np.zeros((0, self.size), "f4")

    def on_step(self, request: dict[str, Any]) -> dict[str, Any]:
        look = bool(request.get("look"))
        batch = self.take(request, "batch", "i8")
        said = self.call("step", batch=batch, extra=self.extra(request), update=not look, look=look)
        return self.give("sum", said, self.size, "f4")

    def on_canary(self, request: dict[str, Any]) -> dict[str, Any]:
        self.call("canary", kind=request["kind"], seed=request["seed"], index=int(request["index"]))
        return {}

    def on_weights(self, request: dict[str, Any]) -> dict[str, Any]:
        return self.give("weights", self.call("weights"), self.size, "f4")

    def on_gradient(self, request: dict[str, Any]) -> dict[str, Any]:
        return self.give("gradient", self.call("gradient", example=int(request["example"])), self.size, "f4")
