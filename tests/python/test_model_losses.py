# SPDX-License-Identifier: GPL-3.0-or-later
"""Epsilon* of a fitted model and two data sets in one call: scikit-learn, boosted trees, torch, regressions, rankings."""

import math

import pytest

import dpaudit

np = pytest.importorskip("numpy")


def data(seed, points=1200, dim=20):
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (points, dim))
    y = (x[:, :3].sum(axis=1) + rng.normal(0, 2, points) > 0).astype(int)
    return (x[: points // 2], y[: points // 2]), (x[points // 2 :], y[points // 2 :])


def of(model, loss=None, **words):
    train, heldout = data(1)
    return dpaudit.losses(train, heldout, model=model, loss=loss, method="binormal", **words).results[0]


def test_overfitted_trees_leak_more_than_a_straight_line():
    ensemble, linear = pytest.importorskip("sklearn.ensemble"), pytest.importorskip("sklearn.linear_model")
    train, _ = data(1)
    trees = ensemble.GradientBoostingClassifier(n_estimators=120, max_depth=4, random_state=1).fit(*train)
    line = linear.LogisticRegression(C=0.01).fit(*train)
    assert of(trees).epsilon_lower > 0 and of(trees).epsilon > of(line).epsilon + 1


def test_labels_are_the_model_s_own():
    linear = pytest.importorskip("sklearn.linear_model")
    (x, y), _ = data(2)
    words = np.array(["no", "yes"])
    plain, named = linear.LogisticRegression().fit(x, y), linear.LogisticRegression().fit(x, words[y])
    assert np.allclose(dpaudit.model_losses(plain, x, y), dpaudit.model_losses(named, x, words[y]))
    with pytest.raises(ValueError, match="not trained on"):
        dpaudit.model_losses(named, x, np.array(["perhaps"] * len(x)))


def test_log_odds_of_probabilities():
    class Model:
        def predict_proba(self, x):
            return np.array([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]])

    got = dpaudit.model_losses(Model(), None, [1, 0, 0])
    assert got[0] == pytest.approx(-math.log(4)) and got[1] == 0 and got[2] == -math.inf


def test_torch_losses_come_from_logits():
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(2, 3, bias=False).double()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[900.0, 0.0], [0.0, 1.0], [0.0, 2.0]]))
    got = dpaudit.model_losses(model, np.array([[1.0, 1.0], [0.0, 0.0]]), [0, 1])
    assert got[0] == pytest.approx(math.log(math.e + math.e**2) - 900) and got[1] == pytest.approx(math.log(2))
    assert model.training


def test_regressions_and_rankings():
    class Model:
        def predict(self, x):
            return [2.0, -1.0, 0.0]

    y = [1.0, 1.0, 0.0]
    assert list(dpaudit.model_losses(Model(), [0] * 3, y)) == [1, 4, 0]
    assert list(dpaudit.model_losses(Model(), [0] * 3, y, loss="absolute")) == [1, 2, 0]
    ranked = dpaudit.model_losses(Model(), [0] * 3, y, loss="ranking")
    assert ranked[0] == pytest.approx(math.log1p(math.exp(-2))) and ranked[1] == pytest.approx(math.log1p(math.e))
    assert ranked[2] == pytest.approx((ranked[0] + ranked[1]) / 2)
    apart = dpaudit.model_losses(Model(), [0] * 3, y, loss="ranking", query=[0, 1, 1])
    assert apart[0] == 0 and apart[1] == ranked[1]
    assert dpaudit.model_losses(Model(), 1, 2, loss=lambda model, x, y: [x, y]) == [1, 2]


def test_a_ranking_in_one_call():
    class Model:
        def predict(self, x):
            return x[:, 0]

    rng = np.random.default_rng(7)
    query = np.repeat(np.arange(200), 5)
    relevance = np.tile([0, 0, 1, 2, 3], 200)
    train = (np.c_[relevance + rng.normal(0, 0.1, 1000)], relevance, query)
    heldout = (np.c_[relevance + rng.normal(0, 3, 1000)], relevance, query)
    report = dpaudit.losses(train, heldout, model=Model(), loss="ranking", method="binormal")
    by_hand = [dpaudit.model_losses(Model(), *part[:2], loss="ranking", query=part[2]) for part in (train, heldout)]
    assert report.results[0].epsilon == dpaudit.losses(*by_hand, method="binormal").results[0].epsilon > 1
    blind = dpaudit.losses(train[:2], heldout[:2], model=Model(), loss="ranking", method="binormal")
    assert blind.results[0].epsilon != report.results[0].epsilon  # the query matters


def test_predictions_of_a_regression(tmp_path):
    rng = np.random.default_rng(8)
    labels = rng.normal(0, 1, 400), rng.normal(0, 1, 400)
    predicted = labels[0] + rng.normal(0, 0.3, 400), labels[1] + rng.normal(0, 1, 400)

    def epsilon(*arrays, **words):
        return dpaudit.losses(*arrays, method="binormal", **words).results[0].epsilon

    words = {"train_labels": labels[0], "heldout_labels": labels[1]}
    for loss, of in (("squared", np.square), ("absolute", np.abs)):
        by_hand = epsilon(*(of(p - y) for p, y in zip(predicted, labels)))
        assert epsilon(*predicted, loss=loss, **words) == by_hand > 0
    files = [tmp_path / name for name in ("p.txt", "q.txt", "y.txt", "z.txt")]
    for file, array in zip(files, (*predicted, *labels)):
        np.savetxt(file, array, fmt="%.17g")
    assert epsilon(*files[:2], loss="squared", train_labels=files[2], heldout_labels=files[3]) == epsilon(
        *predicted, loss="squared", **words
    )


class Sure:
    def __init__(self, p):
        self.p = p

    def predict_proba(self, x):
        return [[1 - self.p, self.p] for _ in x]


class Constant:
    def predict(self, x):
        return [0.0 for _ in x]


@pytest.mark.parametrize("call, words", [
    (lambda: dpaudit.model_losses(Constant(), [1, 2, 3], [1, 2]), "y: 2 of them for 3 records"),
    (lambda: dpaudit.model_losses(Constant(), [1, 2], [1, 2], loss="ranking", query=[1]), "query: 1 of them for 2"),
    (lambda: dpaudit.losses(models=[([0.0] * 50, [1.0] * 50)] * 2, resampled=True), "the same losses"),
    (lambda: dpaudit.losses([1.0], [1.0], loss="hinge", train_labels=[1], heldout_labels=[1]), "squared or absolute"),
    (lambda: dpaudit.losses(np.ones((2, 2)), np.ones((2, 2)), loss="squared", train_labels=[1, 1], heldout_labels=[1, 1]),
     "one number"),
    (lambda: dpaudit.losses([1.0], [1.0], model=1), r"\(x, y\)"),
    (lambda: dpaudit.losses([1.0], [1.0], loss="squared"), "model"),
    (lambda: dpaudit.losses([1.0], None, model=1), "needs train"),
    (lambda: dpaudit.model_losses(object(), [1], [1], loss="hinge"), "hinge"),
    (lambda: dpaudit.losses([1.0], [1.0], transform="none"), "quantile"),
    (lambda: dpaudit.model_losses(object(), [1], [1]), "neither predict_proba nor predict"),
    (lambda: dpaudit.model_losses(Sure(0.5), [1, 2, 3], [0, 1]), "y: 2 of them for 3 records"),
    (lambda: dpaudit.model_losses(Sure(0.5), [1, 2], [1, 2]), "labels 1 to 2 for a model of 2"),
    (lambda: dpaudit.model_losses(Sure(2.0), [1, 2], [0, 1]), "no probabilities"),
    (lambda: dpaudit.model_losses(Sure(-0.1), [1, 2], [0, 1]), "no probabilities"),
])
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_claims_and_retrained_models():
    rng = np.random.default_rng(3)
    models = [(np.where(rng.random(1000) < 0.5, -8, 0) + rng.normal(0, 1, 1000), rng.normal(0, 1, 1000)) for _ in range(8)]
    alone = dpaudit.losses(*models[0], method="simultaneous", claim_epsilon=0.5)
    assert not alone.verdict.refuted and "cannot refute" in alone.to_dict()["epsilon_star"]["about_claim"]
    together = dpaudit.losses(models=models, method="simultaneous", claim_epsilon=0.5, resampled=True)
    assert together.verdict.refuted and together.results[-1].method == "averaged"
