# SPDX-License-Identifier: GPL-3.0-or-later
"""dpaudit: how much privacy does a training pipeline really give?

One function per job, with the words of the command: numpy arrays (or any buffer) in, a `Report` out. A report has
the fields of the command's JSON, `.table()`, `.report("x.html")`, `.check()` for tests, and a picture in Jupyter.
"""

from . import attack, federated
from ._account import Account, account, calibrate, two_gaussians
from ._audit import cosines, counts, one_run, one_run_ideal, scores
from ._canaries import CanarySet
from ._gradient import GradientCanary
from ._judge import Claim, Evidence, judge
from ._library import lib as _lib
from ._losses import landscape, losses
from ._matched import InputCanary
from ._model_losses import model_losses
from ._plan import plan
from ._report import Inconclusive, Refuted, Report
from ._text_canaries import TextCanaries
from ._trainer import Trainer, trainer
from ._trainer_run import Run, Stopped, run
from ._watch import Defect, watch

__version__: str = _lib.dpa_version().decode()
__all__ = [
    "Account",
    "CanarySet",
    "Claim",
    "Defect",
    "Evidence",
    "GradientCanary",
    "Inconclusive",
    "InputCanary",
    "Refuted",
    "Report",
    "Run",
    "Stopped",
    "TextCanaries",
    "Trainer",
    "account",
    "attack",
    "calibrate",
    "cosines",
    "counts",
    "federated",
    "judge",
    "landscape",
    "losses",
    "model_losses",
    "one_run",
    "one_run_ideal",
    "plan",
    "run",
    "scores",
    "trainer",
    "two_gaussians",
    "watch",
]
