# `make demo` shows the program, `make test` checks everything; both need Python 3.11+ and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
KOORD := $(BIN)/kubectl-koord
LOCK := constraints.txt
# What is imported is compiled then: of the Kubernetes client, most of all, that is a part.
PIP := $(BIN)/python -m pip install --quiet --no-compile --constraint $(LOCK)
# A tenth of pip's time; as uv does not read the settings of pip, pip does it where uv does not get through.
INSTALL := install() { $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint $(LOCK) --build-constraint $(LOCK) "$$@" 2>/dev/null || $(PIP) --build-constraint $(LOCK) "$$@"; }; install
# One more than there are processors: many tests wait for a server.
WORKERS = $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")

export TEXT
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test compiled test-one where format-check lint types imports spelling tests conformance packaging bundle offline release soak e2e bench docs golden format lock clean

help:
	@echo "make demo    the program on its embedded demo cluster"
	@echo "make test    formatting, lint, types, imports, spelling, tests, coverage, recorded cases, packaging"
	@echo "make test-one AREA=engine  the tests of one area, without coverage"
	@echo "make where TEXT='needs 4 slots'  the functions that word what a screen says"
	@echo "make conformance  our answers beside what the real schedulers did, as a table"
	@echo "make soak    the long tests"
	@echo "make e2e     against a real API server: KUBEBUILDER_ASSETS names a folder with kube-apiserver and etcd"
	@echo "make bench   speed and memory beside kubectl"
	@echo "make golden  write the golden screens, and all pages, pictures, scripts and schemas that are generated, anew"
	@echo "make docs    the documentation as a site with search, in build/site"
	@echo "make bundle  a folder with the program and all that it needs, for machines without Python"
	@echo "make offline one archive that installs without a network on any Python from 3.11 on"
	@echo "make release the Krew manifest of the archives, wheel, sdist and list of parts, once packaging/release.toml is filled in"
	@echo "make format  format and fix what can be fixed"
	@echo "make lock    write constraints.txt anew, the newest versions that pyproject.toml allows, and their hashes"

# The package alone: enough for the demo.
$(VENV)/package: pyproject.toml $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "error: Python 3.11 or newer is needed, and $(PYTHON) is not that: try make PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing into $(VENV) (first time only) ..." >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) --upgrade pip
	@$(PIP) uv 2>/dev/null || true
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/tools: $(VENV)/package
	@$(INSTALL) --group dev
	@touch $@

demo: $(VENV)/package
	@echo "The topology of the demo cluster, what is free, and one node with a missing label:"
	@echo "  kubectl koord topo --demo"; echo
	@$(KOORD) topo --demo
	@echo; echo "Every gang with pending pods, one line each:"
	@echo "  kubectl koord why-pending --demo"; echo
	@$(KOORD) why-pending --demo
	@echo; echo "The same full screen, as it changes, with the extra live (a picture of it; q ends it):"
	@echo "  kubectl koord live --demo"; echo
	@sed -n '2,/^== gang/p' tests/live/screens.80.txt | sed '$$d'
	@echo; echo "Why one of them is pending, and what to do next:"
	@echo "  kubectl koord why-pending train/one-short --demo"; echo
	@$(KOORD) why-pending train/one-short --demo || [ $$? = 1 ]
	@echo; echo "Which pods preemption would remove for a gang that it helps:"
	@echo "  kubectl koord preempt train/helped --demo"; echo
	@$(KOORD) preempt train/helped --demo
	@echo; echo "And for one that would still not run:"
	@echo "  kubectl koord preempt train/in-vain --demo"; echo
	@$(KOORD) preempt train/in-vain --demo || [ $$? = 1 ]

# What is told at once comes first; beside the types, one process for a minute, the others run one by one.
test: format-check lint spelling
	@$(MAKE) --no-print-directory -j2 types imports packaging compiled tests

# The modules of the tests, once: else every worker compiles them. What is wrong with one, `tests` tells.
compiled: $(VENV)/tools
	@$(BIN)/pytest --collect-only -qq >/dev/null || true

format-check: $(VENV)/tools
	$(BIN)/ruff format --check --quiet .

lint: $(VENV)/tools
	$(BIN)/ruff check --quiet .

types: $(VENV)/tools
	$(BIN)/mypy $(if $(CI),--cache-dir=/dev/null)

imports: $(VENV)/tools
	$(BIN)/lint-imports --no-logo

spelling: $(VENV)/tools
	$(BIN)/typos --format brief

tests: $(VENV)/tools
	$(BIN)/pytest -n $(WORKERS) --cov --cov-branch --cov-report=
	$(BIN)/coverage report --show-missing --fail-under=100

# An area is a folder of tests, or a part of one: engine, cli, engine/filters.
test-one: $(VENV)/tools
	$(BIN)/pytest -q -n $(WORKERS) tests/$(or $(AREA),$(error Name a folder of tests, such as AREA=engine))

where: $(VENV)/tools
	@$(BIN)/python -m tests.where $(if $(TEXT),,$(error Name what the screen says, such as TEXT="needs 4 slots")) "$$TEXT"

conformance: $(VENV)/tools
	$(BIN)/python -m tests.conformance

packaging: $(VENV)/tools
	$(BIN)/python -m tests.packaging

# In an environment of its own: what else is installed would be packed, too.
bundle:
	@$(PYTHON) -m venv --clear build/bundle/venv
	@build/bundle/venv/bin/python -m pip install --quiet --constraint $(LOCK) --upgrade pip
	@build/bundle/venv/bin/python -m pip install --quiet --constraint $(LOCK) --build-constraint $(LOCK) --group bundle ".[live,serve]"
	build/bundle/venv/bin/python -m distribution.bundle

offline: $(VENV)/tools
	@$(BIN)/python -m distribution.offline

# What the index of Python and Krew refuse is refused here first, by their own checks (Krew's where there is Go).
# The list of parts (CycloneDX) is that of an environment with the program and what it needs, and nothing else.
release: $(VENV)/tools
	$(BIN)/python -m distribution.release dist
	@! command -v go >/dev/null || go run sigs.k8s.io/krew/cmd/validate-krew-manifest@v0.4.3 -skip-install -manifest dist/koord.yaml
	@$(INSTALL) --group release
	$(BIN)/python -m build --dependency-constraints-txt $(LOCK) --outdir dist
	@$(PYTHON) -m venv --clear build/twine
	@build/twine/bin/python -m pip install --quiet twine
	build/twine/bin/twine check --strict dist/kubectl_koord-*
	@$(PYTHON) -m venv --clear --without-pip build/release
	@$(BIN)/python -m pip --python build/release/bin/python install --quiet --constraint $(LOCK) --build-constraint $(LOCK) .
	$(BIN)/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
	  --output-file dist/kubectl-koord.cdx.json build/release/bin/python

docs: $(VENV)/tools
	@$(INSTALL) --group docs
	@$(BIN)/python -m distribution.site
	@echo "build/site/index.html"

soak: $(VENV)/tools
	@$(INSTALL) --group soak
	HYPOTHESIS_PROFILE=soak $(BIN)/pytest -n auto -m "soak or hypothesis" -o faulthandler_timeout=3600
	$(BIN)/python -m tests.packaging --checks
	$(MAKE) --no-print-directory bundle
	$(BIN)/python -m benchmarks.run --quick

# With kube-apiserver and etcd of the folder that KUBEBUILDER_ASSETS names; without it what is left out is told.
e2e: $(VENV)/tools
	$(BIN)/pytest -m e2e tests/e2e

bench: $(VENV)/tools
	$(BIN)/python -m benchmarks.run --write

golden: $(VENV)/tools
	$(BIN)/python -m distribution.messages --write
	$(BIN)/python -m tests.sentences --write
	$(BIN)/python -m tests.chinese --write
	$(BIN)/python -m distribution.generated --write

format: $(VENV)/tools
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .

# One version of each package for Python 3.11 and newer; `make test` then runs with them.
lock: $(VENV)/tools
	@$(INSTALL) --group lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade --group dev --group lock --group bundle --group docs --group release --group soak --extra live --extra serve --no-annotate \
	  --custom-compile-command 'make lock' --output-file $(LOCK) pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --constraint $(LOCK) \
	  --custom-compile-command 'make lock' --output-file packaging/requirements.txt pyproject.toml

clean:
	rm -rf $(VENV) dist build .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
