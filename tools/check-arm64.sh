#!/usr/bin/env bash
# Says what a build for arm64 needs beyond one for x86-64, before anything is compiled (Debian's package names).
set -u
target=aarch64-unknown-linux-gnu
linker=${CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER:-aarch64-linux-gnu-gcc}
packages="On Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
missing=0
lack() {
  echo "daemon-arm64: $1" >&2
  missing=1
}
library=$(rustc --print target-libdir --target "$target" 2> /dev/null)
compgen -G "$library/libstd-*.rlib" > /dev/null || lack "Rust has no standard library for arm64. Run: rustup target add $target"
if ! command -v "$linker" > /dev/null 2>&1; then
  lack "'$linker' is missing (C and linking). $packages"
elif [ ! -f "$("$linker" -print-file-name=libc.a)" ]; then # the bare name where there is none
  lack "'$linker' has no static C library. $packages"
fi
exit "$missing"
