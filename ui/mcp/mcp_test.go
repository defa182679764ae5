package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"quarry/internal/text"
)

// What a client lists is what people and models read before they call anything.
func TestLists(t *testing.T) {
	session := connect(t, Options{Client: sample(t), Version: "1.2.3"}, nil)
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	templates, err := session.ListResourceTemplates(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := session.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	for _, value := range []any{session.InitializeResult().ServerInfo, session.InitializeResult().Instructions, tools.Tools,
		templates.ResourceTemplates, prompts.Prompts} {
		if err := encoder.Encode(value); err != nil {
			t.Fatal(err)
		}
	}
	golden.RequireEqual(t, written.Bytes())
}

func TestSearchFindsWhatReadReads(t *testing.T) {
	session := connect(t, Options{Client: sample(t)}, nil)
	written, found := succeed(t, session, "search", words{"query": "roll back a deploy"})
	results := found["results"].([]any)
	first := results[0].(words)
	if len(results) < 3 || !strings.HasPrefix(written, "[1] "+first["title"].(string)+" (") ||
		!strings.Contains(written, first["excerpt"].(string)) || strings.Contains(written, "language model") {
		t.Errorf("%d results, the first %v, in:\n%s", len(results), first, written)
	}
	for _, result := range results {
		ref := result.(words)["ref"].(string)
		passage, described := succeed(t, session, "read", words{"ref": ref})
		if !slices.Contains(described["refs"].([]any), any(ref)) || described["title"] != result.(words)["title"] ||
			!strings.Contains(passage, described["content"].(string)) {
			t.Errorf("%s reads as %v", ref, described)
		}
	}
}

func TestSearchWithinBounds(t *testing.T) {
	session := connect(t, Options{Client: sample(t)}, nil)
	for _, test := range []struct {
		arguments words
		check     func(results []any) bool
	}{
		{words{"limit": 2}, func(results []any) bool { return len(results) == 2 }},
		{words{"limit": 25, "max_tokens": 300}, func(results []any) bool { return len(results) > 0 && len(results) < 5 }},
		{words{"sources": []string{"Slack"}}, func(results []any) bool {
			return len(results) > 0 && !slices.ContainsFunc(results, func(r any) bool { return r.(words)["source_type"] != "slack" })
		}},
		{words{"since": "2026-10-01", "until": "2026-10-31", "fast": true}, func(results []any) bool {
			return len(results) > 0 && !slices.ContainsFunc(results, func(r any) bool {
				return !strings.HasPrefix(r.(words)["updated_at"].(string), "2026-10-")
			})
		}},
		{words{"query": "source:slack"}, func(results []any) bool { return len(results) > 0 }},
		{words{"query": "zzzxqqj"}, func(results []any) bool { return len(results) == 0 }},
	} {
		if test.arguments["query"] == nil {
			test.arguments["query"] = "release"
		}
		written, found := succeed(t, session, "search", test.arguments)
		if !test.check(found["results"].([]any)) {
			t.Errorf("%v: %s", test.arguments, written)
		}
		most := searchSize
		if n, ok := test.arguments["max_tokens"].(int); ok {
			most = n
		}
		if size := text.EstimateTokens(written); size > most {
			t.Errorf("%v: %d tokens", test.arguments, size)
		}
	}
}

// The total is that of the query, whatever is asked for, and counts no result that lacks a word.
func TestSearchHasOneTotal(t *testing.T) {
	session := connect(t, Options{Client: sample(t)}, nil)
	for _, limit := range []int{1, 5, 25} {
		written, found := succeed(t, session, "search", words{"query": "rolling back a release", "limit": limit, "max_tokens": maxTokens})
		matching := map[any]bool{}
		for _, r := range found["results"].([]any) {
			if r.(words)["matches"] != false {
				matching[r.(words)["title"]] = true
			}
		}
		if found["total_matches"] != 4.0 || len(matching) > 4 || limit == 25 && len(matching) != 4 {
			t.Errorf("limit %d: %v match, and are %v", limit, found["total_matches"], matching)
		}
		if limit == 25 && !strings.Contains(written, "without “release”") {
			t.Errorf("nothing says what results lack:\n%s", written)
		}
	}
}

// A document is read to its end by following next_ref, without a gap and without a repetition.
func TestReadOn(t *testing.T) {
	session := connect(t, Options{Client: sample(t)}, nil)
	_, whole := succeed(t, session, "read", words{"ref": "confluence:INC-3120", "max_tokens": maxTokens})
	if whole["next_ref"] != nil || whole["cut"] != nil || len(whole["refs"].([]any)) != int(whole["passages"].(float64)) {
		t.Fatalf("the whole document: %v", whole)
	}
	var content strings.Builder
	ref, pages := "confluence:INC-3120", 0
	for ; ref != ""; pages++ {
		written, page := succeed(t, session, "read", words{"ref": ref, "max_tokens": 700})
		if size := text.EstimateTokens(written); size > 700 || page["cut"] != nil {
			t.Fatalf("%s: %d tokens, cut: %v", ref, size, page["cut"])
		}
		if pages > 50 {
			t.Fatal("it does not end")
		}
		content.WriteString(page["content"].(string))
		ref, _ = page["next_ref"].(string)
	}
	if content.String() != whole["content"] || pages < 2 {
		t.Errorf("%d pages:\n%s\nthe whole:\n%s", pages, content.String(), whole["content"])
	}
}

func TestReadPlaces(t *testing.T) {
	session := connect(t, Options{Client: sample(t)}, nil)
	for _, test := range []struct {
		arguments words
		refs      int
		want      string
	}{
		{words{"ref": "confluence:INC-3120#2"}, 1, "previous: confluence:INC-3120#1; next: confluence:INC-3120#3"},
		{words{"ref": "confluence:INC-3120#2-4"}, 3, "next: confluence:INC-3120#5"},
		{words{"ref": "confluence:INC-3120#2", "around": 1}, 3, "previous: confluence:INC-3120#0"},
		{words{"ref": "confluence:INC-3120#5", "around": 4, "max_tokens": 400}, 2, "confluence:INC-3120"},
		{words{"ref": "https://wiki.kelderway.example/spaces/INC/pages/3120#went-well", "max_tokens": 200}, 1, "next: confluence:INC-3120#1"},
		{words{"ref": "confluence:INC-3120", "outline": true}, 0, "confluence:INC-3120#N is the passage"},
		{words{"ref": "confluence:INC-3120#0", "max_tokens": 200}, 1, "read: 1 passage of"},
	} {
		written, found := succeed(t, session, "read", test.arguments)
		if refs := found["refs"].([]any); len(refs) != test.refs || !strings.Contains(written, test.want) {
			t.Errorf("%v: refs %v in\n%s", test.arguments, refs, written)
		}
	}
	_, found := succeed(t, session, "read", words{"ref": "confluence:INC-3120", "outline": true})
	for _, heading := range found["outline"].([]any) {
		succeed(t, session, "read", words{"ref": heading.(words)["ref"]})
	}
}

func TestSources(t *testing.T) {
	session := connect(t, Options{Client: sample(t)}, nil)
	written, found := succeed(t, session, "sources", nil)
	for _, row := range found["sources"].([]any) {
		_, hits := succeed(t, session, "search", words{"query": "source:" + row.(words)["source"].(string), "limit": 25, "max_tokens": maxTokens})
		if count := row.(words)["documents"]; hits["total_matches"] != count {
			t.Errorf("%v: %v documents are found", row, hits["total_matches"])
		}
	}
	for _, set := range found["document_sets"].([]any) {
		if _, hits := succeed(t, session, "search", words{"query": "the", "document_sets": []any{set.(words)["name"]}}); hits == nil {
			t.Errorf("%v finds nothing", set)
		}
	}
	if !strings.Contains(written, "- `slack` — Slack: ") {
		t.Error(written)
	}
}

// Every refusal is an error of the tool with a hint, and the session goes on.
func TestHostileArguments(t *testing.T) { overBoth(t, testHostileArguments) }

func testHostileArguments(t *testing.T, connect connector) {
	session := connect(t, Options{Client: sample(t)}, nil)
	long := strings.Repeat("ä", 100_000)
	for _, test := range []struct {
		tool      string
		arguments any
		want      string
	}{
		{"search", nil, "query"},
		{"search", words{"query": ""}, "query must be a text of 1 to 2048 characters"},
		{"search", words{"query": " "}, "query is empty"},
		{"search", words{"query": long}, "query must be a text of 1 to 2048 characters"},
		{"search", words{"query": 7}, "query must be a text of 1 to 2048 characters"},
		{"search", words{"query": []string{"a"}}, "query must be a text of 1 to 2048 characters"},
		{"search", words{"query": "a\x00b"}, "control characters"},
		{"search", words{"query": "a\x1b[2Jb"}, "control characters"},
		{"search", words{"query": "a\u202eb"}, "control characters"},
		{"search", words{"query": "a\xffb"}, "control characters"},
		{"search", words{"query": "a", "limit": 0}, "limit must be a whole number from 1 to 25"},
		{"search", words{"query": "a", "limit": 1.5}, "limit must be"},
		{"search", words{"query": "a", "limit": "5"}, "limit must be"},
		{"search", words{"query": "a", "max_tokens": -1}, "max_tokens must be"},
		{"search", words{"query": "a", "sources": "slack"}, "a list of at most 20 texts"},
		{"search", words{"query": "a", "sources": []string{"slak"}}, `did you mean "slack"?`},
		{"search", words{"query": "a", "sources": slices.Repeat([]string{"x"}, 1000)}, "a list of at most 20 texts"},
		{"search", words{"query": "a", "sources": []string{long}}, "a list of at most 20 texts"},
		{"search", words{"query": "a", "document_sets": []string{"Nothing"}}, "call the sources tool"},
		{"search", words{"query": "a", "document_sets": []string{"a\nb\x07"}}, "control characters"},
		{"search", words{"query": "a", "since": "yesterday"}, "is not a date"},
		{"search", words{"query": "a", "since": "2026-02-30"}, "is not a date"},
		{"search", words{"query": "a", "since": "2026-02-03", "until": "2026-02-02"}, "since is after until"},
		{"search", words{"query": "a", "unknown": 1}, "the arguments are document_sets, "},
		{"search", words{"query": "a", "source": []string{"slack"}}, "did you mean sources?"},
		{"search", words{"query": nil}, "missing argument query"},
		{"search", words{"query": "agent:nobody a"}, "nobody"},
		{"search", words{"query": "release author:nobody"}, `unknown author "nobody"`},
		{"search", words{"query": "release in:confluense"}, `did you mean "confluence"?`},
		{"search", words{"query": "release lang:xx"}, `unknown language "xx"`},
		{"read", words{"ref": "../../etc/passwd"}, "give the ref"},
		{"read", words{"ref": "file:///etc/passwd"}, "give the ref"},
		{"read", words{"ref": "confluence:INC-3120#99999"}, "there is no number"},
		{"read", words{"ref": long}, "ref must be"},
		{"read", words{"ref": "x", "around": -1}, "around must be"},
		{"read", words{"ref": "x\x00"}, "control characters"},
		{"sources", words{"x": 1}, "x"},
	} {
		answer := call(t, session, test.tool, test.arguments)
		written := textOf(answer)
		if !answer.IsError || !strings.HasPrefix(written, "error: ") || !strings.Contains(written, "\nhint: ") || !strings.Contains(written, test.want) {
			t.Errorf("%s %.100v: error %v, %q; want %q", test.tool, test.arguments, answer.IsError, written, test.want)
		}
		if len(written) > 4*maxProblem {
			t.Errorf("%s %.100v: %d bytes", test.tool, test.arguments, len(written))
		}
	}
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "no such tool"}); err == nil {
		t.Error("a tool that does not exist is called")
	}
	succeed(t, session, "search", words{"query": "release"})
	for _, unset := range []any{nil, "", "null", "None", "undefined", []any{}, words{}} { // of clients that fill in a form
		succeed(t, session, "search", words{"query": "release", "limit": unset, "since": unset, "until": unset, "sources": unset, "document_sets": unset, "fast": unset, "max_tokens": unset})
		succeed(t, session, "sources", words{"random_string": "x", "anything": unset})
	}
	succeed(t, session, "search", words{"query": "release", "sources": []any{"", nil}, "since": " ", "until": "\n"})
	succeed(t, session, "sources", words{"kwargs": words{}, "__arg1": ""})
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "sources", Arguments: json.RawMessage("[]")}); err != nil {
		t.Error(err) // of PHP
	}
	succeed(t, session, "search", words{"query": "release", "limit": 1e300})
}

func TestProgress(t *testing.T) { overBoth(t, testProgress) }

func testProgress(t *testing.T, connect connector) {
	reported := make(chan *sdk.ProgressNotificationParams, 100)
	session := connect(t, Options{Client: sample(t)}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, request *sdk.ProgressNotificationClientRequest) { reported <- request.Params },
	})
	params := &sdk.CallToolParams{Name: "search", Arguments: words{"query": "release"}}
	params.SetProgressToken("mine")
	if _, err := session.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	for n := range stages {
		one := <-reported
		if one.ProgressToken != "mine" || one.Progress != float64(n+1) || one.Total != stages || one.Message == "" {
			t.Errorf("report %d: %+v", n, one)
		}
	}
}

// answering returns a session of a server whose search is this function.
func answering(t *testing.T, connect connector, guest bool, search http.HandlerFunc, broke func(error)) *sdk.ClientSession {
	mux := http.NewServeMux()
	mux.HandleFunc("/search", search)
	mux.HandleFunc("/version", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"backend_version":"x"}`)) })
	return connect(t, Options{Client: clientOf(t, mux), Guest: guest, Broke: broke}, nil)
}

func TestCancel(t *testing.T) { overBoth(t, testCancel) }

func testCancel(t *testing.T, connect connector) {
	began, canceled := make(chan bool, 1), make(chan bool, 1)
	session := answering(t, connect, false, func(_ http.ResponseWriter, r *http.Request) {
		began <- true
		<-r.Context().Done()
		canceled <- true
	}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "search", Arguments: words{"query": "a"}})
		failed <- err
	}()
	<-began
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-canceled
}

// A session runs a bounded number of calls at once; the others wait for their turn and succeed.
func TestCallsWaitForTheirTurn(t *testing.T) {
	const calls = 3 * maxCalls
	began, release := make(chan bool, calls), make(chan bool)
	var running, most atomic.Int32
	session := answering(t, connect, false, func(w http.ResponseWriter, _ *http.Request) {
		most.Store(max(most.Load(), running.Add(1)))
		began <- true
		<-release
		running.Add(-1)
		_, _ = w.Write([]byte(`{"results":[]}`))
	}, nil)
	answered := make(chan error, calls)
	for range calls {
		go func() {
			_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "search", Arguments: words{"query": "a"}})
			answered <- err
		}()
	}
	for range maxCalls {
		<-began
	}
	close(release)
	for range calls {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	if most.Load() > maxCalls {
		t.Errorf("%d calls at once", most.Load())
	}
}

func TestFailuresOfTheServer(t *testing.T) { overBoth(t, testFailuresOfTheServer) }

func testFailuresOfTheServer(t *testing.T, connect connector) {
	for _, test := range []struct {
		status      int
		body        string
		mine, guest string // hints
	}{
		{http.StatusForbidden, `{"error_code":"INSUFFICIENT_PERMISSIONS","detail":"This token's scopes do not permit this endpoint."}`,
			"", "read:search"},
		{http.StatusTooManyRequests, `{"detail":"slow down"}`, "try again in 37s", "try again in 37s"},
		{http.StatusInternalServerError, `{"detail":"broken"}`, "", "ask the administrator"},
		{http.StatusUnprocessableEntity, `{"status_code":422,"message":"bad field","data":null}`, "", ""},
		{http.StatusGatewayTimeout, `{"detail":"too slow"}`, "fast: true", "fast: true"},
	} {
		for hint, guest := range map[string]bool{test.mine: false, test.guest: true} {
			session := answering(t, connect, guest, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "37")
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			}, nil)
			answer := call(t, session, "search", words{"query": "a"})
			if written := textOf(answer); !answer.IsError || strings.Contains(written, "hint: ") != (hint != "") ||
				!strings.Contains(written, hint) {
				t.Errorf("%d, guest %v: %s", test.status, guest, written)
			}
		}
	}
}

// A panic ends the call that met it, and nothing else: the library's goroutines do not recover.
func TestPanic(t *testing.T) { overBoth(t, testPanic) }

func testPanic(t *testing.T, connect connector) {
	broke := make(chan error, 1)
	session := connect(t, Options{Broke: func(err error) { broke <- err }}, nil) // without a client
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "search", Arguments: words{"query": "a"}}); err == nil ||
		!strings.Contains(err.Error(), "internal error") {
		t.Error(err)
	}
	if err := <-broke; err == nil {
		t.Error("nobody hears of it")
	}
	if _, err := session.ListTools(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestResources(t *testing.T) {
	session := connect(t, Options{Client: sample(t)}, nil)
	for _, ref := range []string{"confluence:INC-3120", "confluence:INC-3120#2"} {
		uri := documentScheme + strings.NewReplacer(":", "%3A", "#", "%23").Replace(ref)
		read, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			t.Fatal(err)
		}
		written, _ := succeed(t, session, "read", words{"ref": ref, "max_tokens": maxTokens})
		if one := read.Contents[0]; one.Text != written || one.MIMEType != "text/markdown" || one.URI != uri {
			t.Errorf("%s reads as %+v", uri, one)
		}
	}
	for _, uri := range []string{"quarry://document/nothing", "quarry://document/%00", "quarry://document/..%2F..%2Fetc%2Fpasswd",
		"file:///etc/passwd", "quarry://other/x", "quarry://document/" + strings.Repeat("a", 20_000)} {
		if read, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%.60s reads as %+v", uri, read.Contents[0])
		} else if len(err.Error()) > 3*maxProblem {
			t.Errorf("%.60s: an error of %d bytes", uri, len(err.Error()))
		}
	}
}

func TestPrompt(t *testing.T) {
	session := connect(t, Options{Client: sample(t)}, nil)
	prompt, err := session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "research",
		Arguments: map[string]string{"question": "who approves a laptop?", "sources": "notion"}})
	if err != nil {
		t.Fatal(err)
	}
	written := prompt.Messages[0].Content.(*sdk.TextContent).Text
	for _, want := range []string{"Question: who approves a laptop?\n", "only these sources: notion\n", "[2]", "never an instruction"} {
		if !strings.Contains(written, want) {
			t.Errorf("no %q in:\n%s", want, written)
		}
	}
	for _, question := range []string{"", "a\x00", strings.Repeat("a", maxQuery+1)} {
		if _, err := session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "research", Arguments: map[string]string{"question": question}}); err == nil {
			t.Errorf("%.20q is a question", question)
		}
	}
}

// The time limit of --timeout is that of each call.
func TestTimeout(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	session := connect(t, Options{Client: clientOf(t, mux), Timeout: time.Millisecond}, nil)
	answer := call(t, session, "search", words{"query": "a"})
	if written := fmt.Sprint(textOf(answer)); !answer.IsError || !strings.Contains(written, "fast: true") {
		t.Error(written)
	}
}
