# make         build bin/sbx and show its main job on this machine
# make test    install what the tests need and run them
# make check   lint, then test: what has to pass before a change is merged
# make bench   the speed figures of docs/measurements.md
# make fuzz    every fuzz target of PACKAGES (all) for FUZZTIME (30s)
# make man     manual pages in bin/man
# make install PREFIX=/usr/local [DESTDIR=…] [NAME=…]; make uninstall takes it away
# make dist    tarballs, Debian packages and their checksums in dist/

GO       ?= go
FUZZTIME ?= 30s
PACKAGES ?= ./...
ROUNDS   ?= 100

# Under the race detector too: what has goroutines of its own. Of direct only the
# tests about them: its denial tests start the test binary hundreds of times, and
# a program built for the detector sleeps for a second at its end.
RACE_PACKAGES ?= . ./permit ./approvals ./config ./netproxy ./sandbox ./sandbox/none ./sandbox/proc ./sandbox/notify
RACE_DIRECT   ?= TestManyAtOnce|TestFullManyRuns|TestEndings|TestTimeLimit|TestCallerGoesAway|TestSignalsArePassedOn|TestLargeOutput|TestManyDenials|TestKilledCallers|TestExplainedRunsAtOnce

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X github.com/sbx-run/sbx.release=$(VERSION)

# Programs that sbx starts; they lie in PREFIX/libexec/sbx, and nobody types them.
HELPERS := sbx-proxy sbx-init sbx-backend-docker sbx-backend-podman sbx-backend-containerd

PREFIX  ?= /usr/local
DESTDIR ?=
NAME    ?= sbx
DISTDIR ?= dist

# The day of the sources, so that a second build gives the same bytes.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH

.PHONY: all build demo test test-engines test-others test-race lint check bench fuzz generate man install uninstall dist clean

all: build demo

# Static and without a C library: one file that runs on any Linux. sbx starts no
# program of its own that a group could change, whatever the caller's umask is.
build:
	@umask 022; CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o bin/sbx ./cmd/sbx
	@ln -sf sbx bin/sbx-exec
	@umask 022; for name in $(HELPERS); do \
		CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o bin/$$name ./cmd/$$name || exit; done
	@chmod go-w bin bin/sbx*
	@echo "built bin/sbx $(VERSION), the link bin/sbx-exec, and its helpers: $(HELPERS)"

demo: build
	@scripts/demo.sh bin/sbx

# Tests wait more than they compute, so two rows of them run at the same time. One
# after the other in a row of their own are the packages that use container engines
# or firejail: each sweeps what dead runs left in an engine, and a test of that looks
# at it; and firejail fails when a mount that it copies is taken away meanwhile, as
# engines do. -k: a failure in one row does not end the other.
test:
	@scripts/test-deps.sh
	@scripts/test-machine.sh run $(MAKE) --no-print-directory -k -j2 test-engines test-race

ENGINES = $(shell $(GO) list $$(grep -rlE --include='*_test.go' \
	'SBX_TEST_(DOCKER_HOST|PODMAN|CONTAINERD)|sbx/sandbox/firejail"|^package firejail' . | xargs -n1 dirname))
OTHERS  = $(filter-out $(ENGINES),$(shell $(GO) list ./...))

test-engines:
	@$(GO) test -timeout 20m -p 1 $(or $(ENGINES),$(error no package uses an engine))

# What engines mount and unmount meanwhile, in the other row, would make a bwrap fail
# that copies the mounts: root gives this row a mount namespace of its own.
APART = $(shell [ "$$(id -u)" -eq 0 ] && unshare --mount --propagation private true 2>/dev/null && echo unshare --mount --propagation private)

test-others:
	@$(APART) $(GO) test -timeout 20m -p 2 $(or $(OTHERS),$(error there are no packages))

test-race: test-others
	@$(GO) test -timeout 20m -p 2 -race $(RACE_PACKAGES)
	@$(GO) test -timeout 20m -race -run '$(RACE_DIRECT)' ./sandbox/direct

lint: bin/tools/staticcheck
	@GO="$(GO)" scripts/lint.sh

# The linters have their own module, and building them takes minutes: once is enough.
bin/tools/staticcheck: tools/go.mod tools/go.sum
	cd tools && GOBIN="$(CURDIR)/bin/tools" $(GO) install tool
	@touch $@

check: lint test

bench: build
	@ROUNDS=$(ROUNDS) $(GO) run ./bench -sbx bin/sbx

fuzz:
	@GO="$(GO)" FUZZTIME=$(FUZZTIME) scripts/fuzz.sh $(PACKAGES)

# Needs gcc and libseccomp-dev: the system-call filter is compiled here, not at run time.
# docs/rules.md is printed from the tables.
generate:
	$(GO) generate ./...
	$(GO) test ./cmd/sbx -run TestRulesDocument -update

man: build
	@rm -rf bin/man && mkdir -p bin/man
	@bin/sbx __man bin/man $(NAME)
	@echo "wrote bin/man"

# Needs no Go when it was built before: `make && sudo make install`.
install:
	@test -x bin/sbx || { echo "make it first"; exit 1; }
	@HELPERS="$(HELPERS)" scripts/install.sh bin "$(DESTDIR)$(PREFIX)" "$(NAME)"

uninstall:
	@scripts/install.sh --remove "$(DESTDIR)$(PREFIX)" "$(NAME)"

dist:
	@GO="$(GO)" HELPERS="$(HELPERS)" VERSION="$(VERSION)" scripts/dist.sh "$(DISTDIR)"

clean:
	rm -rf bin $(DISTDIR)
