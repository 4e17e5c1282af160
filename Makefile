# Every target does its own set-up; a second run starts at once. ARGS="..." is passed on to the command.

.DEFAULT_GOAL := help
.PHONY: help demo test test-unit test-integration test-e2e test-telegraf lint format dashboards screenshots page-figures bench package compose lock clean

BIN := .venv/bin
# most tests wait for a server: two files at a time, the long ones first. ARGS="-n 0" for one after the other
PYTEST := $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

help: ## say what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' Makefile

demo: ## a broker, traffic, the pipeline and a live table of the groups, on this machine
	@tools/setup run
	@$(BIN)/warren demo $(ARGS)

test: ## all tests
	@tools/setup test
	@$(PYTEST) $(ARGS)

test-unit: ## the tests that need no server
	@tools/setup run
	@$(PYTEST) tests/unit $(ARGS)

test-integration: ## the tests against real servers
	@tools/setup test
	@$(PYTEST) tests/integration $(ARGS)

test-e2e: ## the tests of the whole
	@tools/setup test
	@$(PYTEST) tests/e2e $(ARGS)

test-telegraf: ## what Telegraf reads from Warren and writes to real servers; builds Telegraf first, once, with Go
	@tools/setup test
	@tools/telegraf >/dev/null
	@$(BIN)/pytest tests/e2e/telegraf.py $(ARGS)

lint: ## ruff, mypy, the imports between packages, and deno for the web pages
	@tools/setup lint
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --no-cache
	@cd src/warren/pages && deno=../../../$(BIN)/deno && $$deno fmt -q --check . && $$deno lint -q . && $$deno check -q shell/main.js

format: ## put the code into the form of ruff and deno
	@tools/setup lint
	@$(BIN)/ruff check --fix --exit-zero .
	@$(BIN)/ruff format .
	@$(BIN)/deno fmt -q src/warren/pages

dashboards: ## write Grafana's dashboards and the alert rules anew from tools/dashboards
	@tools/setup lint
	@$(BIN)/python -m tools.dashboards

screenshots: ## the pictures of the web pages, from the demo in Chromium, in screenshots/ and docs/images; ARGS="overview" for one page
	@tools/setup test
	@$(BIN)/python -m tools.screenshots $(ARGS)

page-figures: ## how fast the web pages are with 10,000 groups, in Chromium
	@tools/setup test
	@$(BIN)/python -m tests.e2e.pages.figures

bench: ## the benchmarks: a table, and JSON in bench-results/
	@tools/setup run
	@$(BIN)/warren bench $(ARGS)

package: ## the wheel, the source archive and what an image is made of, in dist/
	@tools/setup lint
	@tools/package $(ARGS)

compose: ## Kafka, Warren, Elasticsearch, InfluxDB, Prometheus and Grafana as containers; needs Docker
	@tools/setup lint
	@tools/package
	@docker compose -f compose/compose.yaml up --build $(ARGS)

lock: ## pin the newest allowed dependencies in requirements.lock (needs the network, takes minutes)
	@tools/setup lint
	@tools/lock

clean: ## remove what make has made here; downloads stay in the user's cache
	@rm -rf .venv build dist bench-results .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
	@find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
