#!/usr/bin/env bash
# Compiles the daemon as a release has it into relay-ami/dist, for arm64 too where that can be. Arguments: its sources.
set -eu
checkout=$(cd "$(dirname "$0")/../.." && pwd)
export CPT_CHECKOUT=$checkout RUSTC_WRAPPER=$checkout/tools/release/rustc
# Cargo names our crates after the path of their own wrapper, so ours runs that one instead.
export RUSTC_WORKSPACE_WRAPPER=
# Apart from the daemon of every day: each of the two would be compiled anew after the other.
export CARGO_TARGET_DIR=$checkout/.cache/release-target
prefix_maps="-ffile-prefix-map=${CARGO_HOME:-$HOME/.cargo}=/cargo -ffile-prefix-map=$checkout=/cpt"
export CFLAGS="${CFLAGS:+$CFLAGS }$prefix_maps"

# build PROCESSOR FOLDER [OPTION...]
build() {
  local file=relay-ami/dist/$1/cpt-relay built=$CARGO_TARGET_DIR/$2/cpt-relay
  shift 2
  echo "release: $file (the first time takes some minutes)"
  (cd relay-ami/relay && patches/apply && cargo build --release --locked "$@")
  mkdir -p "$(dirname "$file")"
  cp "$built" "$file.new" && mv "$file.new" "$file"
  printf '%s' "$recorded" > "$file.sources"
}

cd "$checkout"
recorded=$(sha256sum "$@")$'\n'
build x86_64 release
if tools/check-arm64.sh; then
  build arm64 aarch64-unknown-linux-gnu/release --target aarch64-unknown-linux-gnu
fi
