//go:build unix

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/testkit/longtest"
)

// door is a way into the program by which a query is asked: -1 is no offset, and no order is that of relevance.
type door struct {
	name string
	ask  func(query string, limit, offset int, order string) wire.SearchResponse
	// pages and counts are whether the door has further pages and other orders, and counts of values.
	pages, counts bool
}

// TestOneResultSet holds on the program what its namesake in server/api holds of the server: the numbers of all doors are
// of one set of documents. Its long form asks the queries that were judged for a real handbook.
func TestOneResultSet(t *testing.T) {
	h, far := newHome(t), newHome(t)
	docs, queries := h.notes(60), []string{"zeppelin", "walrus tundra quokka", `"tundra quokka"`, "mirabel -zanzibar source:web"}
	h.must("add", "notes.jsonl")
	far.notes(9)
	far.must("add", "notes.jsonl")
	t.Run("notes", func(t *testing.T) {
		h.oneResultSet(t, far, queries, 2)
		for _, phrase := range []string{"tundra quokka", "walrus walrus"} {
			holding := 0
			for _, text := range docs {
				if strings.Contains(text, phrase) {
					holding++
				}
			}
			if got := h.headless(h.run).ask(`"`+phrase+`"`, 1, -1, "").TotalMatches; got != holding {
				t.Errorf("%q: %d documents, and %d contain it", phrase, got, holding)
			}
		}
	})
	t.Run("handbook", func(t *testing.T) {
		onlySlow(t, "TestOneResultSet/notes")
		data := os.Getenv("QUARRY_DATA")
		if data == "" {
			t.Skip("NOT TRIED: QUARRY_DATA does not name a folder with corpora/ and qrels/")
		}
		h := newHome(t)
		h.must("add", "--quiet", filepath.Join(data, "corpora", "sourcegraph-handbook"))
		file, err := os.Open(filepath.Join(data, "qrels", "handbook-sourcegraph", "queries.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		var judged []string
		for lines := bufio.NewScanner(file); lines.Scan(); {
			var query struct{ Text string }
			decode(t, lines.Text(), &query)
			judged = append(judged, query.Text)
		}
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(judged), func(i, j int) { judged[i], judged[j] = judged[j], judged[i] })
		h.oneResultSet(t, far, append(judged[:6], "error budget", "mm 16", "how do we roll back a deploy", `"error budget"`), 5)
	})
}

// notes writes notes of few words, of which some have the text of another, some the same date, and every eighth is only
// Kim's. It returns their texts.
func (h home) notes(n int) (texts []string) {
	h.t.Helper()
	random := rand.New(rand.NewPCG(uint64(n), 3))
	words := strings.Fields("zeppelin walrus tundra quokka mirabel zanzibar")
	var file strings.Builder
	for i := range n {
		var text strings.Builder
		for range 40 {
			text.WriteString(words[random.IntN(len(words)-random.IntN(len(words)-1))] + " ")
		}
		if i > 0 && random.IntN(4) == 0 {
			text.Reset()
			text.WriteString(texts[random.IntN(len(texts))])
		}
		texts = append(texts, text.String())
		access := wire.ExternalAccess{IsPublic: i%8 > 0, UserEmails: []string{"kim@acme.example"}, UserGroupIDs: []string{}}
		document := wire.IngestionDocument{ID: fmt.Sprintf("note%d.md", i), Source: []string{"slack", "jira", "web"}[random.IntN(3)],
			SemanticIdentifier: fmt.Sprintf("Note %d", i), Sections: []wire.IngestionSection{{Text: texts[i]}}, ExternalAccess: &access,
			Metadata:     map[string]wire.Metadata{"team": wire.One([]string{"red", "blue"}[random.IntN(2)])},
			DocUpdatedAt: &wire.Time{Time: time.Date(2026, time.Month(1+random.IntN(5)), 3, 0, 0, i/2, 0, time.UTC)}}
		line, err := json.Marshal(document)
		if err != nil {
			h.t.Fatal(err)
		}
		file.Write(append(line, '\n'))
	}
	h.write("notes.jsonl", file.String())
	return texts
}

// headless asks by command lines that a function runs.
func (h home) headless(run func(stdin string, args ...string) outcome, flags ...string) door {
	return door{"headless " + strings.Join(flags, " "), func(query string, limit, offset int, order string) wire.SearchResponse {
		h.t.Helper()
		args := append([]string{"search", query, "--max-output", "0", "--limit", strconv.Itoa(limit), "--library", h.library()}, flags...)
		if offset >= 0 {
			args = append(args, "--offset", strconv.Itoa(offset))
		}
		if order != "" {
			args = append(args, "--sort", order)
		}
		if limit == 1 {
			args = append(args, "--explain") // for the counts
		}
		got := run("", args...)
		if got.code != 0 {
			h.t.Fatalf("%v: %+v", args, got)
		}
		return decodedAnswer(h.t, got.stdout)
	}, true, true}
}

// overHTTP asks a server with the token of somebody.
func overHTTP(t *testing.T, address, token string) door {
	t.Helper()
	c, err := client.New(client.Options{BaseURL: address, Token: func(context.Context) (string, error) { return token, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return door{"HTTP", func(query string, limit, offset int, order string) wire.SearchResponse {
		parsed := client.ParseQuery(query, time.Now())
		request := parsed.Request()
		request.NumResults, request.Sort = &limit, order
		if offset >= 0 {
			request.Offset = &offset
		}
		answer, err := c.Search(t.Context(), request)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return *answer
	}, true, true}
}

// byTool asks the tool of an agent, which names neither counts nor pages.
func byTool(t *testing.T, session *mcp.ClientSession) door {
	return door{"MCP", func(query string, limit, _ int, _ string) wire.SearchResponse {
		t.Helper()
		_, found := uses(t, session, "search", map[string]any{"query": query, "limit": limit, "max_tokens": 20000})
		delete(found, "notes") // texts, which have codes elsewhere
		encoded, err := json.Marshal(found)
		if err != nil {
			t.Fatal(err)
		}
		return decodedAnswer(t, string(encoded))
	}, false, false}
}

// decodedAnswer decodes a printed answer, whose results say only that they do not match.
func decodedAnswer(t *testing.T, text string) (answer wire.SearchResponse) {
	t.Helper()
	var matches struct{ Results []struct{ Matches *bool } }
	decode(t, text, &answer)
	decode(t, text, &matches)
	for i, r := range matches.Results {
		answer.Results[i].Matches = r.Matches == nil
	}
	return answer
}

// oneResultSet checks the numbers of all doors to a library, most values of each field, and that the doors agree.
func (h home) oneResultSet(t *testing.T, far home, queries []string, most int) {
	h.t, far.t = t, t
	var jo, owner struct{ Token string }
	decode(t, h.must("admin", "token", "add", "--name", "jo", "--user", "jo@acme.example", "--json"), &jo)
	decode(t, far.must("admin", "token", "add", "--name", "owner", "--json"), &owner)
	h.write("config/quarry/config.yaml", fmt.Sprintf("profiles:\n  far:\n    server_url: %s\n    token: %s\n",
		serveHTTP(t, far), owner.Token))
	session := agentOf(t, &mcp.CommandTransport{Command: h.command(context.WithoutCancel(t.Context()), "mcp", "--library", h.library())}, nil)
	defer session.Close()
	address := serveHTTP(t, h)
	hers := agentOf(t, &mcp.StreamableClientTransport{Endpoint: address + "/mcp", HTTPClient: &http.Client{Transport: bearer(jo.Token)}}, nil)
	defer hers.Close()
	run := h.run
	if longtest.Enabled() {
		run = h.process
	}
	local := h.headless(run)
	for _, query := range queries {
		total := local.holds(t, query, most)
		for _, other := range []door{h.headless(h.process), h.headless(run, "--also", "far"), byTool(t, session)} {
			other.pages, other.counts = other.pages && other.name == local.name && longtest.Enabled(), false
			if got := other.holds(t, query, most); got != total {
				t.Errorf("%s: %s counts %d, and the library %d", query, other.name, got, total)
			}
		}
		total = overHTTP(t, address, jo.Token).holds(t, query, most)
		if got := byTool(t, hers).holds(t, query, most); got != total {
			t.Errorf("%s: MCP over HTTP counts %d, and HTTP %d", query, got, total)
		}
	}
}

// holds checks the numbers of one query, and returns the total.
func (d door) holds(t *testing.T, query string, most int) int {
	t.Helper()
	same := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s: %s: %d, want %d", d.name, query, what, got, want)
		}
	}
	whole := d.ask(query, 1, -1, "")
	total := whole.TotalMatches
	same("the total of many results", d.ask(query, 50, -1, "").TotalMatches, total)
	if d.pages {
		for _, order := range []string{"", wire.SortNewest, wire.SortOldest} {
			same("documents listed "+order, d.scroll(t, query, order, min(100, max(7, total/4))), total)
		}
	}
	if !d.counts {
		return total
	}
	dated := whole.Facets.Undated
	for _, month := range whole.Facets.Months {
		dated += month.Count
	}
	same("months and undated", dated, total)
	for _, row := range field.All() {
		values := row.Counts(&whole.Facets).Values()
		for _, counted := range values[:min(len(values), most)] {
			value, ok := client.FilterValue(row.Name, counted.Value)
			if !ok || strings.Contains(query, row.Name+":") {
				continue
			}
			same("with "+value, d.ask(query+" "+row.Name+":"+client.QuoteValue(value), 1, -1, "").TotalMatches, counted.Count)
			same("without "+value, d.ask(query+" -"+row.Name+":"+client.QuoteValue(value), 1, -1, "").TotalMatches, total-counted.Count)
		}
	}
	return total
}

// scroll reads all pages, and returns how many documents their rows stand for, each of which must be there once.
func (d door) scroll(t *testing.T, query, order string, size int) (listed int) {
	t.Helper()
	seen := map[string]bool{}
	for offset, next := 0, 0; ; offset = next {
		page := d.ask(query, size, offset, order)
		if next = page.Next(offset); next == offset {
			return listed
		}
		for _, r := range page.Results {
			if !r.Matches {
				continue
			}
			for _, of := range append(r.AlsoIn, wire.DocumentCopy{DocumentID: r.DocumentID}) {
				if seen[of.DocumentID] {
					t.Errorf("%s: %s: %s is listed twice", d.name, query, of.DocumentID)
				}
				seen[of.DocumentID] = true
				listed++
			}
		}
	}
}
