# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad inputs are refused with words that help, extremes are answered, and no input of any kind brings Python down."""

import math
from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpaudit

SCORES = ([1.0, 2.0, 3.0] * 10, [0.0, 1.0, 2.0] * 10)
QUICK = {"method": "cp", "family": "dp"}


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: dpaudit.counts(-1, 1, 1, 1), "fn"),
        (lambda: dpaudit.counts(1, 2.5, 1, 1), "tp: 2.5 is not a whole number"),
        (lambda: dpaudit.counts(1, 1, "x", 1), "fp"),
        (lambda: dpaudit.counts(1, 1, 1, math.nan), "tn"),
        (lambda: dpaudit.counts(1, 1, 1, 2**64), "tn"),
        (lambda: dpaudit.counts(None, 1, 1, 1), "fn"),
        (lambda: dpaudit.counts(0, 0, 1, 1), ""),
        (lambda: dpaudit.counts(1, 1, 1, 1, delta=1), "delta"),
        (lambda: dpaudit.counts(1, 1, 1, 1, delta=-1e-9), "delta"),
        (lambda: dpaudit.counts(1, 1, 1, 1, delta=math.nan), "delta"),
        (lambda: dpaudit.counts(1, 1, 1, 1, delta="small"), "delta"),
        (lambda: dpaudit.counts(1, 1, 1, 1, confidence=0), "confidence"),
        (lambda: dpaudit.counts(1, 1, 1, 1, confidence=1), "confidence"),
        (lambda: dpaudit.counts(1, 1, 1, 1, sides=3), "sides"),
        (lambda: dpaudit.counts(1, 1, 1, 1, family="cauchy"), "cauchy"),
        (lambda: dpaudit.counts(1, 1, 1, 1, family="dp\0gaussian"), "zero byte"),
        (lambda: dpaudit.counts(1, 1, 1, 1, method="magic"), "magic"),
        (lambda: dpaudit.counts(1, 1, 1, 1, method="m" * 1000), ""),
        (lambda: dpaudit.counts(1, 1, 1, 1, method="katz", delta=0.1), ""),
        (lambda: dpaudit.counts(1, 1, 1, 1, claim_epsilon=-1), "claim"),
        (lambda: dpaudit.counts(1, 1, 1, 1, claim=-1), "claim"),
        (lambda: dpaudit.counts(1, 1, 1, 1, claim="one"), "claim: 'one' is not a number"),
        (lambda: dpaudit.counts(1, 1, 1, 1, claim=1, claim_epsilon=1), "one claim only"),
        (lambda: dpaudit.counts(1, 1, 1, 1, claim=dpaudit.Claim(epsilon=1), claim_delta=1e-6), "claim_delta"),
        (lambda: dpaudit.judge(dpaudit.Evidence.counts(1, 1, 1, 1), "one"), "claim: 'one' is not a number"),
        (lambda: dpaudit.scores([], [1.0]), ""),
        (lambda: dpaudit.scores([1.0], []), ""),
        (lambda: dpaudit.scores([math.nan], [1.0]), ""),
        (lambda: dpaudit.scores([1.0]), "nonmembers"),
        (lambda: dpaudit.scores(np.ones((2, 2)), [1.0]), "members: needs one dimension, has the shape (2, 2)"),
        (lambda: dpaudit.scores(np.float64(3), [1.0]), "members"),
        (lambda: dpaudit.scores(3.0, [1.0]), "members"),
        (lambda: dpaudit.scores(["a"], [1.0]), "members"),
        (lambda: dpaudit.scores(b"12345678", [1.0]), "members"),
        (lambda: dpaudit.scores(np.array(["a", "b"]), [1.0]), "members"),
        (lambda: dpaudit.scores(np.array([1 + 2j]), [1.0]), "complex"),
        (lambda: dpaudit.scores(np.array([None, 1.0]), [1.0]), "object"),
        (lambda: dpaudit.scores([None], [1.0]), "members"),
        (lambda: dpaudit.scores(np.ma.masked_array([1.0, 2.0], [True, False]), [1.0]), "masked"),
        (lambda: dpaudit.scores(*SCORES, select="fixed:x"), ""),
        (lambda: dpaudit.scores(*SCORES, select="best"), "best"),
        (lambda: dpaudit.scores(*SCORES, seed=-1), "seed"),
        (lambda: dpaudit.scores(*SCORES, group="site"), "group"),
        (lambda: dpaudit.one_run(), "needs scores"),
        (lambda: dpaudit.one_run(10, 11, 5), ""),
        (lambda: dpaudit.one_run(10, 5, 6), ""),
        (lambda: dpaudit.one_run(10, "auto", 6), "needs scores"),
        (lambda: dpaudit.one_run(10, 5, 5, options=1), ""),
        (lambda: dpaudit.one_run(10, 5, 5, claim_sigma=0), "claim-sigma"),
        (lambda: dpaudit.one_run(scores=[1.0, 2.0]), "members or correct"),
        (lambda: dpaudit.one_run(10, 5, 5, method="channels"), "members and of non-members"),
        (lambda: dpaudit.one_run(scores=[1.0, 2.0], members=[1]), "2 of them, but 1 answers"),
        (lambda: dpaudit.one_run(scores=[1.0, 2.0], members=[0, 2]), "0 or 1"),
        (lambda: dpaudit.one_run(scores=[1.0, 2.0], members=np.array([0, 2], dtype="u1")), "0 or 1"),
        (lambda: dpaudit.one_run(scores=[1.0, 2.0], members=[0, 1], guesses=3), "guesses"),
        (lambda: dpaudit.one_run(scores=[1.0, 2.0], members=[0, 1], guesses="best"), "best"),
        (lambda: dpaudit.one_run(scores=[1.0, 2.0], members=[0, 1], side="left"), "left"),
        (lambda: dpaudit.one_run_ideal(0, 10), ""),
        (lambda: dpaudit.cosines([0.1]), "dim"),
        (lambda: dpaudit.cosines([1.5], 10), ""),
        (lambda: dpaudit.cosines([0.1, math.nan], 10), ""),
        (lambda: dpaudit.cosines([], 10), ""),
        (lambda: dpaudit.losses([1.0], None), "heldout"),
        (lambda: dpaudit.losses(), "train"),
        (lambda: dpaudit.losses([math.nan], [1.0]), "NaN"),
        (lambda: dpaudit.losses([0.5], [0.5], train_labels=[1]), "both or none"),
        (lambda: dpaudit.losses([0.5], [0.5], train_labels=[2], heldout_labels=[1]), "label"),
        (lambda: dpaudit.losses([1.5], [0.5], train_labels=[1], heldout_labels=[1]), "probability"),
        (lambda: dpaudit.losses(np.ones((3, 2)), [0.5], train_labels=[1, 1], heldout_labels=[1]), "(3, 2)"),
        (lambda: dpaudit.attack.lira([1.0, 2.0], [0, 1]), "matrix"),
        (lambda: dpaudit.attack.lira([[1.0, math.nan]], [[0, 1]]), "finite"),
        (lambda: dpaudit.attack.lira([[1.0, 2.0]], [[0, 1, 1]]), "shape"),
        (lambda: dpaudit.attack.lira([[1.0, 2.0]], [[0, 2]]), "0 or 1"),
        (lambda: dpaudit.attack.loss([[1.0, 2.0]], [[0, 1]], target=1), ""),
        (lambda: dpaudit.attack.select([[1.0, 2.0]] * 4, [[0, 1]] * 4, 3, by="loss"), "1 to 2"),
        (lambda: dpaudit.attack.points([[1.0, 2.0]] * 4, [[0, 1]] * 4), "point 1: 0 models were trained without it"),
        (lambda: dpaudit.attack.quantile([[1.0]], [[0]], [[1.0]], np.ones((1, 1, 1)), [1.0]), "points by features"),
        (lambda: dpaudit.attack.quantile([[1.0]], [[0]], [[1.0]], [1.0, 2.0], [1.0]), "features of 2 points"),
        (lambda: dpaudit.attack.leave_one_out(1, 1, 4, 4), "no point 4"),
        (lambda: dpaudit.attack.loss([[1.0, 2.0]], [[0, 1]], kind="odds"), "logit, loss"),
        (lambda: dpaudit.account(), "sigma"),
        (lambda: dpaudit.account(sigma=0), "sigma"),
        (lambda: dpaudit.account(sigma=-1), "sigma"),
        (lambda: dpaudit.account(sigma=math.nan), "sigma"),
        (lambda: dpaudit.account(sigma="1.0 or so"), "sigma"),
        (lambda: dpaudit.account(sigma=1, q=0), "q"),
        (lambda: dpaudit.account(sigma=1, q=1.5), "q"),
        (lambda: dpaudit.account(sigma=1, steps=-5), "steps"),
        (lambda: dpaudit.account(sigma=1, mechanism="cauchy"), "gaussian, laplace"),
        (lambda: dpaudit.account(sigma=1, adjacency="near"), "replace-one"),
        (lambda: dpaudit.calibrate(-1), "epsilon"),
        (lambda: dpaudit.calibrate(1, find="delta"), "sigma, q, steps"),
        (lambda: dpaudit.two_gaussians(0, 0, 1, 1), ""),
    ],
)
def test_refused(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value) and len(str(caught.value)) > 5


def test_a_number_is_a_claim():
    said = dpaudit.counts(90, 10, 10, 90, claim_epsilon=1.5, claim_delta=1e-6).verdict.claim
    for given in (dpaudit.counts(90, 10, 10, 90, claim=1.5, claim_delta=1e-6),
                  dpaudit.counts(90, 10, 10, 90, claim=dpaudit.Claim(epsilon=1.5, delta=1e-6))):  # fmt: skip
        assert given.verdict.claim.epsilon == said.epsilon == 1.5 and given.verdict.claim.delta == said.delta == 1e-6
    assert dpaudit.judge(dpaudit.Evidence.counts(10, 90, 10, 90), np.float64(1.5)).verdict.claim.epsilon == 1.5


def test_missing_file_is_an_oserror_or_valueerror_that_names_it(tmp_path):
    with pytest.raises((OSError, ValueError), match="nowhere.csv"):
        dpaudit.scores(tmp_path / "nowhere.csv")
    with pytest.raises((OSError, ValueError), match="nowhere.csv"):
        dpaudit.one_run(scores=tmp_path / "nowhere.csv")
    (tmp_path / "bad.csv").write_text("score,member\n1.0,0\nabc,1\n")
    with pytest.raises(ValueError, match="bad.csv:3: "):
        dpaudit.scores(tmp_path / "bad.csv")


def test_perfect_attack():
    """Known answers of the methods page: 1000 + 1000 all right."""
    report = dpaudit.counts(0, 1000, 0, 1000, confidence=0.9, sides=2, method="cp", family="dp")
    assert report.results[0].epsilon_lower == pytest.approx(5.600577, abs=1e-6)
    assert report.results[0].epsilon_upper == math.inf
    report = dpaudit.counts(0, 1000, 0, 1000, method="bayes")
    by_family = {result.family: result for result in report.results}
    assert by_family["dp"].epsilon_lower == pytest.approx(7.207211, abs=1e-6)
    assert by_family["gaussian"].epsilon_lower == pytest.approx(44.0615, abs=1e-4)


def test_infinite_and_tied_scores():
    report = dpaudit.scores([math.inf] * 30, [-math.inf] * 30, **QUICK)
    assert report.results[0].epsilon_lower > 1
    report = dpaudit.scores([1.0] * 30, [1.0] * 30, **QUICK)
    assert report.results[0].epsilon_lower == 0
    assert {lint.code for lint in report.evidence.lints}


def test_account_at_extremes():
    assert dpaudit.account(sigma=1 / 40, delta=1e-300).epsilon.lower > 800
    assert dpaudit.account(sigma=1e6).epsilon.upper == pytest.approx(0, abs=1e-3)
    one = dpaudit.account(sigma=0.5).epsilon
    assert one.lower <= 9.997256146434 <= one.upper


finite = st.floats(-1e6, 1e6)


@given(st.lists(finite, min_size=1, max_size=60), st.lists(finite, min_size=1, max_size=60))
def test_bounds_do_not_depend_on_what_holds_the_scores(members, nonmembers):
    want = dpaudit.scores(members, nonmembers, **QUICK).to_dict()["results"]
    assert dpaudit.scores(array("d", members), np.array(nonmembers), **QUICK).to_dict()["results"] == want
    order = dpaudit.scores(members[::-1], sorted(nonmembers), **QUICK).to_dict()["results"]
    assert order == want


@given(st.lists(st.floats(allow_nan=True), min_size=1, max_size=30), st.lists(st.floats(), min_size=1, max_size=30))
def test_any_floats_are_answered_or_refused(members, nonmembers):
    try:
        bound = dpaudit.scores(members, nonmembers, **QUICK).results[0].epsilon_lower
    except ValueError:
        assert all(map(math.isnan, members)) or all(map(math.isnan, nonmembers))
    else:
        assert bound >= 0


@given(st.tuples(*[st.integers(0, 10**12)] * 4))
def test_any_counts_are_answered_or_refused(four):
    fn, tp, fp, tn = four
    try:
        report = dpaudit.counts(fn, tp, fp, tn, **QUICK)
    except ValueError:
        assert fn + tp == 0 or fp + tn == 0
    else:
        assert 0 <= report.results[0].epsilon_lower < 40


def test_who_was_in_may_be_bytes_truths_or_numbers():
    rng = np.random.default_rng(29)
    signals, members = rng.normal(size=(64, 7)), rng.integers(0, 2, (64, 7))
    want = dpaudit.attack.lira(signals, members)
    for kind in ("u1", "?", "f8"):
        assert (dpaudit.attack.lira(signals, members.astype(kind)) == want).all()
        assert (dpaudit.attack.lira(signals, np.asfortranarray(members.astype(kind))) == want).all()


anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=16), st.lists(st.floats(), max_size=3)
)


@given(anything, anything, anything, anything, anything)
def test_any_objects_are_answered_or_refused(one, two, three, four, five):
    for call in (
        lambda: dpaudit.counts(one, two, three, four, five, **QUICK),
        lambda: dpaudit.two_gaussians(one, two, three, four, five),
        lambda: dpaudit.one_run(one, two, three, family="dp", delta=four),
        lambda: dpaudit.cosines([0.1, 0.2], one, two, method="mean"),
        lambda: dpaudit.GradientCanary(10, one, two if isinstance(two, str) else "dirac", seed=three),
    ):
        try:
            call()
        except (ValueError, TypeError):
            pass
