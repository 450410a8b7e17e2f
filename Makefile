# The newcomer's commands. Developers use the CMake presets: see CONTRIBUTING.md.
.PHONY: help packages api-tools console-tools kube-tools images build run test test-default test-asan test-tsan fuzz bench clean
.DEFAULT_GOAL := help

configure = cmake --preset $(1) --log-level=WARNING >/dev/null
# On a terminal one line that counts; in a pipe nothing but errors.
build = quiet=--quiet; [ -t 1 ] && quiet=; NINJA_STATUS="[%f of %t] " ninja -C $(1) $$quiet $(2)

help:
	@echo "make run    install what is missing, build, and diagnose an example incident"
	@echo "make test   the same set-up, then every test, also under the sanitizers"
	@echo "make build  programs in build/bin"
	@echo "make console-tools  Chromium and npm packages, for the tests of the web console"
	@echo "make api-tools      a generator of API clients, for the test of /openapi.json"
	@echo "make kube-tools     helm and what checks manifests, for the tests of the chart"
	@echo "make images         a container image of each program (images/build.sh)"
	@echo "make fuzz   every fuzzer, ten million inputs each: takes hours"
	@echo "make bench  benchmarks (bench/README.md)"

packages:
	@common/cmake/install_packages.sh

# What the tests of the web console need beside packages.txt; without it they are skipped.
console-tools:
	@services/gateway/console/install_tools.sh

# What the test of /openapi.json needs beside packages.txt; without it it is skipped.
api-tools:
	@tests/e2e/openapi/install_tools.sh

# What the tests of helm/ and k8s/ need beside packages.txt; without it they are skipped.
kube-tools:
	@helm/tools/install.sh

# BASE=IMAGE, PREBUILT=build/bin and what else images/build.sh reads.
images:
	@images/build.sh

build: packages
	@echo "configure: build/"
	@$(call configure,default)
	@echo "build: programs in build/bin"
	@$(call build,build,programs)

run: build
	@echo "run: galen diagnose --bundle docs/examples/cublas-ecc"
	@echo
	@build/bin/galen diagnose --bundle docs/examples/cublas-ecc

test: test-default test-asan test-tsan
	@echo "test: all passed"

test-default: packages
	@echo "build: programs, tests and benchmarks"
	@$(call configure,default)
	@$(call build,build,)
	@echo "test: everything"
	@ctest --preset default

test-asan: packages
	@echo "build: AddressSanitizer and UndefinedBehaviorSanitizer"
	@$(call configure,asan)
	@$(call build,build/asan,test_programs fuzzers)
	@echo "test: under AddressSanitizer and UndefinedBehaviorSanitizer"
	@ctest --preset asan

test-tsan: packages
	@echo "build: ThreadSanitizer"
	@$(call configure,tsan)
	@$(call build,build/tsan,test_programs)
	@echo "test: what is concurrent, under ThreadSanitizer"
	@ctest --preset tsan

fuzz: packages
	@$(call configure,fuzz)
	@$(call build,build/fuzz,fuzzers)
	@tests/fuzz/run.sh build/fuzz all 10000000

bench: packages
	@$(call configure,default)
	@$(call build,build,)
	@for b in build/bench/*_bench; do echo "== $$b"; $$b --benchmark_min_time=0.2; done

clean:
	rm -rf build
