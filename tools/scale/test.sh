#!/usr/bin/env bash
# Tests on PostgreSQL and Weaviate. Weaviate is built once, outside of this module, and kept; PostgreSQL comes with the
# system. With the argument "one" it leaves out what needs several nodes or minutes, builds nothing, and says what it
# could not test.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=v1.38.9 # scaletest.WeaviateVersion
export QUARRY_WEAVIATE_BIN=${QUARRY_WEAVIATE_BIN:-${XDG_CACHE_HOME:-$HOME/.cache}/quarry-weaviate/$version/weaviate-server}
part=${1:-all}

missing() { # what was not tested, and how to get it
	echo "NOT TESTED: $1"
	[ "$part" = one ] || exit 1
}

# Each test binary gets servers of its own.
tests() {
	local servers=$1
	shift
	${GO:-go} test -count=1 -timeout 60m -exec "$PWD/bin/scale $servers" "$@"
}

${GO:-go} build -o bin/scale ./tools/scale
if [ "$part" = all ] && [ ! -x "$QUARRY_WEAVIATE_BIN" ]; then
	mkdir -p "$(dirname "$QUARRY_WEAVIATE_BIN")"
	GOBIN=$(cd "$(dirname "$QUARRY_WEAVIATE_BIN")" && pwd) ${GO:-go} install "github.com/weaviate/weaviate/cmd/weaviate-server@$version"
fi

if bin/scale -nodes 0 true; then
	tests "-nodes 0" ./server/postgres ./server/directory ./server/chat ./server/documents
	tests "-nodes 0" -run 'OnPostgres|OfOneDatabase|AnotherMachine' ./server/segments ./server ./server/api
	tests "-nodes 0" -run Migrate ./server ./internal/e2e
else
	missing "PostgreSQL (Debian: apt-get install postgresql)"
fi
if [ ! -x "$QUARRY_WEAVIATE_BIN" ]; then
	missing "Weaviate: no $QUARRY_WEAVIATE_BIN, which make test-scale builds"
else
	tests "-nodes 1 -postgres=false" ./server/weaviate
	tests "-nodes 1" -run 'OfOneCluster|ToWeaviate' ./server
	tests "-nodes 1" -short -run OnWeaviate ./server/api # ten worlds of rights
	if [ "$part" = all ]; then
		QUARRY_WORLD=10-209 tests "-nodes 1" -run OnWeaviate/rights ./server/api
		tests "-nodes 0 -postgres=false" ./internal/testkit/scaletest
		tests "-nodes 3 -postgres=false" ./server/weaviate
		tests "-nodes 0 -postgres=false" -run 'KilledNodes|KilledServer' ./internal/e2e
	fi
fi
