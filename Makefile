# Two commands: `make book` reads, `make test` proves. `make help` lists the rest.
.DEFAULT_GOAL := help
SHELL := /bin/sh

# The first Python on the path that is 3.11 or newer and can make an environment.
USABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3 /usr/bin/python3.11 /usr/bin/python3; do \
	if $$p -c '$(USABLE)' >/dev/null 2>&1; then command -v $$p; break; fi; done)
FULL := .venv/bin/python
SMALL := .venv-book/bin/python
PIP_FLAGS := --quiet --disable-pip-version-check --no-input
# Tests that run at the same time; empty: one more than there are cores, at most four.
JOBS ?=
# Where torch builds for CPUs lie; they are a twentieth of the size. For a CUDA build: make test TORCH_INDEX=
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
REACHABLE := import sys, urllib.request; urllib.request.urlopen(sys.argv[1] + "/torch/", timeout=5)

.PHONY: help book serve test check slides notebooks export bench repository release clean python

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ------------------------------------------------------------------ environments

python:
	@test -n "$(PYTHON)" || { echo "No usable Python found: install Python 3.11 or newer with its venv module, then run make again."; exit 1; }

.venv-book/ready: requirements-book.lock | python
	@echo "Setting up the small environment (.venv-book) with $(PYTHON) ..."
	@rm -rf .venv-book && $(PYTHON) -m venv .venv-book
	@$(SMALL) -m pip install $(PIP_FLAGS) --no-deps -r requirements-book.lock
	@touch $@

.venv/ready: requirements.lock pyproject.toml | python
	@echo "Setting up the full environment (.venv) with $(PYTHON) ..."
	@test -x $(FULL) || $(PYTHON) -m venv .venv
	@extra=; if $(FULL) -c '$(REACHABLE)' "$(TORCH_INDEX)" >/dev/null 2>&1; then extra="--extra-index-url $(TORCH_INDEX)"; fi; \
		$(FULL) -m pip install $(PIP_FLAGS) $$extra "$$(grep '^torch==' requirements.lock)"
	@$(FULL) -m pip install $(PIP_FLAGS) -r requirements.lock
	@$(FULL) -m pip install $(PIP_FLAGS) --no-deps --editable .
	@touch $@

# ------------------------------------------------------------------ the two commands

book: .venv-book/ready ## build the HTML book from the stored outputs and say where it lies
	@$(SMALL) book/fetch.py
	@$(SMALL) book/build.py

test: .venv/ready ## check everything: library, notebooks, exercises, book
	@$(FULL) book/fetch.py --tests
	@$(FULL) tools/run_tests.py $(if $(JOBS),--jobs $(JOBS))

# ------------------------------------------------------------------ the rest

check: .venv/ready ## style, types, the export and the tests near what you changed, in some two minutes
	@$(FULL) tools/run_tests.py --near $(if $(JOBS),--jobs $(JOBS))

serve: book ## build the book and serve it on http://localhost:8000, or the next free port, or PORT=9000
	@$(SMALL) book/serve.py $(PORT)

slides: .venv-book/ready ## make slides of every chapter, or of some: make slides CHAPTERS="3 4"
	@$(SMALL) book/fetch.py --slides
	@$(SMALL) tools/slides.py $(CHAPTERS)

notebooks: .venv/ready ## run every notebook again and store its outputs
	@$(FULL) tools/sync_bootstrap.py
	@$(FULL) tools/run_notebooks.py --all

export: .venv/ready ## write the library from the chapters' export cells, and the exercises into the notebooks
	@$(FULL) tools/export_library.py
	@PYTHONPATH=. $(FULL) tools/write_exercises.py

# Written only when all its packages are in, and again when a list of them has changed.
.venv/bench: .venv/ready requirements-bench.lock
	@echo "Adding the libraries to compare with ..."
	@$(FULL) -m pip install $(PIP_FLAGS) --no-deps -r requirements-bench.lock
	@touch $@

bench: .venv/bench ## measure the library beside others; tables, and results/bench-*.json
	@PYTHONPATH=. $(FULL) benchmarks/run_all.py $(BENCH)

repository: | python ## with URL=https://host/you/fork: set the repository's address everywhere
	@test -n "$(URL)" || { echo "Say which: make repository URL=https://github.com/you/xformer-lib"; exit 1; }
	@$(PYTHON) tools/sync_bootstrap.py --url "$(URL)"

release: .venv/ready book ## prepare what a person publishes: source archive, wheel and book, in dist/; TRY=1 runs a chapter with the wheel
	@$(FULL) tools/release.py $(if $(TRY),--try)

clean: ## remove the environments and everything that was built
	rm -rf .venv .venv-book _build build dist book/vendor *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
