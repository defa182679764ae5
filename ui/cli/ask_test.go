package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/passage"
)

// answering lets a server answer questions with a recorded stream, and keeps what it was asked.
func answering(t testing.TB, stream []byte) (*fakeServer, func() map[string]any) {
	t.Helper()
	s := newOnyx(t)
	var mu sync.Mutex
	var asked map[string]any
	s.on("/chat/send-chat-message", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = nil
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", wire.MediaTypeEvents)
		_, _ = w.Write(stream)
	})
	return s, func() map[string]any {
		mu.Lock()
		defer mu.Unlock()
		return asked
	}
}

func says(texts ...string) []byte {
	var stream strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&stream, `{"obj":{"type":"message_delta","content":%q}}`+"\n", text)
	}
	return []byte(stream.String() + `{"obj":{"type":"stop","stop_reason":null}}` + "\n")
}

func TestAsk(t *testing.T) {
	s, asked := answering(t, fixture(t, "chat-stream.ndjson"))
	doors := testDoors(s.URL)
	for _, test := range []struct {
		name      string
		screen    terminal
		arguments []string
	}{
		{"text", terminal{}, []string{"ask", "how do we roll back?"}},
		{"json", terminal{}, []string{"ask", "--json", "how do we roll back?"}},
		{"terminal", terminal{tty: true, width: 60}, []string{"ask", "how do we roll back?"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			golden.RequireEqual(t, run(t, doors, test.screen, test.arguments...).check(t, ExitSuccess).out)
		})
	}
	run(t, doors, terminal{in: " some\nlog \n"}, "ask", "what", "is", "wrong?", "--agent-id", "7").check(t, ExitSuccess)
	if got := asked(); got["message"] != "what is wrong?\n\nsome\nlog" || fmt.Sprint(got["chat_session_info"]) != "map[persona_id:7]" {
		t.Errorf("asked %v", got)
	}
	run(t, doors, terminal{in: "from the pipe"}, "ask", "-").check(t, ExitSuccess)
	if got := asked(); got["message"] != "from the pipe" || fmt.Sprint(got["parent_message_id"]) != "-1" {
		t.Errorf("asked %v", got)
	}
	const session = "0a6cb2de-3a53-4d5e-8f2e-6f8f3b9a1c11"
	run(t, doors, terminal{}, "ask", "--prompt", "and then?", "--session", session).check(t, ExitSuccess)
	if got := asked(); got["message"] != "and then?" || got["chat_session_id"] != session || got["chat_session_info"] != nil {
		t.Errorf("asked %v", got)
	}
}

// The filters of a question narrow its search as they narrow a search, and are checked as there.
func TestAskReadsFilters(t *testing.T) {
	s, asked := answering(t, says("Yes."))
	doors := testDoors(s.URL)
	run(t, doors, terminal{in: "log\nauthor:x"}, "ask", "what went\n wrong?", "source:slack,Confluence", "since:2026-01-01",
		"until:2026-02-01", `set:"Engineering handbook"`, "tag:team=infra", "agent:eng").check(t, ExitSuccess)
	got := asked()
	if got["message"] != "what went\n wrong?\n\nlog\nauthor:x" {
		t.Errorf("message %q", got["message"])
	}
	const want = "map[document_set:[Engineering handbook] source_type:[slack confluence] tags:[map[tag_key:team tag_value:infra]] " +
		"updated_at_range:map[end:2026-02-01T23:59:59.999999Z start:2026-01-01T00:00:00Z]]"
	if filters := fmt.Sprint(got["internal_search_filters"]); filters != want {
		t.Errorf("filters %s", filters)
	}
	if info := fmt.Sprint(got["chat_session_info"]); info != "map[persona_id:7]" {
		t.Errorf("agent %s", info)
	}
	other := run(t, doors, terminal{}, "ask", `deploys "roll back" -friday author:jo type:md source:zulip`).check(t, ExitSuccess)
	if got := asked(); got["message"] != `deploys "roll back" -friday` || fmt.Sprint(got["internal_search_filters"]) !=
		"map[exclude:[friday] phrases:[roll back] source_type:[zulip]]" {
		t.Errorf("asked %v", got)
	}
	for _, part := range []string{"author: this server ignores it", "type: this server ignores it", "zulip is not connected to this server"} {
		if !strings.Contains(other.err, part) {
			t.Errorf("does not say %q: %s", part, other.err)
		}
	}
	run(t, doors, terminal{in: "piped"}, "ask", "source:slack").check(t, ExitSuccess)
	if got := asked(); got["message"] != "piped" || got["internal_search_filters"] == nil {
		t.Errorf("asked %v", got)
	}
	run(t, doors, terminal{}, "ask", "plain words").check(t, ExitSuccess)
	if got := asked(); got["internal_search_filters"] != nil {
		t.Errorf("asked %v", got)
	}
	for part, question := range map[string]string{"but no words": "source:slack", "unknown source": "x source:slakc",
		"is after the end date": "x since:2026-03-01 until:2026-01-01", "unknown document set": "x set:nowhere",
		"unknown tag": "x tag:a=b", "unknown agent": "x agent:nobody"} {
		run(t, doors, terminal{}, "ask", question).check(t, ExitUsage).twoLines(t, part)
	}
	run(t, doors, terminal{}, "ask", "x agent:Eng", "--session", "b").check(t, ExitUsage).twoLines(t, "exclude each other")
}

// What a configuration says is private is asked incognito, and it is told where a server keeps it nevertheless.
func TestPrivateQuestions(t *testing.T) {
	for _, private := range []bool{true, false} {
		for _, kept := range []bool{true, false} {
			s, asked := answering(t, append(fmt.Appendf(nil, `{"chat_session_id":"s1","incognito":%t}`+"\n", !kept), says("Yes.")...))
			doors := testDoors(s.URL)
			doors.private = private
			var got result
			for _, agent := range [][]string{nil, {"--agent-id", "7"}, {"--agent", "Eng"}} {
				got = run(t, doors, terminal{}, append([]string{"ask", "x", "--json"}, agent...)...).check(t, ExitSuccess)
				info, _ := asked()["chat_session_info"].(map[string]any)
				if (info["incognito"] == true) != private || (info["persona_id"] == 0.0) != (agent == nil) {
					t.Errorf("private %t, agent %v: asked %v", private, agent, info)
				}
			}
			if strings.Contains(got.err, "this server keeps the conversation") != (private && kept) {
				t.Errorf("private %t, kept %t: %s", private, kept, got.err)
			}
			if strings.Contains(got.out, `"incognito":true`) != !kept {
				t.Errorf("kept %t: %s", kept, got.out)
			}
		}
	}
}

func TestAskJSONIsLines(t *testing.T) {
	s, _ := answering(t, fixture(t, "chat-stream.ndjson"))
	got := run(t, testDoors(s.URL), terminal{}, "ask", "x", "--json", "--max-output", "400").check(t, ExitSuccess)
	var types []string
	for line := range strings.Lines(got.out) {
		var event struct{ Type string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		types = append(types, event.Type)
	}
	if text := strings.Join(types, " "); !strings.HasPrefix(text, "session_created message_id_info") ||
		!strings.HasSuffix(text, "stop") || len(got.out) > 500 || !strings.Contains(got.err, "response truncated") {
		t.Errorf("%s; %s", got.out, got.err)
	}
}

func TestAskIsRefused(t *testing.T) {
	s, _ := answering(t, says("x"))
	doors := testDoors(s.URL)
	for _, test := range []struct {
		screen    terminal
		arguments []string
		part      string
	}{
		{terminal{}, []string{"ask"}, "no question"},
		{terminal{}, []string{"ask", "  "}, "no question"},
		{terminal{}, []string{"ask", "a", "--prompt", "b"}, "given twice"},
		{terminal{}, []string{"ask", "a", "--agent-id", "-1"}, "number of an agent"},
		{terminal{}, []string{"ask", "a", "--agent-id", "1", "--agent", "b"}, "exclude each other"},
		{terminal{}, []string{"ask", "a", "--session", "b", "--agent", "b"}, "exclude each other"},
		{terminal{}, []string{"ask", "a", "--agent", "nobody's"}, "unknown agent"},
		{terminal{in: "\xff\xfe"}, []string{"ask", "a"}, "not valid UTF-8"},
		{terminal{in: strings.Repeat("x", maxPiped+1)}, []string{"ask", "a"}, "larger than 10 MB"},
	} {
		run(t, doors, test.screen, test.arguments...).check(t, ExitUsage).twoLines(t, test.part)
	}
	if got := run(t, doors, terminal{in: strings.Repeat("x", maxPiped)}, "ask"); got.code != ExitSuccess {
		t.Errorf("exactly as much as is allowed: %d %s", got.code, got.err)
	}
}

func TestAskWithoutAModel(t *testing.T) {
	s := newOnyx(t)
	s.on("/chat/send-chat-message", body(http.StatusBadRequest, []byte(`{"message":"No default LLM model found"}`)))
	run(t, testDoors(s.URL), terminal{}, "ask", "how's it?\nmore", "--profile", "work").check(t, ExitUsage).
		twoLines(t, "no language model", `quarry search 'how'\''s it?' --profile work`)
	s.on("/chat/send-chat-message", body(http.StatusNotFound, []byte(`{"detail":"Not Found"}`)))
	run(t, testDoors(s.URL), terminal{}, "ask", "x").check(t, ExitNotAvailable).twoLines(t, "cannot answer questions", "quarry search x")
}

func TestAskWithoutABudget(t *testing.T) {
	s := newOnyx(t)
	s.on("/chat/send-chat-message", body(http.StatusTooManyRequests, []byte(
		`{"error_code":"RATE_LIMITED","detail":"The day's budget of language model tokens is used up. It resets at midnight UTC."}`)))
	run(t, testDoors(s.URL), terminal{}, "ask", "x").check(t, ExitRateLimited).
		twoLines(t, "budget of language model tokens is used up", "after midnight UTC", "quarry search x --no-query-expansion")
	s.on("/chat/send-chat-message", body(http.StatusTooManyRequests, []byte(`{"error_code":"RATE_LIMITED","detail":"Slow down."}`)))
	run(t, testDoors(s.URL), terminal{}, "ask", "x").check(t, ExitRateLimited).twoLines(t, "Slow down", "37s")
}

func TestAskFails(t *testing.T) {
	for name, test := range map[string]struct {
		stream string
		code   int
		out    string
	}{
		"in the middle": {`{"obj":{"type":"message_delta","content":"Half"}}` + "\n" + `{"error":"busy","error_code":"RATE_LIMIT"}`,
			ExitRateLimited, "Half\n"},
		"at once":       {`{"error":"down"}`, ExitServer, ""},
		"cut off":       {string(fixture(t, "chat-stream-cut.ndjson")), ExitServer, "Roll back with `deployctl rollback`\n"},
		"an error":      {string(fixture(t, "chat-stream-error.ndjson")), ExitRateLimited, ""},
		"a refused key": {`{"error":"refused","error_code":"AUTH_ERROR"}`, ExitServer, ""},
		"no budget": {`{"error":"The day's budget of language model tokens is used up.","error_code":"BUDGET_EXCEEDED"}`,
			ExitRateLimited, ""},
	} {
		s, _ := answering(t, []byte(test.stream))
		got := run(t, testDoors(s.URL), terminal{}, "ask", "x").check(t, test.code)
		if got.out != test.out || !strings.Contains(got.err, "error: ") ||
			strings.Contains(test.stream, "RATE_LIMIT") && !strings.Contains(got.err, "Try again later; or search without the model: quarry search x") ||
			strings.Contains(test.stream, "AUTH_ERROR") && !strings.Contains(got.err, "check the key of its language model; or search without") {
			t.Errorf("%s: %q; %s", name, got.out, got.err)
		}
		lines := strings.Split(strings.TrimSpace(run(t, testDoors(s.URL), terminal{}, "ask", "x", "--json").check(t, test.code).out), "\n")
		if n := len(lines); !strings.Contains(lines[n-2], `"type":"error"`) || !strings.Contains(lines[n-1], `"complete":false`) {
			t.Errorf("%s: %s", name, lines)
		}
	}
}

func TestAskIsCut(t *testing.T) {
	long := strings.Repeat("wörter ", 3000)
	s, _ := answering(t, says(long[:len(long)/2], long[len(long)/2:]))
	for _, limit := range []int{1, 2, 3, 100, 101, 5000} {
		dir := t.TempDir()
		got := run(t, testDoors(s.URL), terminal{dir: dir}, "ask", "x", "--max-output", fmt.Sprint(limit)).check(t, ExitSuccess)
		text, trailer, found := strings.Cut(got.out, "\n\n--- response truncated (")
		if !found || len(text) > limit || len(text) < limit-1 || !utf8.ValidString(text) || !strings.HasPrefix(long, text) {
			t.Fatalf("limit %d: %q", limit, text)
		}
		lines := strings.Split(strings.TrimSpace(trailer), "\n")
		if len(lines) != 4 || lines[0] != fmt.Sprintf("%d bytes total) ---", len(long)+1) || !strings.HasPrefix(lines[1], "Full response: "+dir) ||
			!strings.HasPrefix(lines[2], "Explore: ") || !strings.HasPrefix(lines[3], "Explore: ") {
			t.Fatalf("trailer %q", lines)
		}
		copied, err := os.ReadFile(strings.TrimPrefix(lines[1], "Full response: "))
		if err != nil || string(copied) != long+"\n" {
			t.Errorf("copy of %d bytes, %v", len(copied), err)
		}
	}
	dir := t.TempDir()
	private := testDoors(s.URL)
	private.private = true
	got := run(t, private, terminal{dir: dir}, "ask", "x", "--max-output", "10").check(t, ExitSuccess)
	if files, _ := filepath.Glob(dir + "/*"); len(files) > 0 || !strings.Contains(got.out, "Full response: not kept") {
		t.Errorf("files %q; %s", files, got.out)
	}
}

// TestAskIsInterrupted: what there is is printed, the server is told, and it is over at once.
func TestAskIsInterrupted(t *testing.T) {
	s := newOnyx(t)
	synctest.Test(t, func(t *testing.T) {
		for _, json := range []bool{false, true} {
			ctx, interrupt := context.WithCancel(t.Context())
			stopped := make(chan string, 1)
			s.on("/chat/stop-chat-session/abc", func(_ http.ResponseWriter, r *http.Request) { stopped <- r.Method })
			s.on("/chat/send-chat-message", func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", wire.MediaTypeEvents)
				_, _ = io.WriteString(w, `{"chat_session_id":"abc"}`+"\n"+`{"obj":{"type":"message_delta","content":"One two thr"}}`+"\n")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			out := &waiting{for_: "thr", found: interrupt}
			code := Run(ctx, IO{In: strings.NewReader(""), Out: out, Err: io.Discard, Now: today},
				append([]string{"ask", "x"}, map[bool][]string{true: {"--json"}}[json]...), s.inProcess().Program)
			if code != ExitInterrupted {
				t.Errorf("exit code %d", code)
			}
			if got := out.String(); !json && got != "One two thr\n" || json && !strings.Contains(got, `"answer":"One two thr"`) {
				t.Errorf("stdout %q", got)
			}
			if method := <-stopped; method != http.MethodPost {
				t.Errorf("stopped with %s", method)
			}
		}
	})
}

// waiting is an output that tells when a text is there.
type waiting struct {
	mu    sync.Mutex
	text  bytes.Buffer
	for_  string
	found func()
}

func (w *waiting) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.text.Write(data)
	if strings.Contains(w.text.String(), w.for_) {
		w.found()
	}
	return n, err
}

func (w *waiting) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestAskPassesASilentPipeOver(t *testing.T) {
	t.Parallel()
	s, asked := answering(t, says("yes"))
	synctest.Test(t, func(t *testing.T) {
		silent, keep := io.Pipe()
		defer keep.Close()
		var out, errs bytes.Buffer
		started := time.Now()
		code := Run(t.Context(), IO{In: silent, Out: &out, Err: &errs, Now: today}, []string{"ask", "x"}, s.inProcess().Program)
		if code != ExitSuccess || out.String() != "yes\n" || asked()["message"] != "x" || !strings.Contains(errs.String(), "sent nothing") {
			t.Errorf("%d %q %q", code, out.String(), errs.String())
		}
		if took := time.Since(started); took != pipeWait {
			t.Errorf("took %s", took)
		}
	})
}

func TestAskStopsWhenNobodyReads(t *testing.T) {
	s, _ := answering(t, fixture(t, "chat-stream.ndjson"))
	reader, writer := io.Pipe()
	_ = reader.Close()
	if code := Run(t.Context(), IO{Out: writer, Err: io.Discard, Now: today}, []string{"ask", "x"}, testDoors(s.URL).Program); code != ExitSuccess {
		t.Errorf("exit code %d", code)
	}
}

func TestAskTellsWhatGoesOn(t *testing.T) {
	s, _ := answering(t, fixture(t, "chat-stream.ndjson"))
	got := run(t, testDoors(s.URL), terminal{tty: true, width: 60}, "ask", "x").check(t, ExitSuccess)
	if text := ansi.Strip(got.err); !strings.Contains(text, "Searching: how do we roll back a deploy · rollback deploy") ||
		!strings.Contains(text, "Reading 2 documents…") || !strings.HasSuffix(got.err, clearLine) {
		t.Errorf("stderr %q", got.err)
	}
	if got := run(t, testDoors(s.URL), terminal{tty: true}, "ask", "x", "--quiet").check(t, ExitSuccess); got.err != "" {
		t.Errorf("stderr %q", got.err)
	}
}

// flowed puts a text through the wrapping of terminals, in pieces of some size.
func flowed(text string, width, size int) string {
	f := &wordWrapper{width: width, style: func(word string) string { return word }}
	var out strings.Builder
	for runes := []rune(text); len(runes) > 0; {
		n := min(size, len(runes))
		out.WriteString(f.write(string(runes[:n])))
		runes = runes[n:]
	}
	return out.String() + f.close()
}

func TestFlow(t *testing.T) {
	for text, want := range map[string]string{
		"one two three four five":                                "one two three\nfour five",
		"- one two three four five":                              "- one two three\n  four five",
		"12. one two three\nx":                                   "12. one two\n    three\nx",
		"```\nsome code that is long\n```\nso much for the code": "```\nsome code that is long\n```\nso much for the\ncode",
		"| a row | that is rather long |":                        "| a row | that is rather long |",
		"averyveryverylongwordindeed x":                          "averyveryverylo\nngwordindeed x",
		"日本語のとても長い文章です":                                          "日本語のとても\n長い文章です",
		"a  b \n\n c":                                            "a  b\n\n c",
		"":                                                       "",
		"    indented code stays as it is":                       "    indented code stays as it is",
		"a trailing space and\n":                                 "a trailing\nspace and\n",
	} {
		for _, size := range []int{1, 2, 5, 1000} {
			if got := flowed(text, 15, size); got != want {
				t.Errorf("%q by %d:\n%q\nwant\n%q", text, size, got, want)
			}
		}
	}
}

func FuzzFlow(f *testing.F) {
	f.Add("one two\n- three `four` 日本語\n```\ncode\n```\n", 10, 3)
	f.Add("000\x1b0000000000000", 1, 1)
	f.Fuzz(func(t *testing.T, text string, width, size int) {
		width, size = max(1, width%200), max(1, size%50)
		whole := flowed(text, width, len(text)+1)
		if cut := flowed(text, width, size); cut != whole {
			t.Fatalf("%q: %q, by %d %q", text, whole, size, cut)
		}
		fields := func(text string) string { return strings.Join(strings.Fields(text), "") }
		if strings.ToValidUTF8(text, "�") == text && fields(whole) != fields(text) {
			t.Fatalf("%q became %q", text, whole)
		}
	})
}

func FuzzCitationLinks(f *testing.F) {
	f.Add("a [[1]](https://x) [[2]]() [[x]] [[", 3)
	f.Fuzz(func(t *testing.T, text string, size int) {
		through := func(size int) string {
			n := &citationLinks{}
			var out strings.Builder
			for rest := text; rest != ""; {
				k := min(size, len(rest))
				out.WriteString(n.write(rest[:k]))
				rest = rest[k:]
			}
			return out.String() + n.held
		}
		if whole, cut := through(len(text)+1), through(max(1, size%50)); whole != cut {
			t.Fatalf("%q: %q, cut %q", text, whole, cut)
		}
	})
}

func TestCitationLinks(t *testing.T) {
	for text, want := range map[string]string{
		"a [[1]](https://x/y%28z%29) b [[2]]()":                         "a [1] b [2]",
		"[[1]] [[x]](y) [[1]](a b) [[1]](":                              "[[1]] [[x]](y) [[1]](a b) [[1]](",
		"[[1]](" + strings.Repeat("x", 2*passage.LongestCitation) + ")": "[[1]](" + strings.Repeat("x", 2*passage.LongestCitation) + ")",
	} {
		n := &citationLinks{}
		if got := n.write(text) + n.held; got != want {
			t.Errorf("%.60q: %.60q", text, got)
		}
	}
}

func TestSourcesOfAnAnswer(t *testing.T) {
	link := "https://wiki.example/1"
	p := &askText{app: &app{io: IO{Now: today}, style: theme.New(colorprofile.NoTTY)}}
	got := p.sources(&wire.ChatAnswer{Citations: map[int]string{3: "c", 1: "a", 2: "gone"}, Documents: []wire.SearchDoc{
		{DocumentID: "a", Title: "A\ntitle", Link: &link}, {DocumentID: "b", Title: "B"}, {DocumentID: "c", Title: "C"}}})
	if got != "\nSources:\n[1] A title (https://wiki.example/1)\n[2] (untitled) (gone#0)\n[3] C (c#0)\n" {
		t.Errorf("%q", got)
	}
}
