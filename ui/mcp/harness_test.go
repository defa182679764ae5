package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"quarry/client"
	"quarry/server"
	"quarry/server/directory"
)

// sample returns a client of the sample library.
func sample(t testing.TB) *client.Client {
	t.Helper()
	library, err := server.Open(t.Context(), server.Options{Sample: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = library.Close() })
	return clientOf(t, library.InProcess(directory.Owner(directory.DefaultTenant)))
}

func clientOf(t testing.TB, handler http.Handler) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{BaseURL: client.InProcessURL, Transport: client.InProcess(handler), Profile: "sample", Local: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// connect serves on pipes and returns a session of the SDK's client.
func connect(t testing.TB, options Options, client *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(context.WithoutCancel(t.Context()), fromClient, toClient, options) }()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, client).Connect(t.Context(),
		&sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		if err := <-ended; err != nil && !errors.Is(err, io.ErrClosedPipe) { // the client can leave before the last answer
			t.Errorf("Serve: %v", err)
		}
	})
	return session
}

// connectHTTP serves streamable HTTP and returns a session of the SDK's client.
func connectHTTP(t testing.TB, options Options, client *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ServeHTTP(w, r, options) }))
	t.Cleanup(listener.Close)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, client).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: listener.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// connector connects the SDK's client over one of the transports.
type connector func(testing.TB, Options, *sdk.ClientOptions) *sdk.ClientSession

// overBoth runs a test over each transport.
func overBoth(t *testing.T, test func(t *testing.T, connect connector)) {
	t.Run("streams", func(t *testing.T) { test(t, connect) })
	t.Run("http", func(t *testing.T) { test(t, connectHTTP) })
}

// call calls a tool, which must answer.
func call(t testing.TB, session *sdk.ClientSession, tool string, arguments any) *sdk.CallToolResult {
	t.Helper()
	answer, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	return answer
}

// succeed calls a tool that must not fail, and returns its text and structured content.
func succeed(t testing.TB, session *sdk.ClientSession, tool string, arguments any) (string, map[string]any) {
	t.Helper()
	answer := call(t, session, tool, arguments)
	written := textOf(answer)
	if answer.IsError {
		t.Fatalf("%s %v: %s", tool, arguments, written)
	}
	return written, answer.StructuredContent.(map[string]any)
}

func textOf(answer *sdk.CallToolResult) string {
	var written strings.Builder
	for _, content := range answer.Content {
		if part, ok := content.(*sdk.TextContent); ok {
			written.WriteString(part.Text)
		}
	}
	return written.String()
}

// words are the arguments of a tool.
type words = map[string]any
