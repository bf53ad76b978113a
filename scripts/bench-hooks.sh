#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# bench-hooks.sh: what the hooks cost while nobody claims them. The same load on the stock kernel and on ours, counted in
# guest instructions by the emulator (-icount), not timed: build/results/hooks.json.

. "$(dirname "$0")/lib.sh"

ROUNDS=${ROUNDS:-1000} LIMIT=0.002
# Few tasks: with many, chance in who meets whom decides more than any hook does.
LOAD=(hackbench -p -g 1 -f 1 -l 5000)
RESULT=$BUILD/results/hooks.json

# run NAME [VARIANT]: one instruction is one nanosecond of the guest's clock.
run() {
	"$TOP/scripts/boot.sh" ${2:+-k "$2"} -s 4 -c tcg,thread=single -t 1800 -l "$LOGS/bench-hooks-$1.log" \
		-a 'kunit.enable=0 nokaslr' -q '-icount shift=0,sleep=off -rtc base=2026-01-01,clock=vm' \
		bench-hooks "$ROUNDS" "${LOAD[@]}"
}

# Rounds, mean, and standard error of the mean.
statistics() {
	tr -d '\r' <"$LOGS/bench-hooks-$1.log" | awk '
		/^insns [0-9]+$/ { n++; sum += $2; squares += $2 * $2 }
		END { if (n > 1) printf "%d %.1f %.1f\n", n, sum / n, sqrt((squares / n - (sum / n) ^ 2) / (n - 1)) }'
}

"$TOP/scripts/kernel-tree.sh" stock
"$TOP/scripts/kernel.sh" stock bzImage
"$TOP/scripts/selftests-build.sh" stock
"$TOP/scripts/selftests-build.sh"
say "  Counting instructions of $ROUNDS rounds of '${LOAD[*]}' on both kernels (logs: build/logs/bench-hooks-*)"
run stock stock &
stock=$!
run hooks
wait "$stock"
read -r n_stock mean_stock error_stock < <(statistics stock)
read -r n_hooks mean_hooks error_hooks < <(statistics hooks)
[ "$n_stock" = "$ROUNDS" ] && [ "$n_hooks" = "$ROUNDS" ] || die "a guest did not count $ROUNDS rounds, see build/logs/bench-hooks-*"

mkdir -p "$(dirname "$RESULT")"
awk -v n="$ROUNDS" -v load="${LOAD[*]}" -v a="$mean_stock" -v ea="$error_stock" -v b="$mean_hooks" -v eb="$error_hooks" '
	BEGIN {
		printf "{\n  \"load\": \"%s\",\n  \"rounds\": %d,\n", load, n
		printf "  \"stock_insns\": %.0f,\n  \"unclaimed_insns\": %.0f,\n", a, b
		printf "  \"unclaimed_ratio\": %.5f,\n", b / a
		printf "  \"standard_error\": %.5f\n}\n", b / a * sqrt((ea / a) ^ 2 + (eb / b) ^ 2)
	}' >"$RESULT"
cat "$RESULT"
awk -v ratio="$(sed -n 's/.*"unclaimed_ratio": \([0-9.]*\).*/\1/p' "$RESULT")" -v limit="$LIMIT" \
	'BEGIN { exit !(ratio < 1 + limit && ratio > 1 - limit) }' ||
	die "the hooks change the number of instructions by more than 0.2 %"
