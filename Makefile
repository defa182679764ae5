# Everything is pure Go: no C compiler is needed, except for the race detector, which `make test-all` uses where there is one.
export CGO_ENABLED = 0
# Tests and the program share what is compiled, wherever the clone is. What a debugger needs would take a tenth of the
# compiler's time, and the program is linked without it.
export GOFLAGS += -trimpath -gcflags=all=-dwarf=false
GO ?= go
Q ?=
VERSION ?= 0.1.0
LDFLAGS = -s -w -X main.version=$(VERSION)
BUILD = $(GO) build -ldflags "$(LDFLAGS)"

.PHONY: run help test test-all test-scale race corpora formats lint build cross bench bench-large bench-ui bench-serve bench-scale bench-ssh bench-quality bench-agents crash rights oracle long fuzz docs man completions screens clean
.DELETE_ON_ERROR:

run: build ## Explore the sample library; Q="text" starts with a query
	./bin/quarry --sample $(if $(Q),"$(Q)")

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## Build bin/quarry
	$(BUILD) -o bin/quarry .

# Nothing is vetted twice: `make lint` vets. go's own limit of 10 minutes a package is too short for a loaded machine.
TEST = $(GO) test -vet=off -ldflags=-s -timeout 30m

# The compiler, the linker and the tests collect garbage a quarter as often: a fifth less processor time.
test rights crash oracle long corpora race lint cross fuzz: export GOGC = 400
test: ## Test every behaviour once; what only reads the code is `make lint`
	$(TEST) -shuffle=on $$($(GO) list ./... | grep -v /tools/lint)

test-all: rights crash oracle long corpora race ## Test longer: random worlds, kills, the race detector

# `make test` has run every test already: this runs those again that can race. Not the tests of the built program, which
# has no detector, of packages that start no goroutine (what they do is raced in the packages that use them), and of much
# text or damage in one goroutine. What the detector does not look at, though it runs, took most of the time: SQLite's C
# code, which was translated to Go (its driver is looked at), libraries that draw a terminal's cells and measure text, and
# what only tests have: a terminal and a slow searcher. The locks in all of these still count.
BLIND = $(foreach p,modernc.org/sqlite/lib modernc.org/libc/... github.com/charmbracelet/ultraviolet/... \
	github.com/charmbracelet/x/ansi/... github.com/clipperhouse/... quarry/internal/testkit/screentest/terminal \
	quarry/internal/testkit/indextest,-gcflags=$p=-race=false)
PLAIN = e2e|text|field|wire|index|sqldb|analysis|codec|segment|vector|language|mailmime|markdown|mbox|office|engine|passage|slack|githistory|migrate
UNRACED = /($(PLAIN))$$|/tools/|/ui/explorer/
ALONE = ^Test(Near|WordsAsWritten|DamageIsAnError|RefusesWhatIsTooLarge|CorpusOfFormats|OneResultSet|OutputIsCharged|LongThreadIsContinued|EntriesBeyondTheBound|TinyPiecesOfLargeDocumentsAreJoined|Hostile(HTML|TextTakesLinearTime|Mail|Notion|Repository)|CompressedMail|MemoryOfAMailbox|EveryFlippedByte.*)$$
race: ## Test with the race detector, where there is a C compiler
	@if command -v "$$($(GO) env CC)" >/dev/null 2>&1; then CGO_ENABLED=1 $(TEST) -shuffle=on -race $(BLIND) -short -skip '$(ALONE)' $$($(GO) list ./... | grep -Ev '$(UNRACED)'); \
	else echo "no C compiler: without the race detector"; fi

test-scale: ## Test on PostgreSQL and Weaviate, on several nodes too, and kill them; PART=one only what takes little
	GO="$(GO)" tools/scale/test.sh $(PART)

# Tests that have a longer form take it.
SLOW = QUARRY_SLOW=1 $(TEST) -count=1

# A thousand random worlds of two tenants, a hundred queries in each, checked against the rules of access. `make test`
# does fewer worlds. QUARRY_WORLD=7 runs the seventh alone.
rights: ## Check the rights in a thousand random worlds
	$(SLOW) -run '^TestRights$$' ./server/api

oracle: ## Compare 20,000 searches with a plain and slow searcher
	$(SLOW) -run '^TestSearcherAgreesWithOracle$$' ./server/index/lexical

crash: ## Kill commands two hundred times and three at once for a minute, fill a disk, add hostile files, flip bytes
	$(SLOW) -shuffle=on -run '^Test' -v ./internal/e2e
	$(SLOW) -run 'Kill|FlippedByteIsFound' -v ./server/segments

# Packages whose tests have a longer form, with all their tests but those that the targets above and corpora run.
# tools/lint finds what is missing here.
LONG = $$(grep -rlE --include='*_test.go' 'QUARRY_SLOW|testkit/longtest' client server ui tools/quality | xargs -n1 dirname | sort -u | sed 's|^|quarry/|')
ELSEWHERE = ^Test(Rights|SearcherAgreesWithOracle|Killed.*|EveryFlippedByteIsFound|CorporaAreSearchable|ManyFiles)$$
long: ## Test more random worlds, bounds at their full size, every cut of an output, every key and action over SSH
	$(SLOW) -shuffle=on -skip '$(ELSEWHERE)' $(LONG)

# `make test` runs the seeds of the fuzz targets only: what new inputs find says nothing of the change at hand, so they
# run each night. The number of runs bounds this, not a time. A few runs need no GUIDED, which compiles everything again.
# Each package is linked once, not once a target, as `go test -fuzz` does; inputs are kept where that keeps them. A new
# input is made smaller in ten tries: by default for a minute each, of which 20 s of FuzzXML had 8 runs.
FUZZ = 2000x
GUIDED = -fuzz .
FUZZED = .
fuzz: ## Run each fuzz target below FUZZED, a folder, on FUZZ new inputs
	@scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && inputs=$$($(GO) env GOCACHE)/fuzz && \
	for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' ./$(FUZZED) | xargs dirname | sort -u); do \
		$(GO) test -c -vet=off $(GUIDED) -o "$$scratch/test" "$$dir" || exit 1; package=$$($(GO) list "$$dir"); \
		for name in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$$dir"/*_test.go); do echo "$$package $$name"; \
			(cd "$$dir" && "$$scratch/test" -test.run '^$$' -test.fuzz "^$$name\$$" -test.fuzztime $(FUZZ) -test.timeout 60m \
				-test.fuzzminimizetime 10x -test.fuzzcachedir "$$inputs/$$package" </dev/null) || exit 1; done; done

lint: ## Check formatting, vet, staticcheck, and the structure of the code
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@lines=$$($(TEST) -v ./tools/lint) || { echo "$$lines"; exit 1; }; echo "$$lines" | sed -n "s/^ *size_test.go:[0-9]*: //p"
	cd tools/compare && $(GO) vet ./...

cross: ## Vet and build for Windows and macOS
	GOOS=windows GOARCH=amd64 $(GO) vet ./... && GOOS=windows GOARCH=amd64 $(BUILD) -o bin/quarry-windows-amd64.exe .
	GOOS=darwin GOARCH=arm64 $(GO) vet ./... && GOOS=darwin GOARCH=arm64 $(BUILD) -o bin/quarry-darwin-arm64 .

docs: build ## Write docs/commands.md, docs/configuration.md, docs/keys.md and docs/schema
	$(GO) run ./tools/docs bin/quarry > docs/commands.md.new && mv docs/commands.md.new docs/commands.md
	$(GO) run ./tools/docs > docs/configuration.md.new && mv docs/configuration.md.new docs/configuration.md
	$(GO) run ./tools/keys > docs/keys.md.new && mv docs/keys.md.new docs/keys.md
	rm -rf docs/schema && mkdir docs/schema && for name in $$(./bin/quarry schema --jq '.[].name'); do \
		./bin/quarry schema $$name --indent > docs/schema/$$name.json || exit 1; done

man: build ## Write the manual page to bin/man
	mkdir -p bin/man && ./bin/quarry man > bin/man/quarry.1

formats: ## Print the table of docs/library.md: how the files of $$QUARRY_DATA/corpora/mixed-formats are read
	$(TEST) -count=1 -v -run TestCorpusOfFormats ./server/ingest

corpora: ## Add a million files, and all of $$QUARRY_DATA/corpora and find every file by a phrase from its middle
	$(SLOW) -v -run "TestCorporaAreSearchable|TestManyFiles" ./server/ingest

completions: build ## Write shell completions to bin/completions
	mkdir -p bin/completions && for shell in bash zsh fish powershell; do \
		./bin/quarry completion $$shell > bin/completions/quarry.$$shell || exit 1; done

SCREENS = docs
screens: ## Write docs/gallery.md with its pictures, and docs/demo.svg, from the program's screen
	$(GO) run ./tools/screens $(SCREENS)

# Measurements need real text: QUARRY_DATA names a folder with corpora/ and qrels/. TINY=1 tries them on a small stand-in
# made from the sample library, in seconds; budgets are then printed, but not judged.
ifdef TINY
BENCH = $(or $(TMPDIR),/tmp)/quarry-bench-tiny
DATA = $(BENCH)/data
CHUNKS = 500
MANY = 2000
QUICK = -judge=false
QUICK_LOAD = -judge=false -clients 4 -time 1s
QUICK_UI = -judge=false -runs 2 -keys 4 -previews 20 -idle 200ms
QUICK_SSH = -judge=false -sessions 4 -within 1s -idle 200ms -keys 4 -warm 2 -cycles 4
BENCHTIME = 1x
else
BENCH = $(or $(TMPDIR),/tmp)/quarry-bench
DATA = $(or $(QUARRY_DATA),$(error set QUARRY_DATA to a folder with corpora/ and qrels/, or TINY=1 to try without))
CHUNKS = 100000
MANY = 1000000
BENCHTIME = 100x
endif
QUERIES = "$(DATA)"/qrels/handbook-sourcegraph/queries.jsonl "$(DATA)"/qrels/scifact/queries.jsonl

$(BENCH)/data:
	$(GO) run ./tools/benchcorpus tiny $@

$(BENCH)/chunks.jsonl: | $(if $(TINY),$(BENCH)/data)
	mkdir -p $(BENCH)
	$(GO) run ./tools/benchcorpus chunks $(CHUNKS) "$(DATA)" $@

$(BENCH)/markdown: | $(if $(TINY),$(BENCH)/data)
	$(GO) run ./tools/benchcorpus handbook "$(DATA)" $@

$(BENCH)/files: | $(if $(TINY),$(BENCH)/data)
	$(GO) run ./tools/benchcorpus files $(CHUNKS) "$(DATA)" $@

$(BENCH)/handbook: | build $(if $(TINY),$(BENCH)/data)
	./bin/quarry add --quiet --library $@ "$(DATA)"/corpora/sourcegraph-handbook

$(BENCH)/large: | build $(BENCH)/chunks.jsonl
	./bin/quarry add --quiet --library $@ $(BENCH)/chunks.jsonl

# Four minutes and 2.5 GB; it is kept for later runs.
$(BENCH)/million: | build $(if $(TINY),$(BENCH)/data)
	mkdir -p $(BENCH)
	$(GO) run ./tools/benchcorpus chunks $(MANY) "$(DATA)" $(BENCH)/million.jsonl
	./bin/quarry add --quiet --library $@.new $(BENCH)/million.jsonl
	rm $(BENCH)/million.jsonl && mv $@.new $@

bench-agents: build | $(if $(TINY),$(BENCH)/data) ## Measure how many tokens the answers to research questions cost
	$(GO) run ./tools/agents $(QUICK) bin/quarry "$(DATA)"/agent-tasks.jsonl "$(DATA)"/corpora

bench-quality: | $(if $(TINY),$(BENCH)/data) ## Measure the ranking on judged queries, beside FTS5 and bleve
	cd tools/compare && $(GO) run . $(QUICK) -quality "$(DATA)"/qrels

KERNEL =
bench-meaning: | $(if $(TINY),$(BENCH)/data) ## Measure the encoder beside onnxruntime; KERNEL=AVX2 one kind of kernels only
	QUARRY_DATA="$(DATA)" GO="$(GO)" tools/encoder/bench.sh $(if $(TINY),1,5 -judge) $(if $(KERNEL),-kernel "$(KERNEL)")

bench: build $(BENCH)/chunks.jsonl $(BENCH)/markdown $(BENCH)/files $(BENCH)/handbook ## Measure searching, starting and adding
	@echo "== queries over $(CHUNKS) chunks, in one process"
	cd tools/compare && $(GO) run . $(QUICK) $(BENCH)/chunks.jsonl $(QUERIES)
	@echo "== ranking and counting over them, in one segment"
	QUARRY_CHUNKS=$(BENCH)/chunks.jsonl $(TEST) -run '^$$' -bench Search -benchtime $(BENCHTIME) ./server/index/lexical
	@echo "== reading ten passages of a handbook"
	QUARRY_LIBRARY=$(abspath $(BENCH)/handbook) $(TEST) -run '^$$' -bench Passages -benchtime $(BENCHTIME) -cpu 1 ./server/documents
	@echo "== static word embeddings"
	$(TEST) -run '^$$' -bench Vector -cpu 1 $(if $(TINY),-benchtime 1x) ./server/encoder
	@echo "== before main"
	$(GO) run ./tools/inits bin/quarry
	@echo "== reading PDF files"
	QUARRY_DATA="$(DATA)" $(TEST) -run '^$$' -bench PDF -benchtime 1x ./server/ingest
	@echo "== a cold search beside version, and adding"
	$(GO) run ./tools/coldstart $(QUICK) bin/quarry "$(DATA)"/corpora/sourcegraph-handbook $(BENCH)/markdown $(BENCH)/files

# A missed budget must not hide the figures that come after it.
bench-ui: build $(BENCH)/handbook $(BENCH)/large ## Measure the explorer, in process and behind a terminal
	@echo "== Update and View, in one process"
	$(TEST) -run '^$$' -bench 'UpdateAndView|Rendering' $(if $(TINY),-benchtime 1x) ./ui/explorer
	@held=true; measure() { $(GO) run ./tools/ttybench $(QUICK_UI) "$$@" bin/quarry || held=false; }; \
	echo "== the program behind a terminal: the sample library"; measure; \
	for library in handbook large; do \
		echo "== a library: $$library"; measure -scenario library-start,library-typing,meaning -library $(BENCH)/$$library; done; $$held

# What these measure has no vectors made beside it, but for one scenario of bench-ui.
bench bench-large bench-ui bench-serve bench-scale bench-ssh bench-agents: export QUARRY_EMBEDDINGS_MODE = off
bench-serve: build $(BENCH)/large ## Measure a served library over HTTP: one client, many, and an open loop
	$(GO) run ./tools/load $(QUICK_LOAD) bin/quarry $(BENCH)/large $(QUERIES)

bench-large: build $(BENCH)/million ## Measure kinds of searches in a million passages, in process and over HTTP
	$(GO) run ./tools/large $(QUICK) bin/quarry $(BENCH)/million $(QUERIES)

bench-scale: build $(BENCH)/chunks.jsonl ## Measure PostgreSQL and Weaviate beside the embedded engine: adding, and searches over HTTP
	$(GO) build -o bin/scale ./tools/scale
	$(GO) build -o bin/load ./tools/load
	tools/scale/bench.sh bin/quarry $(BENCH)/chunks.jsonl $(if $(TINY),1s,10s) $(QUERIES)

bench-ssh: build $(BENCH)/handbook ## Measure the explorer over SSH: typing, a crowd, a flood, coming and going
	@echo "== the sample library"
	$(GO) run ./tools/sshload $(QUICK_SSH) bin/quarry
	@echo "== a handbook"
	$(GO) run ./tools/sshload $(QUICK_SSH) -scenario crowd -library $(BENCH)/handbook bin/quarry

clean: ## Remove what was built
	rm -rf bin
