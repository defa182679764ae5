package mcp

import (
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"quarry/client"
	"quarry/internal/text"
)

// maxProblem bounds the text of an error, in characters.
const maxProblem = 500

// problem is an error of a tool: what failed, and what the caller can do.
type problem struct {
	what, hint string
	cause      error // may be nil
}

// Error returns both in two lines.
func (p *problem) Error() string {
	return fmt.Sprintf("error: %s\nhint: %s", text.Shorten(text.OneLine(p.what), maxProblem), p.hint)
}

// Unwrap returns the failure of the search server.
func (p *problem) Unwrap() error { return p.cause }

// problemOf explains the failure of a call. The details of the search server's routes are of no use to the caller.
func (s *session) problemOf(err error) error {
	var known *problem
	if errors.As(err, &known) {
		return known
	}
	found := &problem{what: err.Error(), cause: err}
	var reply *client.Error
	if errors.As(err, &reply) {
		found.what = reply.Reason
	}
	kind := client.KindOf(err)
	switch {
	case kind == client.Auth && strings.Contains(found.what, "document set"):
		found.hint = "call the sources tool for the names of document sets, or omit document_sets"
	case s.Guest && (kind == client.Auth || kind == client.Unreachable || kind == client.Server || kind == client.General):
		found.hint = map[client.Kind]string{client.Auth: "use a token with the scope read:search, or ask the administrator of this server"}[kind]
		if found.hint == "" {
			found.hint = "try again later, or ask the administrator of this server"
		}
	case kind == client.BadRequest:
		found.hint = "correct the arguments; the tool's input schema describes them"
	case kind == client.RateLimited && reply.RetryAfter > 0:
		found.hint = fmt.Sprintf("try again in %s", reply.RetryAfter)
	case kind == client.RateLimited:
		found.hint = "try again later"
	case kind == client.Timeout:
		found.hint = "search with fast: true or in fewer sources, or read fewer passages"
	case kind == client.NotAvailable:
		found.hint = "give the ref or document_id of a search result"
	case kind == client.Canceled:
		found.what, found.hint = "the call was canceled", "call the tool again"
	default:
		found.hint = "the user of this machine can test each step with quarry validate-config"
	}
	return found
}

// boundError shortens the texts of an error, which may quote the arguments, and adds the hint that errors of the
// library lack.
func boundError(answer *sdk.CallToolResult) {
	const quoted = maxProblem + 200
	for _, content := range answer.Content {
		written, ok := content.(*sdk.TextContent)
		if !ok {
			continue
		}
		written.Text = text.Shorten(strings.ToValidUTF8(written.Text, "\uFFFD"), quoted)
		if !strings.Contains(written.Text, "\nhint: ") {
			written.Text = (&problem{what: written.Text, hint: "correct the arguments; the tool's input schema describes them"}).Error()
		}
	}
}
