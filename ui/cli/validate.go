package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/target"
)

// jsonStep is a step in the JSON of validate-config. Steps come in the order in which they are tried; those after a
// failed one are skipped.
type jsonStep struct {
	Name    string `json:"name" jsonschema:"config, server, reachable, identity, version, permissions or search"`
	Outcome string `json:"outcome" jsonschema:"ok, warning, failed or skipped"`
	Detail  string `json:"detail"`
	Remedy  string `json:"remedy,omitempty" jsonschema:"of a failed step"`
}

// validateOutput is the JSON of validate-config.
type validateOutput struct {
	OK          bool       `json:"ok"`
	ExitCode    int        `json:"exit_code"`
	Config      string     `json:"config" jsonschema:"file or environment"`
	Server      string     `json:"server"`
	Version     string     `json:"version,omitempty" jsonschema:"of the server"`
	Email       string     `json:"email,omitempty" jsonschema:"of the user of the token"`
	User        string     `json:"user,omitempty" jsonschema:"if there is no email"`
	Permissions []string   `json:"permissions"`
	Steps       []jsonStep `json:"steps"`
	Schema      int        `json:"schema" jsonschema:"version of this format"`
}

// versionOutput is the JSON of version.
type versionOutput struct {
	ClientVersion string `json:"client_version"`
	Commit        string `json:"commit,omitempty"`
	Date          string `json:"date,omitempty" jsonschema:"of the commit, RFC 3339"`
	ServerVersion string `json:"server_version" jsonschema:"unknown (why) if it cannot be asked"`
	Schema        int    `json:"schema" jsonschema:"version of the JSON output"`
}

// The outcomes of a step.
const (
	stepOK      = "ok"
	stepWarning = "warning"
	stepFailed  = "failed"
	stepSkipped = "skipped"
)

// validation is a run through the steps of validate-config.
type validation struct {
	connectionTest
	app                                   *app
	config, server, release, email, owner string // owner if there is no email
	permissions                           []string
	// A library of this machine: the identity is its owner, who may do everything.
	here    bool
	program string // release of the quarry that answers there
}

func (a *app) validate(ctx context.Context, _ []string) {
	ctx, cancel := a.deadline(a.traced(ctx))
	defer cancel()
	stop := a.busy("Checking…")
	v := &validation{app: a}
	defer v.close()
	v.run(ctx)
	stop()
	if errors.Is(ctx.Err(), context.Canceled) {
		guard.Abort(errInterrupted)
	}
	failure := a.explain(v.failed)
	v.print(failure)
	if failure != nil {
		guard.Abort(&Failure{Code: failure.Code, What: "connection check failed: " + failure.What, Do: failure.Do,
			Err: v.failed})
	}
}

// run tries one step after the other until one fails.
func (v *validation) run(ctx context.Context) {
	var choice target.Choice
	v.step("config", func() string {
		choice = guard.Must(v.app.decideTarget(v.app.request()))
		v.config = choice.ConfigFrom()
		return choice.Reason
	})
	v.step("server", func() string {
		v.server, v.here = choice.Describe(), choice.Kind == target.KindLibrary || choice.Kind == target.KindSample
		v.session = v.app.open(ctx, choice)
		return v.server
	})
	if choice.Kind == target.KindSlack {
		v.slack(ctx, choice)
		return
	}
	v.step("reachable", func() string { return reach(ctx, v.session.Client) })
	v.step("identity", func() string { return v.identity(ctx, v.session.Client) })
	v.step("version", func() string { return v.version(ctx, v.session.Client, choice) })
	v.step("permissions", func() string { return cmp.Or(strings.Join(v.permissions, ", "), "unknown") })
	v.step("search", func() string { return searches(ctx, v.session.Client) })
	if host, err := v.app.program.Host(); err == nil && v.here {
		if name, err := host.CheckEmbeddings(); name != "" || err != nil {
			v.step("embeddings", func() string { return guard.Must(name, err) })
		}
	}
}

// slack tests a Slack target, which has no version and no permissions.
func (v *validation) slack(ctx context.Context, choice target.Choice) {
	host, err := v.app.program.Host()
	if err != nil {
		return // the first step failed with it
	}
	who, err := host.CheckSlack(ctx, choice)
	if v.owner = who; who != "" || err == nil {
		v.step("identity", func() string { return who })
	}
	v.step("search", func() string { return guard.Must("answers", err) })
}

// describeSteps returns the steps as they are printed.
func (v *validation) describeSteps() (steps []jsonStep) {
	for _, tried := range v.steps {
		step := jsonStep{Name: tried.Name, Outcome: stepOK, Detail: tried.Detail}
		if tried.Skipped {
			step.Outcome, step.Detail = stepSkipped, "not tried"
		} else if warned, ok := errors.AsType[warning](tried.Err); ok {
			step.Outcome, step.Detail = stepWarning, string(warned)
		} else if failure := v.app.explain(tried.Err); failure != nil {
			step.Outcome, step.Detail, step.Remedy = stepFailed, failure.What, text.Sentence(failure.Do)
		}
		steps = append(steps, step)
	}
	return steps
}

// warning is a problem that does not fail a step.
type warning string

func (w warning) Error() string { return string(w) }

func (v *validation) identity(ctx context.Context, c *client.Client) string {
	me := identity(ctx, c)
	v.email, v.permissions = me.Email, me.EffectivePermissions
	return me.Email
}

func (v *validation) version(ctx context.Context, c *client.Client, choice target.Choice) string {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	version, err := c.Version(ctx)
	if err != nil {
		guard.Abort(warning("the server does not report its version: " + text.OneLine(err.Error())))
	}
	v.release = version.BackendVersion
	if version.Quarry != nil {
		v.program = version.Quarry.Version
	}
	if isTooOld(version, choice) {
		guard.Abort(warning(fmt.Sprintf("%s is older than %d.0, the oldest tested version", version.BackendVersion,
			oldestTested)))
	}
	return versionText(version)
}

// print prints what was found; failure is why the test failed, if it did.
func (v *validation) print(failure *Failure) {
	code, status := ExitSuccess, "connected and authenticated"
	if failure != nil {
		code, status = failure.Code, "failed"
	}
	steps := v.describeSteps()
	var b strings.Builder
	line := func(label, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-8s %s\n", label+":", printable(value))
		}
	}
	line("Config", v.config)
	if v.here {
		if failure == nil {
			status = "ready to search"
		}
		line("Library", v.server)
		line("Status", status)
		line("Version", v.program)
	} else {
		line("Server", v.server)
		line("Status", status)
		line("Version", v.release)
		line("User", cmp.Or(v.email, v.owner))
		line("May", strings.Join(v.permissions, ", "))
	}
	b.WriteString(v.app.stepsText(steps))
	v.app.printOr(validateOutput{failure == nil, code, v.config, v.server, v.release, v.email, v.owner,
		v.permissions, steps, schemaVersion}, b.String())
}

// stepsText lists the steps that did not pass; what the others found is printed above. Why a step failed
// follows as the error.
func (a *app) stepsText(steps []jsonStep) string {
	var b strings.Builder
	marks := map[string]string{stepWarning: a.style.Warning.Render("!"), stepFailed: a.style.Error.Render("✗"),
		stepSkipped: a.style.Muted.Render("-")}
	for _, step := range steps {
		if step.Outcome == stepOK {
			continue
		}
		detail := step.Detail
		if step.Outcome == stepFailed {
			detail = "failed"
		}
		if b.Len() == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s %-12s%s\n", marks[step.Outcome], step.Name, printable(detail))
	}
	return b.String()
}

// versionTime bounds the request for a server's version.
const versionTime = 5 * time.Second

// printVersion never fails: a version is asked for when something else already did.
func (a *app) printVersion(ctx context.Context, _ []string) {
	server := a.serverVersion(ctx)
	own := a.program.Version
	if a.program.Commit != "" {
		day, _, _ := strings.Cut(a.program.Date, "T")
		own += " (" + strings.TrimSpace(text.Clip(a.program.Commit, 7)+" "+day) + ")"
	}
	a.printOr(versionOutput{a.program.Version, a.program.Commit, a.program.Date, server, schemaVersion},
		fmt.Sprintf("Client version: %s\nServer version: %s\n", own, server))
}

func (a *app) serverVersion(ctx context.Context) string {
	limit := versionTime
	if a.flags.Timeout > 0 {
		limit = min(limit, a.flags.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	choice, err := a.decideTarget(a.request())
	if err != nil {
		return "unknown (not configured)"
	}
	found := "unknown (could not reach server)"
	_ = guard.Ended(func() { // found says that it failed
		a.with(ctx, a.onTarget(choice), func(ctx context.Context, c *client.Client) {
			version := guard.Must(c.Version(ctx))
			found = versionText(version)
			if isTooOld(version, choice) {
				a.note("the server is older than %d.0, the oldest tested version", oldestTested)
			}
		})
	})
	return found
}

func versionText(version *wire.Version) string {
	if version.Quarry != nil && version.Quarry.Version != "" {
		return fmt.Sprintf("%s (quarry %s)", version.BackendVersion, version.Quarry.Version)
	}
	return cmp.Or(version.BackendVersion, "unknown (empty response)")
}

// isTooOld reports whether a server is an Onyx older than the oldest that was tested.
func isTooOld(version *wire.Version, choice target.Choice) bool {
	return version.Quarry == nil && choice.Kind == target.KindRemote && olderThan(version.BackendVersion, oldestTested)
}

// oldestTested is the oldest major version of Onyx that was tested.
const oldestTested = 3

// olderThan compares the major number of a version; text that is none, like Development, is not older.
func olderThan(version string, major int) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	found, err := strconv.Atoi(first)
	return err == nil && found < major
}

// ConnectionStep is a step of the test of a connection.
type ConnectionStep struct {
	Name    string
	Detail  string // what was found
	Err     error  // of a step that failed; a warning if it passed
	Skipped bool   // because an earlier step failed
}

// connectionTest runs steps until one fails.
type connectionTest struct {
	steps   []ConnectionStep
	session *client.Session // opened by one of the steps
	failed  error
}

// step runs a step, which returns what it found or aborts with its error.
func (t *connectionTest) step(name string, run func() string) {
	step := ConnectionStep{Name: name, Skipped: t.failed != nil}
	if !step.Skipped {
		step.Detail, step.Err = guard.Result(run)
		if _, passed := errors.AsType[warning](step.Err); !passed {
			t.failed = step.Err
		}
	}
	t.steps = append(t.steps, step)
}

func (t *connectionTest) close() {
	if t.session != nil {
		_ = t.session.Close()
	}
}

// TryConnection tests a server that is not saved yet: that it is reachable, accepts the token, and searches, which
// costs no model call. The steps are "server", "token" and "search". The profile that is returned is the one to save:
// its address has a scheme, and it has no API prefix if the server answers only without the usual one.
func TryConnection(ctx context.Context, host Host,
	profile config.NewProfile) (config.NewProfile, []ConnectionStep, error) {
	profile.Profile.ServerURL = withScheme(profile.Profile.ServerURL)
	steps, err := testConnection(ctx, host, profile)
	if kind := client.KindOf(err); kind == client.NotAvailable || kind == client.Server {
		bare := profile
		bare.Profile.APIPrefix = new(string)
		if bareSteps, bareErr := testConnection(ctx, host, bare); bareErr == nil {
			return bare, bareSteps, nil
		}
	}
	return profile, steps, err
}

func testConnection(ctx context.Context, host Host, profile config.NewProfile) ([]ConnectionStep, error) {
	t := connectionTest{}
	defer t.close()
	t.step("server", func() string {
		t.session = guard.Must(host.Open(ctx, guard.Must(host.Trial(profile.Profile, profile.Typed))))
		return reach(ctx, t.session.Client)
	})
	t.step("token", func() string { return identity(ctx, t.session.Client).Email })
	t.step("search", func() string { return searches(ctx, t.session.Client) })
	return t.steps, t.failed
}

// Explain returns an error as a command would print it.
func Explain(err error, started time.Time) *Failure {
	a := &app{started: started}
	failure := a.explain(err)
	if failure == nil {
		return nil
	}
	do := failure.Do
	if failure.Code == ExitTimeout {
		do = "Check the network, then try again"
	}
	return &Failure{Code: failure.Code, What: printable(failure.What), Do: printable(text.Sentence(do)),
		Err: failure.Err}
}

// reach checks that something answers at a server's address.
func reach(ctx context.Context, c *client.Client) string {
	err := c.Root(ctx)
	if reply, ok := errors.AsType[*client.Error](err); ok && reply.Kind == client.Auth {
		guard.Abort(&Failure{Code: ExitAuth,
			What: "a proxy or firewall refuses all requests: " + text.OneLine(reply.Error()),
			Do:   "Ask the administrator of the proxy or firewall for access.", Err: err})
	}
	return guard.Must("answers", err)
}

// identity returns the owner of the token. An anonymous identity means that the server does not know the token.
func identity(ctx context.Context, c *client.Client) *wire.Me {
	me := guard.Must(c.Me(ctx))
	if me.IsAnonymousUser {
		guard.Abort(fail(ExitAuth,
			"Create a new token in the server's settings, then run quarry configure or set ONYX_PAT",
			"the server does not accept the token: it treats the request as anonymous"))
	}
	return me
}

// searches asks for nothing: a server that would search refuses the empty request, which costs no model call.
func searches(ctx context.Context, c *client.Client) string {
	_, err := c.Search(ctx, wire.SearchRequest{})
	reply, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
	case reply.Status == http.StatusUnprocessableEntity:
		err = nil
	case reply.Status == http.StatusNotFound:
		err = &Failure{Code: ExitNotAvailable, What: "this server has no search API", Err: err,
			Do: "Check the address and the API prefix (often /api). Onyx before 3.0 has no search API."}
	}
	return guard.Must("answers", err)
}

// withScheme completes an address that was typed without its scheme. Servers on this machine rarely have a certificate.
func withScheme(address string) string {
	if strings.Contains(address, "://") {
		return address
	}
	if parsed, err := url.Parse("http://" + address); err == nil && wire.IsLoopback(parsed.Hostname()) {
		return "http://" + address
	}
	return "https://" + address
}
