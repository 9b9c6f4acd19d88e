# One target per thing a person does here. Everything runs in .venv. `make check` and `make test` install what the product
# needs and the test runner. The other targets install every extra, the linters and the site generator as well.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
COQ ?= --labels
# Two test processes share two cores, and threads of OpenBLAS that wait for each other keep both busy.
export OPENBLAS_NUM_THREADS ?= 1
CORE := $(VENV)/.installed-core
STAMP := $(VENV)/.installed

.PHONY: setup check test test-all lint bench campaign coq docs docs-check clean

setup: $(STAMP)

$(CORE): pyproject.toml tools/setup.sh
	PYTHON="$(PYTHON)" VENV="$(VENV)" sh tools/setup.sh core
	touch $(CORE)

$(STAMP): pyproject.toml tools/setup.sh
	PYTHON="$(PYTHON)" VENV="$(VENV)" sh tools/setup.sh all
	touch $(CORE) $(STAMP)

check: $(CORE)
	mkdir -p build/report
	$(BIN)/dpproof check papers --html build/report

# The fast tier: every kind of promise once. A line says what is skipped because an extra is missing.
test: $(CORE)
	$(BIN)/pytest -m "not slow" -n 2 --dist loadfile --doctest-ignore-import-errors $(ARGS)

# Everything: all extras, statistical and exhaustive runs, damaged certificates, the blocks of the documentation, and
# Coq for every label "cross-checked by Coq". `make campaign` lets Coq check the other recorded claims as well.
test-all: setup
	$(BIN)/pytest -n 2 --dist worksteal $(ARGS)
	$(MAKE) coq ARGS=$(COQ)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m benchmarks

# Coq on all recorded claims, then searches with new seeds. What they find becomes a stored point in the tests.
campaign: setup
	$(MAKE) coq ARGS=
	$(BIN)/python -m benchmarks.counterexamples $(POINT_ARGS)
	$(BIN)/python -m benchmarks.soundness.rounded_noise
	$(BIN)/python -m benchmarks.soundness.attacks
	$(BIN)/python -m benchmarks.soundness $(ARGS)
	$(BIN)/python -m benchmarks.audits $(AUDIT_ARGS)
	$(BIN)/dpproof benchmark --out docs/experiments --repeat 0.01

# Coq proves the claims a second time. Without coqc and its Interval library this fails, unless COQ_OPTIONAL=1 is set.
coq: setup
	$(BIN)/python -m dpproof.proofs_check.coq $(ARGS)

# Scores and plots of recorded runs, the generated pages, then the site in build/site, warnings being errors. The code
# blocks of the site run in the tests.
docs: setup
	$(BIN)/python -m dpproof.reproduction
	$(BIN)/python -m dpproof.report.pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-check: setup
	$(BIN)/python -m dpproof.report.pages --check

clean:
	rm -rf build .venv
