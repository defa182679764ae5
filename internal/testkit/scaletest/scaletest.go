package scaletest

import "testing"

// Require skips a test that is not run by `make test-scale`, which provides the servers.
func Require(t testing.TB) {
	t.Helper()
	if !Isolated() {
		t.Skip("needs PostgreSQL and Weaviate: make test-scale builds and starts them")
	}
}

// NewCluster starts a cluster that ends with the test.
func NewCluster(t testing.TB, nodes int) *Cluster {
	t.Helper()
	Require(t)
	c, err := StartWeaviate(t.Context(), nodes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// NewPostgres starts a database that ends with the test.
func NewPostgres(t testing.TB) *Postgres {
	t.Helper()
	Require(t)
	p, err := StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}
