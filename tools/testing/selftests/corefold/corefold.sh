# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# shellcheck disable=SC2034 # Used by the tests.
#
# What the shell tests share. A test says plan N, then check TEXT COMMAND... N times, then finish.

HERE=$(dirname "$(readlink -f "$0")")
cd "$HERE" || exit 1
# shellcheck disable=SC1091 # Of the kernel tree.
. ../kselftest/ktap_helpers.sh

DEBUG=/sys/kernel/debug
COREFOLD=$DEBUG/corefold
LAB=$DEBUG/corefold_lab
CPUS=/sys/devices/system/cpu
# The number of possible CPUs, for what tests work out before they say plan.
ALL=$(($(sed 's/.*[-,]//' $CPUS/possible) + 1))
MODULES=${MODULES:-/lib/corefold}
KNOBS='enabled policy interval_ms steal_high_bp steal_low_bp confirm floor_cores steal_capacity
	guard guard_gap asym_levels rank_steal'
SHOWN='status cores ranks domains history events'

cleanup() {
	# shellcheck disable=SC2046 # Process numbers are words.
	kill -9 $(cat /tmp/corefold-jobs.$$ 2>/dev/null) 2>/dev/null
	rm -f /tmp/corefold-jobs.$$
	wait
	unload corefold
	unload corefold_lab_pack
	unload corefold_lab
}

plan() {
	[ "$(id -u)" = 0 ] || { ktap_skip_all "needs root"; exit "$KSFT_SKIP"; }
	[ -e "$MODULES/corefold.ko" ] || modinfo corefold >/dev/null 2>&1 || {
		ktap_skip_all "there is no corefold module"
		exit "$KSFT_SKIP"
	}
	ktap_print_header
	ktap_set_plan "$1"
	trap cleanup EXIT
	ONLINE=$(cat $CPUS/online)
	AFFINITY=$(own_affinity)
}

check() {
	text=$1
	shift
	if "$@"; then
		ktap_test_pass "$text"
	else
		ktap_test_fail "$text"
		explain
	fi
}

# What a reader of a failure wants to know.
explain() {
	echo "# soft_offline: '$(mask)', online: $(cat $CPUS/online)"
	[ ! -e $COREFOLD/status ] || sed 's/^/# status: /' $COREFOLD/status
	[ ! -e $COREFOLD/events ] || echo "# events: $(tr '\n' ' ' <$COREFOLD/events)"
	[ ! -e $COREFOLD/history ] || tail -n 12 $COREFOLD/history | sed 's/^/# history: /'
	dmesg | tail -n 4 | sed 's/^/# dmesg: /'
}

# The number of passed tests decides.
left() {
	echo "# left $1"
	KTAP_CNT_PASS=0
}

# The test must leave the machine as it was.
finish() {
	cleanup
	trap - EXIT
	[ -z "$(mask)" ] || left "folded: $(mask)"
	[ "$(cat $CPUS/online)" = "$ONLINE" ] || left "online: $(cat $CPUS/online)"
	[ "$(own_affinity)" = "$AFFINITY" ] || left "affinity: $(own_affinity)"
	ktap_finished
}

# Run in the background until the end of the test, or until stop; its process number is in $job.
background() {
	"$@" >/dev/null 2>&1 &
	job=$!
	echo $job >>/tmp/corefold-jobs.$$
}

# A killed job's children die with it (PR_SET_PDEATHSIG).
stop() {
	kill -9 "$1" 2>/dev/null
	wait "$1" 2>/dev/null
	return 0
}

load() {
	module=$1
	shift
	if [ -e "$MODULES/$module.ko" ]; then
		insmod "$MODULES/$module.ko" "$@" 2>/tmp/insmod.err
	else
		modprobe "$module" "$@" 2>/tmp/insmod.err
	fi
}

loaded() { grep -q "^$1 " /proc/modules; }
unload() { ! loaded "$1" || rmmod "$1" 2>/tmp/rmmod.err; }
load_lab() { load corefold_lab inject=1; }

# Sampling fast, as tests do.
load_fast() { load_lab && load corefold interval_ms=100; }

# What follows reads and writes without a new program, of which there would be very many.
first_line() { read -r line <"$1"; echo "$line"; } 2>/dev/null
mask() { first_line $CPUS/soft_offline; }
own_affinity() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status; }
# times COUNT COMMAND...: until one fails.
times_do() {
	count=$1
	shift
	while [ "$count" -gt 0 ]; do
		"$@" || return 1
		count=$((count - 1))
	done
}
# field FILE NAME: what follows NAME in its line.
field() {
	while read -r line; do
		case $line in
		"$2 "*) echo "${line#* }"; return ;;
		esac
	done <"$1"
}
status() { field $COREFOLD/status "$1:"; }
event() { field $COREFOLD/events "$1"; }
# The highest level of the topology on which CPU 0 can be packed.
level() { awk '$1 != "SMT" && $4 !~ /NUMA/ && $2 ~ /^0/ { name = $1 } END { print name }' $COREFOLD/domains; }
knob() { first_line "$COREFOLD/$1"; }
set_knob() { printf '%s' "$2" >"$COREFOLD/$1"; } 2>/dev/null

# until_true SECONDS COMMAND...
until_true() {
	tries=$(($1 * 10))
	shift
	while ! "$@"; do
		[ $tries -gt 0 ] || return 1
		tries=$((tries - 1))
		usleep 100000
	done
}

# for_long SECONDS COMMAND...: it holds all the time.
for_long() {
	tries=$(($1 * 10))
	shift
	while [ $tries -gt 0 ]; do
		"$@" || return 1
		tries=$((tries - 1))
		usleep 100000
	done
}

not() { ! "$@"; }
is_empty() { [ -z "$(mask)" ]; }
is_folded() { [ -n "$(mask)" ]; }
active_is() { [ "$(status active_cores)" = "$1" ]; }
active_at_least() { [ "$(status active_cores)" -ge "$1" ]; }
state_is() { [ "$(status state)" = "$1" ]; }
said() { dmesg | tail -n "${2:-30}" | grep -qi "$1"; }
online() { echo "$2" >"$CPUS/cpu$1/online"; }

# All CPUs busy, so that steal is accounted as it comes.
start_load() {
	background ./load "$((ALL + 1))"
	LOAD=$job
}

# start_steal PERCENT|grant=CPUS [CPULIST]
start_steal() {
	background ./steal "$1" "${2:-$ONLINE}"
	STEAL=$job
}

stop_steal() { stop "$STEAL"; }

# It works: with steal it folds to the floor, without it unfolds.
folds_and_unfolds() {
	start_steal 60
	until_true 20 active_is "$(status floor_cores)" || { stop_steal; return 1; }
	stop_steal
	until_true 30 is_empty
}
