#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# selftests.sh [-k VARIANT] [GROUP...]: build the kselftests of tools/testing/selftests/corefold, run them in booted guests
# of several shapes on the debug kernel (or build/ARCH[-VARIANT]), and count. ROUNDS=N sets the load/unload rounds,
# TESTS="a b" replaces the tests of the groups. Results: build/logs/selftests.ktap, one line per test.

. "$(dirname "$0")/lib.sh"

VARIANT=debug
while getopts k: option; do
	case $option in
	k) VARIANT=${OPTARG#none} ;;
	*) die "usage: see the head of scripts/selftests.sh" ;;
	esac
done
shift $((OPTIND - 1))

[ "$ARCH" = x86_64 ] && ROUNDS=${ROUNDS:-1000} || ROUNDS=${ROUNDS:-100}
KTAP=$LOGS/selftests.ktap

# What a whole run takes. An emulated s390 needs a tenth of a second for each process: there 'more' is run if it is named.
case $ARCH in
x86_64) ALL=(smt flat caches single numa) ;;
s390) ALL=(flat sched) ;;
powerpc) ALL=(flat smt) ;;
esac

# group NAME: the guest's shape in SMP, extra kernel and QEMU arguments, and its tests.
group() {
	APPEND='' QEMU=''
	case $ARCH-$1 in
	s390-flat)
		# Without a topology to read there is but the level PKG; so there is MC, of all CPUs.
		SMP=4 APPEND=topology=on
		SUITE='load.sh params.sh knobs.sh claim.sh rounds.sh fold.sh proportional.sh ranks.sh'
		;;
	s390-sched)
		SMP=4 APPEND=topology=on
		SUITE='soft_offline.sh hotplug.sh asym.sh guard.sh pretend.sh samples.sh s5.sh'
		;;
	s390-more)
		SMP=4 APPEND=topology=on
		SUITE='wild_steal.sh unload.sh partition.sh'
		;;
	powerpc-flat)
		SMP=4
		SUITE='load.sh params.sh knobs.sh steal_capacity.sh wild_steal.sh claim.sh unload.sh rounds.sh'
		# It leaves counters that cannot be set back.
		SUITE+=' lppaca.sh'
		;;
	powerpc-smt)
		SMP=12,sockets=1,cores=3,threads=4
		SUITE='soft_offline.sh hotplug.sh partition.sh fold.sh asym.sh guard.sh ranks.sh pretend.sh samples.sh s5.sh'
		;;
	x86_64-smt)
		SMP=6,sockets=1,cores=3,threads=2
		SUITE='soft_offline.sh asym.sh lpar.sh ranks.sh hotplug.sh partition.sh samples.sh s5.sh'
		;;
	x86_64-flat)
		SMP=4
		SUITE='load.sh params.sh knobs.sh steal_capacity.sh proportional.sh wild_steal.sh claim.sh unload.sh'
		;;
	x86_64-caches)
		# Each socket has a cache of its own, and both are one node.
		SMP=8,sockets=2,cores=4,threads=1
		SUITE='asym.sh guard.sh lpar.sh ranks.sh'
		;;
	x86_64-numa)
		SMP=4,sockets=2,cores=2,threads=1
		QEMU='-object memory-backend-ram,id=m0,size=512M -object memory-backend-ram,id=m1,size=512M'
		QEMU+=' -numa node,memdev=m0,cpus=0-1 -numa node,memdev=m1,cpus=2-3'
		SUITE='soft_offline.sh asym.sh guard.sh fold.sh suspend.sh lockdown.sh'
		;;
	x86_64-single)
		SMP=1
		SUITE='load.sh single_cpu.sh asym.sh guard.sh rounds.sh'
		;;
	*) die "no such group on $ARCH: $1 (${ALL[*]})" ;;
	esac
	SUITE=${TESTS:-$SUITE}
}

# run GROUP: boot it; leaves LOGS/selftests-GROUP.{out,log,status}.
run() {
	local status=0 out=${LOGS#"$TOP"/}/selftests-$1.out
	group "$1"
	rm -f "$TOP/$out"
	# shellcheck disable=SC2086 # The suite is words.
	"$TOP/scripts/boot.sh" ${VARIANT:+-k "$VARIANT"} -s "$SMP" -t $((1200 + ROUNDS)) -l "$LOGS/selftests-$1.log" \
		-a "kunit.enable=0 suspend.pm_test_delay=1 corefold.rounds=$ROUNDS $APPEND" \
		-o "$out" -q "$QEMU" selftests $SUITE 2>"$LOGS/selftests-$1.status" || status=$?
	echo "$status" >>"$LOGS/selftests-$1.status"
}

# Flatten the guest's output into result lines without numbers. A test that did not keep its plan, or that ended
# badly without saying which part failed, is a failure of its own; what was skipped is a comment.
flatten() {
	tr -d '\r' <"$LOGS/selftests-$1.out" 2>/dev/null | awk -v group="$1" '
	function line(result, text) { print result " " group "/" test ": " text }
	function finish() {
		if (status == 4 && !bad && plan <= 0) print "# skipped " group "/" test ": " reason
		else if (plan < 0 || seen != plan) line("not ok", "ran " seen " of " (plan < 0 ? "?" : plan) " tests, status " status)
		else if (status != "0" && !bad) line("not ok", "ended with status " status)
		test = ""
	}
	/^@begin / { if (test != "") { status = "none"; finish() }; test = $2; plan = -1; seen = bad = 0; next }
	/^@end / { status = $3; finish(); next }
	test == "" { next }
	/^1\.\.0 # SKIP/ { reason = substr($0, 13) }
	/^1\.\.[0-9]+/ { split($1, part, /\.\./); plan = part[2]; next }
	/^(ok|not ok) [0-9]+/ {
		seen++
		result = $1 == "ok" ? "ok" : "not ok"
		text = $0
		sub(/^(not )?ok [0-9]+ *-? */, "", text)
		sub(/ +$/, "", text)
		if (text ~ /# SKIP/) { print "# skipped " group "/" test ": " text; next }
		if (result == "not ok") bad++
		line(result, text)
		next
	}
	/^# +(RUN|OK) / { next }
	/^# / { print "#   " $0 }
	END { if (test != "") { status = "none"; finish() } }'
}

# The guest itself: it must end in time, with a clean log.
verdict() {
	local status
	status=$(tail -n 1 "$LOGS/selftests-$1.status")
	if [ "$status" = 0 ]; then
		echo "ok $1: the guest ended with a clean kernel log"
	else
		echo "not ok $1: the guest ended with a clean kernel log (status $status)"
		sed '$d; s/^/#   /' "$LOGS/selftests-$1.status"
	fi
}

report() {
	local name
	for name; do
		flatten "$name"
		verdict "$name"
	done | awk -v whole="$WHOLE" '
	function name() {
		text = $0
		sub(/^[^\/]*\//, "", text)
		sub(/ *# SKIP.*/, "", text)
		return text
	}
	/^# skipped / { skipped[name()] = 1; print; next }
	/^(ok|not ok) / { ran[name()] = 1; sub(/ok /, "ok " ++count " ") }
	{ print }
	END {
		# What no guest could run was not tested.
		for (text in skipped)
			if (whole && !(text in ran)) print "not ok " ++count " " text " was skipped everywhere"
		print "1.." count + 0
	}'
}

GROUPS_=("$@") WHOLE=
if [ $# = 0 ]; then
	GROUPS_=("${ALL[@]}")
	# There each test finds a guest that it can run in.
	[ "$ARCH" != x86_64 ] || WHOLE=1
fi
for name in "${GROUPS_[@]}"; do group "$name"; done
for test in ${TESTS:-}; do
	[ -e "$TOP/tools/testing/selftests/corefold/$test" ] || die "there is no test $test in tools/testing/selftests/corefold"
done
"$TOP/scripts/selftests-build.sh" ${VARIANT:+"$VARIANT"}
say "  Booting ${#GROUPS_[@]} guests: ${GROUPS_[*]} (logs: ${LOGS#"$TOP"/}/selftests-*)"
# Two at a time: a guest's boot keeps one host CPU busy only.
for name in "${GROUPS_[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n || true; done
	run "$name" &
done
wait
report "${GROUPS_[@]}" >"$KTAP"
cat "$KTAP"
passed=$(grep -c '^ok ' "$KTAP" || true)
failed=$(grep -c '^not ok ' "$KTAP" || true)
say "selftests: $passed passed, $failed failed, $(grep -c '^# skipped' "$KTAP" || true) skipped ($SECONDS s)"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
