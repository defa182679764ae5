package weaviate

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"quarry/internal/testkit/indextest"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/index/lexical"
)

// cluster is the cluster that tests use, which QUARRY_WEAVIATE names; without it they are skipped.
func cluster(t *testing.T) Cluster {
	t.Helper()
	address := os.Getenv("QUARRY_WEAVIATE")
	if address == "" {
		t.Skip("QUARRY_WEAVIATE names no Weaviate cluster, such as weaviate://127.0.0.1:8080?grpc=50051")
	}
	c, err := ParseURL(address)
	if err != nil {
		t.Fatalf("QUARRY_WEAVIATE %v", err)
	}
	return c
}

// open opens a library of the store in a folder.
func open(t *testing.T, dir, tenant string) *Index {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	store, err := documents.Open(t.Context(), documents.Options{Dir: dir, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	x, err := Open(t.Context(), store, cluster(t), tenant)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestConformance holds the engine to what every engine does. Its worlds are so small that candidates are complete.
func TestConformance(t *testing.T) {
	cluster(t)
	indextest.Run(t, indextest.Params(lexical.DefaultParams()), func(t *testing.T) index.Index {
		return open(t, t.TempDir(), uuid.NewString())
	})
}

// TestWithoutLog is the same without the documents that searches read from the log: a write that returned in time is in
// Weaviate. Snapshots of older states need the log.
func TestWithoutLog(t *testing.T) {
	cluster(t)
	indextest.Run(t, indextest.Params(lexical.DefaultParams()), func(t *testing.T) index.Index {
		x := open(t, t.TempDir(), uuid.NewString())
		if !strings.HasSuffix(t.Name(), "/snapshots") {
			x.changes = 0
		}
		return x
	})
}
