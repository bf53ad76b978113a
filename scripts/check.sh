#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# check.sh ARCH...: every test: host, and for each architecture KUnit, kselftests in guests on the debug kernel, a short lab
# run. A stage that fails does not stop the others. The last line is 'N passed, M failed'.

. "$(dirname "$0")/lib.sh"

PASSED=0 FAILED=0 ARCHES=()

# count LOG: add up what the stage's own runner counted.
count() {
	local passed=0 failed=0
	case $1 in
	host-tests)
		read -r passed failed < <(sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed.*/\1 \2/p' "$LOGS/$1.log" |
			awk '{ p += $1; f += $2 } END { print p + 0, f + 0 }')
		;;
	kunit)
		read -r passed failed < <(awk '/Testing complete\. Ran/ {
				for (i = 1; i < NF; i++) {
					if ($i ~ /^passed:/) p = $(i + 1) + 0
					if ($i ~ /^(failed|crashed|errors):/) f += $(i + 1)
				}
			} END { print p + 0, f + 0 }' "$LOGS/$1.log")
		;;
	*)
		passed=$(grep -cE '^ok [0-9]+' "$LOGS/$1.out" || true)
		failed=$(grep -cE '^not ok [0-9]+' "$LOGS/$1.out" || true)
		;;
	esac
	PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed))
	STAGE_PASSED=$passed STAGE_FAILED=$failed
}

# stage ARCH NAME: make NAME; a stage that fails, or that ran no test, is itself a failure.
stage() {
	local arch=$1 name=$2 status=0
	LOGS=$(logs_of "$arch")
	mkdir -p "$LOGS"
	say "$name ($arch):"
	# It may fail before it has a log.
	: >"$LOGS/$name.log"
	make --no-print-directory "$name" ARCH="$arch" 2>&1 | tee "$LOGS/$name.out" >&2 || status=$?
	count "$name"
	if { [ $status != 0 ] && [ "$STAGE_FAILED" = 0 ]; } || [ "$STAGE_PASSED" = 0 ]; then
		FAILED=$((FAILED + 1))
		say "  $name ($arch) failed (status $status)"
	fi
	say "  $name ($arch): $STAGE_PASSED passed, $STAGE_FAILED failed ($SECONDS s so far)"
}

cd "$TOP"
# By the names that the kernel has for them.
for arch; do
	ARCHES+=("$(ARCH=$arch bash -c '. scripts/lib.sh && echo "$ARCH"')")
done
stage "${ARCHES[0]}" host-tests
for arch in "${ARCHES[@]}"; do
	for name in kunit selftests lab; do stage "$arch" "$name"; done
done

printf '%d passed, %d failed\n' "$PASSED" "$FAILED"
[ "$FAILED" = 0 ]
