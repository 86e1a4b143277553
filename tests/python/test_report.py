# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports: fields, verdict, table, page, Jupyter."""

import copy
import json
import math
import pickle
from html.parser import HTMLParser

import pytest

import dpaudit


@pytest.fixture(scope="module")
def refuted():
    return dpaudit.counts(1, 99, 2, 98, claim_epsilon=1)


@pytest.fixture(scope="module")
def stands():
    return dpaudit.counts(50, 50, 50, 50, claim_epsilon=1)


def test_fields_are_those_of_the_json(refuted):
    fields = json.loads(refuted.to_json())
    assert refuted.to_dict() == fields
    assert refuted.delta == 1e-5 and refuted["delta"] == 1e-5
    assert refuted.verdict.claim.epsilon == 1
    assert refuted.evidence.tp == 99
    assert refuted.results[0].epsilon_lower == fields["results"][0]["epsilon_lower"]
    assert refuted.verdict.refuted is True
    assert "verdict" in refuted and "nothing" not in refuted and set(refuted) == set(fields)
    assert {"results", "table"} <= set(dir(refuted))


def test_unknown_field_says_what_there_is(refuted):
    with pytest.raises(AttributeError, match="evidence"):
        refuted.epsilon_star
    assert not hasattr(refuted.results[0], "nothing")


def test_infinite_numbers(refuted):
    result = dpaudit.counts(0, 10, 0, 10, sides=2, family="dp", method="cp").results[0]
    assert result.epsilon_upper == math.inf
    assert result.to_dict()["epsilon_upper"] is None


def test_to_dict_is_a_copy(stands):
    stands.to_dict()["delta"] = 7
    assert stands.delta == 1e-5


def test_check(refuted, stands):
    assert stands.check() is stands and stands.refuted is False
    with pytest.raises(dpaudit.Refuted, match="claim") as caught:
        refuted.check()
    assert isinstance(caught.value, AssertionError) and str(caught.value) == refuted.headline


def test_table_and_words(refuted):
    assert str(refuted) == refuted.table() and "gaussian" in refuted.table()
    assert repr(refuted) == f"<dpaudit.Report counts: {refuted.headline}>"


def test_page(refuted, tmp_path):
    path = refuted.report(tmp_path / "x.html")
    page = path.read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html") and "REFUTED" in page.upper()
    assert [file.name for file in tmp_path.iterdir()] == ["x.html"]
    with pytest.raises(OSError):
        refuted.report(tmp_path / "no" / "folder.html")


def test_jupyter_shows_a_table_and_a_chart(refuted):
    bundle = refuted._repr_mimebundle_()
    assert bundle["text/plain"] == refuted.table()
    chart = bundle["application/vnd.vegalite.v5+json"]
    assert json.loads(json.dumps(chart)) == chart
    assert chart["$schema"].endswith("vega-lite/v5.json")
    assert "data" in chart or "datasets" in chart
    assert chart["title"]["subtitle"] == refuted.table().rstrip().split("\n")


class Drawing(HTMLParser):
    """Elements, words, and whether every element is closed in its order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.words = [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


def test_html_has_the_verdict_a_mark_for_each_result_and_the_claim(refuted):
    drawn = Drawing(refuted._repr_html_())
    marks = [tag for tag, _ in drawn.seen if tag in ("circle", "polygon")]
    assert len(marks) == len(refuted.results)
    credible = [r for r in refuted.results if "jeffreys-prior" in r.assumptions]
    estimates = [r for r in refuted.results if r.guarantee == "estimate"]
    assert marks.count("polygon") == len(credible) + len(estimates) > 0
    assert refuted.headline in drawn.words and "claim" in drawn.words and refuted.table() in drawn.words
    places = [float(a["cx"]) for tag, a in drawn.seen if tag == "circle"]
    lower = [r.epsilon_lower for r in refuted.results if r not in credible and r not in estimates]
    ratio = [(x - 220) / e for x, e in zip(places, lower)]
    assert max(ratio) - min(ratio) < 0.1  # one scale


def test_html_without_bounds_is_the_table():
    report = dpaudit.account(sigma=1.0)
    assert Drawing(report._repr_html_()).words == report.table()


def test_html_lets_nothing_in(tmp_path):
    table = tmp_path / "scores.csv"
    table.write_text("score,member,g\n" + "".join(f"{i},{i % 2},<script>\n" for i in range(40)))
    assert "<script" not in dpaudit.scores(str(table), group="g")._repr_html_()


def test_jupyter_without_a_chart():
    assert "text/plain" in dpaudit.two_gaussians(0, 1, 1, 1)._repr_mimebundle_()


def test_copies_share_what_they_own(stands):
    assert copy.copy(stands) is stands and copy.deepcopy([stands])[0] is stands
    with pytest.raises(TypeError, match="to_dict"):
        pickle.dumps(stands)
