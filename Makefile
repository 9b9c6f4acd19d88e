# One target per thing a person does here. Everything runs in .venv, which `make setup` builds.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup check test test-all lint bench docs docs-check clean

setup: $(STAMP)

$(STAMP): pyproject.toml tools/setup.sh
	PYTHON="$(PYTHON)" VENV="$(VENV)" sh tools/setup.sh
	touch $(STAMP)

check: setup
	mkdir -p build/report
	$(BIN)/dpproof check papers --html build/report

test: setup
	$(BIN)/pytest -m "not slow" -n 2

test-all: setup
	$(BIN)/pytest -n 2 --cov --cov-report=term --cov-report=xml:build/coverage.xml

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m benchmarks

docs: setup
	$(BIN)/python -m dpproof.report.pages

docs-check: setup
	$(BIN)/python -m dpproof.report.pages --check

clean:
	rm -rf build .venv
