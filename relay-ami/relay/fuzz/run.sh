#!/usr/bin/env bash
# Runs every fuzz target for FUZZ_SECONDS (default 5), two at a time; stops with the input of the first defect it finds. An input that was
# found is run again with: run.sh TARGET FILE
set -eu -o pipefail
cd "$(dirname "$0")/.."
command -v c++ > /dev/null || { echo "fuzz: c++ is missing (libFuzzer is C++). On Debian: apt-get install g++" >&2; exit 1; }
export RUSTC_WORKSPACE_WRAPPER="$PWD/fuzz/rustc-fuzz"
export CARGO_BUILD_BUILD_DIR=target CARGO_TARGET_DIR=target/checked
patches/apply
# With the features of the whole workspace, as the daemon has them: otherwise a third of the dependencies would be compiled anew.
cargo build --profile bench --locked --quiet --workspace --bin fuzz
fuzz="$PWD/target/checked/release/fuzz"

one() {
    target=$1 corpus="target/fuzz/$1"
    mkdir -p "$corpus"
    log="$corpus.log"
    if CPT_FUZZ_TARGET=$target CPT_FUZZ_CORPUS=$corpus "$fuzz" -max_total_time="${FUZZ_SECONDS:-5}" -max_len=4096 -timeout=10 -rss_limit_mb=512 \
        -print_final_stats=1 -artifact_prefix="$corpus-" "$corpus" > "$log" 2>&1; then
        awk -v target="$target" '/cov:/ { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) } /number_of_executed_units/ { runs = $2 }
            END { printf "fuzz: %-10s %8d inputs, %5d edges\n", target, runs, cov }' "$log"
    else
        tail -n 40 "$log"
        echo "fuzz: $target found a defect; run it again with: relay-ami/relay/fuzz/run.sh $target $PWD/$corpus-..."
        exit 255
    fi
}

if [ $# = 2 ]; then
    CPT_FUZZ_TARGET=$1 exec "$fuzz" "$2"
fi
export -f one
export fuzz
sed -n 's/^    ("\([a-z]*\)", .*/\1/p' fuzz/src/main.rs | xargs -P 2 -I TARGET bash -eu -c 'one TARGET'
