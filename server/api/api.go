// Package api implements Onyx's search API over HTTP, and quarry's extensions. One route table serves two kinds of
// handlers: in-process handlers for one identity, and listeners, where every request has a token.
package api

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/chat"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
	"quarry/server/llm"
	"quarry/server/pipeline"
)

// BackendVersion is the version of Onyx whose API this server follows. Onyx's own CLI warns about anything below 3.
const BackendVersion = "4.2.0"

// Options configure a Server. Only Directory and Index are required.
type Options struct {
	Directory *directory.Directory
	// Index opens a tenant's index, or returns the open one. If there is none, it creates one with create, and returns
	// an empty one without.
	Index func(ctx context.Context, tenant string, create bool) (index.Index, error)
	// Chats returns a tenant's chat sessions.
	Chats func(tenant string) *chat.Store
	// Database names the database server of Directory and Chats; empty: files.
	Database string
	// Coordinator counts requests against the rate limits of several servers, and leases work; nil: there is one
	// server.
	Coordinator Coordinator
	// RemoveTenant deletes a tenant and everything stored for it.
	RemoveTenant func(ctx context.Context, id string) error
	// Reports whether a tenant is removed or being removed; nil: none is.
	Removed func(ctx context.Context, id string) bool
	// Migrate copies all but the documents from the library's files to the database; nil: there is none.
	Migrate func(ctx context.Context, request wire.MigrateRequest,
		report func(wire.LibraryEvent)) (wire.LibraryEvent, error)
	// Changed is called when a request has stored documents, which need vectors. Nil: the next add or sync makes them.
	Changed func(tenant string)
	// Budget limits the model tokens of each tenant per day; nil: no limit.
	Budget *llm.Budget
	// Local is for reading files that are added or uploaded.
	Local ingest.Local
	Settings
}

// Settings are the options that a Server is given by who runs it.
type Settings struct {
	// Meaning is how vectors are made.
	Meaning Meaning
	// Models are the language models and the embedding model of searches; nil: none.
	Models *llm.Providers
	// Federated are the other servers that in-process searches of the owner include. Their tokens belong to the owner,
	// so requests of listeners never use them.
	Federated []pipeline.Federated
	// Empty is set if nothing is stored here: all results come from Federated.
	Empty bool
	// Version is the program's own version.
	Version string
	// Profile is the name that results carry as their origin in this process; "local" if empty. Over a listener they
	// carry none.
	Profile string
	// SecretKey encrypts the sandbox tokens at rest; without it there are none.
	SecretKey string
	// Log receives errors, and for a listener one line per request and per search; nil discards them.
	Log *slog.Logger
	// OmitQueries keeps the text of queries out of the log.
	OmitQueries bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// WithDefaults returns the settings with those that were left out.
func (s Settings) WithDefaults() Settings {
	s.Profile = cmp.Or(s.Profile, "local")
	s.Log = cmp.Or(s.Log, slog.New(slog.DiscardHandler))
	if s.Now == nil {
		s.Now = time.Now
	}
	return s
}

// Server answers the API. Make one with New.
type Server struct {
	Options
	answers   answers
	incognito *chat.Incognito
	heartbeat time.Duration    // between heartbeats of a streamed answer
	stopCheck time.Duration    // between checks whether another process stopped an answer
	measures  func() *measures // created on first use: most processes serve nobody
	timeouts  timeouts
	cache     *pipeline.Cache
	names     sync.Map // by tenant: versionedNames
	slots     slots
	counted   counted
	openings  openings

	processors sync.Mutex // guards how many Go uses
}

// New returns a server. It opens nothing.
func New(options Options) *Server {
	options.Settings = options.WithDefaults()
	if options.Changed == nil {
		options.Changed = func(string) {}
	}
	return &Server{
		Options: options, incognito: chat.NewIncognito(options.Now,
			guard.Log(options.Log, "forget incognito sessions")),
		heartbeat: heartbeat, stopCheck: stopCheck,
		measures: sync.OnceValue(newMeasures), counted: newCounted(), cache: pipeline.NewCache(),
		slots: make(slots, slotsPerProcessor*runtime.GOMAXPROCS(0)),
		timeouts: timeouts{body: 30 * time.Second, longBody: 2 * time.Minute, refused: time.Second,
			answer: 30 * time.Second},
	}
}

// Close stops the answers in progress and drops the incognito sessions. It does not close what Options opened.
func (s *Server) Close() {
	s.answers.stopAll(errStopped, func(*turn) bool { return true })
	s.incognito.Close()
}

// The values of route.needs that are not permissions.
const (
	open     = "open"  // everybody, without a token
	identity = "token" // any valid token, whatever its scopes
)

// route is a method and path with its access rules and limits.
type route struct {
	pattern    string        // of http.ServeMux
	needs      string        // open, identity, or a permission
	timeout    time.Duration // 0: none
	maxBody    int64         // bytes
	respond    responder
	read       fieldReader // nil: respond reads the body
	sandbox    bool        // for their tokens, and counts against their rate
	limited    bool        // counts against the rate limits
	changes    bool        // counts against the rate of changes; not set where only administrators make changes
	monitoring bool        // has workers of its own: it is needed most when all others are busy
	relays     bool        // makes requests of the caller, which have workers, limits and lines in the log of their own
	syncs      bool        // may change who sees the documents of connectors, which are updated before the answer
	denied     failure     // the answer without a valid token; empty: the default one
}

const (
	kilobyte      = 1 << 10
	megabyte      = 1 << 20
	quick         = 30 * time.Second
	searchTimeout = 2 * time.Minute
	ingestTimeout = 5 * time.Minute
)

// routes returns the routes of every handler.
func routes() []route {
	const search, basic = directory.PermissionReadSearch, directory.PermissionBasic
	return append(slices.Concat(directoryRoutes(), groupRoutes(), chatRoutes(), fileRoutes()), []route{
		noBody("GET /health", open, health),
		noBody("GET /version", open, version),
		noBody("GET /auth/type", open, authType),
		noBody("GET /me", identity, me, func(r *route) { r.denied = detailed(http.StatusForbidden, "Unauthorized") }),

		withBody("POST /search", search, searchLibrary, large, withTimeout(searchTimeout), rateLimited),
		sandboxRoute(),
		noBody("GET /search/suggest", search, suggest),
		noBody("GET /search/facets", search, facets),
		noBody("GET /document/chunks", search, documentChunks),
		noBody("GET /document/document-size-info", search, documentSize),
		noBody("GET /document/chunk-info", search, chunkInfo),

		noBody("GET /persona", search, personas),
		noBody("GET /persona/{id}", search, persona),
		noBody("GET /agents", search, agentPage),
		noBody("GET /manage/indexed-sources", search, indexedSources),
		noBody("GET /manage/connector-status", search, connectorStatus),
		noBody("GET /manage/document-set", search, documentSets),
		noBody("GET /query/valid-tags", search, validTags),
		noBody("GET /federated", basic, federated),
		noBody("GET /federated/oauth-status", basic, federated),

		noBody("GET /connectors", open, connectorPage),
		noBody("GET /admin/indexing/status", open, connectorPage, withTimeout(quick)),
		noBody("GET /onyx-api/ingestion", directory.PermissionManageConnectors, ingested),
		noBody("DELETE /onyx-api/ingestion/{id}", directory.PermissionManageConnectors, removeIngested, slow),
		noBody("GET /onyx-api/connector-docs/{id}", directory.PermissionManageConnectors,
			numbered("cc_pair_id", ingestedFor)),
		withBody("POST /onyx-api/ingestion", directory.PermissionManageConnectors, postDocument, slow, huge),
		noBody("GET /user/pats", basic, listTokens),
		withBody("POST /user/pats", directory.PermissionCreateTokens, addToken, changes),
		noBody("DELETE /user/pats/{id}", basic, numbered("token_id", deleteToken), changes),
		noBody("GET /user/pats/scopes", basic, tokenScopes),
	}...)
}

// ownerRoutes returns the routes that only the owner's in-process handler has. They have no timeout.
func ownerRoutes() []route { return append(libraryRoutes(), adminRoutes()...) }

func isOwnerRoute(pattern string) bool {
	return strings.Contains(pattern, " /library/") ||
		strings.Contains(pattern, " /admin/") && !strings.Contains(pattern, "/indexing/")
}

// connectorPage answers the pages about connectors that Onyx's command line opens in a browser.
func connectorPage(c *call) any {
	c.w.Header().Set("Content-Type", plainText)
	_, _ = io.WriteString(c.w, `This is a quarry server. It has no web pages.

Its administrator manages connectors on the command line of the server:

    quarry admin connector list
    quarry admin connector add NAME --source SOURCE
    quarry admin connector remove NAME

Documents are added with "quarry add PATH", or posted to /api/onyx-api/ingestion.
`)
	return written{} // the caller may have disconnected
}

// Handler returns the in-process handler for one identity, which needs no token. The owner's handler also changes the
// library and administers the tenant.
func (s *Server) Handler(who directory.Principal) http.Handler {
	routes := routes()
	if who.Owner {
		routes = append(routes, ownerRoutes()...)
	}
	bound := s.recovered(s.mount(routes, func(r *http.Request) (directory.Principal, error) {
		return who, s.knowTenant(r.Context(), who.Tenant)
	}, nil))
	if !who.Owner {
		return bound
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bound.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), trustedKey, true)))
	})
}

// identify returns the caller of a request.
type identify func(*http.Request) (directory.Principal, error)

// mount returns a handler that serves the routes at / and under /api.
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

// ServeHTTP calls the handler of the method. ServeMux would refuse other methods in plain text.
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

// underPrefix serves next at / and under /api. A path that ServeMux would redirect is not found, as in Onyx.
func underPrefix(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		place := r.URL.EscapedPath()
		if rest, ok := strings.CutPrefix(place, "/api"); ok && (rest == "" || rest[0] == '/') {
			place = "/" + strings.TrimPrefix(rest, "/")
		}
		if len(place) > 1 { // Onyx redirects to the path without the slash
			place = strings.TrimSuffix(place, "/")
		}
		plain, err := url.PathUnescape(place)
		if r.Method == http.MethodConnect || path.Clean(place) != place || err != nil {
			notFound(w, r)
			return
		}
		if place != r.URL.EscapedPath() {
			inner := *r.URL
			inner.Path, inner.RawPath = plain, place
			r = r.WithContext(r.Context())
			r.URL = &inner
		}
		next.ServeHTTP(w, r)
	})
}

// serve returns the handler of a route. In-process callers, without guards, are trusted to send and read their bodies.
func (s *Server) serve(route route, who identify, guard *guards) http.Handler {
	if route.timeout == 0 && !isOwnerRoute(route.pattern) {
		route.timeout = quick
	}
	if route.maxBody == 0 {
		route.maxBody = 64 * kilobyte
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, callerOf(r).route, _ = strings.Cut(route.pattern, " ")
		principal, err := admit(r, route, who)
		switch {
		case err != nil:
			s.timeouts.limitRefused(w, r)
			s.fail(w, r, err)
		case guard == nil || route.needs == open && !route.monitoring:
			r.Body = http.MaxBytesReader(w, r.Body, route.maxBody)
			s.work(w, r, route, principal)
		default:
			s.guarded(w, r, route, principal, guard)
		}
	})
}

// work runs a route's handler within its timeout.
func (s *Server) work(w http.ResponseWriter, r *http.Request, route route, who directory.Principal) {
	isOwnersAdministration := who.Owner && route.needs == directory.PermissionAdmin // documents may follow
	if route.timeout > 0 && !isOwnersAdministration {
		ctx, cancel := context.WithTimeout(r.Context(), route.timeout)
		defer cancel()
		r = r.WithContext(ctx)
	}
	if err := s.answer(w, r, route, who); err != nil {
		s.fail(w, r, s.raced(r, who, err))
	}
}

// admit returns the caller of a request, or an error if the caller may not use the route.
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
	callerOf(r).principal = principal
	switch {
	case route.sandbox && !principal.Sandbox && !principal.Owner:
		return principal, forbidden("This route needs the token of a sandbox.")
	case route.needs == identity || principal.Can(route.needs):
		return principal, nil
	case principal.Scoped:
		return principal, forbidden("This token's scopes do not permit this endpoint.")
	default:
		return principal, forbidden("You do not have the required permissions for this action.")
	}
}

// reading runs do on a snapshot of a tenant's documents.
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

// apiGeneration counts incompatible changes to what this server adds to the API.
const apiGeneration = 1

// health answers GET /health.
func health(*call) any { return wire.Status{Success: true, Message: "ok"} }

// version answers GET /version.
func version(c *call) any {
	return wire.Version{
		BackendVersion: BackendVersion,
		Quarry:         &wire.QuarryVersion{Version: c.Version, API: apiGeneration, Features: c.features()},
	}
}

// authType answers GET /auth/type. There are only tokens, and a directory always has its owner.
func authType(*call) any {
	const shortest, longest = 8, 64 // Onyx's bounds of passwords
	return wire.AuthType{AuthType: "basic", AnonymousUserEnabled: new(false), PasswordMinLength: shortest,
		PasswordMaxLength: longest, HasUsers: true, SSOProviders: []any{}}
}

// accountType is that of every user.
const accountType = "STANDARD"

// me answers GET /me.
func me(c *call) any {
	who := c.who
	return wire.Me{
		ID: who.UserID, Email: who.Email, IsActive: true, IsSuperuser: who.Admin, IsVerified: true,
		AccountType: accountType, Preferences: wire.DefaultPreferences(),
		Personalization: wire.Personalization{Name: who.Name, UseMemories: true, EnableMemoryTool: true,
			Memories: []wire.Memory{}},
		TokenExpiresAt: directory.TimestampOrNil(who.ExpiresAt), IsAnonymousUser: who.Anonymous,
		EffectivePermissions: listed(who.Permissions),
		AdminCapabilities:    listed(slices.Sorted(slices.Values(who.Permissions))),
	}
}
