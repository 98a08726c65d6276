# Two targets set everything up by themselves: `make demo` and `make test`.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready

help: ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## Make the virtual environment with everything that the targets below need

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: python3 is older than 3.11; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "error: this python3 has no venv module; on Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip --quiet --disable-pip-version-check install --upgrade 'pip>=25.1'
	@$(VENV)/bin/python -m pip --quiet --disable-pip-version-check install --editable . --group dev
	@$(VENV)/bin/python -m compileall -q dsv4deploy
	@touch $@

test: $(READY) ## Run the tests; with FLEET=1, as root on Debian, those on real systemd nodes too
	@$(VENV)/bin/python -m pytest -n 2 --dist worksteal -m "not fleet and not soak and not gpu" $(ARGS)
	@$(if $(FLEET),$(VENV)/bin/python -m pytest -n 2 --dist loadfile -m "fleet and not soak" $(ARGS))

lint: $(READY) ## Check format, lint and types
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy

demo: $(READY) ## Set up, check and render the example, and show the result
	@bash examples/demo.sh $(VENV)/bin

soak: $(READY) ## Run what is too long for CI
	@$(VENV)/bin/python -m pytest -m soak $(ARGS)

docs: $(READY) ## Write the generated reference pages
	@$(VENV)/bin/python docs/generate.py

catalogue: $(READY) ## Make the flag catalogue anew: WHEELS=folder of all wheels, or the overlay alone without it
	@$(VENV)/bin/dsv4deploy flags merge dsv4deploy/flags/overlay dsv4deploy/flags/sglang.json.gz $(if $(WHEELS),--wheels $(WHEELS))

.PHONY: catalogue
.PHONY: help setup test lint demo soak docs
