#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Run soft_offline_test with the module that it drives.

. "$(dirname "$0")/corefold.sh"
load_lab || { ktap_skip_all "corefold_lab does not load"; exit "$KSFT_SKIP"; }
trap 'unload corefold_lab' EXIT
./soft_offline_test "$@"
