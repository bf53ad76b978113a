# SPDX-License-Identifier: GPL-2.0
#
# corefold: the two commands are 'make demo' and 'make check'; 'make help' lists the rest.

# All tests are for all architectures, unless one is named.
CHECKED := $(or $(ARCH),x86_64 s390 powerpc)
ARCH ?= x86_64
export ARCH

IN := scripts/in-toolchain
LAB := build/tools/release/corefold-lab
SIM := build/tools/release/corefold-sim

.DEFAULT_GOAL := help
.PHONY: help demo check toolchain tree kernel modules debug-kernel boot tools host-tests kunit selftests lab \
	sim bench bench-fold bench-decide bench-hooks bench-pack bench-period lint refresh discard clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18
	@echo
	@echo "  ARCH=x86_64, s390 or powerpc (x86_64); TOOLCHAIN=host uses this machine's compilers; KSRC=DIR another 7.3.y tree;"
	@echo "  KDIR=DIR (with modules) builds the module against a patched build tree; JOBS=N."
	@echo "  BENCH='--loads lock --vcpus 8 ...' (with bench); see '$(LAB) bench --help'."

demo: tools kernel ## the main job: two guests contend for the host, without and with corefold
	$(IN) $(LAB) demo

check: ## all tests, of all architectures unless ARCH names one; ends with 'N passed, M failed'
	@scripts/check.sh $(CHECKED)

toolchain: ## make the toolchain root (once)
	@scripts/toolchain.sh

tree: toolchain ## assemble the kernel tree: source, overlay and patch queue
	@scripts/kernel-tree.sh

kernel: tree ## build the kernel, the modules and the guest's initramfs
	@scripts/kernel.sh image modules
	@$(IN) scripts/initramfs.sh

debug-kernel: tree
	@scripts/kernel.sh debug image modules
	@$(IN) scripts/initramfs.sh debug

ifdef KDIR
modules: ## build the modules; with KDIR=, against that patched build tree
	@scripts/modules.sh "$(KDIR)"
else
modules: tree
	@scripts/kernel.sh modules
endif

boot: kernel ## an interactive guest (SMP=4 MEMORY=1G APPEND=...)
	@scripts/boot.sh -s $(or $(SMP),4) -m $(or $(MEMORY),1G) -a "$(APPEND)"

tools: ## build the host programs
	@scripts/tools.sh build

host-tests: ## property and unit tests on the host
	@scripts/tools.sh test

kunit: tree ## KUnit suites of the module and of the abstractions, by kunit.py
	@scripts/kunit.sh

selftests: debug-kernel ## kselftests in booted guests, on the debug kernel
	@scripts/selftests.sh

lab: debug-kernel tools ## a short run of the two-guest lab, on the debug kernel
	$(IN) $(LAB) demo --quick --kernel debug

sim: tools ## simulated pools of CPUs under six laws (SEED=1 POOL=FILE)
	$(SIM) --seed $(or $(SEED),1) --results build/results $(or $(POOL),$(wildcard tools/sim/pools/*.toml))

bench: kernel tools ## ways to choose the number of cores, under many loads (QUICK=1: in a quarter of an hour)
	$(IN) $(LAB) bench $(if $(QUICK),--quick) $(BENCH)

bench-fold: kernel ## how long a fold takes, beside a real offline
	@scripts/bench-fold.sh

bench-hooks: kernel ## guest instructions with hooks unclaimed, and claimed, against the stock kernel
	@scripts/bench-hooks.sh

bench-pack: kernel ## where busy threads run on ranked CPUs, beside the stock kernel
	@scripts/bench-pack.sh

bench-decide: ## host time of what a period decides, for up to 8192 CPUs
	@scripts/tools.sh period

bench-period: kernel ## guest instructions of a period of the governor (POLICY=name)
	@POLICY="$(POLICY)" scripts/bench-period.sh

lint: tree ## rustfmt, clippy, checkpatch, kernel-doc, shellcheck, reuse
	@scripts/lint.sh

refresh: toolchain ## bring edits of build/linux-7.3.y back into overlay and queue (PATCH=name)
	@PATCH="$(PATCH)" scripts/refresh.sh

discard: toolchain ## drop unsaved edits of build/linux-7.3.y
	@scripts/kernel-tree.sh discard

clean: ## remove build/ (caches outside stay: see scripts/lib.sh)
	rm -rf build
