# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples run and show what they say: right code stands, planted bugs fall."""

import importlib.util
import json
import os
import subprocess
import sys
import time

import pytest

import dpaudit


@pytest.fixture
def example(source):
    def load(name):
        path = source / "examples" / "python" / name
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.parametrize("bug, refuted", [("none", False), ("noise", True), ("clip", True)])
def test_dpsgd_numpy(example, bug, refuted, capsys):
    report = example("dpsgd_numpy.py").main(bug)
    assert report.refuted is refuted
    assert "whole training" in capsys.readouterr().out
    if not refuted:
        assert report.results[0].epsilon_lower > 3, "the audit is blunt: the truth is 4.38"


@pytest.mark.parametrize("bug, refuted", [("none", False), ("noise", True), ("clip", True)])
def test_dpsgd_torch(example, bug, refuted):
    pytest.importorskip("torch", reason="python3-torch is not installed")
    report = example("dpsgd_torch.py").main(bug)
    assert report.refuted is refuted
    if not refuted:
        assert report.results[0].epsilon_lower > 4, "the audit is blunt: the truth is 5.68"


def check_epsilon_star(reports):
    overfitted, penalised = reports["overfitted"].results[0], reports["penalised"].results[0]
    assert overfitted.guarantee == "estimate" and overfitted.epsilon > penalised.epsilon + 2
    assert overfitted.epsilon_lower > penalised.epsilon_lower
    assert reports["overfitted"].evidence.kind == "losses"


def test_epsilon_star_numpy(example):
    module = example("epsilon_star.py")
    check_epsilon_star(module.main(module.NumpyLogistic))


def test_epsilon_star_torch(example):
    pytest.importorskip("torch", reason="python3-torch is not installed")
    module = example("epsilon_star.py")
    check_epsilon_star(module.main(module.fit_torch))


def test_epsilon_star_sklearn(example):
    pytest.importorskip("sklearn", reason="python3-sklearn is not installed")
    module = example("epsilon_star.py")
    check_epsilon_star(module.main(module.fit_sklearn))
    check_epsilon_star(module.main(module.fit_boosted))


def test_federated(example):
    module = example("federated.py")
    claim, final, every = module.main()
    mean = final.results[0]
    assert mean.epsilon_lower <= claim.epsilon.upper <= mean.epsilon_upper
    claim, final, every = module.main("noise")
    assert final.results[0].epsilon_lower > claim.epsilon.upper
    assert every.results[0].epsilon_lower > claim.epsilon.upper


def test_federated_flower(example):
    module = example("federated_flower.py")
    right = module.main()
    assert right.verdict.state == "not-refuted" and right.verdict.epsilon_lower > 1
    assert module.main("noise").refuted


def test_text_canaries(example, monkeypatch, capsys):
    """Without noise both signals tell who was in; with it, and of canaries that never were, they tell nothing like it."""
    pytest.importorskip("torch", reason="python3-torch is not installed")
    monkeypatch.setenv("SST2", "/nowhere")
    module = example("text_canaries.py")
    assert "a small grammar" in capsys.readouterr().out
    for run in module.main("noise").values():
        assert run.report.refuted
        assert [result.epsilon_lower > 1 for result in run.report.results if result.family == "dp"][0], "ε = 1 is far off"
    assert module.tuned.cache_info().misses == 1, "two signals of one training"
    for run in module.main("none").values():
        assert not run.report.refuted
    fit = module.fit
    monkeypatch.setattr(module, "tuned", lambda members, seed, sigma: fit(module.base(), module.ROWS[: module.PRIVATE], 0.0, 20, seed))
    never = module.audit("confidence", 0.0)
    assert not never.report.refuted and never.report.results[0].epsilon_lower < 1
    exposures = [float(value) for name in ("members", "nonmembers") for value in never.arrays[name]]
    assert len(exposures) == 150 and 0.8 < sum(exposures) / 150 < 2.1  # 1.40 ± 0.11 by chance


def test_guard_for_ci(source):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(source / "examples" / "python" / "test_dp_library.py")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source / "python")},
    )
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


def code_cells(source, name):
    """(id, text) of the cells of a notebook that is fit for a commit."""
    book = json.loads((source / "examples" / "python" / name).read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in book["cells"]]
    assert len(set(ids)) == len(ids)
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        assert cell["outputs"] == [] and cell["execution_count"] is None, "clear the outputs before a commit"
    return [(cell["id"], "".join(cell["source"])) for cell in cells]


def test_notebook_cells_run_in_order(source):
    """Without Jupyter: every cell, in one namespace."""
    names = {}
    for name, text in code_cells(source, "five_methods.ipynb"):
        exec(compile(text, name, "exec"), names)


@pytest.mark.parametrize("noise, begins", [("0.8", "Not refuted"), ("0.2", "REFUTED")])
def test_white_box_in_under_thirty_lines(source, tmp_path, noise, begins):
    pytest.importorskip("torch", reason="python3-torch is not installed")
    text = (source / "examples" / "python" / "white_box_torch.py").read_text()
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("#", '"""'))]
    assert len(lines) < 30
    assert text.count(", 0.8\n") == 1
    (tmp_path / "audit.py").write_text(text.replace(", 0.8\n", f", {noise}\n"))
    environment = {**os.environ, "PYTHONPATH": str(source / "python")}
    done = subprocess.run([sys.executable, "audit.py"], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.stdout.startswith(begins), done.stdout + done.stderr


def test_bayesian_estimation_killed_and_resumed(source, tmp_path, monkeypatch):
    """The notebook of the whole pipeline: killed in the middle of the shadow models, then run again to its end."""
    pytest.importorskip("torch", reason="python3-torch is not installed")
    monkeypatch.setenv("PYTHONPATH", str(source / "python"))
    found = "assert accuracy[worst] > 0.9; print(played.report.refuted, posterior.epsilon_lower, interval.results[1].epsilon_upper)"
    cells = [text for _, text in code_cells(source, "bayesian_estimation.ipynb")] + [found]
    (tmp_path / "book.py").write_text("\n".join(cells))
    words, log = [sys.executable, "book.py"], tmp_path / "bayesian-estimation.jsonl"

    def ends():
        lines = [json.loads(line) for line in log.read_text().split("\n")[:-1]] if log.exists() else []
        return [line for line in lines if line.get("ended") == "played"]

    first = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL)
    while len(ends()) < 100:
        assert first.poll() is None, "the notebook ended before it was killed"
        time.sleep(0.01)
    first.kill()
    first.wait()
    status = [dpaudit._trainer_run.program(), "status", "bayesian-estimation.db", "--json"]
    while json.loads(subprocess.check_output(status, cwd=tmp_path))["state"] == "running":
        time.sleep(0.01)  # the run ends with its notebook
    assert len(ends()) < 256
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    played = [(end["stage"], end["trial"]) for end in ends()]
    assert sorted(played) == [(0, i) for i in range(256)] + [(1, i) for i in range(64)], "played twice, or not at all"
    refuted, lower, upper = done.stdout.split()
    assert refuted == "True" and 2 < float(lower) < float(upper)


def test_notebook_in_jupyter(source, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="python3-nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="python3-nbclient is not installed")
    pytest.importorskip("ipykernel", reason="python3-ipykernel is not installed")
    monkeypatch.setenv("PYTHONPATH", str(source / "python"))
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    book = nbformat.read(source / "examples" / "python" / "five_methods.ipynb", as_version=4)
    nbformat.validate(book)
    # The kernel of this interpreter, not whichever "python3" is registered on the machine.
    kernels = tmp_path / "JUPYTER_DATA_DIR" / "kernels" / "dpaudit-test"
    kernels.mkdir(parents=True)
    words = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernels / "kernel.json").write_text(json.dumps({"argv": words, "display_name": "test", "language": "python"}))
    nbclient.NotebookClient(book, timeout=300, kernel_name="dpaudit-test").execute()
    shown = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    charts = [output.data for output in shown if "application/vnd.vegalite.v5+json" in output.get("data", {})]
    assert len(charts) >= 4
    assert all("text/plain" in data for data in charts)
