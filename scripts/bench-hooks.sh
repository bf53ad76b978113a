#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# bench-hooks.sh: what the hooks cost while nobody claims them, and with CPUs ranked and packed. The same load on the stock
# kernel and on ours, counted in guest instructions by the emulator (-icount), not timed: build/results/hooks.json.

. "$(dirname "$0")/lib.sh"

ROUNDS=${ROUNDS:-100} UNCLAIMED_LIMIT=0.002 CLAIMED_LIMIT=0.005
# Few tasks: with many, chance in who meets whom decides more than any hook does. Long rounds: where ranks are claimed, tasks
# that begin are moved once or twice, which is what packing is for, and half a per cent of a round a tenth as long.
LOAD=(hackbench -p -g 1 -f 1 -l 50000)
RESULT=$BUILD/results/hooks.json

# run NAME [VARIANT]
run() {
	local claimed=
	[ "$1" != claimed ] || claimed=claimed
	boot_counting ${2:+-k "$2"} -s 4 -t 1800 -l "$LOGS/bench-hooks-$1.log" \
		bench-hooks $claimed "$ROUNDS" "${LOAD[@]}"
}

# Rounds, mean, and standard error of the mean.
statistics() {
	tr -d '\r' <"$LOGS/bench-hooks-$1.log" | awk '
		/^insns [0-9]+$/ { n++; sum += $2; squares += $2 * $2 }
		END { if (n > 1) printf "%d %.1f %.1f\n", n, sum / n, sqrt((squares / n - (sum / n) ^ 2) / (n - 1)) }'
}

# against_stock NAME: the figures of a run, as members of the result.
against_stock() {
	awk -v name="$1" -v stock="$(statistics stock)" -v ours="$(statistics "$1")" 'BEGIN {
		split(stock, a)
		split(ours, b)
		ratio = b[2] / a[2]
		printf "  \"%s_insns\": %.0f,\n  \"%s_ratio\": %.5f,\n", name, b[2], name, ratio
		printf "  \"%s_standard_error\": %.5f", name, ratio * sqrt((a[3] / a[2]) ^ 2 + (b[3] / b[2]) ^ 2)
	}'
}

# within NAME LIMIT TEXT
within() {
	awk -v ratio="$(sed -n "s/.*\"$1_ratio\": \([0-9.]*\).*/\1/p" "$RESULT")" -v limit="$2" \
		'BEGIN { exit !(ratio < 1 + limit && ratio > 1 - limit) }' || die "$3"
}

build_stock
say "  Counting instructions of $ROUNDS rounds of '${LOAD[*]}' on both kernels (logs: build/logs/bench-hooks-*)"
run stock stock &
stock=$!
run unclaimed
wait "$stock"
run claimed
for name in stock unclaimed claimed; do
	rounds=$(statistics $name)
	[ "${rounds%% *}" = "$ROUNDS" ] || die "a guest did not count $ROUNDS rounds, see build/logs/bench-hooks-$name.log"
done

mkdir -p "$(dirname "$RESULT")"
cat >"$RESULT" <<-END
	{
	  "load": "${LOAD[*]}",
	  "rounds": $ROUNDS,
	  "stock_insns": $(statistics stock | awk '{ printf "%.0f", $2 }'),
	$(against_stock unclaimed),
	$(against_stock claimed)
	}
END
cat "$RESULT"
within unclaimed $UNCLAIMED_LIMIT "unclaimed hooks change the number of instructions by more than 0.2 %"
within claimed $CLAIMED_LIMIT "ranked CPUs change the number of instructions by more than 0.5 %"
