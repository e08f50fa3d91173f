# The project's own commands; `make help` lists them.

.DEFAULT_GOAL := help
SHELL := /bin/sh

PYTHON ?= python3
WORKERS ?= 3

VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
MEASURED := tests/real/test_parallel.py

# Tests must pass without anybody's keys, and may never use them. They start us hundreds of times: compiled once.
UNSET := GH_TOKEN GITHUB_TOKEN GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN COPILOT_GITHUB_TOKEN \
	ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN OPENAI_API_KEY CODEX_API_KEY \
	GEMINI_API_KEY GOOGLE_API_KEY CURSOR_API_KEY SSH_AUTH_SOCK \
	GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE NO_COLOR FORCE_COLOR COLUMNS PYTHONDONTWRITEBYTECODE
SCRUBBED := env $(foreach name,$(UNSET),-u $(name))

.PHONY: help
help: ## List these commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

.PHONY: venv
venv: $(VENV)/.installed ## Make .venv from requirements/dev.lock (again only when that changed)

# A lock lists every package, so pip resolves nothing: older pips fail on extras (`coverage[toml]`) once a newer
# version than the locked one is published.
$(VENV)/.locked: requirements/dev.lock
	@command -v $(PYTHON) >/dev/null || { echo "make: no $(PYTHON); try make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "make: Python 3.11 or later is needed; try make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/dev.lock
	@touch $@

$(VENV)/.installed: $(VENV)/.locked pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: demo
demo: venv ## Watch an epic being taken to a merged pull request on a sample project (a minute)
	@$(SCRUBBED) $(BIN)/bmad demo

.PHONY: test
test: venv ## The tests that need nothing but git (five minutes)
	@$(SCRUBBED) $(PYTEST) -n $(WORKERS) --dist worksteal -m "not real and not soak"

# What a Python version is most likely to break: the command line, files on disk, resumed runs, processes.
SMOKE := tests/golden tests/upgrade tests/core tests/io tests/agents/shim tests/test_api.py

.PHONY: smoke
smoke: venv ## A quick part of the tests on each further Python (3.12, 3.13) of this machine
	@for python in $$($(BIN)/python -m scripts.other_pythons); do \
		venv=.smoke/$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])') && echo "$$python" \
		&& $(MAKE) --no-print-directory venv VENV=$$venv PYTHON=$$python \
		&& $(SCRUBBED) $$venv/bin/python -m pytest -n $(WORKERS) --dist worksteal -m "not real and not soak" $(SMOKE) \
		|| exit 1; done

.real/tools/.installed: requirements/tools.lock
	@mkdir -p .real
	$(PYTHON) -m venv --clear .real/tools
	.real/tools/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/tools.lock
	@touch $@

# Debian's own gh is years older than the current one, and what many people have.
.real/gh-debian/.fetched: requirements/tools.lock
	@rm -rf .real/gh-debian && mkdir -p .real/gh-debian
	@if command -v apt-get >/dev/null && command -v dpkg >/dev/null; then cd .real/gh-debian \
		&& { apt-get download -qq gh >/dev/null 2>&1 || { apt-get update -qq && apt-get download -qq gh; } >/dev/null 2>&1; } \
		&& dpkg -x gh_*.deb . && rm -f gh_*.deb; fi \
		|| echo "make test-real: Debian's gh could not be fetched; its tests are skipped" >&2
	@touch $@

.PHONY: tools
tools: venv .real/tools/.installed .real/gh-debian/.fetched ## The programs that test-real runs: gh (two versions), act, zizmor

.PHONY: test-real
test-real: venv tools ## The tests against real installs (needs node and npm)
	@command -v npm >/dev/null && command -v node >/dev/null || { \
		echo "make test-real: node and npm are needed; on Debian: apt-get install nodejs npm" >&2; exit 1; }
	@command -v tmux >/dev/null || echo "make test-real: no tmux, its tests are skipped; on Debian: apt-get install tmux" >&2
	@mkdir -p .real
	@NPM_CONFIG_USERCONFIG="$${NPM_CONFIG_USERCONFIG:-$$HOME/.npmrc}" BMAD_REAL="$(CURDIR)/.real" \
		$(SCRUBBED) $(PYTEST) -n $(WORKERS) --dist loadfile -m real -rs

.PHONY: lint
lint: venv ## Style, types, the one-way imports, schemas as their types, and nothing of this machine in the files
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy tests benchmarks scripts
	$(BIN)/lint-imports
	$(BIN)/python -m scripts.check_tracked
	$(BIN)/python -m scripts.schemas --check

.PHONY: bench
bench: venv tools ## Measure start-up, growth and memory against the bars; fails if one is missed
	@$(SCRUBBED) $(BIN)/python -m benchmarks.bench

.PHONY: soak
soak: venv tools ## The long counts: many more generated cases
	@BMAD_REAL="$(CURDIR)/.real" HYPOTHESIS_PROFILE=soak $(SCRUBBED) $(PYTEST) -n $(WORKERS) -m soak --ignore=$(MEASURED)
	@BMAD_REAL="$(CURDIR)/.real" $(SCRUBBED) $(PYTEST) -s -m soak $(MEASURED)

.PHONY: mutate
mutate: venv ## Change core and gates in some 3,000 ways and see whether the tests notice
	@$(SCRUBBED) $(BIN)/python -m scripts.mutants --workers $(WORKERS)

.PHONY: mutate-sample
mutate-sample: venv ## The same with a fixed part of the changes (under two minutes)
	@$(SCRUBBED) $(BIN)/python -m scripts.mutants --sample --workers $(WORKERS)

.PHONY: coverage
coverage: venv ## The tests again, with the lines and branches they miss
	@$(SCRUBBED) $(PYTEST) -n $(WORKERS) --dist worksteal -m "not real and not soak" --cov --cov-report=term-missing:skip-covered

.PHONY: lock
lock: ## Pin requirements/*.in anew in requirements/*.lock (needs uv)
	@command -v uv >/dev/null || { echo "make lock: uv is needed: pip install uv" >&2; exit 1; }
	for name in dev tools; do uv pip compile --universal --python-version 3.11 --generate-hashes requirements/$$name.in \
		-o requirements/$$name.lock --no-header || exit 1; done

.PHONY: clean
clean: ## Remove what these commands made
	rm -rf $(VENV) .real .smoke .bench build dist .coverage .hypothesis .mypy_cache .ruff_cache .import_linter_cache
