# Every target needs only python3 (3.11 or later) and make: the first run creates .venv from requirements.lock.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TOOLS := build/tools
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
PYTEST := $(BIN)/python -m pytest
NUMERICAL := $(foreach room,kernels gram eigen features decomposition preimages invertible denoising estimators,tests/$(room)) \
	tests/test_expansion.py tests/test_reproducible.py
# Extra arguments go through: make test ARGS="-k kernels"
ARGS ?=

.PHONY: demo test test-slow test-machines test-other lint format bench bench-history figures campaign docs dist-check lock clean
.DEFAULT_GOAL := test

demo: $(READY)
	@$(BIN)/preimage demo --force $(ARGS)

# As many workers as cores, each with one thread of BLAS.
test: $(READY)
	@OMP_NUM_THREADS=1 $(PYTEST) -n auto --dist worksteal $(ARGS)

test-slow: $(READY)
	@$(PYTEST) -m slow $(ARGS)

# Every core type of OpenBLAS that this processor runs, with 1 and 2 threads; then the oldest dependencies.
test-machines: $(READY) $(TOOLS)
	@$(BIN)/python tests/machines.py $(ARGS)
	@$(TOOLS)/bin/python tools/distributions.py --only oldest $(ARGS)

# The numerical tests under one core type that rounds unlike this processor's own.
test-other: $(READY)
	@$(BIN)/python tests/machines.py --other $(NUMERICAL) $(ARGS)

lint: $(READY)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "some files are not formatted: run make format"; exit 1; }
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/python tools/readability.py
	@! grep -n '://' requirements.lock || { echo "requirements.lock holds an address: run make lock"; exit 1; }

format: $(READY)
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format --quiet .

bench: $(READY)
	@for script in $(filter-out benchmarks/racing.py benchmarks/history.py,$(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script $(ARGS) || exit 1; done

# The main ratios to peers as a line of benchmarks/history/ratios.jsonl, and a picture of all lines.
bench-history: $(READY)
	@$(BIN)/python benchmarks/history.py $(ARGS)

# README and docs with the figures that the benchmarks recorded (python benchmarks/digits.py --record).
figures: $(READY)
	@$(BIN)/python benchmarks/figures

# Hostile files, extreme numbers, crowds, signals and limits: many hours; make campaign ARGS="--only numerics --cases 500"
campaign: $(READY)
	@nice -n 10 $(BIN)/python benchmarks/campaign $(ARGS)

# The site, with every warning an error; examples that have not changed are not run again.
docs: $(READY)
	@MPLBACKEND=Agg OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -q -W --keep-going -b html \
		-d docs/_build/doctrees docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# Both distributions built, checked, and tested with the newest and the oldest dependencies:
# make dist-check ARGS="--only oldest"
dist-check: $(TOOLS)
	@nice -n 10 $(TOOLS)/bin/python tools/distributions.py $(ARGS)

# The lock holds versions and hashes for every platform and no address, so that any index can serve it.
lock: $(TOOLS)
	@$(TOOLS)/bin/uv pip compile --quiet --universal --no-header --generate-hashes --no-emit-index-url \
		--python-version 3.11 --extra all --group dev $(ARGS) pyproject.toml --output-file requirements.lock
	@! grep -n '://' requirements.lock

$(TOOLS): pyproject.toml
	@$(PYTHON) -m venv $@
	@$@/bin/pip install -qq --upgrade 'pip>=25.1'  # which knows groups
	@$@/bin/pip install -qq --group release
	@touch $@

$(READY): pyproject.toml papers/pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "use Python 3.11 or later: make PYTHON=python3.12")'
	@echo "preparing $(VENV) (once; about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes --requirement requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable . --editable papers
	@touch $@

clean:
	@rm -rf $(VENV) build dist demo docs/_build docs/gallery docs/reference .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
