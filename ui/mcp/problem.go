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

// problem is an error of a tool: what failed, and what the caller can do, where that is known.
type problem struct {
	what, hint string
	cause      error // may be nil
}

// mistake is a problem of a call.
func mistake(hint, format string, values ...any) *problem {
	return &problem{what: fmt.Sprintf(format, values...), hint: hint}
}

// errorPrefix begins the text of every problem.
const errorPrefix = "error: "

// Error returns both, in a line each.
func (p *problem) Error() string {
	lines := errorPrefix + text.Shorten(text.OneLine(p.what), maxProblem)
	if p.hint != "" {
		lines += "\nhint: " + p.hint
	}
	return lines
}

// Unwrap returns the failure of the search server.
func (p *problem) Unwrap() error { return p.cause }

// problemOf explains the failure of a call. The details of the search server's routes are of no use to the caller.
func (s *session) problemOf(err error) *problem {
	if known, ok := errors.AsType[*problem](err); ok {
		return known
	}
	found := &problem{what: err.Error(), cause: err}
	reply, ok := errors.AsType[*client.Error](err)
	if ok {
		found.what = reply.Reason
	}
	kind := client.KindOf(err)
	switch {
	case kind == client.Auth && strings.Contains(found.what, "document set"):
		found.hint = "call the sources tool for the names of document sets, or omit document_sets"
	case s.Guest && kind == client.Auth:
		found.hint = "use a token with the scope read:search, or ask the administrator of this server"
	case s.Guest && (kind == client.Unreachable || kind == client.Server):
		found.hint = "try again later, or ask the administrator of this server"
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
	case reply != nil:
		found.hint = reply.Remedy()
	}
	return found
}

// boundError shortens the texts of an error, which may quote the arguments. What is no problem of ours is one of the
// SDK, which checked the arguments against the schema of the tool.
func boundError(answer *sdk.CallToolResult) {
	const quoted = maxProblem + 200
	for _, content := range answer.Content {
		written, ok := content.(*sdk.TextContent)
		if !ok {
			continue
		}
		written.Text = text.Shorten(strings.ToValidUTF8(written.Text, "\uFFFD"), quoted)
		if !strings.HasPrefix(written.Text, errorPrefix) {
			written.Text = mistake("correct the arguments; the tool's input schema describes them", "%s",
				written.Text).Error()
		}
	}
}
