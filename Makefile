# Every target sets up what it needs. It requires Python >= 3.10, make and a network connection.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
BROWSER := $(VENV)/.browser
BENCH := $(VENV)/.bench

# constraints.txt pins all versions: without it, pip would download torch with gigabytes of CUDA.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-compile -c constraints.txt
# Compile with all processors, which pip does with one. A package may contain files for another Python.
COMPILE := $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
# Show pip's progress only on a terminal, not in a log.
QUIET := $$(test -t 2 || echo --quiet)

# The tests of examples and generated pages. With UPDATE_DOCS=1 they write instead of comparing.
DOCS := tests/config/test_docs.py tests/rules/test_docs.py tests/reference/test_pages.py \
	tests/test_recipes.py::test_the_page_shows_the_recipes_as_they_are \
	tests/docs/test_generated.py tests/docs/test_picture.py tests/docs/test_examples.py

.PHONY: demo test lint types unit near near-map fast nightly coverage fuzz mutants bench versions docs fmt build clean

demo: $(INSTALLED)
	@echo
	@echo '$$ $(BIN)/hookcli inspect sample_models/inplace_resnet.py'
	@$(BIN)/hookcli inspect sample_models/inplace_resnet.py
	@echo
	@echo 'Try next:'
	@echo '  $(BIN)/hookcli grads sample_models/vae.py           # which parameters get a gradient?'
	@echo '  $(BIN)/hookcli check sample_models/siamese.py       # check a model with rules'
	@echo '  $(BIN)/hookcli inspect YOUR_MODEL.py -i 2x3x224x224 # your own model and batch'

# The types are checked beside the tests, which leave a processor idle now and then.
test: lint
	@$(MAKE) --no-print-directory -j 2 types unit

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: $(READY)
	$(BIN)/mypy

# Compile once, even if PYTHONDONTWRITEBYTECODE is set: tests start hundreds of processes.
unit: $(BROWSER)
	$(BIN)/python -m compileall -q hookcli
	$(BIN)/pytest -n 2

fast: $(BROWSER)
	$(BIN)/pytest -n 2 -m "not slow"

# Run the tests that reach what changed since the last commit, the fastest first, for 45 seconds at
# most. `make near-map` notes which tests reach which function; without it, those beside a file run.
near: $(BROWSER)
	$(BIN)/python -m tests.near

near-map: $(BROWSER)
	$(BIN)/python -m tests.near --record tests

# What takes too long for each push: all cases of large products, and tests that take minutes
# (tests/products.py); the matrix of faults; extremes in reports; the fuzzer; sweeps of models.
nightly: $(BROWSER)
	$(BIN)/pytest -n 2 --whole
	$(BIN)/python -m tests.report.extremes
	$(BIN)/python -m tests.faults.matrix --forked --full
	$(BIN)/python -m tests.fuzz --seed $(SEED) --seconds $(SECONDS)
	$(BIN)/python -m benchmarks.proof.scripted
	$(BIN)/python -m benchmarks.proof.training_scripts
	$(BIN)/python -m benchmarks.proof.training_alarms
	$(BIN)/python -m benchmarks.proof.kills

# Measure the branch coverage of the package, and list the files below 95 %. All processes of the
# tests are traced, which takes half as long again. `coverage report -m FILE` shows the lines.
TRACED := $(BIN)/python -m coverage run --include='$(CURDIR)/hookcli/*'
coverage: $(BROWSER)
	rm -rf build/coverage
	$(BIN)/python -m coverage run --source=hookcli -m hookcli --version
	-$(TRACED) -m pytest -n 2
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage report --sort=cover | awk '$$NF + 0 < 95 || $$1 == "TOTAL"'

# Give hostile input to hookcli: make fuzz SECONDS=600 SEED=1; one case again: make fuzz CASE=1234.
SECONDS ?= 600
SEED ?= 1
fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --seed $(SEED) $(if $(CASE),--case $(CASE),--seconds $(SECONDS))

# Change the code of a part, and see whether its tests notice: make mutants PART=selectors; for less,
# ARGS="--sample 300", "--only name_matches", "--survivors". docs/robustness.md has the parts.
mutants: $(READY)
	$(BIN)/python -m tests.mutation $(PART) $(ARGS)

bench: $(BENCH)
	$(BIN)/python -m benchmarks.run

# Run the tests with each version of torch in docs/versions.md, and write that page. VERSIONS names
# the folder of their environments, which take 5 to 7 GB each; those that exist are used.
versions: $(READY)
	$(BIN)/python -m benchmarks.versions.run

# Write generated pages, the outputs of examples and the picture; then build the site in build/site.
docs: $(READY)
	UPDATE_DOCS=1 $(BIN)/pytest -q --whole $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo 'Open build/site/index.html, or serve it with its search: python3 -m http.server -d build/site'

fmt: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

build: $(READY)
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) build dist *.egg-info

# hookcli alone: what `make demo` needs.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
		echo 'hookcli requires Python 3.10 or newer; run: make $(MAKECMDGOALS) PYTHON=python3.12'; \
		exit 1; }
	@echo '1/3 Creating a virtual environment in $(VENV)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo '2/3 Installing PyTorch (the CPU build is about 200 MB; this takes a minute or two)'
	@$(PIP) $(QUIET) torch
	@echo '3/3 Installing hookcli and its dependencies'
	@$(PIP) $(QUIET) -e .
	@$(COMPILE)
	@touch $@

# hookcli with the tools for its development.
$(READY): $(INSTALLED)
	@echo 'Installing the tools for tests, types and documentation'
	@$(PIP) $(QUIET) -e '.[dev]'
	@$(COMPILE)
	@touch $@

# A Chromium for tests/browser: the system's, else playwright's, else the package of Debian.
$(BROWSER): $(READY)
	@$(BIN)/python -m tests.browser.chromium > /dev/null || { \
		echo 'Installing a Chromium for the tests of pages'; \
		$(BIN)/python -m playwright install chromium || \
		{ test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq chromium; } || \
		echo 'No Chromium could be installed: install one, or set HOOKCLI_CHROMIUM to its path'; }
	@touch $@

# The tools that `make bench` compares hookcli with.
$(BENCH): $(READY)
	@echo 'Installing the tools to compare hookcli with'
	@$(PIP) $(QUIET) -e '.[bench]'
	@touch $@
