#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Where there is no steal source the module refuses to load and says so, unless it is forced; then
# it never folds.

. "$(dirname "$0")/corefold.sh"
case $(uname -m) in
s390x | ppc64le)
	ktap_skip_all "there always is a steal source here"
	exit "$KSFT_SKIP"
	;;
esac
plan 9

dmesg -c >/dev/null
check "refuses to load without a steal source" not load corefold
check "is not loaded" not loaded corefold
check "says why" said 'corefold.*steal'
check "leaves no debugfs directory" not test -e $COREFOLD
check "loads when forced" load corefold force=1 interval_ms=100
start_load
check "does not fold without a source" for_long 1 is_empty
check "says that there is no source" test "$(status source)" = none
check "unloads" unload corefold
load_lab
check "loads with a source" load corefold
finish
