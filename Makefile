# Every target sets itself up: needed are Python 3.11 or newer, make, and a package index.
# Another Python: make setup PYTHON=/path/to/python3.12

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.docs-installed
EXAMPLE := examples/data/airline_agent.json
DEMO_MODEL := gpt-4o
DEMO_TOKENS := 5000
CANDIDATES := $(PYTHON) python3.14 python3.13 python3.12 python3.11 python3 python
USABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types imports check prove fuzz mutate bench bench-peers profile docs package clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

setup: $(STAMP) ## make .venv with everything pinned in constraints.txt

$(STAMP): pyproject.toml constraints.txt
	@if ! $(PY) -c '$(USABLE)' 2>/dev/null; then \
	  rm -rf $(VENV); \
	  for candidate in $(CANDIDATES); do \
	    if $$candidate -c '$(USABLE)' >/dev/null 2>&1; then \
	      echo "setup: $$($$candidate --version) -> $(VENV)"; \
	      $$candidate -m venv $(VENV) && break; \
	    fi; \
	  done; \
	fi; \
	$(PY) -c '$(USABLE)' 2>/dev/null || { \
	  echo "setup: no Python 3.11 or newer with venv and ensurepip was found." >&2; \
	  echo "Install one (Debian: python3 and python3-venv), or say which: make setup PYTHON=..." >&2; \
	  exit 1; }
	@echo "setup: installing what constraints.txt pins (about a minute)"
	@$(PY) -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --upgrade pip
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-warn-script-location \
	  --constraint constraints.txt --editable '.[all]' --group dev
	@touch $(STAMP)

demo: $(STAMP) ## fit a real agent transcript into a small budget, and say why
	@$(PY) -m context_builder.cli explain $(EXAMPLE) \
	  --model $(DEMO_MODEL) --max-tokens $(DEMO_TOKENS)
	@$(PY) -m context_builder.cli build $(EXAMPLE) \
	  --model $(DEMO_MODEL) --max-tokens $(DEMO_TOKENS) --out out/request.json

test: $(STAMP) ## run the tests; ARGS="-k cli" goes to pytest
	@$(PY) -m pytest -n auto $(ARGS)

lint: $(STAMP) ## style: ruff's rules and its formatter
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

types: $(STAMP) ## mypy --strict
	@$(PY) -m mypy

imports: $(STAMP) ## who may import whom
	@$(VENV)/bin/lint-imports --no-logo --no-cache

check: lint types imports test ## everything that has to be green before a change lands

STEPS := 5000
SECONDS := 60

prove: $(STAMP) ## use a session in any order, and check every promise; STEPS=5000
	@$(PY) -m benchmarks.machine --steps $(STEPS) $(ARGS)

fuzz: $(STAMP) ## look for input that crashes, guided by coverage; SECONDS=60 each
	@$(PY) -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --group fuzz
	@$(PY) -m fuzz --seconds $(SECONDS) $(ARGS)

mutate: $(STAMP) ## put faults into decide/ and render/; who notices? ARGS="--sample 300"
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-warn-script-location \
	  --constraint constraints.txt --group mutate
	@HYPOTHESIS_PROFILE=mutants $(PY) -m benchmarks.mutants $(ARGS)

bench: $(STAMP) ## run the benchmarks; ARGS=--quick for a short run
	@set -e; for name in $(basename $(notdir $(wildcard benchmarks/bench_*.py))); do \
	  echo "== $$name"; $(PY) -m benchmarks.$$name $(ARGS); \
	done

bench-peers: $(STAMP) ## compare with other libraries, each in .venv-peers; ARGS=--quick
	@$(PY) -m benchmarks.peers.environments
	@$(PY) -m benchmarks.bench_peers $(ARGS)

profile: $(STAMP) ## show where time and memory go; ARGS="append --quick"
	@$(PY) -m benchmarks.profiles $(ARGS)

$(DOCS_STAMP): $(STAMP)
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-warn-script-location \
	  --constraint constraints.txt --group docs
	@touch $(DOCS_STAMP)

docs: $(DOCS_STAMP) ## build the pages into site/; every warning is an error
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict
	@echo "docs: site/index.html"

package: $(STAMP) ## build wheel and sdist into dist/, install each extra from them
	@$(PY) -m tests.packaging $(ARGS)

clean: ## remove the environment, caches and output
	@rm -rf $(VENV) .venv-peers out dist build site .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	  .import_linter_cache *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
