#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# bench-period.sh: what a period of the governor costs that finds nothing to change: guest instructions, counted by the
# emulator (-icount), not timed. From two CPUs to as many as boot: build/results/period.json.

. "$(dirname "$0")/lib.sh"

SIZES=${SIZES:-2 4 8 16 32 64} PERIODS=${PERIODS:-100} LIMIT=${LIMIT:-600}
RESULT=$BUILD/results/period.json

# run CPUS
run() {
	boot_counting -s "$1" -m 2G -t "$LIMIT" -l "$LOGS/bench-period-$1.log" \
		bench-period "$PERIODS" ${POLICY:+"policy=$POLICY"}
}

# Periods counted, least, median and greatest of their instructions.
statistics() {
	tr -d '\r' <"$LOGS/bench-period-$1.log" | sed -n 's/^insns \([0-9]*\)$/\1/p' | sort -n |
		awk '{ n++; x[n] = $1 } END { if (n) print n, x[1], x[int((n + 1) / 2)], x[n] }'
}

say "  Counting the instructions of $PERIODS periods for each of $SIZES CPUs (logs: build/logs/bench-period-*)"
rows=
printf '%6s %14s %14s %14s %14s\n' CPUs instructions per-CPU least greatest
for cpus in $SIZES; do
	if ! run "$cpus"; then
		say "  $cpus CPUs did not finish, see build/logs/bench-period-$cpus.log"
		break
	fi
	read -r n least median greatest < <(statistics "$cpus") || die "no period was counted, see build/logs/bench-period-$cpus.log"
	printf '%6d %14d %14d %14d %14d\n' "$cpus" "$median" $((median / cpus)) "$least" "$greatest"
	rows+="${rows:+,}
    {\"vcpus\": $cpus, \"periods\": $n, \"insns\": $median, \"insns_per_cpu\": $((median / cpus)), \"min\": $least, \"max\": $greatest}"
done
[ -n "$rows" ] || die "no guest finished"
mkdir -p "$(dirname "$RESULT")"
printf '{\n  "policy": "%s",\n  "rows": [%s\n  ]\n}\n' "${POLICY:-default}" "$rows" >"$RESULT"
say "  Results: ${RESULT#"$TOP"/}"
