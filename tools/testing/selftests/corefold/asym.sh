#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Run asym_test with the module that it drives.

. "$(dirname "$0")/corefold.sh"
load corefold_lab_pack || { ktap_skip_all "corefold_lab_pack does not load"; exit "$KSFT_SKIP"; }
trap 'unload corefold_lab_pack' EXIT
./asym_test "$@"
