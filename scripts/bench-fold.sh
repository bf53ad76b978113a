#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# bench-fold.sh: how long a fold takes to get 100 runnable fair tasks off a core, in guest time, beside a real offline of
# the same core under the same load. Medians, in milliseconds: build/results/fold.json.

. "$(dirname "$0")/lib.sh"

ROUNDS=${ROUNDS:-5} TASKS=100 LIMIT_MS=50
LOG=$LOGS/bench-fold.log RESULT=$BUILD/results/fold.json

# rounds KIND: the times of all rounds, sorted.
rounds() { tr -d '\r' <"$LOG" | sed -n "s/^$1_ms \([0-9.]*\)$/\1/p" | sort -n; }
median() { rounds "$1" | sed -n "$((ROUNDS / 2 + 1))p"; }
list() { rounds "$1" | paste -sd, | sed 's/,/, /g'; }

"$TOP/scripts/selftests-build.sh"
say "  Measuring $ROUNDS folds and $ROUNDS offlines of a core with $TASKS tasks (log: build/logs/bench-fold.log)"
"$TOP/scripts/boot.sh" -t 600 -a kunit.enable=0 -l "$LOG" bench-fold "$ROUNDS" "$TASKS"
evacuate=$(median evacuate) offline=$(median offline)
[ -n "$evacuate" ] && [ -n "$offline" ] || die "the guest did not measure $ROUNDS rounds, see build/logs/bench-fold.log"

mkdir -p "$(dirname "$RESULT")"
cat >"$RESULT" <<-END
	{
	  "tasks": $TASKS,
	  "evacuate_ms": $evacuate,
	  "offline_ms": $offline,
	  "evacuate_rounds_ms": [$(list evacuate)],
	  "offline_rounds_ms": [$(list offline)]
	}
END
printf 'fold:    %8.1f ms until the core is empty (median of %d: %s)\n' "$evacuate" "$ROUNDS" "$(list evacuate)"
printf 'offline: %8.1f ms until the core is empty (median of %d: %s)\n' "$offline" "$ROUNDS" "$(list offline)"
awk -v ms="$evacuate" -v limit="$LIMIT_MS" 'BEGIN { exit !(ms <= limit) }' || die "a fold takes more than $LIMIT_MS ms"
