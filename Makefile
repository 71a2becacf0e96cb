# Every target sets up what it needs: a machine with Python >= 3.10, make and a network is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH := $(VENV)/.bench

.PHONY: demo test lint types unit fast bench fmt build clean

demo: $(READY)
	$(BIN)/hookcli inspect sample_models/inplace_resnet.py

test: lint types unit

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: $(READY)
	$(BIN)/mypy

# Compiled once, also where PYTHONDONTWRITEBYTECODE is set: tests start some hundred processes.
unit: $(READY)
	$(BIN)/python -m compileall -q hookcli
	$(BIN)/pytest -n 2

fast: $(READY)
	$(BIN)/pytest -n 2 -m "not slow"

bench: $(BENCH)
	$(BIN)/python -m benchmarks.run

fmt: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

build: $(READY)
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) build dist *.egg-info

# pip keeps to constraints.txt: an unpinned torch would fetch gigabytes of CUDA.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch -c constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]" -c constraints.txt
	touch $@

# The peers that hookcli is measured against; only `make bench` needs them.
$(BENCH): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]" -c constraints.txt
	touch $@
