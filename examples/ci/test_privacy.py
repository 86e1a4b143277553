# SPDX-License-Identifier: GPL-3.0-or-later
"""The same audit among the tests of pytest: `CLAIM=1.27 pytest test_privacy.py`."""

import os

import dpaudit


def test_the_claim_stands():
    report = dpaudit.scores("members.npy", "nonmembers.npy", claim_epsilon=float(os.environ.get("CLAIM", "1.27")))
    report.report("audit.html")
    report.check()  # raises Refuted or Inconclusive, with the verdict as its text
