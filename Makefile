# One target per thing a person does here. Everything runs in .venv, which `make setup` builds.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup check test test-slow lint bench campaign coq docs docs-check clean

setup: $(STAMP)

$(STAMP): pyproject.toml tools/setup.sh
	PYTHON="$(PYTHON)" VENV="$(VENV)" sh tools/setup.sh
	touch $(STAMP)

check: setup
	mkdir -p build/report
	$(BIN)/dpproof check papers --html build/report

test: setup
	$(BIN)/pytest -m "not slow" -n 2 $(ARGS)

# Exit code 5 of pytest: there was no slow test to run.
test-slow: setup
	$(BIN)/pytest -m slow -n 2 || [ $$? = 5 ]

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m benchmarks

campaign: setup
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.soundness $(ARGS)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.audits $(AUDIT_ARGS)

# Coq proves the claims a second time. Without coqc and its Interval library this fails, unless COQ_OPTIONAL=1 is set.
coq: setup
	$(BIN)/python -m dpproof.proofs_check.coq $(ARGS)

# The generated pages, then the site in build/site, warnings being errors; its code blocks run in the tests.
docs: setup
	$(BIN)/python -m dpproof.report.pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs-check: setup
	$(BIN)/python -m dpproof.report.pages --check

clean:
	rm -rf build .venv
