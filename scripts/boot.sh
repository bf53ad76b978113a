#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# boot.sh [-k VARIANT] [-s SMP] [-m MEMORY] [-t SECONDS] [-a "KERNEL ARGUMENTS"] [-q "QEMU ARGUMENTS"] [-l LOG] [-c ACCELERATOR] [RUN [ARGUMENT...]]
#
# Boot the kernel of build/ARCH[-VARIANT] under emulation. Without RUN: an interactive shell. With it, the
# guest runs /run/RUN and powers off; the console goes to LOG, and the exit status is that of RUN, or 1 if
# the kernel log has a splat, or 124 after SECONDS.

. "$(dirname "$0")/lib.sh"

VARIANT='' SMP=4 MEMORY=1G LIMIT=600 APPEND='' QEMU_ARGS='' LOG='' ACCEL=tcg,thread=multi
while getopts k:s:m:t:a:q:l:c: option; do
	case $option in
	k) VARIANT=$OPTARG ;;
	s) SMP=$OPTARG ;;
	m) MEMORY=$OPTARG ;;
	t) LIMIT=$OPTARG ;;
	a) APPEND=$OPTARG ;;
	q) QEMU_ARGS=$OPTARG ;;
	l) LOG=$OPTARG ;;
	c) ACCEL=$OPTARG ;;
	*) die "usage: see the head of scripts/boot.sh" ;;
	esac
done
shift $((OPTIND - 1))

OUT=build/$ARCH${VARIANT:+-$VARIANT}
RUN=${1:-}
[ $# = 0 ] || shift

case $ARCH in
x86_64)
	# KASAN takes the addresses of five-level paging for wild ones, so early.
	# The emulator runs the string instructions that these features recommend byte by byte.
	QEMU=(qemu-system-x86_64 -M q35 -cpu 'max,la57=off,erms=off,fsrm=off,fzrm=off,fsrs=off,fsrc=off' -kernel "$OUT/arch/x86/boot/bzImage")
	# A busy host may not deliver the timer interrupts in time that the kernel's check of the timer counts.
	CONSOLE='console=ttyS0 no_timer_check'
	;;
*) die "ARCH=$ARCH is not known: x86_64 is" ;;
esac

WORDS=$(IFS=,; printf '%s' "$*")
# shellcheck disable=SC2206 # Extra arguments are words.
QEMU+=(-accel "$ACCEL" -smp "$SMP" -m "$MEMORY" -nodefaults -no-reboot -display none
	-serial mon:stdio -initrd "$OUT/initramfs.cpio.gz"
	-append "$CONSOLE panic=-1 ${RUN:+corefold.run=$RUN} ${WORDS:+corefold.args=$WORDS} $APPEND" $QEMU_ARGS)

[ -e "$TOP/$OUT/initramfs.cpio.gz" ] ||
	die "nothing to boot in $OUT: run 'make kernel' for the plain one, 'make debug-kernel' for -k debug"
if [ -z "$RUN" ]; then
	exec "$TOP/scripts/in-toolchain" "${QEMU[@]}"
fi

LOG=${LOG:-$LOGS/boot-$RUN.log}
mkdir -p "$(dirname "$LOG")"
status=0
timeout --foreground -k 10 "$LIMIT" "$TOP/scripts/in-toolchain" "${QEMU[@]}" </dev/null >"$LOG" 2>&1 || status=$?
[ "$status" != 124 ] || { say "the guest did not finish within $LIMIT s, see $LOG"; exit 124; }
"$TOP/scripts/splats.sh" "$LOG" || exit 1
code=$(sed -n 's/\r$//; s/^corefold-exit: //p' "$LOG" | tail -n 1)
if [ -z "$code" ]; then
	grep -a '^qemu-system' "$LOG" >&2 || true
	say "the guest did not reach the end of $RUN, see $LOG"
	exit 1
fi
exit "$code"
