# Everything a contributor runs. `make` alone lists the targets. Works with GNU Make 3.81 and later.

PYTHON ?= python3
UV     ?= uv
JOBS   ?= 2
ARGS   ?=

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.ready
CODE  := src tests scripts $(if $(wildcard bench/*.py),bench)

PIP  := $(BIN)/python -m pip --disable-pip-version-check -qq
LOCK := $(UV) pip compile pyproject.toml --quiet --no-config --universal --python-version 3.11 \
        --generate-hashes --custom-compile-command "make lock"

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup run test check format bench docs lock clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## make .venv and install the project with its tools, once
	@:

$(STAMP): requirements/dev.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || \
	  { echo "make: $(PYTHON) was not found; install Python 3.11 or later, or say make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: Recollect needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) -V 2>&1); say make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "make: $(PYTHON) cannot make virtual environments; install its venv package (Debian: apt install python3-venv)" >&2; exit 1; }
	@echo "Setting up $(VENV) with $$($(PYTHON) -V)"
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@

run: setup ## take the guided first run
	@$(BIN)/recollect tour $(ARGS)

test: setup ## run the whole test suite
	@$(BIN)/python -m pytest -q -n $(JOBS) $(ARGS)

check: setup ## check format, lint, types and architecture
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/mypy $(CODE)
	@$(BIN)/python -m pytest -q tests/test_architecture.py

format: setup ## format the code and apply safe fixes
	@$(BIN)/ruff check --fix-only $(CODE)
	@$(BIN)/ruff format $(CODE)

bench: setup ## run the benchmarks
	@$(BIN)/python bench/run.py $(ARGS)

docs: setup ## regenerate the generated pages
	@$(BIN)/python scripts/docs.py

lock: ## pin the requirements anew, with hashes (needs uv)
	@command -v $(UV) >/dev/null || { echo "make: $(UV) was not found; install uv, or say make lock UV=/path/to/uv" >&2; exit 1; }
	@$(LOCK) --upgrade --extra dev --output-file requirements/dev.txt
	@$(LOCK) --upgrade --constraints requirements/dev.txt --output-file requirements/run.txt
	@echo "Pinned requirements/dev.txt and requirements/run.txt"

clean: ## remove the environment, caches and build results
	@rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find $(CODE) -type d -name __pycache__ -prune -exec rm -rf {} +
