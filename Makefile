# Cloud Parallel Transfer. `make demo` and `make test` install what they need into this checkout first.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

UV := .tools/bin/uv
RUN := $(UV) run --frozen --no-sync
CRATE := relay-ami/relay
DAEMON := relay-ami/dist/x86_64/cpt-relay
DAEMON_ARM64 := relay-ami/dist/arm64/cpt-relay
LABORATORY := $(CRATE)/target/release/cpt-laboratory
DAEMON_SOURCES := $(shell find $(CRATE) \( -name target -o -name tests -o -name fuzz -o -name patched \) -prune -o -type f -print 2>/dev/null)
SYNTH_SOURCES := $(shell find infra statemachine lambdas contracts -type f -not -name "*.pyc" 2>/dev/null) cdk.json package-lock.json
ARGS ?=
# Most tests wait for a local cloud rather than compute; each worker has clouds of its own.
WORKERS ?= 4
# Exit code 5 of pytest: no test was chosen. That is what ARGS may do, and nothing else.
OR_NONE_CHOSEN = $(if $(ARGS),|| [ $$? = 5 ])

# Where the operating system keeps its own certificates, uv and cargo should use them too.
export UV_SYSTEM_CERTS := 1
export UV_LINK_MODE := copy
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Caches stay in the checkout, but cargo's: its home also holds its user's registries and credentials.
export UV_CACHE_DIR := $(CURDIR)/.cache/uv
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export npm_config_cache := $(CURDIR)/.cache/npm
export CDK_HOME := $(CURDIR)/.cache/cdk
# Without bytecode each local cloud compiles its packages anew, 3 s of a core.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo demo-hdfs check test lint structure lane-clouds lane-daemon lane-checks test-python test-together test-alone test-runtime test-dynamodb-local test-infra test-daemon privileges browser screenshots chaos kerberos faults model seats long-run mutants fuzz daemon daemon-arm64 synth release release-check userlands bench bench-control bench-first-byte bench-cost bench-data-plane bench-datasets bench-estimate bench-fleet bench-faults bench-scale bench-sets bench-buckets bench-ways bench-hdfs bench-versitygw bench-routes bench-routes-emulated bench-pool bench-staged lab lab-pages figures diagram aws-smoke clean down

help:  ## Show this list
	@grep -E '^[a-z0-9-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

setup: .tools/stamp .venv/stamp node_modules/stamp  ## Install what is missing into this checkout

.tools/stamp: tools/requirements.txt tools/check-prerequisites.sh tools/aws
	@tools/check-prerequisites.sh
	@echo "setup: uv and the AWS command line, into .tools"
	@[ -x .tools/bin/python3 ] || python3 -m venv .tools
	@.tools/bin/python3 -m pip install --quiet --require-hashes -r tools/requirements.txt
	@cp tools/aws .tools/bin/aws
	@touch $@

.venv/stamp: .tools/stamp uv.lock pyproject.toml
	@echo "setup: Python packages, into .venv"
	@$(UV) sync --frozen --quiet
	@touch $@

node_modules/stamp: .tools/stamp package-lock.json
	@echo "setup: the CDK, into node_modules"
	@npm ci --silent --no-audit --no-fund
	@touch $@

# Of the one test that asks it, and licensed under the AGPL: who deploys, or audits what is deployed, does not get it.
SECOND_JUDGE := tests/privileges/node_modules/stamp
$(SECOND_JUDGE): tests/privileges/package-lock.json | .tools/stamp
	@echo "setup: a simulator of IAM, into tests/privileges/node_modules"
	@cd $(<D) && npm ci --silent --no-audit --no-fund
	@touch $@

lambdas/requirements.txt: uv.lock pyproject.toml | .tools/stamp
	@$(UV) export --frozen --quiet --only-group lambdas --no-emit-project --format requirements-txt -o $@ > /dev/null
	@sha256sum uv.lock pyproject.toml > $@.sources

# What each part was built from, by content: a synthesis refuses a part that is older than its sources. A part that somebody has put there
# by other means than this file counts as built from the sources that are here.
lambdas/requirements.txt.sources: lambdas/requirements.txt
	@[ $@ -nt $< ] || sha256sum uv.lock pyproject.toml > $@

$(DAEMON).sources $(DAEMON_ARM64).sources: %.sources: %
	@[ $@ -nt $< ] || sha256sum $(DAEMON_SOURCES) > $@

daemon: $(DAEMON)  ## Build the relay daemon

$(DAEMON): $(DAEMON_SOURCES) | .tools/stamp
	@echo "build: cpt-relay (the first time takes some minutes)"
	@mkdir -p $(@D)
	@sha256sum $(DAEMON_SOURCES) > $@.sources.new
	@cd $(CRATE) && patches/apply && cargo build --release --locked
	@cp $(CRATE)/target/release/cpt-relay $@.new && mv $@.new $@
	@mv $@.sources.new $@.sources && touch $@.sources

# The daemon's roles by hand, for tests and benchmarks.
$(LABORATORY): $(DAEMON) $(shell find $(CRATE)/tests/laboratory -type f 2>/dev/null)
	@cd $(CRATE) && patches/apply && cargo build --release --locked --package cpt-laboratory
	@touch $@

daemon-arm64: $(DAEMON_ARM64)  ## Build the relay daemon for arm64 too; the next synth deploys it

$(DAEMON_ARM64): $(DAEMON_SOURCES)
	@tools/check-arm64.sh
	@echo "build: cpt-relay for arm64 (the first time takes some minutes)"
	@mkdir -p $(@D)
	@sha256sum $(DAEMON_SOURCES) > $@.sources.new
	@cd $(CRATE) && patches/apply && cargo build --release --locked --target aarch64-unknown-linux-gnu
	@cp $(CRATE)/target/aarch64-unknown-linux-gnu/release/cpt-relay $@.new && mv $@.new $@
	@mv $@.sources.new $@.sources && touch $@.sources

synth: cdk.out/manifest.json  ## Synthesize the CloudFormation templates into cdk.out

# Where nothing for arm64 can be built, the check says what is missing, and the release has no daemon for it.
release: setup lambdas/requirements.txt.sources  ## Build what a release holds into dist (ARGS=FOLDER: elsewhere): package, deployment, daemons, licences, checksums
	@tools/release/daemons.sh $(DAEMON_SOURCES)
	@$(RUN) python -m tools.release $(ARGS)

release-check: synth  ## Build a release twice from clones at other paths, compare all bytes, and deploy from its files alone
	@CPT_CHAOS=full $(RUN) pytest --durations 5 tests/release $(ARGS)

# A daemon for arm64 that was built once is kept up to date: both ends of a transfer must run the same version.
PARTS := lambdas/requirements.txt $(DAEMON) $(wildcard $(DAEMON_ARM64))
cdk.out/manifest.json: $(SYNTH_SOURCES) $(PARTS) $(PARTS:=.sources) | node_modules/stamp .venv/stamp
	@echo "build: synthesizing the templates"
	@npx --no-install cdk synth --quiet
	@touch $@

# What a fresh checkout lacks is fetched while the daemon compiles.
.PHONY: installed installed-for-tests hadoop
installed:
	@$(MAKE) --no-print-directory --jobs 3 setup daemon

installed-for-tests:
	@$(MAKE) --no-print-directory --jobs 3 setup daemon hadoop

# Where Hadoop cannot be had (code 3), tests say what they skipped.
hadoop: .venv/stamp
	@$(RUN) python -m local.hadoop --fetch || [ $$? = 3 ]

demo: installed synth  ## Move real files through relays on this machine
	@$(RUN) python -m cli.demo $(ARGS)

demo-hdfs: installed synth  ## Copy from one real Hadoop to another one on this machine; needs Maven, and Java if PyPI's is not wanted
	@$(RUN) python -m cli.demo_hdfs

check: lint  ## What to run before each commit: linters, unit tests of all three languages, one whole execution
	@cd $(CRATE) && ./cargo-checked test --workspace --exclude cpt-relay-fuzz --lib
	@npm test --silent
	@$(RUN) pytest --quiet --numprocesses $(WORKERS) --dist loadfile tests/lambdas tests/contracts tests/e2e/test_first_transfer.py

# Four lanes at once, so that nothing waits for a processor that is idle: tests of clouds, tests of the daemon, and in two lanes what
# only computes, which gives way to both. The daemon's come after the clouds have started, since some have limits of time; what
# compares rates comes after all other clouds.
test: installed-for-tests synth browser $(LABORATORY) $(SECOND_JUDGE)  ## Everything that CI checks
	@mkdir -p .cache && rm -f $(SKIPPED)
	@status=0; CPT_SKIPPED="$(CURDIR)/$(SKIPPED)" $(MAKE) --no-print-directory --jobs 4 --output-sync=target lane-clouds lane-daemon lane-lint lane-checks || \
	  status=$$?; $(RUN) python -m tools.skipped $(SKIPPED) || status=$$?; exit $$status

# What tests could not try on this machine, with the reasons.
SKIPPED := .cache/skipped.txt

lane-clouds:
	@$(MAKE) --no-print-directory test-together
	@$(MAKE) --no-print-directory test-alone

lane-daemon:
	@$(MAKE) --no-print-directory fuzz
	@$(MAKE) --no-print-directory test-daemon

lane-lint:
	@nice -n 10 $(MAKE) --no-print-directory lint

# A synthesis lets nothing else run in its process, and Vitest waits for a minute at most for what such a process says: so it gives way to
# nobody.
lane-checks:
	@$(MAKE) --no-print-directory test-infra
	@nice -n 10 $(MAKE) --no-print-directory test-runtime

lint: synth  ## All linters and type checkers
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy
	@$(RUN) lint-imports
	@$(RUN) python -m tools.structure --check
	@$(RUN) cfn-lint cdk.out/*.template.json
	@npm run --silent lint
	@cd $(CRATE) && patches/apply && cargo fmt --all --check && ./cargo-checked build --workspace --all-targets

test-infra: synth
	@npm test --silent

test-daemon: | .tools/stamp
	@cd $(CRATE) && CPT_MODEL_SEED=$${CPT_MODEL_SEED:-1} RUST_TEST_THREADS=4 ./cargo-checked test --workspace --exclude cpt-relay-fuzz

# Files outside tests/chaos of which `make test` runs a part.
CHAOS = tests/chaos tests/release/test_release.py $(shell grep -rl --include="*.py" "from tests.chaos.extent import" tests/e2e tests/page tests/relay_ami tests/local)
kerberos:  ## The client of HDFS with a real KDC and a secure Hadoop; needs krb5-kdc, 3 minutes
	@cd $(CRATE) && CPT_CHAOS=full RUST_TEST_THREADS=1 ./cargo-checked test --workspace --exclude cpt-relay-fuzz --lib kerberos_tests

chaos privileges: WORKERS := 3
chaos: synth browser $(LABORATORY) faults model seats kerberos  ## Everything that tests can break (`make test` runs a part), 80 minutes; needs root for all of it
	@CPT_CHAOS=full $(RUN) pytest --numprocesses $(WORKERS) --dist loadfile -m "not (alone or paced)" $(ARGS) $(CHAOS) $(OR_NONE_CHOSEN)
	@CPT_CHAOS=full $(RUN) pytest -m "alone or paced" $(ARGS) $(CHAOS) $(OR_NONE_CHOSEN)

# With a module for names as machines in EC2 have it: what the C library loads when it is asked.
.cache/userlands/%:
	@command -v debootstrap > /dev/null || { echo "userlands: debootstrap is missing. Run: apt-get install debootstrap" >&2; exit 1; }
	@mkdir -p $(@D) && rm -rf $@.new
	@debootstrap --variant=minbase --include=ca-certificates,libnss-myhostname $* $@.new > $@.log
	@mv $@.new $@

userlands: $(DAEMON) .cache/userlands/bullseye .cache/userlands/bookworm .cache/userlands/trixie  ## The daemon in Debian 11, 12 and 13; needs root and debootstrap
	@CPT_USERLANDS="$(CURDIR)/.cache/userlands" $(RUN) pytest $(ARGS) tests/relay_ami/test_userlands.py

faults: | .tools/stamp  ## Three times the faults that `make test` injects (CPT_FAULT_FACTOR, CPT_FAULT_SEED)
	@cd $(CRATE) && CPT_FAULT_FACTOR=$${CPT_FAULT_FACTOR:-3} ./cargo-checked test --package cpt-laboratory --test faults

model: | .tools/stamp  ## Ten times the sequences of whole transfers that `make test` plays (CPT_MODEL_SEQUENCES, CPT_MODEL_SEED), 10 minutes
	@cd $(CRATE) && CPT_MODEL_SEQUENCES=$${CPT_MODEL_SEQUENCES:-2000} ./cargo-checked test --package cpt-laboratory --test model

seats: | .tools/stamp  ## Faults of several machines at each end until so many have come (CPT_SEATS_FAULTS, CPT_MODEL_SEED)
	@cd $(CRATE) && CPT_SEATS_FAULTS=$${CPT_SEATS_FAULTS:-250} CPT_MODEL_SEQUENCES=0 ./cargo-checked test --package cpt-laboratory --test model

long-run: | .tools/stamp  ## An hour (CPT_LONG_RUN_SECONDS) of lives of one source and one destination, judged by rsync too; needs root and rsync
	@cd $(CRATE) && CPT_LONG_RUN_SECONDS=$${CPT_LONG_RUN_SECONDS:-3600} ./cargo-checked test --package cpt-laboratory --test model

mutants: synth $(LABORATORY)  ## How many small changes of the product the tests notice (ARGS='--seed 7 --count 150'), hours
	@$(RUN) python -m tools.mutants $(ARGS)

structure: .venv/stamp  ## What the tree's structure is measured by (ARGS=--list: where; `make lint` fails where a number grows)
	@$(RUN) python -m tools.structure $(ARGS)

fuzz: | .tools/stamp  ## Fuzz every parser of the daemon, each for FUZZ_SECONDS (5)
	@$(CRATE)/fuzz/run.sh

# What runs under the functions' own Python is not run here too.
test-python: test-together test-alone test-runtime  ## The tests in Python (ARGS: some of them)

test-together: synth browser $(LABORATORY) $(SECOND_JUDGE)
	@python=$$($(RUN) python -m tools.runtime_python) && $(RUN) pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 20 \
	  -m "not alone" $${python:+--ignore=tests/lambdas --ignore=tests/contracts} $(ARGS) $(OR_NONE_CHOSEN)

# To collect all other files takes as long as a test.
ALONE = $(shell grep -rl --include="*.py" "mark\.alone" tests)
test-alone: synth browser $(LABORATORY)
	@$(RUN) pytest --durations 10 -m alone $(or $(ARGS),$(ALONE)) $(OR_NONE_CHOSEN)

# The Lambdas' unit tests under the Python that they are deployed for, where the machine has it and .venv has another.
# They only compute: two at a time fill the processors. Beside them other tests run, of users other than root too: each start of Pytest
# would close the directory above theirs, if it had the same.
test-runtime: synth
	@python=$$($(RUN) python -m tools.runtime_python) && { [ -z "$$python" ] || { export UV_PROJECT_ENVIRONMENT="$(CURDIR)/.cache/runtime-python" && \
	  $(UV) sync --frozen --quiet --python "$$python" && \
	  $(RUN) python -m pytest --quiet --numprocesses 2 --dist loadfile --basetemp .cache/runtime-tests tests/lambdas tests/contracts; }; }

browser: | .tools/stamp
	@tools/install-browser.sh

screenshots: .venv/stamp browser  ## Draw docs/report.png and docs/live-page.png anew (the report of a run: ARGS=.local/demo/report.json)
	@$(RUN) python -m tests.page.picture $(ARGS)

privileges: synth  ## Record which permissions the end-to-end tests use; compare with what is granted (half an hour; ARGS: some tests, added to the record)
	@mkdir -p .cache && rm -f .cache/grants.ndjson && touch .cache/grants.ndjson
	@CPT_CHAOS=full CPT_RECORD_GRANTS=$(CURDIR)/.cache/grants.ndjson $(RUN) pytest --numprocesses $(WORKERS) --dist loadfile \
	  -m "not (alone or paced)" $(or $(ARGS),tests/e2e tests/chaos/test_workflows.py) $(OR_NONE_CHOSEN)
	@CPT_CHAOS=full CPT_RECORD_GRANTS=$(CURDIR)/.cache/grants.ndjson $(RUN) pytest -m "alone or paced" \
	  $(or $(ARGS),tests/e2e tests/chaos/test_workflows.py) $(OR_NONE_CHOSEN)
	@$(RUN) python -m tests.privileges $(if $(ARGS),,--anew) .cache/grants.ndjson

test-dynamodb-local: .venv/stamp  ## The stores' suite over the official DynamoDB Local too (needs Java 17 and Maven)
	@tools/dynamodb-local/fetch.sh .cache/dynamodb-local
	@$(RUN) pytest -k dynamodb-local tests/lambdas

# Pages are made of what is kept, whatever was measured now.
lab: $(if $(filter list,$(FIGURE)),.venv/stamp,$(LABORATORY) synth)  ## Figures of the papers, measured again (FIGURE=cpt-6.2: one; FIGURE=list: which there are); needs root, hours for all
	@status=0; $(RUN) python -m bench.lab --figure "$(FIGURE)" $(ARGS) || status=$$?; \
	  [ "$(FIGURE)" = list ] || $(MAKE) --no-print-directory lab-pages; exit $$status

lab-pages: | .tools/stamp
	@$(UV) run --frozen --isolated --group figures python -m bench.lab.pages

bench: bench-control bench-first-byte bench-cost bench-data-plane bench-datasets bench-estimate bench-fleet bench-scale bench-routes  ## All benchmarks; each writes bench/out/NAME.json

bench-control: synth  ## From start-execution to the first byte
	@$(RUN) python -m bench.control

bench-first-byte: synth  ## The same in a new account with AWS's delays, by step (ARGS='--beside CHECKOUT': and another control plane)
	@$(RUN) python -m bench.first_byte $(ARGS)

bench-cost: synth  ## What the control plane is asked for, and what that costs, per TB and per million files
	@$(RUN) python -m bench.cost

bench-sets: synth $(LABORATORY)  ## Several machines at each end against the sum of their rates (needs root)
	@$(RUN) python -m bench.sets $(ARGS)

bench-data-plane: $(LABORATORY) | .tools/stamp  ## The data plane against its bars and its peers (needs root)
	@$(UV) run --frozen --isolated --group bench python -m bench.data_plane $(ARGS)

DATASETS := 10k-small,source-tree,photos,sparse-image,cold-source,cold-small
bench-datasets: $(LABORATORY) | .tools/stamp  ## Trees as people have them, beside rclone, rsync and tar, a cold disk beside fio (needs root)
	@$(UV) run --frozen --isolated --group bench python -m bench.data_plane --cases $(DATASETS) $(ARGS)

bench-buckets: $(LABORATORY) | .tools/stamp  ## A bucket at an end, beside rclone and AWS's Common Runtime, on two servers; two hours
	@$(UV) run --frozen --isolated --group buckets python -m bench.buckets $(ARGS)

bench-ways: $(LABORATORY) | .tools/stamp  ## A bucket behind a border, with relays beside the machine and without, 25 minutes (needs root)
	@$(UV) run --frozen --isolated --group buckets python -m bench.buckets.ways $(ARGS)

bench-hdfs: synth  ## CPT beside DistCp, between two real Hadoops; draws its plots; needs Maven and root
	@status=0; $(RUN) python -m bench.hdfs $(ARGS) || status=$$?; \
	  $(UV) run --frozen --isolated --no-default-groups --group figures python -m bench.hdfs.plots; exit $$status

bench-versitygw: .cache/buckets/versitygw  ## Build a server of `make bench-buckets`, by Go of PyPI

# The one that keeps objects, of the version that docs/design/063 names.
.cache/buckets/versitygw: | .tools/stamp
	@echo "build: versitygw (two minutes)"
	@mkdir -p $(@D) && GOBIN="$(CURDIR)/$(@D)" GOPATH="$(CURDIR)/$(@D)/go" GOFLAGS=-modcacherw \
	  $(UV) run --frozen --isolated --only-group buckets go install github.com/versity/versitygw/cmd/versitygw@v1.8.0

bench-estimate: synth  ## Estimates against transfers on an emulated network, 35 scenarios, 6 first contacts and 7 tables, 140 minutes (needs root)
	@$(RUN) python -m bench.estimate $(ARGS)

bench-fleet: synth  ## Relays that are chosen, lost and late on an emulated network (needs root)
	@$(RUN) python -m bench.fleet $(ARGS)

bench-faults: synth  ## What one fault costs, for every fault, party and moment; an hour (needs root)
	@$(RUN) python -m bench.faults $(ARGS)

bench-scale: synth  ## Plans, verifications and reports of 10^6 chunks and 10^7 files in a Lambda's memory
	@$(RUN) python -m bench.scale $(ARGS)

bench-routes: .venv/stamp  ## Routes through third regions: on a measured map, and in a network that changes; draws their plots
	@status=0; $(RUN) python -m bench.routes $(ARGS) || status=$$?; \
	  $(UV) run --frozen --isolated --no-default-groups --group figures python -m bench.routes.plots; exit $$status

bench-staged: synth  ## The dissertation's staged copy between two real Hadoops, by step, with its timelines (needs root)
	@status=0; $(RUN) python -m bench.hdfs.staged $(ARGS) || status=$$?; \
	  $(UV) run --frozen --isolated --no-default-groups --group figures python -m bench.hdfs.staged_plots; exit $$status

bench-routes-emulated: synth $(LABORATORY)  ## The same with real bytes: Figure 9, pairs of the measured map, whole transfers; an hour (needs root)
	@status=0; $(RUN) python -m bench.routes.emulated $(ARGS) || status=$$?; \
	  $(UV) run --frozen --isolated --no-default-groups --group figures python -m bench.routes.emulated.plots; exit $$status

bench-pool: synth  ## A pool that many users share: planned, simulated, and with real bytes; draws its plots (needs root)
	@status=0; $(RUN) python -m bench.pool $(ARGS) || status=$$?; \
	  $(UV) run --frozen --isolated --no-default-groups --group figures python -m bench.pool.plots; exit $$status

diagram: synth  ## Draw the picture of docs/architecture.md from the deployed names
	@$(RUN) python tools/data_flow.py

figures: | .tools/stamp  ## Draw the plots of docs/models.md
	@$(UV) run --frozen --isolated --no-default-groups --group figures python -m bench.figures

aws-smoke: synth  ## Opt-in: one proven transfer on AWS, for $0.3 (needs credentials; never run so far)
	@$(RUN) python -m bench.aws_smoke $(ARGS)

down:  ## Stop the local cloud and remove what it left
	@$(RUN) cpt local down

clean:  ## Remove everything that was built or installed here
	@[ ! -x .venv/bin/cpt ] || $(RUN) cpt local down || true
	rm -rf .venv .tools node_modules tests/privileges/node_modules cdk.out .cache .local bench/out $(CRATE)/target relay-ami/dist
