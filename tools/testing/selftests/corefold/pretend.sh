#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Where a logical partition packs by default, a machine that pretends to be one does.

. "$(dirname "$0")/corefold.sh"
SCHED=$DEBUG/sched
case $(uname -m) in
s390x) known='MC|BOOK|DRAWER' ;;
ppc64le) known='CACHE|MC|PKG' ;;
*)
	ktap_skip_all "no logical partition packs here"
	exit "$KSFT_SKIP"
	;;
esac
flags() { cat $SCHED/domains/cpu*/domain*/flags; }
as_before() { [ "$(flags)" = "$BEFORE" ]; }
all_known() { echo "$(knob asym_levels)," | grep -Eqx "(($known),)+"; }
packs() { flags | grep -q ASYM_PACKING; }

plan 8
echo Y >$SCHED/verbose
BEFORE=$(flags)
load_lab
check "loads" load corefold interval_ms=100 pretend=1
check "the levels to pack on are those of the architecture" all_known
check "domains pack" packs
check "by ranks of corefold" test "$(status ranks)" = corefold
check "the administrator can have none" set_knob asym_levels none
check "then domains are as they were" as_before
check "unloads while it packs" eval 'set_knob asym_levels MC,BOOK || set_knob asym_levels PKG && unload corefold'
check "domains are as they were" as_before
finish
