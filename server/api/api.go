// Package api answers Onyx's search API over HTTP, and what quarry adds to it. One route table serves two kinds of
// handlers: one that is bound to a single identity, for this process, and one for listeners, where every request shows
// a token.
package api

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"quarry/internal/guard"
	"quarry/server/chat"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/llm"
	"quarry/server/pipeline"
)

// BackendVersion is the version of Onyx whose API this server follows. Onyx's own CLI warns about anything below 3.
const BackendVersion = "4.2.0"

// Options are what a Server works with. All but Directory and Index may be left out.
type Options struct {
	// Directory opens the directory, or returns the open one. It is asked only when a request needs it. Where there is
	// none, an empty one that cannot be changed is returned, unless create asks to make it.
	Directory func(ctx context.Context, create bool) (*directory.Directory, error)
	// Index opens a tenant's documents, or returns the open ones. Where nothing was ever stored, it returns an empty
	// index, unless create asks to make one.
	Index func(ctx context.Context, tenant string, create bool) (index.Index, error)
	// Chats opens a tenant's chat sessions, or returns the open ones. Where there are none, empty ones that nothing is
	// written to are returned, unless create asks to make them. Nil: no questions are answered.
	Chats func(ctx context.Context, tenant string, create bool) (*chat.Store, error)
	// RemoveTenant deletes a tenant with all that is stored of it; see server.Server.
	RemoveTenant func(ctx context.Context, id string) error
	// Changed is told when a request has stored documents whose vectors are to be made; nil: they are made by the next
	// add or sync.
	Changed func(tenant string)
	// Models are the language models and the embedding model that searches may ask; nil: none.
	Models *llm.Providers
	// Budget limits what each tenant may use of them on a day; nil: no limit.
	Budget *llm.Budget
	// Federated are asked beside the documents here by searches of the owner in process, to whom their tokens belong;
	// never by who comes over a listener.
	Federated []pipeline.Federated
	// Empty tells that nothing is stored here: only what Federated find is answered.
	Empty bool
	// Version is the program's own version.
	Version string
	// Profile is the name that results carry as their origin in this process; "local" if empty. Over a listener they
	// carry none.
	Profile string
	// LibraryPath is the folder of the default tenant's library; empty in memory.
	LibraryPath string
	// LibraryFiles are the files and folders, by absolute path, that the library itself writes: adding a folder around
	// them leaves them out.
	LibraryFiles []string
	// Log gets what went wrong, and for a listener one line per request and per search; nil discards it.
	Log *slog.Logger
	// OmitQueries keeps the text of queries out of the log.
	OmitQueries bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Server answers the API. Make one with New.
type Server struct {
	Options
	answers   answers
	incognito *chat.Incognito
	heartbeat time.Duration    // between signs of life of an answer that takes long
	stopCheck time.Duration    // between looks at whether another process stopped an answer
	measures  func() *measures // made when something is to be counted: most processes only ask themselves
	patience  patience
	vectors   *pipeline.QueryVectors // of queries that were asked lately
	turns     turns
	counted   counted
}

// New makes a server. It opens nothing.
func New(options Options) *Server {
	if options.Profile == "" {
		options.Profile = "local"
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Server{
		Options: options, incognito: chat.NewIncognito(options.Now, guard.Log(options.Log, "forget incognito sessions")),
		heartbeat: heartbeat, stopCheck: stopCheck,
		measures: sync.OnceValue(newMeasures), patience: usualPatience(), turns: newTurns(),
		counted: newCounted(), vectors: pipeline.NewQueryVectors(),
	}
}

// Close forgets what is kept in memory alone. What Options opened is for others to close.
func (s *Server) Close() { s.incognito.Close() }

// handler answers one request of somebody who may make it. What it returns is written as an error by the caller, so it
// must not have answered before.
type handler func(w http.ResponseWriter, r *http.Request, who directory.Principal) error

// Who may call a route, where no permission says so.
const (
	open     = "open"  // everybody, without a token
	identity = "token" // any valid token, whatever its scopes
)

// route is one method and path, and what guards them.
type route struct {
	pattern string        // of http.ServeMux
	needs   string        // open, identity, or a permission
	timeout time.Duration // 0: as long as the caller waits
	maxBody int64         // bytes
	handle  handler
	limited bool    // counts against the limits of rate
	changes bool    // counts against the rate of changes; not needed for what only administrators change
	apart   bool    // has room of its own: it is needed most when everything else is taken
	denied  failure // the answer without a valid token; the usual one where it is empty
}

const (
	kilobyte      = 1 << 10
	megabyte      = 1 << 20
	quick         = 30 * time.Second
	searchTimeout = 2 * time.Minute
	ingestTimeout = 5 * time.Minute
)

// routes are those of every handler.
func (s *Server) routes() []route {
	const search, basic = directory.PermissionReadSearch, directory.PermissionBasic
	return append(slices.Concat(s.arranging(), s.chatting(), s.filing()), []route{
		{pattern: "GET /health", needs: open, handle: s.query(health)},
		{pattern: "GET /version", needs: open, handle: s.query(s.version)},
		{pattern: "GET /auth/type", needs: open, handle: s.query(authType)},
		{pattern: "GET /me", needs: identity, handle: s.query(me), denied: detailed(http.StatusForbidden, "Unauthorized")},

		{pattern: "POST /search", needs: search, timeout: searchTimeout, maxBody: megabyte, limited: true,
			handle: s.search},
		{pattern: "GET /search/suggest", needs: search, handle: s.query(suggest)},
		{pattern: "GET /search/facets", needs: search, handle: s.query(s.facets)},
		{pattern: "GET /document/chunks", needs: search, handle: s.query(documentChunks)},
		{pattern: "GET /document/document-size-info", needs: search, handle: s.query(documentSize)},
		{pattern: "GET /document/chunk-info", needs: search, handle: s.query(chunkInfo)},

		{pattern: "GET /persona", needs: search, handle: s.query(s.personas)},
		{pattern: "GET /persona/{id}", needs: search, handle: s.query(s.persona)},
		{pattern: "GET /agents", needs: search, handle: s.query(s.agentPage)},
		{pattern: "GET /manage/indexed-sources", needs: search, handle: s.query(s.indexedSources)},
		{pattern: "GET /manage/connector-status", needs: search, handle: s.query(s.connectorStatus)},
		{pattern: "GET /manage/document-set", needs: search, handle: s.query(s.documentSets)},
		{pattern: "GET /query/valid-tags", needs: search, handle: s.query(s.validTags)},
		{pattern: "GET /federated", needs: basic, handle: s.query(federated)},
		{pattern: "GET /federated/oauth-status", needs: basic, handle: s.query(federated)},

		{pattern: "POST /onyx-api/ingestion", needs: directory.PermissionManageConnectors, timeout: ingestTimeout,
			maxBody: 32 * megabyte, handle: s.body(s.ingest)},
		{pattern: "GET /user/pats", needs: basic, handle: s.query(listTokens)},
		{pattern: "POST /user/pats", needs: directory.PermissionCreateTokens, changes: true, handle: s.body(addToken)},
		{pattern: "DELETE /user/pats/{id}", needs: basic, changes: true, handle: s.query(deleteToken)},
		{pattern: "GET /user/pats/scopes", needs: basic, handle: s.query(tokenScopes)},
	}...)
}

// ownerRoutes exist on the owner's in-process handler only: no listener serves them. They may take as long as the caller
// waits.
func (s *Server) ownerRoutes() []route { return append(s.libraryRoutes(), s.adminRoutes()...) }

func isOwnerRoute(pattern string) bool {
	return strings.Contains(pattern, " /library/") || strings.Contains(pattern, " /admin/")
}

// Handler answers for one identity, in this process, without tokens. The owner's also changes the library and administers
// the owner's tenant.
func (s *Server) Handler(who directory.Principal) http.Handler {
	routes := s.routes()
	if who.Owner {
		routes = append(routes, s.ownerRoutes()...)
	}
	bound := s.recovered(s.mount(routes, func(*http.Request) (directory.Principal, error) { return who, nil }, nil))
	if !who.Owner {
		return bound
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bound.ServeHTTP(w, r.WithContext(withTrust(r.Context())))
	})
}

// identify finds out who makes a request.
type identify func(*http.Request) (directory.Principal, error)

// mount builds a handler that serves the routes at / and under /api.
func (s *Server) mount(routes []route, who identify, guard *guards) http.Handler {
	mux := http.NewServeMux()
	byPattern := map[string]methods{}
	for _, route := range routes {
		method, pattern, _ := strings.Cut(route.pattern, " ")
		if byPattern[pattern] == nil {
			byPattern[pattern] = methods{}
			mux.Handle(pattern, byPattern[pattern])
		}
		byPattern[pattern][method] = s.serve(route, who, guard)
	}
	mux.HandleFunc("/", notFound)
	return underPrefix(mux)
}

// methods are the handlers of one path.
type methods map[string]http.Handler

// ServeHTTP leaves it to the handler of the method. ServeMux would do the same, but refuse others in plain text.
func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if next, ok := m[method]; ok {
		next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(m)), ", "))
	writeFailure(w, detailed(http.StatusMethodNotAllowed, "Method Not Allowed"))
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	writeFailure(w, detailed(http.StatusNotFound, "Not Found"))
}

// underPrefix serves next at / and under /api, once. A path that ServeMux would redirect is simply unknown, as in Onyx.
func underPrefix(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		place := r.URL.Path
		if rest, ok := strings.CutPrefix(place, "/api"); ok && (rest == "" || rest[0] == '/') {
			place = "/" + strings.TrimPrefix(rest, "/")
		}
		if r.Method == http.MethodConnect || path.Clean(place) != place {
			notFound(w, r)
			return
		}
		if place != r.URL.Path {
			inner := *r.URL
			inner.Path, inner.RawPath = place, ""
			r = r.WithContext(r.Context())
			r.URL = &inner
		}
		next.ServeHTTP(w, r)
	})
}

// serve answers for one route. In this process, without guards, who asks is trusted to send and fetch what they say.
func (s *Server) serve(route route, who identify, guard *guards) http.Handler {
	if route.timeout == 0 && !isOwnerRoute(route.pattern) {
		route.timeout = quick
	}
	if route.maxBody == 0 {
		route.maxBody = 64 * kilobyte
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		noteRoute(r, route.pattern)
		principal, err := admit(r, route, who)
		switch {
		case err != nil:
			s.patience.dismissed(w, r)
			s.fail(w, r, err)
		case guard == nil || route.needs == open && !route.apart:
			r.Body = http.MaxBytesReader(w, r.Body, route.maxBody)
			s.work(w, r, route, principal)
		default:
			s.guarded(w, r, route, principal, guard)
		}
	})
}

// work runs a route's handler, for as long as that may take.
func (s *Server) work(w http.ResponseWriter, r *http.Request, route route, who directory.Principal) {
	if route.timeout > 0 {
		ctx, cancel := context.WithTimeout(r.Context(), route.timeout)
		defer cancel()
		r = r.WithContext(ctx)
	}
	if err := route.handle(w, r, who); err != nil {
		s.fail(w, r, err)
	}
}

// admit decides whether a request may reach its route.
func admit(r *http.Request, route route, who identify) (directory.Principal, error) {
	if route.needs == open {
		return directory.Principal{}, nil
	}
	principal, err := who(r)
	if err != nil {
		if isUnauthenticated(err) && route.denied.status != 0 {
			err = route.denied
		}
		return principal, err
	}
	noteCaller(r, principal)
	switch {
	case route.needs == identity || principal.Can(route.needs):
		return principal, nil
	case principal.Scoped:
		return principal, forbidden("This token's scopes do not permit this endpoint.")
	default:
		return principal, forbidden("You do not have the required permissions for this action.")
	}
}

// reading runs do on a view of a tenant's documents.
func (s *Server) reading(ctx context.Context, tenant string, do func(index.Snapshot) error) error {
	documents, err := s.Index(ctx, tenant, false)
	if err != nil {
		return err
	}
	return view(ctx, documents, do)
}

func view(ctx context.Context, documents index.Index, do func(index.Snapshot) error) error {
	snapshot, err := documents.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	return do(snapshot)
}
