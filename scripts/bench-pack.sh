#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# bench-pack.sh: where busy threads run, on the stock kernel and on ours: build/results/pack.json. Shares are of run time.
#
# guard: a ring of threads at home in the slow one of two caches with eight CPUs each, for each policy of the cache guard:
# the share that they run in the fast one once settled, and how often one was moved down from there, from the beginning.
# s390: 48 CPUs ranked as those of a measured LPAR: the share on the four vertical-high CPUs, of as many tasks; with two
# threads per core, of as many tasks as these are cores.

. "$(dirname "$0")/lib.sh"

ROUNDS=${ROUNDS:-3} LIMIT=0.99 STUCK=0.5
RESULT=$BUILD/results/pack.json

# run KERNEL NAME SMP LOAD...
run() {
	local kernel=$1 name=$2 smp=$3 variant=
	shift 3
	[ "$kernel" = hooks ] || variant=$kernel
	say "  $name on the $kernel kernel (log: build/logs/bench-pack-$name-$kernel.log)"
	"$TOP/scripts/boot.sh" ${variant:+-k "$variant"} -s "$smp" -t 900 -l "$LOGS/bench-pack-$name-$kernel.log" \
		-a kunit.enable=0 bench-pack "$kernel" "$@" ||
		die "the guest did not measure, see build/logs/bench-pack-$name-$kernel.log"
}

both() {
	run stock "$@"
	run hooks "$@"
}

lines() { tr -d '\r' <"$LOGS/bench-pack-$1.log"; }

# The objects of all policies, from "caches POLICY THREADS BP MS MOVES SETTLING-MOVES".
guard() {
	{ lines guard-stock; lines guard-hooks; } | awk '
		$1 != "caches" { next }
		!($2 in seen) { seen[$2] = ++n; name[n] = $2 }
		{
			item[$2] = item[$2] sprintf("%s\n      \"threads%d\": { \"fast_share\": %.4f, \"moves_down\": %d }",
						    item[$2] == "" ? "" : ",", $3, $4 / 10000, $6 + $7)
		}
		END {
			for (i = 1; i <= n; i++)
				printf "    \"%s\": {%s\n    }%s\n", name[i], item[name[i]], i < n ? "," : ""
		}'
}

# The mean of the rounds, from "lpar BP MS MOVES".
top_share() { lines "$1" | awk '$1 == "lpar" { n++; sum += $2 } END { if (n) printf "%.4f", sum / n / 10000 }'; }

write_result() {
	mkdir -p "$(dirname "$RESULT")"
	cat >"$RESULT" <<-END
		{
		  "guard": {
		$(guard)
		  },
		  "s390": {
		    "cpus": 48, "top_cpus": 4, "tasks": 4, "rounds": $ROUNDS,
		    "top_share": $(top_share s390-hooks),
		    "stock_top_share": $(top_share s390-stock),
		    "smt2": {
		      "tasks": 2,
		      "top_share": $(top_share s390-smt2-hooks),
		      "stock_top_share": $(top_share s390-smt2-stock)
		    }
		  }
		}
	END
}

# What is not as it has to be. While there are fewer threads than fast CPUs, one of these is always idle.
complaints() {
	lines guard-hooks | awk -v limit="$LIMIT" -v stuck="$STUCK" '
		$1 != "caches" || $3 != 4 { next }
		{ share = $4 / 10000; down = $6 + $7 }
		($2 == "asym" || $2 == "strict") && share < limit { print $2 ": only " share " of the run time is fast" }
		$2 == "strict" && down { print "strict: threads were moved down " down " times" }
		$2 == "llc" && share > stuck { print "llc: threads are not stuck, " share " of the run time is fast" }'
	for name in s390-hooks s390-smt2-hooks; do
		awk -v share="$(top_share $name)" -v limit="$LIMIT" -v name=$name '
			BEGIN { if (share < limit) print name ": only " share " of the run time is on the best CPUs" }'
	done
}

show() {
	{ lines guard-stock; lines guard-hooks; } | awk '
		$1 == "caches" { printf "guard %-7s %d threads: %6.2f %% fast, %d moved down\n", $2, $3, $4 / 100, $6 + $7 }'
	for name in s390 s390-smt2; do
		printf '%-10s best CPUs: %s of the run time, stock kernel %s\n' $name "$(top_share $name-hooks)" "$(top_share $name-stock)"
	done
}

build_stock
both guard 16,sockets=2,cores=8 caches 4 8
both s390 48,sockets=4,cores=12 lpar "$ROUNDS" 4
both s390-smt2 48,sockets=4,cores=6,threads=2 lpar "$ROUNDS" 2
write_result
show
failed=$(complaints)
[ -z "$failed" ] || die "$failed"
