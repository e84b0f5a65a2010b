# One target, one job. Every target does the set-up it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# With trials as a tensor axis one thread per test process is the fastest; two processes share two cores.
ONE_THREAD := OMP_NUM_THREADS=1

.PHONY: help setup demo test slow check checks lint types imports spelling secrets audit docs results bench profile wheel package clean

help:  ## show what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

setup: $(READY)  ## create .venv with pinned packages

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("graphmix needs Python 3.11 or newer; set PYTHON=…" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY)  ## train GCN and GraphMix(GCN) on Citeseer and compare
	$(BIN)/graphmix demo

test: $(READY)  ## run the tests; real-data ones need GRAPHMIX_DATA
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist worksteal --doctest-modules --doctest-ignore-import-errors src tests

slow: $(READY)  ## the tests that take minutes, and those that draw at random with more draws
	$(ONE_THREAD) THOROUGH=1 $(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist worksteal -m 'slow or hypothesis' tests

check: checks test  ## everything CI runs

# Two at a time: types take one core, and the audit waits for an answer.
checks: $(READY)  ## everything CI runs but the tests
	@$(MAKE) --no-print-directory --jobs 2 lint types imports spelling secrets audit

lint: $(READY)  ## ruff, lint and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## mypy
	$(BIN)/mypy

imports: $(READY)  ## the direction of the arrows between layers
	$(BIN)/lint-imports

spelling: $(READY)  ## every word of the pages and docstrings; own words are in tools/words.txt
	$(BIN)/python tools/spelling.py

secrets: $(READY)  ## no keys, tokens or passwords in the files
	$(BIN)/python tools/find_secrets.py

audit: $(READY)  ## no pinned package with a known vulnerability, where that can be looked up
	$(BIN)/python tools/audit.py

docs: $(READY)  ## the documentation site, in build/docs
	$(BIN)/python -m sphinx -W -b html docs build/docs
	@echo "open build/docs/index.html"

results: $(READY)  ## rewrite the tables, pictures and docs/results/ from the results files
	$(BIN)/python benchmarks/wild_plots.py
	$(BIN)/python benchmarks/front_picture.py
	$(BIN)/python benchmarks/tsne_picture.py
	$(BIN)/python benchmarks/leaderboard_picture.py
	$(BIN)/python benchmarks/label_picture.py
	$(BIN)/python benchmarks/claims_picture.py
	$(BIN)/python benchmarks/scale_picture.py
	$(BIN)/python benchmarks/tables.py

bench: $(READY)  ## milliseconds per epoch and whole runs, cold and warm: ours, PyG's and a plain implementation
	$(BIN)/python benchmarks/bench.py

profile: $(READY)  ## on CUDA: kernels and bytes of a replayed epoch, and where a command's time goes
	$(BIN)/python benchmarks/profile_cuda.py

wheel: $(READY)  ## build the wheel and the sdist, in dist
	$(BIN)/python -m build --no-isolation

package: wheel  ## install the wheel and the sdist into empty environments, with each extra, and try them
	$(BIN)/python tools/check_package.py

clean:  ## remove what the targets made, the environment included
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache
