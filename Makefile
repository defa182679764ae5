# Everything is pure Go: no C compiler is needed, except for the race detector, which `make test` uses where there is one.
export CGO_ENABLED = 0
GO ?= go
Q ?=
VERSION ?= 0.1.0
LDFLAGS = -s -w -X main.version=$(VERSION)
BUILD = $(GO) build -trimpath -ldflags "$(LDFLAGS)"

.PHONY: run test lint build cross bench bench-ui bench-serve bench-ssh bench-quality crash rights docs screens clean

run: build
	./bin/quarry --sample $(if $(Q),"$(Q)")

build:
	$(BUILD) -o bin/quarry .

test:
	@if [ -n "$$($(GO) env CC)" ] && command -v $$($(GO) env CC) >/dev/null 2>&1; then \
		echo "with the race detector"; CGO_ENABLED=1 $(GO) test -race -shuffle=on ./...; \
	else \
		echo "no C compiler: without the race detector"; $(GO) test -shuffle=on ./...; \
	fi

lint:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test ./tools/lint

cross:
	GOOS=windows GOARCH=amd64 $(GO) vet ./... && GOOS=windows GOARCH=amd64 $(BUILD) -o bin/quarry-windows-amd64.exe .
	GOOS=darwin GOARCH=arm64 $(GO) vet ./... && GOOS=darwin GOARCH=arm64 $(BUILD) -o bin/quarry-darwin-arm64 .

docs: build
	$(GO) run ./tools/docs bin/quarry > docs/commands.md.new && mv docs/commands.md.new docs/commands.md
	$(GO) run ./tools/keys > docs/keys.md.new && mv docs/keys.md.new docs/keys.md

# The pictures of the README, from the screen of the program itself.
screens: build
	$(GO) run ./tools/screens bin/quarry docs

# What is measured needs real text: QUARRY_DATA is a folder with corpora/ and qrels/.
bench-quality:
	$(GO) run ./tools/quality

BENCH = $(or $(TMPDIR),/tmp)/quarry-bench
bench: build
	@test -n "$$QUARRY_DATA" || { echo "set QUARRY_DATA to a folder with corpora/ and qrels/"; exit 1; }
	@mkdir -p $(BENCH)
	@test -f $(BENCH)/chunks.jsonl || $(GO) run ./tools/benchcorpus chunks 100000 "$$QUARRY_DATA" $(BENCH)/chunks.jsonl
	@echo "== questions over 100,000 chunks, in one process"
	cd tools/compare && $(GO) run . $(BENCH)/chunks.jsonl "$$QUARRY_DATA"/qrels/handbook-sourcegraph/queries.jsonl "$$QUARRY_DATA"/qrels/scifact/queries.jsonl
	@echo "== ranking and counting over them, in one segment"
	QUARRY_CHUNKS=$(BENCH)/chunks.jsonl $(GO) test -run '^$$' -bench Search -benchtime 100x ./server/index/lexical
	@echo "== before main"
	$(GO) run ./tools/inits bin/quarry
	@echo "== a cold search beside version, and adding a handbook"
	$(GO) run ./tools/coldstart bin/quarry "$$QUARRY_DATA"/corpora/sourcegraph-handbook

# The screen: what Update and View cost, and the built program behind a terminal, with its budgets beside the figures.
bench-ui: build
	@test -n "$$QUARRY_DATA" || { echo "set QUARRY_DATA to a folder with corpora/ and qrels/"; exit 1; }
	@mkdir -p $(BENCH)
	@test -f $(BENCH)/chunks.jsonl || $(GO) run ./tools/benchcorpus chunks 100000 "$$QUARRY_DATA" $(BENCH)/chunks.jsonl
	@test -d $(BENCH)/handbook || ./bin/quarry add --quiet --library $(BENCH)/handbook "$$QUARRY_DATA"/corpora/sourcegraph-handbook
	@test -d $(BENCH)/large || ./bin/quarry add --quiet --library $(BENCH)/large $(BENCH)/chunks.jsonl
	@echo "== Update and View, in one process"
	$(GO) test -run '^$$' -bench 'UpdateAndView|Rendering' ./ui/explorer
	@echo "== the program behind a terminal: the sample library"
	$(GO) run ./tools/ttybench bin/quarry
	@echo "== a handbook"
	$(GO) run ./tools/ttybench -scenario library-start,library-typing -library $(BENCH)/handbook bin/quarry
	@echo "== 100,000 documents"
	$(GO) run ./tools/ttybench -scenario library-start,library-typing -library $(BENCH)/large bin/quarry

# A library of 100,000 documents over HTTP: one client, sixty-four, and an open loop, with their budgets.
bench-serve: build
	@test -n "$$QUARRY_DATA" || { echo "set QUARRY_DATA to a folder with corpora/ and qrels/"; exit 1; }
	@mkdir -p $(BENCH)
	@test -f $(BENCH)/chunks.jsonl || $(GO) run ./tools/benchcorpus chunks 100000 "$$QUARRY_DATA" $(BENCH)/chunks.jsonl
	@test -d $(BENCH)/large || ./bin/quarry add --quiet --library $(BENCH)/large $(BENCH)/chunks.jsonl
	$(GO) run ./tools/load bin/quarry $(BENCH)/large "$$QUARRY_DATA"/qrels/handbook-sourcegraph/queries.jsonl "$$QUARRY_DATA"/qrels/scifact/queries.jsonl

# The explorer over SSH: one visitor types, two hundred come in, search, read and stay, one floods the server, five hundred
# come and go, with their budgets: at the sample library, and at a handbook.
bench-ssh: build
	@test -n "$$QUARRY_DATA" || { echo "set QUARRY_DATA to a folder with corpora/ and qrels/"; exit 1; }
	@mkdir -p $(BENCH)
	@test -d $(BENCH)/handbook || ./bin/quarry add --quiet --library $(BENCH)/handbook "$$QUARRY_DATA"/corpora/sourcegraph-handbook
	@echo "== the sample library"
	$(GO) run ./tools/sshload bin/quarry
	@echo "== a handbook"
	$(GO) run ./tools/sshload -scenario crowd -library $(BENCH)/handbook bin/quarry

# Kills `quarry add` fifty times at random moments, and the store's own writers eighty times.
crash:
	QUARRY_SLOW=1 $(GO) test -count=1 -timeout 30m -run 'Kill' -v . ./server/index/embedded | grep -v '^=== '

# A thousand worlds of two tenants with people, groups, connectors, sets, agents and documents; a hundred questions in each,
# held to the rules. `make test` asks a hundred worlds, or ten with the race detector. QUARRY_WORLD=7 asks the seventh alone.
rights:
	cd server/api && QUARRY_SLOW=1 $(GO) test -count=1 -timeout 60m -run '^TestRights$$'

clean:
	rm -rf bin
