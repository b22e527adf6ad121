# What a person types here. Nothing needs to be set up before: each target first makes the virtual environment in .venv and
# installs what it needs into it, once (a stamp file remembers, pyproject.toml makes it stale). Works with GNU make 3.81.
#
# PYTHON=/path/to/python3.12 make run    with another interpreter than the first one found

CANDIDATES = python3 python3.13 python3.12 python3.11
PYTHON ?= $(shell for p in $(CANDIDATES); do command -v $$p >/dev/null 2>&1 && \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && exit; done; echo python3)

VENV = .venv
BIN = $(VENV)/bin
# What is installed is compiled when it is first used, into PYTHONPYCACHEPREFIX below; the tests read nothing compiled from elsewhere.
INSTALLER = $(BIN)/python -m pip --disable-pip-version-check --quiet install --no-compile

# Marks of tests that take long, or need what else nobody needs.
LONG = kill or minute or cluster or connect or browser

# Where reports of tests go.
BUILD ?= build

# How many tests, and parts of `make long`, run side by side: one more than there are cores, since many of them wait.
CORES = $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
JOBS ?= $(shell echo $$(($(CORES) + 1)))

# Tests start hundreds of programs on a machine that may be busy: each may take so many times as long as usual.
export PEERPROOF_PATIENCE ?= 10

# Tests start thousands of programs in Python: each reads what the first one has compiled. Not in the source tree.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX ?= $(CURDIR)/$(VENV)/pycache

# Mermaid's own program draws what we write for it, in tests; nothing of ours needs it.
MERMAID = 11.17.2
DRAWING = $(VENV)/.mermaid-$(MERMAID)

# The type checker of the scripts in pages: `make scripts`.
TYPESCRIPT = 5.9.3
TSC = $(VENV)/typescript-$(TYPESCRIPT)/package/bin/tsc
SCRIPTS = $(wildcard conformance/peerproof/conformance/explorer/page/*.js conformance/peerproof/conformance/report/html/*.js \
	conformance/peerproof/pipeline/report/*.js)

# The linter of prose: `make words`.
VALE = $(VENV)/bin/vale
VALE_MODULE = github.com/errata-ai/vale/v3/cmd/vale@v3.15.2

WORDS = README.md CONTRIBUTING.md SECURITY.md docs spec/peerproof tla/peerproof reference/peerproof conformance/peerproof

# Those whose parts take longest come first, so that all cores have something to do until the end.
PROTOCOLS = swim distkv wendy peter scuttlebutt

.PHONY: run foreign test quick coverage check words scripts long search bench demo-pipeline docs help clean
.DEFAULT_GOAL := help

## run: judge the reference by every vector, write the report to build/, and show what a failure looks like
run: $(VENV)/.installed
	@mkdir -p build
	@echo "== the reference, judged by every vector"
	@code=0; $(BIN)/peerproof run -j $(CORES) --strict --decisions strict --record build/report.jsonl || code=$$?; \
	for format in json md; do $(BIN)/peerproof report convert build/report.jsonl --format $$format --output build/report.$$format; done; \
	$(BIN)/peerproof report html build/report.jsonl --output build/report.html; \
	echo "the report: build/report.html, build/report.md, build/report.json, build/report.jsonl"; exit $$code
	@echo
	@echo "== an implementation with a mistake of the original library (BD-09), judged by the vector made for it: it must fail"
	@$(BIN)/peerproof run --impl divergence:BD-09 -k delta-stops-at-what-does-not-fit; test $$? -eq 1

## foreign: judge the implementations in conformance/adapters beside the reference; the page is build/foreign.html
foreign: $(VENV)/.installed
	@command -v node >/dev/null 2>&1 || { $(NO_NODE); exit 2; }
	@mkdir -p build
	@rm -f build/foreign*
	@conformance/adapters/distkv-pypi/setup.sh
	@code=0; judged() { name=$$1; shift; $(BIN)/peerproof run "$$@" --record build/foreign-$$name.jsonl >build/foreign-$$name.txt || code=$$?; }; \
	judged reference; \
	judged scuttlebutt-js scuttlebutt --impl 'node conformance/adapters/scuttlebutt-js/adapter.mjs'; \
	judged swim-js swim -k layer:codec --impl 'node conformance/adapters/swim-js/adapter.mjs'; \
	judged distkv-pypi distkv --impl conformance/adapters/distkv-pypi/adapter \
		--known-failing conformance/expected/distkv-pypi.txt; \
	$(BIN)/peerproof report html build/foreign-*.jsonl --output build/foreign.html; \
	$(BIN)/peerproof report matrix build/foreign-*.jsonl; \
	echo "the page: build/foreign.html; what each fails, and why: conformance/expected"; exit $$code

## test: the tests (some minutes); kills, clusters, a browser and how-to pages are in `make long`. TESTS=tests/tla: only those
test: $(VENV)/.developing
	@mkdir -p $(BUILD)
	$(BIN)/pytest -n $(JOBS) --dist worksteal --failed-first -m "not ($(LONG))" --junitxml=$(BUILD)/tests.xml $(TESTS)

## quick: the tests that take less than half a second each, half of all
quick: $(VENV)/.developing
	$(BIN)/pytest -q -n $(JOBS) --dist worksteal --failed-first -m "not (slow or $(LONG))" $(TESTS)

## coverage: the lines and branches that `make test` reaches, for each package; more: .venv/bin/coverage report
coverage: $(VENV)/.developing
	@mkdir -p build/coverage
	@rm -f build/coverage/*
	@code=0; $(BIN)/coverage run -m pytest -q -n $(JOBS) --dist worksteal -m "not ($(LONG))" $(TESTS) || code=$$?; \
	$(BIN)/coverage combine -q && $(BIN)/python -m tests.support.coverage_by_package && exit $$code

## check: format, lint, types, layers, words
check: $(VENV)/.developing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory words

## words: pages, docstrings and comments in the words of the field; vale looks, and is installed with Go
words: $(VENV)/.created
	@[ -x $(VALE) ] || GOBIN=$(CURDIR)/$(BIN) go install $(VALE_MODULE) || \
	echo "words not checked: vale is not here, and Go cannot install it" >&2
	@[ ! -x $(VALE) ] || $(VALE) --config .vale.ini $(WORDS)

## scripts: the types of the scripts in pages, which are in comments; npm brings the checker
scripts: $(TSC)
	node $(TSC) --noEmit --allowJs --checkJs --strict --target es2022 --module es2022 --lib es2022,dom,dom.iterable $(SCRIPTS)

## long: what takes longer than that: models of each kind, larger graphs, kills, clusters, a browser, how-to pages, the site
long: $(VENV)/.developing $(VENV)/.documenting $(DRAWING)
	@mkdir -p build
	@$(MAKE) $(SIDE_BY_SIDE) $(MODELS) long-tests $(GRAPHS) long-coverage docs scripts

## search: all small models, all graphs, longer campaigns of the fuzzer, more generated tests, every vector against the specification and the other readings of it
search: $(VENV)/.developing
	@mkdir -p build
	@$(MAKE) $(SIDE_BY_SIDE) search-values $(CAMPAIGNS) search-vectors search-models search-graphs

# Parts that need nothing of each other. What `make test` has seen already, formats, types, layers, proofs, generated vectors, is
# not looked at again.
SIDE_BY_SIDE = --no-print-directory --keep-going --jobs=$(JOBS) $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
MODELS = $(PROTOCOLS:%=long-models-%)
GRAPHS = $(PROTOCOLS:%=long-graph-%)
CAMPAIGNS = $(PROTOCOLS:%=search-fuzz-%)
.PHONY: $(MODELS) $(GRAPHS) $(CAMPAIGNS) long-tests long-coverage search-values search-vectors search-models search-graphs

# Of the small models some of each kind: what must hold, what must fail and its twin, what holds in the end, what must be possible;
# all: make search, or peerproof model check PROTOCOL
MODELS_OF_scuttlebutt = tiny small-c BX-01-round-sync BX-04-mended BL-01-fair BL-02-unless-empty sometimes-hearsay
MODELS_OF_swim = tiny small-restart SX-02-stale-rumour SX-07-mended SL-03-pair SL-04-no-anti-entropy sometimes-refuted
MODELS_OF_wendy = tiny routing small-restart WX-01-two-owners WX-07-mended WL-01-joined WL-02-row-only sometimes-back
MODELS_OF_peter = tiny small-leave PX-02-overtaken PX-04-mended PL-01-joined PL-02-lost sometimes-ghost
MODELS_OF_distkv = tiny small-split DX-04-own DX-05-mended DX-14-unrepaired DL-02-repaired DX-20-swapped DX-08-mended DX-12-quarter \
	sometimes-covered

# Small and medium graphs that take seconds; all: make search, or peerproof model graph PROTOCOL --size medium
GRAPHS_OF_scuttlebutt = small-a small-b small-c
GRAPHS_OF_swim = small-a small-c small-f small-relay
GRAPHS_OF_wendy = small-restart medium-churn
GRAPHS_OF_peter = small-bag medium-churn
GRAPHS_OF_distkv = small-split medium-loss

long-tests:
	$(BIN)/pytest -q -n $(JOBS) --dist worksteal -m "$(LONG)" --junitxml=build/tests-kills.xml

$(MODELS): long-models-%:
	$(BIN)/peerproof model check $* $(MODELS_OF_$*:%=--model %)

$(GRAPHS): long-graph-%:
	$(BIN)/peerproof model graph $* $(GRAPHS_OF_$*:%=--model %)

long-coverage:
	$(BIN)/peerproof vectors coverage > build/clauses.txt

# The machines in test_machine.py are the fuzzer's.
search-values:
	$(BIN)/pytest -q --hypothesis-profile ci --junitxml=build/tests-long.xml tests/spec --ignore-glob='*/test_machine.py'

$(CAMPAIGNS): search-fuzz-%:
	$(BIN)/peerproof fuzz $* --profile ci

search-vectors:
	$(BIN)/peerproof vectors lint --readings

search-models:
	$(BIN)/peerproof model check

search-graphs:
	$(BIN)/peerproof model graph --size medium

## bench: the benchmarks; each prints its ratio beside what it should reach, and never fails for being slow
bench: $(VENV)/.developing
	@set -e; for benchmark in tests/benchmarks/[a-z]*.py; do echo "== $$benchmark"; $(BIN)/python $$benchmark; done

## demo-pipeline: from bundled traces, one of them wrong, to a page that shows it, build/pipeline/report.html
demo-pipeline: $(VENV)/.piping
	@rm -rf build/pipeline
	@mkdir -p build
	@$(JAVA) -version >/dev/null 2>&1 && master='local[*,4]' || { $(NO_JAVA); echo "going on without Spark" >&2; master=none; }; \
	$(BIN)/peerproof pipeline run --examples --output build/pipeline --master "$$master"; test $$? -eq 1
	@echo "open build/pipeline/report.html"

## docs: the site, in build/site
docs: $(VENV)/.documenting
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html"

## clean: remove what the targets above made, the environment too
clean:
	rm -rf $(VENV) build dist
	git clean -qfX docs/reference

## help: this list
help:
	@sed -n 's/^## \([a-z-]*\): /  make \1	/p' Makefile | expand -t 24

$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null 2>&1 || { $(NO_PYTHON); exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { $(OLD_PYTHON); exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { $(NO_VENV); exit 2; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# pip 25.1 is the first that knows dependency groups.
$(VENV)/.installed: $(VENV)/.created pyproject.toml
	$(INSTALLER) --upgrade "pip>=25.1"
	$(INSTALLER) --editable .
	@touch $@

$(VENV)/.developing: $(VENV)/.installed
	$(INSTALLER) --editable ".[tla,prove,fuzz,fuzz-bytes,pipeline$(JAVA_TOO)]" --group dev
	$(INSTALLER) --no-deps transit-python2==0.8.321  # an oracle; it asks for an old msgpack that would overwrite the new one
	@touch $@

$(VENV)/.piping: $(VENV)/.installed
	$(INSTALLER) --editable ".[pipeline]"
	@touch $@

$(VENV)/.documenting: $(VENV)/.installed
	$(INSTALLER) --editable ".[docs,prove]"
	@touch $@

$(DRAWING): $(VENV)/.created
	@command -v npm >/dev/null 2>&1 || { $(NO_NPM); exit 2; }
	rm -rf $(VENV)/mermaid
	mkdir -p $(VENV)/mermaid
	npm pack --silent --pack-destination $(VENV)/mermaid mermaid@$(MERMAID)
	tar -xzf $(VENV)/mermaid/mermaid-$(MERMAID).tgz -C $(VENV)/mermaid package/dist/mermaid.min.js
	@touch $@

$(TSC): $(VENV)/.created
	@command -v npm >/dev/null 2>&1 || { $(NO_NPM); exit 2; }
	mkdir -p $(VENV)/typescript-$(TYPESCRIPT)
	npm pack --silent --pack-destination $(VENV)/typescript-$(TYPESCRIPT) typescript@$(TYPESCRIPT)
	tar -xzf $(VENV)/typescript-$(TYPESCRIPT)/typescript-$(TYPESCRIPT).tgz -C $(VENV)/typescript-$(TYPESCRIPT)
	@touch $@

INSTALL = echo "  Debian, Ubuntu:  sudo apt install python3 python3-venv" >&2; \
	echo "  macOS:           brew install python@3.12" >&2; \
	echo "  or name one:     make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2
NO_PYTHON = echo "peerproof needs Python 3.11 or newer, and there is no $(PYTHON) here. To install it:" >&2; $(INSTALL)
OLD_PYTHON = echo "peerproof needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). To install one:" >&2; $(INSTALL)
JAVA = $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)
JAVA_TOO = $(shell $(JAVA) -version >/dev/null 2>&1 || echo ,java)
NO_JAVA = echo "Spark needs Java 17 or newer, and there is none here. To install it:" >&2; \
	echo "  Debian, Ubuntu:  sudo apt install openjdk-17-jre-headless" >&2; \
	echo "  macOS:           brew install openjdk@17" >&2
NO_NODE = echo "An implementation in JavaScript is judged, and there is no node here. To install it:" >&2; \
	echo "  Debian, Ubuntu:  sudo apt install nodejs" >&2; \
	echo "  macOS:           brew install node" >&2
NO_NPM = echo "Pictures are drawn by Mermaid, which npm brings, and there is no npm here. To install it:" >&2; \
	echo "  Debian, Ubuntu:  sudo apt install npm" >&2; \
	echo "  macOS:           brew install node" >&2
NO_VENV = echo "$(PYTHON) cannot make virtual environments: its modules venv and ensurepip are missing. To install them:" >&2; $(INSTALL)
