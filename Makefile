# `make demo` and `make test` do all the set-up on a fresh machine.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

# Modules are compiled when they are first imported, and kept for the next process.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: catalog schemas file-index demo test test-all test-services check bench results zoo-cards docs pages clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip --constraint constraints.txt
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --group dev --group docs --editable ".[plot,tables,gym,networks,serve,export,cluster]"
	touch $@

.venv: $(STAMP)

demo: $(STAMP)
	$(BIN)/icpe demo

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-all: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "slow or not slow"

test-services: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal -rs -m "services and not slow" $(TESTS)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/icpe bench

results: $(STAMP)
	$(BIN)/python -m icpe.studies.results docs

catalog: $(STAMP)
	$(BIN)/python -m icpe.cli.catalog

schemas: $(STAMP)
	$(BIN)/python -m icpe.cli.json_schemas docs/schemas

file-index: $(STAMP)
	$(BIN)/python benchmarks/file_index.py

zoo-cards: $(STAMP)
	$(BIN)/python benchmarks/zoo_cards.py

docs: $(STAMP)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --builder html docs docs/_build/html

# Needs npm, and the folder of mnist/ in ICPE_DATA or the cache, for digits.
pages: $(STAMP)
	mkdir -p pages
	$(BIN)/icpe export binary-search-16 --to html pages/binary-search.html --overwrite
	$(BIN)/icpe export digits --to html pages/digits.html --overwrite
	$(BIN)/icpe export gaussian-bandit-4 --to html pages/bandit.html --overwrite
	$(BIN)/icpe export best-of-k --to html pages/best-of-k.html --overwrite

clean:
	rm -rf .venv
