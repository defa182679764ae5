package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

type answer struct {
	ID     any
	Result *struct{ Content []struct{ Text string } }
	Error  *struct {
		Code    int
		Message string
	}
}

// said serves an input to its end, and returns the answers by id. Every line of the output must be a message.
func said(t testing.TB, options Options, input io.Reader) map[any]answer {
	t.Helper()
	var output bytes.Buffer
	if err := Serve(t.Context(), input, &output, options); err != nil {
		t.Errorf("Serve: %v", err)
	}
	answers := map[any]answer{}
	for line := range strings.Lines(output.String()) {
		var one answer
		if err := json.Unmarshal([]byte(line), &one); err != nil || !strings.HasSuffix(line, "}\n") {
			t.Errorf("%.200q: %v", line, err)
		}
		answers[one.ID] = one
	}
	return answers
}

// A pipe that ends after its last call gets all answers.
func TestCallsBeforeTheEndAreAnswered(t *testing.T) {
	answers := said(t, Options{Client: sample(t)}, strings.NewReader(hello+
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"release"}}}`+"\r\n\n"+
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sources"}}`))
	for _, id := range []any{1.0, 2.0} {
		if one := answers[id]; one.Result == nil || len(one.Result.Content) != 1 || one.Result.Content[0].Text == "" {
			t.Errorf("%v: %+v", id, one)
		}
	}
}

func TestLinesThatAreNoMessages(t *testing.T) {
	client := sample(t)
	for line, code := range map[string]int{
		"not JSON":                 -32700,
		`{"jsonrpc":"2.0","id":1,`: -32700,
		"\x00\xff\x1b[2J":          -32700,
		`[]`:                       -32600,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`: -32600,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:   -32600,
		`"text"`:                                    -32600,
		strings.Repeat("x", maxLine+1):              -32600,
		strings.Repeat("[", maxLine-1):              -32700,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`: -32600,
	} {
		answers := said(t, Options{Client: client}, strings.NewReader(hello+line+"\n"+
			`{"jsonrpc":"2.0","id":"after","method":"tools/call","params":{"name":"sources"}}`+"\n"))
		if refused := answers[nil]; refused.Error == nil || refused.Error.Code != code {
			t.Errorf("%.50q: %+v", line, refused.Error)
		}
		if answers["after"].Result == nil {
			t.Errorf("%.50q: the session does not go on", line)
		}
	}
}

// What is no call of a tool is an error of the protocol, and the session goes on.
func TestRequestsThatAreRefused(t *testing.T) {
	client := sample(t)
	for _, request := range []string{
		`"method":"no/such"`, `"method":"tools/call"`, `"method":"tools/call","params":[1]`, `"method":"tools/call","params":{"name":7}`,
		`"method":"tools/call","params":{"name":"search","arguments":"release"}`, `"method":"resources/read","params":{}`,
		`"method":"prompts/get","params":{"name":"none"}`, `"method":""`, `"method":"completion/complete","params":{}`,
	} {
		answers := said(t, Options{Client: client}, strings.NewReader(hello+`{"jsonrpc":"2.0","id":1,`+request+"}\n"+
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sources"}}`+"\n"))
		if one := answers[1.0]; one.Error == nil && (one.Result == nil || len(one.Result.Content) == 0 || !strings.Contains(one.Result.Content[0].Text, "hint: ")) {
			t.Errorf("%s: %+v", request, one)
		}
		if answers[2.0].Result == nil {
			t.Errorf("%s: the session does not go on", request)
		}
	}
}

type broken struct{ after int }

var errBroken = errors.New("broken pipe")

func (b *broken) Write(p []byte) (int, error) {
	if b.after--; b.after < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

// An output that nobody reads ends the session, although the input goes on.
func TestEndsWithTheOutput(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	go func() {
		_, _ = io.WriteString(out, hello+`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sources"}}`+"\n")
	}()
	if err := Serve(t.Context(), in, &broken{after: 1}, Options{Client: sample(t)}); err != nil && !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

// SIGTERM ends the context of the command.
func TestEndsWithTheContext(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	fromServer, toClient := io.Pipe()
	go func() {
		_, _ = io.WriteString(out, hello)
		_, _ = fromServer.Read(make([]byte, 1)) // it is there
		cancel(stopped)
		_, _ = io.Copy(io.Discard, fromServer)
	}()
	if err := Serve(ctx, in, toClient, Options{Client: sample(t)}); !errors.Is(err, stopped) {
		t.Error(err)
	}
}

func FuzzLines(f *testing.F) {
	f.Add("not JSON\n")
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"a"}}}`)
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"ref":"a#1-2","around":3}}}`)
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"quarry://document/a%23b"}}`)
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"research","arguments":{"question":"a"}}}`)
	f.Add(`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	nothing := http.NewServeMux()
	nothing.HandleFunc("/search", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"results":[]}`)) })
	f.Fuzz(func(t *testing.T, input string) {
		if len(input) > 10_000 {
			return
		}
		var panicked error
		var output bytes.Buffer
		_ = Serve(t.Context(), strings.NewReader(hello+input), &output, Options{Client: clientOf(t, nothing), Broke: func(err error) { panicked = err }})
		if panicked != nil {
			t.Fatal(panicked)
		}
		for line := range strings.Lines(output.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%q", line)
			}
		}
		if !strings.Contains(output.String(), fmt.Sprintf(`"id":%q`, "hello")) {
			t.Error("no answer to the first message")
		}
	})
}

// TestIDsComeBack: a request whose id would be changed or lost on the way is refused with that id.
func TestIDsComeBack(t *testing.T) {
	for id, ok := range map[string]bool{`"a"`: true, "7": true, "-3": true, "999999999999999": true, "null": false, "1.5": false, "1e3": false,
		"9007199254740993": false, "99999999999999999999": false, "{}": false, "true": false,
		`"\ud800"`: false, `"é"`: true, `""`: true, "1.0": false, "[1]": false} {
		if _, got := checkID([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)); got != ok {
			t.Errorf("id %s: %v", id, got)
		}
		err := checkBody([]byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}]`))
		if (err == nil) != ok {
			t.Errorf("id %s in a batch: %v", id, err)
		}
	}
	if err := checkBody([]byte("[" + strings.Repeat(`{"id":1},`, maxBatch) + `{"id":1}]`)); err == nil {
		t.Error("a batch of any size is read")
	}
}

// TestCanceledCallsAreNotAnswered: the protocol forbids an answer, which a caller may take for that of another request.
func TestCanceledCallsAreNotAnswered(t *testing.T) {
	var out bytes.Buffer
	c := &lineConnection{out: &out, idle: make(chan struct{}, 1), open: map[jsonrpc.ID]bool{}}
	read := func(line string) {
		message, err := jsonrpc.DecodeMessage([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		c.opened(message)
	}
	read(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	read(`{"jsonrpc":"2.0","id":"b","method":"ping"}`)
	read(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	read(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never sent"}}`)
	for _, id := range []any{float64(1), "b"} {
		made, _ := jsonrpc.MakeID(id)
		if err := c.Write(t.Context(), &jsonrpc.Response{ID: made, Result: []byte("{}")}); err != nil {
			t.Error(err)
		}
	}
	if got := out.String(); strings.Contains(got, `"id":1`) || !strings.Contains(got, `"id":"b"`) || len(c.open) != 0 {
		t.Errorf("answers %q, open %v", got, c.open)
	}
}
