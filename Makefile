# One door. `make` alone explains itself; each target first sets up what it needs, and only that.

PYTHON ?= python3
N      ?= 3
BIN    := .venv/bin

export GPUAAS_GOAL   := $(or $(MAKECMDGOALS),setup)
export NODE_NO_WARNINGS := 1
# Where it is set, every process we start compiles our sources anew.
unexport PYTHONDONTWRITEBYTECODE

SETUP := @$(PYTHON) -m tools.setup
UNIT  := $(wildcard */tests/unit apps/*/tests/unit)
# The example app's, killed at each of its steps: for `make test`, a fifth of what a check may take.
# Left out by name: teams copy the app, and no mark of ours is known there.
ORDEAL := apps/template/tests/unit/test_template_operations.py::test_every_operation_is_harmless_to_repeat_fail_and_kill
NPM   := PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix console

.DEFAULT_GOAL := help
.PHONY: help setup demo test soak flaky check lint console-check fmt lab bench openapi docs lock sync clean

help: ## Show this
	@echo "GPUaaS: run a scheduler on machines you hold.   Start here: make demo"
	@echo
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 18

setup: ## Install all that the other targets need (packages, environment, console, browser, lab image)
	$(SETUP)

demo: ## From nothing to a job's output on three real local machines; Ctrl-C ends it
	$(SETUP) --lenient env console lab
	@$(BIN)/python -m tools.demo

test: ## Run everything: lint, types, boundaries, then every test on real servers and machines
	$(SETUP) --lenient
	@$(BIN)/python -m tools.suite test

soak: ## Run everything again and again with new seeds, every matrix whole (HOURS=1, SEED=… repeats)
	$(SETUP)
	@$(BIN)/python -m tools.suite soak $(if $(HOURS),--hours $(HOURS)) $(if $(SEED),--seed $(SEED))

flaky: ## Run each test of .cache/flaky.json 50 times under load (TESTS="…" for others, TIMES=50)
	$(SETUP)
	@$(BIN)/python -m tools.suite flaky $(if $(TIMES),--times $(TIMES)) $(TESTS)

check: ## Lint, types, boundaries and unit tests (under a minute when warm)
	$(SETUP) env
	@$(MAKE) --no-print-directory lint console-check
	$(BIN)/python -m pytest -q -n 2 -m "not slow" --deselect=$(ORDEAL) $(UNIT) tests/architecture

lint:
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy
	$(BIN)/mypy conftest.py
	$(BIN)/lint-imports --no-logo --cache-dir .cache/import-linter

console-check:
	@if [ -d console/node_modules ]; then $(NPM) run --silent check; fi

fmt: ## Format the code and apply the linter's safe fixes
	$(SETUP) env
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format

lab: ## Boot N real local machines (N=3) and show them; `make clean` or gpuaas-lab down ends them
	$(SETUP) env lab
	$(BIN)/gpuaas-lab up $(N)

bench: ## Measure on real servers and machines, beside the floor each is held to (ONE=lab for one)
	$(SETUP) env lab
	@$(BIN)/python -m bench $(ONE)

openapi: ## Write openapi/v1.json, the public contract, from the code, and the command line's digest of it
	$(SETUP) env
	$(BIN)/gpuaas-platform openapi > openapi/v1.json.new
	@mv openapi/v1.json.new openapi/v1.json
	@$(BIN)/python -m tools.cli_contract
	@$(BIN)/python -m tools.cli_surface

docs: ## Write the pages in docs/ that the code already says (settings, states, permissions)
	$(SETUP) env
	$(BIN)/python -m tools.document
	$(BIN)/python -m tools.states
	$(BIN)/python -m tools.manifest_guide
	$(BIN)/python -m tools.rbac

lock: ## Write the locks in requirements/ (UPGRADE=1 moves the pins)
	$(SETUP) uv
	@$(PYTHON) -m tools.lock $(if $(UPGRADE),--upgrade)

sync: ## Make the environment equal to the locks
	$(SETUP) env

clean: ## End lab machines and remove everything made here: environment, caches, demo data
	@if [ -x $(BIN)/python ]; then $(BIN)/python -m tools.demo --forget; fi
	@if [ -x $(BIN)/gpuaas-lab ] && [ $$(id -u) = 0 ]; then $(BIN)/gpuaas-lab down; fi
	rm -rf .venv .cache .data .hypothesis dist console/node_modules console/dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
