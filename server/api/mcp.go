package api

import (
	"context"
	"net/http"
	"time"

	"quarry/server/directory"
)

// MCP answers a request of the Model Context Protocol. The caller's handler answers the API's requests with the rights
// of the request's token.
type MCP func(w http.ResponseWriter, r *http.Request, caller http.Handler) error

const (
	mcpTimeout = searchTimeout + time.Minute // a search, and what else a request does
	mcpRealm   = `Bearer realm="quarry", scope="` + directory.PermissionReadSearch + `"`
)

// mcpRoute returns POST /mcp. Clients of the protocol expect 401 without a valid token. Every search counts as one of
// the token, in the limits and in the log.
func (g *Gate) mcpRoute() route {
	denied := detailed(http.StatusUnauthorized, "Access denied. User is not authenticated.")
	denied.authenticate = mcpRealm
	return route{pattern: "POST /mcp", needs: directory.PermissionReadSearch, timeout: mcpTimeout, maxBody: megabyte, relays: true, denied: denied,
		handle: func(w http.ResponseWriter, r *http.Request, _ directory.Principal) error {
			token := bearer(r)
			return g.options.MCP(w, r, g.Visitor(Visitor{Remote: r.RemoteAddr, Identify: func(ctx context.Context) (directory.Principal, error) {
				return g.server.Directory.Authenticate(ctx, token)
			}}))
		}}
}
