"""Every public method keeps to ``n_jobs``, and workers of joblib do not take the cores from each other."""

import os
import subprocess
import sys
import textwrap
import threading
import warnings

import numpy as np
import pytest

from preimage import KernelPCA
from preimage.features import Nystrom
from preimage.gram import threads
from preimage.kernels import Gaussian

X = np.random.default_rng(0).standard_normal((1200, 4))

WORK = {
    "find_preimages": lambda model: model.find_preimages(X),
    "eigenvector_preimages": lambda model: model.eigenvector_preimages(1.0),
    "basis_projections": lambda model: model.basis_projections(),
    "merge": lambda model: model.merge(model),
    "denoise": lambda model: model.denoise(X),
    "impute": lambda model: model.impute(np.where(np.arange(4) == 1, np.nan, X[:40])),
}


@pytest.mark.parametrize("name", WORK)
def test_no_method_spreads_its_work_over_more_threads_than_n_jobs(name, monkeypatch):
    monkeypatch.setattr(threads, "n_cores", lambda: 4)
    monkeypatch.setattr(threads, "_library_threads", lambda: 4)
    model = KernelPCA(3, kernel=Gaussian(2.0), approximation=Nystrom(X[:60]), n_jobs=1, random_state=0).fit(X)
    asked, before = [], threads.n_threads

    def counted():
        asked.append(before())
        return asked[-1]

    monkeypatch.setattr(threads, "n_threads", counted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        WORK[name](model)
    assert asked and set(asked) == {1}
    assert before() == 4 and threading.active_count() < 20


PROGRAM = """
    import numpy as np
    from sklearn.model_selection import GridSearchCV
    from threadpoolctl import threadpool_info

    from preimage import KernelPCA
    from preimage.gram import threads
    from preimage.kernels import Function


    def product(X, Y):  # called in the threads that compute kernel values, and row by row for the diagonal
        if len(X) > 1:
            blas = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
            with open(FOLDER + f"/{os.getpid()}.{threading.get_ident()}", "a") as file:
                file.write(f"{threads.n_threads()} {max(blas)}\\n")
        return X @ Y.T


    if __name__ == "__main__":
        search = GridSearchCV(
            KernelPCA(2, kernel=Function(product), solver="lanczos", random_state=0),
            {"n_components": [2, 3]},
            cv=3,
            n_jobs=-1,
            refit=False,
            scoring=lambda model, X, y=None: -model.score_samples(X).mean(),
        )
        search.fit(np.random.default_rng(0).standard_normal((900, 3)))
"""


def test_workers_of_a_grid_search_have_one_thread_each(tmp_path):
    program = tmp_path / "search.py"
    program.write_text(f"import os, threading\nFOLDER = {str(tmp_path)!r}\n" + textwrap.dedent(PROGRAM))
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    subprocess.run([sys.executable, "-W", "ignore", program], check=True, env=environment, timeout=300)
    files = list(tmp_path.glob("*.[0-9]*"))
    assert 1 <= len(files) <= (os.cpu_count() or 1)
    assert len({file.name.partition(".")[0] for file in files}) == len(files)  # no process has a second thread
    assert {line for file in files for line in file.read_text().splitlines()} == {"1 1"}
