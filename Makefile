PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help run test lint bench accuracy pictures notebooks lab build clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(BIN)/kvcost: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kvcost needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(BIN)/kvcost
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

run: $(BIN)/kvcost ## answer fetch or recompute for the shipped example
	$(BIN)/kvcost breakeven --deployment glm-5.3-8xb300

test: $(VENV)/.dev ## run the tests
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadscope

lint: $(VENV)/.dev ## ruff, mypy strict, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)/.bench: $(BIN)/kvcost
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

bench: $(VENV)/.bench ## measure speed against named baselines, and write the table of README
	@mkdir -p .benchmarks
	$(BIN)/python -m pytest tests/bench -o python_files="bench_*.py" \
	  -o python_functions="bench_* test_*" --benchmark-only --benchmark-columns=median,iqr,ops \
	  --benchmark-disable-gc --benchmark-json=.benchmarks/last.json
	$(BIN)/python tests/bench/table.py .benchmarks/last.json

accuracy: $(VENV)/.dev ## measure the closed forms against published runs, and write the table of README
	$(BIN)/python -m tests.bench.accuracy

pictures: $(VENV)/.dev ## draw the pictures of README
	$(BIN)/python -m tests.bench.pictures

notebooks: $(VENV)/.dev ## run the notebooks
	$(BIN)/python -m pytest tests/notebooks

$(VENV)/.notebook: $(BIN)/kvcost
	$(BIN)/python -m pip install --quiet --editable '.[notebook]'
	@touch $@

lab: $(VENV)/.notebook ## open the notebooks in JupyterLab, at their index
	$(BIN)/jupyter lab --ServerApp.root_dir=notebooks --LabApp.default_url=/lab/tree/00_index.ipynb $(LABFLAGS)

build: $(VENV)/.dev ## wheel and sdist
	$(BIN)/python -m build

clean: ## remove what the targets made
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .benchmarks
