#!/usr/bin/env bash
# Adds documents to the embedded engine and to PostgreSQL with Weaviate, one after the other, and measures searches in both over
# HTTP. It starts PostgreSQL and Weaviate, which make test-scale builds; without them it says so.
#
#	bench.sh BINARY DOCUMENTS.jsonl TIME QUERIES.jsonl…
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
export QUARRY_WEAVIATE_BIN=${QUARRY_WEAVIATE_BIN:-${XDG_CACHE_HOME:-$HOME/.cache}/quarry-weaviate/v1.38.9/weaviate-server} # as in test.sh
if [ -z "${QUARRY_WEAVIATE:-}" ]; then
	if [ ! -x "$QUARRY_WEAVIATE_BIN" ] || ! "$here/bin/scale" -nodes 0 true; then
		echo "NOT MEASURED: needs PostgreSQL (Debian: apt-get install postgresql) and Weaviate, which make test-scale builds"
		exit
	fi
	exec "$here/bin/scale" "$0" "$@"
fi
binary=$(realpath "$1") documents=$2 span=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME=$scratch XDG_CONFIG_HOME=$scratch XDG_STATE_HOME=$scratch XDG_CACHE_HOME=$scratch
load() { "$here/bin/load" -judge=false -time "$span" "$@"; }
for engine in embedded weaviate; do
	if [ $engine = weaviate ]; then
		export QUARRY_DIRECTORY_URL=$QUARRY_POSTGRES QUARRY_INDEX_ENGINE=$QUARRY_WEAVIATE
	fi
	export QUARRY_HOME=$scratch/$engine QUARRY_EMBEDDINGS_MODE=off
	echo "== $engine: adding"
	time "$binary" add --library "$scratch/$engine" --quiet "$documents"
	for words in 0 2; do
		for clients in 16 64; do
			echo "== $engine: $clients clients, $([ $words = 0 ] && echo questions || echo $words words)"
			load -clients $clients -words $words "$binary" "$scratch/$engine" "$@"
		done
	done
done
