#!/usr/bin/env bash
# Prints what `make test` costs beside an older commit: processor time (user + system) in fresh clones with empty build
# caches, and again in the same clones with every test run anew. It takes as long as four times `make test` with a build;
# nothing else should run meanwhile. Only the clones' own build caches are written, and modules are not downloaded again.
#
#	tools/testtime/run.sh [BASE [COMMIT [REPOSITORY]]]
#
# BASE is 2772b523 unless given, COMMIT is HEAD, and REPOSITORY this one: a path or URL that git clones. PACKAGES=./client
# replaces ./... everywhere, to try the script.
set -euo pipefail
base=${1:-2772b523}
commit=${2:-HEAD}
repository=${3:-$(git -C "$(dirname "$0")" rev-parse --show-toplevel)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CGO_ENABLED=0
unset GOFLAGS # a caller's flags would be part of what is measured

go=go
if [ -n "${PACKAGES:-}" ]; then
	go=$scratch/go
	cat >"$go" <<-'END'
		#!/usr/bin/env bash
		exec go "${@/#.\/.../$PACKAGES}"
	END
	chmod +x "$go"
fi

# clone makes a working copy of a commit, with an empty build cache beside it.
clone() { # NAME COMMIT
	git clone --quiet --no-checkout "$repository" "$scratch/$1"
	git -C "$scratch/$1" checkout --quiet --detach "$(git -C "$scratch/$1" rev-parse --verify --quiet "origin/$2" || echo "$2")"
}

# measure runs a command in a clone, and sets spent to its processor time in seconds.
measure() { # NAME WHAT COMMAND...
	local name=$1 what=$2 TIMEFORMAT='%R %U %S' times
	shift 2
	times=$({ time env GOCACHE="$scratch/$name.cache" "$@" >"$scratch/log" 2>&1; } 2>&1 </dev/null) || {
		cat "$scratch/log"
		echo "failed: $what" >&2
		return 1
	}
	spent=$(awk '{ printf "%.1f", $2 + $3 }' <<<"$times")
	awk -v what="$what" '{ printf "%-62s %7.1f s user + system (%.1f + %.1f), %.1f s\n", what, $2 + $3, $2, $3, $1 }' <<<"$times"
}

# within prints the ratio of two times beside its bound.
within() { # WHAT TIME BASE BOUND
	awk -v what="$1" -v t="$2" -v base="$3" -v bound="$4" 'BEGIN {
		printf "%-62s %7.2f (bound %s)%s\n", what, t / base, bound, (t > bound * base ? "  OVER" : "") }'
}

# At the base nothing is vetted either: the bounds speak of tests. GOFLAGS reaches the tests by the Makefile, which adds to it.
clone base "$base"
clone new "$commit"
measure base "$base: build and link, no tests, empty cache" \
	env GOFLAGS=-trimpath "$go" -C "$scratch/base" test -vet=off -run '^$' ./...
build=$spent
measure new "$commit: make test, empty cache" make -C "$scratch/new" GO="$go" test
first=$spent
measure base "$base: make test with -count=1" env GOFLAGS="-count=1 -vet=off" make -C "$scratch/base" GO="$go" test
before=$spent
measure new "$commit: make test with -count=1" env GOFLAGS=-count=1 make -C "$scratch/new" GO="$go" test
within "the first make test : building the base" "$first" "$build" 1.5
within "make test again : that of the base" "$spent" "$before" .45
