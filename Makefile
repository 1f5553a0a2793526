# The commands of this project. `make run` and `make test` need nothing but Go.

GO      ?= go
BINARY  := bin/colonnade
# Modules of their own, so that what they depend on weighs on nobody else.
MODULES := reliability bench/service bench/peers deploy
# They are vetted and tested without C: one of the peers brings a compressor in C, which
# takes longer to compile than all their tests to run. What is measured has it.
MODULE_GO := CGO_ENABLED=0 $(GO)
# The size of the table that `make bench-service` and `make bench-peers` measure with,
# ten cells a row, and how often they measure.
ROWS ?= 100000
RUNS ?= 3
# How long `make fuzz` tries each target: a time, or a number of inputs such as 30000x.
FUZZTIME ?= 10s
# What `make reliability` counts the error branches of, and the program itself, without
# which nothing is counted.
COVERED := github.com/colonnade-db/colonnade/wal,github.com/colonnade-db/colonnade/sstable,github.com/colonnade-db/colonnade/engine/...,github.com/colonnade-db/colonnade/reliability
HARNESS := cd reliability && GOCOVERDIR=$(CURDIR)/bin/coverage ../bin/reliability -out ../reliability.json
# How long `make soak` goes on, how many seeds `make soak-random` tries, and the seed they begin with.
HOURS ?= 1
SEEDS ?= 10000
SEED ?= $(shell date +%s)
# What `make release` builds for: by default linux and darwin, amd64 and arm64.
SYSTEMS ?=
# What `make race` is about: packages with goroutines or locks of their own. The
# formats below them are shared between goroutines only by these, but for the blocks
# of sstable's readahead. In all of them memory that is given back is overwritten (internal/poison).
RACE := . ./access ./admission/... ./backup/... ./bigtable ./client ./cmd/... ./engine/... ./memtable/... ./quota ./server ./server/http1 ./sstable/blockcache ./tracing ./vfs/... ./widecol/lsmstore/...
# Long tests of theirs that `make test` alone runs: of code that one goroutine runs, or, as Divide,
# of a store that no two goroutines use.
SEQUENTIAL := ^Test(AdmitsPays|AdviceIsTrue|AggregateGroups|AggregateOfAMillionGroups|Compression|Divide|DivideManyFiles|ExplainConditions|FilterOpenCases|FilterReaders|FlippedBits|MergeRandom|NotesOfFull|Pages|PickAmplification|PickGrowth|PickRandom|Reverse|ScanCounts|TakeRows|TenThousandRanges|TimesAgainstFullScans|VisibilityRandom|WantsPays)$$

.PHONY: help run build test race race-full vet lint fuzz reliability reliability-short soak soak-random harness bench profile bench-service bench-peers compat compat-short compat-speed console console-check console-test client-typescript client-typescript-types client-typescript-test client-python client-python-test docs release clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile

run: build ## Build and serve on 127.0.0.1:9876, with the data in ./colonnade-data
	$(BINARY) serve

build: ## Build bin/colonnade
	$(GO) build -trimpath -o $(BINARY) ./cmd/colonnade

test: ## Run all tests
	$(GO) test -timeout 20m ./...
	$(GO) test -short -tags purego ./internal/prefetch ./memtable ./sstable
	@for m in $(MODULES); do (cd $$m && $(MODULE_GO) test ./...) || exit 1; done

race: ## Run the tests of concurrent packages under the race detector (needs a C compiler)
	$(GO) test -race -short -timeout 20m -skip '$(SEQUENTIAL)' $(RACE)
	$(GO) test -race -short -run 'Readahead|Released' ./sstable ./internal/poison

race-full: ## The same at full size: every operation fails, every case of the contract in every mode
	$(GO) test -race -timeout 60m -skip '$(SEQUENTIAL)' $(RACE)

vet: ## Look for suspicious code, and code that gofmt would change
	$(GO) vet ./...
	@for m in $(MODULES) compat/bigtable; do (cd $$m && $(MODULE_GO) vet ./...) || exit 1; done
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }

lint: ## Run staticcheck, in the version that .ci/lint/go.mod names
	$(GO) tool -modfile=.ci/lint/go.mod staticcheck ./...
	@for m in $(MODULES) compat/bigtable; do (cd $$m && $(MODULE_GO) tool -modfile=$(CURDIR)/.ci/lint/go.mod staticcheck ./...) || exit 1; done

fuzz: ## Try each fuzz target, FUZZTIME long
	.ci/fuzz $(FUZZTIME)

# The seed is the number of commits, so that each has other histories and other planted bugs, and the
# short rounds of successive commits do other eighths of a round.
COMMITS = $(shell git rev-list --count HEAD 2>/dev/null || echo 1)

reliability: harness ## Crash, break, kill and overload it for about twenty minutes; writes reliability.json
	$(HARNESS) -seed $(COMMITS)

reliability-short: harness ## An eighth of each part of it, as .ci/run does
	$(HARNESS) -short -seed $(COMMITS)

soak: harness ## The same with ever new seeds, for HOURS=n
	$(HARNESS) -hours $(HOURS) -seed $(SEED)

soak-random: ## Run random operations beside the model in memory, with SEEDS=n seeds from SEED on
	$(GO) test ./widecol/lsmstore -run '^TestRandomSoak$$' -timeout 0 -v -soak.from $(SEED) -soak.seeds $(SEEDS)

harness:
	rm -rf bin/coverage && mkdir -p bin/coverage
	cd reliability && $(GO) build -cover -coverpkg=$(COVERED) -o ../bin/reliability .

bench: ## Run all benchmarks
	$(GO) test -run '^$$' -bench . ./...

profile: ## Renew the profile by which the compiler optimizes bin/colonnade
	mkdir -p bin
	cd bench/service && ROWS=50000 $(GO) test -run '^$$' -bench Served -benchtime 4s -o ../../bin/served.test -cpuprofile ../../bin/served.pprof .
	cd bench/service && $(GO) run ./profile ../../bin/served.pprof ../../cmd/colonnade/default.pgo

bench-service: build ## Measure the server beside a bare net/http handler; writes REPORT.md beside it
	cd bench/service && $(GO) run . -server $(CURDIR)/$(BINARY) -rows $(ROWS) -runs $(RUNS) -docs $(CURDIR)/bench/service/REPORT.md

bench-peers: ## Measure other engines beside this one, ROWS=n; writes REPORT.md beside it
	cd bench/peers && $(GO) build -o ../../bin/peers .
	bin/peers -rows $(ROWS) -runs $(RUNS) -out bench/peers/REPORT.md

compat: ## Run clients of Google Bigtable (needs git, Python with venv and pip, Node with npm, Java 17 and Maven)
	cd compat/bigtable && $(GO) test -count=1 -timeout 30m .

compat-short: ## The same without Node and Java, as .ci/run does
	cd compat/bigtable && $(GO) test -count=1 -short -timeout 15m .

compat-speed: build ## Measure the server beside Google's emulator in memory, with Google's Go client
	cd compat/bigtable && $(GO) run ./speed -server $(CURDIR)/$(BINARY) -turns $(RUNS)

# What is built is checked in, so that only who changes the console needs Node with npm.
CONSOLE := cd console && npm ci --silent --no-audit --no-fund

console: ## Build the pages of the console anew (needs Node with npm)
	$(CONSOLE) && npm run --silent build

console-check: ## Check that the pages in console/dist are what its source builds, byte for byte
	$(CONSOLE) && node build.js ../bin/console && diff -r dist ../bin/console

console-test: build ## Try every page of the console in Chromium (needs Node with npm, and Debian's chromium)
	$(CONSOLE) && npm test --silent

CLIENT_TYPESCRIPT := cd clients/typescript && npm ci --silent --no-audit --no-fund && npm run --silent build

client-typescript: ## Pack the TypeScript client into bin/ (needs Node with npm)
	mkdir -p bin
	$(CLIENT_TYPESCRIPT) && npm pack --silent --pack-destination ../../bin

client-typescript-types: build ## Make its types anew, after a change of the OpenAPI document (needs Node with npm)
	clients/typescript/tools/types $(BINARY)

client-typescript-test: build ## Check it, and test it with the server, in Node and in Debian's chromium if that is there
	$(CLIENT_TYPESCRIPT) && npm run --silent check && npm test --silent

# The tools, and what the client needs. They stay until other versions are wanted.
CLIENT_PYTHON := bin/client-python
$(CLIENT_PYTHON)/ready: clients/python/requirements.txt
	rm -rf $(CLIENT_PYTHON)
	python3 -m venv $(CLIENT_PYTHON)
	$(CLIENT_PYTHON)/bin/pip install --quiet --disable-pip-version-check --only-binary :all: -r clients/python/requirements.txt
	touch $@

client-python: $(CLIENT_PYTHON)/ready ## Build the wheel and the sdist of the Python client into bin/ (needs Python 3.10 with venv and pip)
	rm -f bin/colonnade-*.whl bin/colonnade-*.tar.gz
	$(CLIENT_PYTHON)/bin/python -m build --no-isolation --outdir bin clients/python

client-python-test: build client-python ## Check it, and test the wheel with the server
	$(CLIENT_PYTHON)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps bin/colonnade-*.whl
	cd clients/python && PATH="$(CURDIR)/$(CLIENT_PYTHON)/bin:$$PATH" && ruff check --quiet && ruff format --check --quiet && mypy && python generate.py --check && pytest

docs: build ## Build the site of docs/ into dist/site, links checked (needs curl, and Python with venv and pip)
	.ci/docs/build

release: ## Build archives, packages, SBOMs and checksums into dist/, with SYSTEMS="linux/amd64 …"
	.ci/release/build $(SYSTEMS)

clean: ## Remove what was built; the data stays
	rm -rf bin dist
