#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Make the toolchain: a Debian trixie root with the backported Rust, QEMU and kernel source, and for a foreign ARCH the
# user land of its guests, from the mirror and the keyring that this machine's apt is configured with.

. "$(dirname "$0")/lib.sh"

# What TOOLCHAIN=host needs: "PROGRAM PACKAGE".
HOST_PROGRAMS=(
	'make make' 'clang clang' 'ld.lld lld' 'llvm-strip llvm' 'rustc rustc' 'bindgen bindgen' 'ccache ccache' 'flex flex'
	'bison bison' 'bc bc' 'cpio cpio' 'qemu-system-x86_64 qemu-system-x86' 'busybox busybox-static' 'hackbench rt-tests'
	'stress-ng stress-ng'
)

case $TOOLCHAIN in
root) ;;
host)
	for pair in "${HOST_PROGRAMS[@]}"; do
		command -v "${pair% *}" >/dev/null ||
			die "TOOLCHAIN=host needs the program '${pair% *}': install it (on Debian: ${pair#* })"
	done
	exit 0
	;;
*) die "TOOLCHAIN=$TOOLCHAIN is not known: root (the default) or host" ;;
esac

ROOT=$(toolchain_root)
complete() { [ -e "$ROOT/.complete" ] && [ -e "$ROOT$GUEST_ROOT/.complete" ]; }
complete && exit 0
[ "$(id -u)" = 0 ] ||
	die "making the toolchain root needs root: run this as root, or use TOOLCHAIN=host with your own compilers"
need apt-get apt
need mmdebstrap mmdebstrap

# debian FIELD: that field of the Debian archive in apt's configuration.
debian() {
	apt-get indextargets --format "\$($1)" 'Created-By: Packages' 'Label: Debian' | head -n 1
}

[ -n "$(debian SITE)" ] || logged apt "Reading the package lists" apt-get update
MIRROR=$(debian SITE)
[ -n "$MIRROR" ] || die "apt has no Debian archive configured: add one to /etc/apt/sources.list"
SOURCES=$(debian SOURCESENTRY)
KEYRING=$(sed -n 's/^Signed-By: *\(\/.*\)$/\1/p' "${SOURCES%:*}" | head -n 1)
KEYRING=${KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}
[ -e "$KEYRING" ] || die "the keyring $KEYRING is missing: install debian-archive-keyring"

packages() { sed -n "s/^$1 //p" "$TOP/scripts/toolchain.packages" | tr '\n' ' '; }

make_root() {
	local partial=$ROOT.partial proxy suite lines=()
	for suite in trixie trixie-updates trixie-backports; do lines+=("deb [arch=amd64] $MIRROR $suite main"); done
	rm -rf "$partial"
	mkdir -p "$CACHE"
	proxy=$(apt-config dump --format '%v' Acquire::http::Proxy)
	# shellcheck disable=SC2046 # The package list is meant to be split.
	mmdebstrap --variant=apt --include="$(packages trixie)" ${proxy:+--aptopt="Acquire::http::Proxy \"$proxy\""} \
		--aptopt='Acquire::Retries "5"' --keyring="$KEYRING" \
		--customize-hook="chroot \"\$1\" apt-get install -y --no-install-recommends -t trixie-backports $(packages trixie-backports)" \
		--customize-hook='chroot "$1" apt-get clean' \
		trixie "$partial" \
		"${lines[@]}"
	# Kbuild's LLVM=1 calls the tools without a version.
	for tool in "$partial"/usr/lib/llvm-19/bin/*; do
		[ -e "$partial/usr/bin/${tool##*/}" ] || ln -s "../lib/llvm-19/bin/${tool##*/}" "$partial/usr/bin/${tool##*/}"
	done
	mkdir -p "$partial/corefold" "$partial/ccache" "$partial/guest"
	touch "$partial/.complete"
	mv "$partial" "$ROOT"
}

# Programs that run in guests only are unpacked, not installed. Their libc is that of the cross compiler.
make_guest_root() {
	local partial=$ROOT$GUEST_ROOT.partial
	rm -rf "$partial"
	mkdir -p "$partial"
	dpkg --root="$ROOT" --add-architecture "$DEBIAN_ARCH"
	echo "deb [arch=$DEBIAN_ARCH] $MIRROR trixie main" >"$ROOT/etc/apt/sources.list.d/$DEBIAN_ARCH.list"
	chroot "$ROOT" apt-get update
	# shellcheck disable=SC2016,SC2046 # Expanded by the inner shell; the package list is meant to be split.
	chroot "$ROOT" sh -ec 'cd "$1" && shift && apt-get download "$@" && for deb in *.deb; do dpkg -x "$deb" .; rm "$deb"; done' \
		sh "$GUEST_ROOT.partial" $(packages guest | sed "s/\([^ ]\) /\1:$DEBIAN_ARCH /g")
	touch "$partial/.complete"
	mv "$partial" "$ROOT$GUEST_ROOT"
}

[ -e "$ROOT/.complete" ] || logged toolchain "Making the toolchain root, about 2 minutes" make_root
complete || logged "guest-$ARCH" "Unpacking what runs in guests of $DEBIAN_ARCH" make_guest_root
