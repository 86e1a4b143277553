# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples run and show what they say: right code stands, planted bugs fall."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest


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


def test_guard_for_ci(source):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(source / "examples" / "python" / "test_dp_library.py")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source / "python")},
    )
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


def notebook(source):
    return json.loads((source / "examples" / "python" / "five_methods.ipynb").read_text(encoding="utf-8"))


def test_notebook_cells_run_in_order(source):
    """Without Jupyter: every cell, in one namespace."""
    book, names = notebook(source), {}
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in book["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, "clear the outputs before a commit"
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)


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
