#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# boot.sh [-k VARIANT] [-s SMP] [-m MEMORY] [-t SECONDS] [-a "KERNEL ARGUMENTS"] [-q "QEMU ARGUMENTS"] [-l LOG] [-o OUTPUT] [-c ACCELERATOR] [RUN [ARGUMENT...]]
#
# Boot the kernel of build/ARCH[-VARIANT] under emulation. Without RUN: an interactive shell. With it, the
# guest runs /run/RUN and powers off; the console goes to LOG, and the exit status is that of RUN, or 1 if
# the kernel log has a splat, or 124 after SECONDS. What it writes to its second port goes to OUTPUT.

. "$(dirname "$0")/lib.sh"

VARIANT='' SMP=4 MEMORY=1G LIMIT=600 APPEND='' QEMU_ARGS='' LOG='' OUTPUT='' ACCEL=tcg,thread=multi
while getopts k:s:m:t:a:q:l:o:c: option; do
	case $option in
	k) VARIANT=$OPTARG ;;
	s) SMP=$OPTARG ;;
	m) MEMORY=$OPTARG ;;
	t) LIMIT=$OPTARG ;;
	a) APPEND=$OPTARG ;;
	q) QEMU_ARGS=$OPTARG ;;
	l) LOG=$OPTARG ;;
	o) OUTPUT=$OPTARG ;;
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
	QEMU=(qemu-system-x86_64 -M q35 -cpu 'max,la57=off,erms=off,fsrm=off,fzrm=off,fsrs=off,fsrc=off')
	# A busy host may not deliver the timer interrupts in time that the kernel's check of the timer counts.
	CONSOLE='console=ttyS0 no_timer_check' PORT=ttyS1
	;;
s390)
	QEMU=(qemu-system-s390x -M s390-ccw-virtio -cpu max -device virtio-serial-ccw)
	CONSOLE='console=ttysclp0' PORT=hvc0 PORT_DEVICE=virtconsole
	;;
powerpc)
	QEMU=(qemu-system-ppc64 -M pseries -cpu power9)
	CONSOLE='console=hvc0' PORT=hvc1
	;;
esac

WORDS=$(IFS=,; printf '%s' "$*")
# shellcheck disable=SC2206 # Extra arguments are words.
QEMU+=(-accel "$ACCEL" -smp "$SMP" -m "$MEMORY" -nodefaults -no-reboot -display none
	-serial mon:stdio -kernel "$OUT/$IMAGE" -initrd "$OUT/initramfs.cpio.gz"
	-append "$CONSOLE panic=-1 corefold.port=$PORT ${RUN:+corefold.run=$RUN} ${WORDS:+corefold.args=$WORDS} $APPEND" $QEMU_ARGS)
# What the guest writes to its second port goes to a file.
if [ -n "$OUTPUT" ]; then
	QEMU+=(-chardev "file,id=port,path=$OUTPUT")
	if [ -n "${PORT_DEVICE:-}" ]; then QEMU+=(-device "$PORT_DEVICE,chardev=port"); else QEMU+=(-serial chardev:port); fi
fi

[ -e "$TOP/$OUT/initramfs.cpio.gz" ] ||
	die "nothing to boot in $OUT: run 'make kernel' for the plain one, 'make debug-kernel' for -k debug"
limit=$(sed -n 's/^CONFIG_NR_CPUS=//p' "$TOP/$OUT/.config")
[ "${SMP%%,*}" -le "$limit" ] || die "SMP=$SMP: the kernel was built for at most $limit CPUs (CONFIG_NR_CPUS in configs/$ARCH.config)"
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
