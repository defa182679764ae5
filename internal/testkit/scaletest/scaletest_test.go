package scaletest

import (
	"bytes"
	"context"
	"net/http"
	"testing"
)

// TestClusterSurvives kills the leader and then all nodes of a cluster: the others elect a new one, and what was stored is
// there again when the nodes are.
func TestClusterSurvives(t *testing.T) {
	ctx := t.Context()
	c := NewCluster(t, 3)
	first, err := c.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	create(t, first, `{"class": "Kept"}`)
	first.Kill()
	second, err := c.Leader(ctx)
	if err != nil || second == first {
		t.Fatalf("a dead leader was followed by %+v (%v)", second, err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	for _, node := range c.Nodes {
		node.Kill()
	}
	for _, node := range c.Nodes {
		if err := node.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	for _, node := range c.Nodes {
		if err := node.get(ctx, "/v1/schema/Kept", nil); err != nil {
			t.Errorf("node %s: %v", node.Name, err)
		}
	}
}

func create(t *testing.T, n *Node, class string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+n.REST+"/v1/schema", bytes.NewReader([]byte(class)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("create: %s", response.Status)
	}
}

// TestDatabase stops a server that has connections.
func TestDatabase(t *testing.T) {
	Require(t)
	server, err := StartPostgres(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if !server.running() || server.URL == "" {
		t.Errorf("%+v", server)
	}
	if err := server.Stop(); err != nil || server.running() {
		t.Errorf("it runs after its stop (%v)", err)
	}
}
