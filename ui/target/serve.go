package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"quarry/client"
	"quarry/config"
	"quarry/server"
	"quarry/server/api"
	"quarry/server/encoder"
	"quarry/server/llm"
	"quarry/server/metrics"
)

// ServeOptions configure what is served, and where.
type ServeOptions struct {
	Request Request      // the flags; without one the library of this machine is served
	HTTP    string       // address of the API, "host:port"; empty: not served
	Hosts   []string     // the server's host names; nil: http.hosts of the configuration
	SSH     SSHOptions   // without an address: not served
	Rate    *config.Rate // of each token and visitor; zero: no limit; nil: rate of the configuration
	// MCP answers a request to /mcp with the client of its caller; nil: there is no such route.
	MCP func(w http.ResponseWriter, r *http.Request, caller *client.Client)
	// Listening is called when a listener accepts connections.
	Listening func(Listening)
	// Log receives a line per request and search; may be nil.
	Log io.Writer
	// LogJSON makes each line a JSON object.
	LogJSON bool
}

// SSHOptions configure the explorer over SSH, by the flags of quarry serve. Zero values mean those of the
// configuration.
type SSHOptions struct {
	Address string `flag:"ssh" usage:"serve the explorer over SSH at this address (<ADDR>), like :2222"`
	Keys    string `flag:"ssh-keys" usage:"accept keys in a <FILE>, with user= or token= (also ssh.authorized_keys)"`
	Token   bool   `flag:"ssh-token" usage:"accept access tokens (also ssh.token)"`
	Open    bool   `flag:"ssh-open" usage:"accept everybody, for the public documents of a library (also ssh.open)"`
	HostKey string `flag:"ssh-host-key" usage:"<FILE> of the host key, made if missing (default ssh_host_ed25519_key)"`
	Limits  SSHLimits
}

// SSHLimits bound what SSH visitors may use. A zero value is that of ssh.Defaults.
type SSHLimits struct {
	Sessions  int `flag:"ssh-sessions" usage:"concurrent sessions (<N>, default 250)"`
	PerPerson int `flag:"ssh-per-person" usage:"sessions per person, or per address if --ssh-open (<N>, default 10)"`
	Arrivals  int `flag:"ssh-arrivals" usage:"connections per address and minute (<N>, default 60)"`

	Idle  time.Duration `flag:"ssh-idle" usage:"end idle sessions after this <DURATION> (default 30m)"`
	Total time.Duration `flag:"ssh-total" usage:"end sessions after this <DURATION> (default 12h)"`
	Input int64         // bytes of a connection
	Known time.Duration // between checks that a visitor is still admitted
}

// Listening describes a listener.
type Listening struct {
	Address     string
	Fingerprint string // of the host key, over SSH; empty: HTTP
}

// Served is a library, served over the API and to SSH visitors, or a server elsewhere, served to SSH visitors with
// tokens of their own. Close it after the last visitor left.
type Served struct {
	// Choice is the target of the visitors' searches. Its token is never used for them.
	Choice Choice

	host      *Host
	library   *server.Server    // nil: a server elsewhere
	admission *server.Admission // to the library
	transport *http.Transport   // to the server elsewhere, for all visitors
}

// OpenServed opens the library or server to serve.
func (h *Host) OpenServed(ctx context.Context, options ServeOptions) (*Served, error) {
	choice, err := h.servedChoice(options)
	if err != nil {
		return nil, err
	}
	s := &Served{Choice: choice, host: h}
	if choice.Kind == KindRemote {
		s.transport, err = client.NewTransport()
		return s, err
	}
	if choice.Kind == KindLibrary {
		if err := h.mayServe(choice.LibraryDir); err != nil {
			return nil, err
		}
	}
	s.library, err = h.server(ctx, server.Options{Home: choice.LibraryDir, Sample: choice.Kind == KindSample},
		choice.Profile)
	if err != nil {
		return nil, err
	}
	rate := h.Config.Rate
	if options.Rate != nil {
		rate = *options.Rate
	}
	s.admission = s.library.Admit(api.PublicOptions{Hosts: h.hosts(options), Rate: api.Rate(rate), MCP: s.mcp(options),
		OpenMetrics: h.Config.HTTP.Metrics == config.MetricsOpen})
	return s, nil
}

// mcp gives the requests to /mcp clients of their callers.
func (s *Served) mcp(options ServeOptions) api.MCP {
	if options.MCP == nil {
		return nil
	}
	return func(w http.ResponseWriter, r *http.Request, caller http.Handler) error {
		c, err := s.inProcessClient(caller)
		if err == nil {
			options.MCP(w, r, c)
		}
		return err
	}
}

// mayServe checks that a library can be read and, without QUARRY_READONLY, written.
func (h *Host) mayServe(dir string) error {
	if _, err := libraryExists(dir); err != nil {
		return err
	}
	if config.ReadOnly(h.Env) {
		return nil
	}
	return h.MayWrite(dir)
}

// Close closes the library or the connections.
func (s *Served) Close() error {
	if s.transport != nil {
		s.transport.CloseIdleConnections()
	}
	if s.library == nil {
		return nil
	}
	return s.library.Close()
}

// ListenHTTP serves the API until ctx ends, and then finishes running requests. ready, which may be nil, is called with
// the address once connections are accepted. Every request needs a token.
func (s *Served) ListenHTTP(ctx context.Context, address string, ready func(net.Addr)) error {
	return s.admission.ListenAndServe(ctx, address, ready)
}

// Prepare prepares a library for visitors.
func (s *Served) Prepare(ctx context.Context) error {
	if s.admission == nil {
		return nil
	}
	return s.admission.Prepare(ctx)
}

// KnowsPeople reports whether visitors can be admitted without a token: a library knows its users' permissions.
func (s *Served) KnowsPeople() bool { return s.admission != nil }

// Token returns a client for a visitor with a token, which the first request checks. remote is the visitor's address,
// "host:port".
func (s *Served) Token(token, remote string) (*client.Client, error) {
	if s.admission != nil {
		return s.inProcess(func(a *server.Admission) http.Handler { return a.Token(token, remote) })
	}
	return client.New(client.Options{BaseURL: s.Choice.ServerURL, APIPrefix: s.Choice.APIPrefix,
		Transport: discreet{s.transport, cmp.Or(s.host.Log, slog.New(slog.DiscardHandler))},
		Token:     config.FixedToken(config.NewSecret(token), "the visitor's token"), Profile: s.Choice.Profile,
		UserAgent: s.host.userAgent()})
}

// Person returns a client for a visitor who is a user of the library.
func (s *Served) Person(email, remote string) (*client.Client, error) {
	return s.inProcess(func(a *server.Admission) http.Handler { return a.Person(email, remote) })
}

// Anybody returns a client for an anonymous visitor, who can search the library's public documents.
func (s *Served) Anybody(remote string) (*client.Client, error) {
	return s.inProcess(func(a *server.Admission) http.Handler { return a.Anybody(remote) })
}

// Knows reports whether a token, or without one a user, is still valid. A server elsewhere is not asked: it rejects the
// next request.
func (s *Served) Knows(ctx context.Context, token, email string) bool {
	return s.admission == nil || s.admission.Knows(ctx, token, email)
}

// inProcess returns a client of the handler that admits a visitor to the library.
func (s *Served) inProcess(admit func(*server.Admission) http.Handler) (*client.Client, error) {
	if s.admission == nil {
		return nil, fail(config.ExitUsage, "visitors of "+s.Choice.ServerURL+" need tokens of their own",
			"use --ssh-token, or --ssh-keys with a token for each key")
	}
	return s.inProcessClient(admit(s.admission))
}

func (s *Served) inProcessClient(handler http.Handler) (*client.Client, error) {
	return client.New(client.Options{BaseURL: client.InProcessURL, Transport: client.InProcess(handler),
		Profile: s.Choice.Profile, UserAgent: s.host.userAgent()})
}

func (h *Host) hosts(options ServeOptions) []string {
	given := options.Hosts
	if given == nil {
		given = h.Config.HTTP.Hosts
	}
	var hosts []string
	for _, host := range given {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		hosts = append(hosts, host)
	}
	return hosts
}

// servedChoice decides what is served: over HTTP a library, that of this machine unless a flag or profile selects
// another; over SSH only, the target of a run.
func (h *Host) servedChoice(options ServeOptions) (Choice, error) {
	if options.HTTP != "" {
		dir, err := h.servedFolder(options.Request)
		if err != nil {
			return Choice{}, err
		}
		return *localChoice(RuleFlag, "the library in "+dir, config.LocalProfile, dir, "the command"), nil
	}
	where := options.Request
	where.Visitors = true
	choice, err := h.Decide(where)
	if err == nil && choice.Kind == KindSlack {
		return Choice{}, fail(config.ExitUsage,
			"the profile "+choice.Profile+" is Slack, which can only be searched as its owner",
			"serve a library with --library DIR, or a server with --server URL")
	}
	return choice, err
}

// servedFolder returns the folder of the library to serve. A server elsewhere is refused: all clients would use one
// token.
func (h *Host) servedFolder(where Request) (string, error) {
	remote := func(what string) error {
		return fail(config.ExitUsage, fmt.Sprintf("%s cannot be served over HTTP: only libraries can", what),
			"serve a library with --library DIR, and give others the address of the server itself")
	}
	switch {
	case where.Server != "":
		return "", remote("--server")
	case where.Sample:
		return "", fail(config.ExitUsage, "the sample library cannot be served over HTTP: it has no tokens",
			"add files with quarry add PATH and serve those")
	case where.Profile == "":
		return h.LibraryFolder(where.Library), nil
	}
	choice, err := h.Decide(where)
	if err != nil {
		return "", err
	}
	if choice.Kind != KindLibrary {
		return "", remote("the profile " + where.Profile)
	}
	return choice.LibraryDir, nil
}

// discreet logs connection errors instead of returning them to visitors: they contain names and addresses of an
// internal network.
type discreet struct {
	http.RoundTripper
	log *slog.Logger
}

// errBehind is the error that visitors get.
var errBehind = errors.New("the search server cannot be reached")

// RoundTrip implements http.RoundTripper.
func (d discreet) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := d.RoundTripper.RoundTrip(r)
	if err != nil && r.Context().Err() == nil {
		d.log.Warn("cannot reach the served server", "error", err.Error())
		err = errBehind
	}
	return response, err
}

// models returns the configured models and their budget; nil if there are none. It connects to nothing and reads no
// key: the first search that needs a model does.
func (h *Host) models() (*llm.Providers, error) {
	asked, vectors, packed := h.Config.LLM, h.Config.Embeddings, h.Model
	if vectors.Mode == config.MeaningOff {
		vectors, packed = config.Embeddings{}, ""
	}
	if len(asked.Providers) == 0 && vectors.BaseURL == "" && vectors.Path == "" && packed == "" && asked.Budget == 0 {
		return nil, nil
	}
	providers := make(map[string]llm.Provider, len(asked.Providers))
	for name, p := range asked.Providers {
		providers[name] = llm.Provider{BaseURL: p.BaseURL, Models: p.Models, Key: keyOf(p.Key)}
	}
	transport, err := client.NewTransport()
	if err != nil {
		return nil, failBy(err, config.ExitNotConfigured, "cannot use the models", bundleFix)
	}
	models, err := llm.New(llm.Config{
		Default: asked.Default, Budget: asked.Budget, Providers: providers, Transport: transport,
		Embedding: llm.Embedding{Packed: packed, Path: vectors.Path, BaseURL: vectors.BaseURL, Model: vectors.Model,
			Key:         keyOf(vectors.Key),
			QueryPrefix: vectors.QueryPrefix, DocumentPrefix: vectors.DocumentPrefix, Weight: vectors.Weight},
	})
	if err != nil {
		return nil, failBy(err, config.ExitNotConfigured, h.Config.File+": cannot use the models",
			"correct llm and embeddings in the file, or QUARRY_EMBEDDINGS_PATH")
	}
	return models, nil
}

// CheckEmbeddings reads the model that runs in this process and returns its name; "" without one.
func (h *Host) CheckEmbeddings() (name string, err error) {
	settings := h.Config.Embeddings
	folder := settings.Path
	if settings.Mode == config.MeaningOff || folder == "" && (settings.BaseURL != "" || h.Model == "") {
		return "", nil
	}
	var model *encoder.Model
	if folder == "" {
		model, err = encoder.OpenPacked(h.Model)
	} else {
		model, err = encoder.Open(folder)
	}
	if err != nil {
		return "", failBy(err, config.ExitNotConfigured, h.Config.File+": embeddings.path",
			"set embeddings.path to the folder of a model2vec or BERT model, with tokenizer.json and model.safetensors")
	}
	return model.Kind() + " " + model.Name(), nil
}

// keyOf returns a function that reveals the secret when a request needs it.
func keyOf(secret config.Secret) llm.Key {
	if secret.IsZero() {
		return nil
	}
	return func(context.Context) (string, error) { return secret.Reveal(), nil }
}

// VisitMeter adds SSH visitors to the metrics of the library that they search. A nil one counts nothing.
type VisitMeter struct {
	now     atomic.Int64
	began   *metrics.Counter
	took    *metrics.Histogram
	refused *metrics.Counter
}

// VisitMeter registers the metrics; nil for a server elsewhere, which has its own. Call it once.
func (s *Served) VisitMeter() *VisitMeter {
	if s.library == nil {
		return nil
	}
	registry := s.library.Metrics()
	m := &VisitMeter{
		began: registry.Counter("quarry_ssh_sessions_total", "SSH sessions started.", "kind"),
		took: registry.Histogram("quarry_ssh_session_seconds", "Duration of SSH sessions.",
			[]float64{.1, 1, 10, 60, 600, 3600, 6 * 3600}, "kind"),
		refused: registry.Counter("quarry_ssh_refused_total", "SSH visitors refused.", "reason"),
	}
	registry.Gauge("quarry_ssh_sessions", "Open SSH sessions.", func() float64 { return float64(m.now.Load()) })
	return m
}

// SessionBegan counts a session of a kind, "explorer" or "command", that is open until SessionEnded.
func (m *VisitMeter) SessionBegan(kind string) {
	if m != nil {
		m.now.Add(1)
		m.began.Add(1, kind)
	}
}

// SessionEnded records the duration of a session.
func (m *VisitMeter) SessionEnded(kind string, took time.Duration) {
	if m != nil {
		m.now.Add(-1)
		m.took.Observe(took.Seconds(), kind)
	}
}

// Refused counts a refused visitor by reason: "rate", "full", "handshake" or "identity".
func (m *VisitMeter) Refused(reason string) {
	if m != nil {
		m.refused.Add(1, reason)
	}
}
