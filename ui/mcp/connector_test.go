package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestConnector: the connectors of chat products find two tools and nothing else, and read what they found.
func TestConnector(t *testing.T) {
	overBoth(t, func(t *testing.T, connect connector) {
		session := connect(t, Options{Client: sample(t), Connector: true}, nil)
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 2 || tools.Tools[0].Name != "fetch" || tools.Tools[1].Name != "search" {
			t.Fatalf("tools %v, %v", tools, err)
		}
		if offered := session.InitializeResult().Capabilities; offered.Resources != nil || offered.Prompts != nil {
			t.Errorf("it also offers %+v", offered)
		}
		var found listedOutput
		written, _ := succeed(t, session, "search", words{"query": "parental leave"})
		if err := json.Unmarshal([]byte(written), &found); err != nil || len(found.Results) == 0 {
			t.Fatalf("%s, %v", written, err)
		}
		seen := map[string]bool{}
		for _, r := range found.Results {
			document, _, _ := strings.Cut(r.ID, "#")
			if seen[document] || r.Title == "" || r.URL == "" {
				t.Errorf("result %+v", r)
			}
			seen[document] = true
			var read fetchedOutput
			written, _ := succeed(t, session, "fetch", words{"id": r.ID})
			if err := json.Unmarshal([]byte(written), &read); err != nil || read.ID != r.ID || read.Title != r.Title ||
				len(read.Text) < 100 || read.Metadata["source"] == "" {
				t.Errorf("fetched %.300s, %v", written, err)
			}
		}
		for tool, given := range map[string]words{"fetch": {"id": "no/such"}, "read": {"ref": found.Results[0].ID},
			"search": {"query": "leave", "limit": 3}} {
			answer, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: given})
			if err == nil && !answer.IsError {
				t.Errorf("%s %v is answered", tool, given)
			}
		}
	})
}
