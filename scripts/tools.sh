#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# tools.sh build|test|period: the host programs, with the machine's own cargo; how long a period's decisions take.

. "$(dirname "$0")/lib.sh"

command -v cargo >/dev/null || die "the program 'cargo' is missing: install the Rust toolchain with rustup"
need cc gcc
CARGO=(--locked --manifest-path "$TOP/tools/Cargo.toml" --target-dir "$BUILD/tools")
case ${1:-} in
build) logged tools "Building the host programs" cargo build --release "${CARGO[@]}" ;;
test) logged host-tests "Testing the host programs and the pure files" cargo test --workspace "${CARGO[@]}" ;;
period)
	cargo test --release "${CARGO[@]}" -p corefold-policy --test period -- --nocapture |
		sed -n 's/^\([0-9]* CPUs, .* us\)$/  \1/p'
	;;
*) die "usage: tools.sh build|test|period" ;;
esac
