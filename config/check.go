package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"quarry/client/wire"
)

// Themes lists the built-in values of theme.
func Themes() []string { return []string{"auto", "dark", "light", "high-contrast", "ansi16", "mono"} }

// check is what is wrong with the value of a key; nil: nothing.
type check struct {
	key     string
	problem error
}

// first returns the first problem of a group of keys.
func (l *loader) first(group string, checks []check) error {
	for _, c := range checks {
		if c.problem != nil {
			return l.invalid(joinKey(group, c.key), c.problem)
		}
	}
	return nil
}

// check tests each value, which may be replaced by its one spelling, and then names that refer to other keys.
func (l *loader) check() error {
	c := l.config
	err := l.first("", []check{
		{"theme", l.checkTheme()},
		{"read_seconds", refuseIf(c.ReadSeconds < 1 || c.ReadSeconds > 120, "is not between 1 and 120 seconds")},
		{"age_warning", refuseIf(c.AgeWarning < 0 || c.AgeWarning > 100, "is not between 0 and 100 years")},
		{"links", oneOf(c.Links, LinksFile, LinksPermalink)},
		{"llm.budget", refuseIf(c.LLM.Budget < 0, "is negative")},
		{"embeddings.mode", oneOf(c.Embeddings.Mode, MeaningAuto, MeaningOn, MeaningOff)},
		{"embeddings.weight", refuseIf(!(c.Embeddings.Weight > 0 && c.Embeddings.Weight <= 10),
			"is not above 0 and at most 10")},
		{"embeddings.base_url", spell(&c.Embeddings.BaseURL, wire.ServerURL)},
		{"embeddings.path", refuseIf(c.Embeddings.Path != "" && c.Embeddings.BaseURL != "",
			"cannot be combined with embeddings.base_url")},
		{"embeddings.path", spell(&c.Embeddings.Path, l.resolve)},
		{"embeddings.query_prefix", checkPrefix(c.Embeddings.QueryPrefix)},
		{"embeddings.document_prefix", checkPrefix(c.Embeddings.DocumentPrefix)},
		{"http.hosts", checkHosts(c.HTTP.Hosts)},
		{"http.metrics", oneOf(c.HTTP.Metrics, MetricsToken, MetricsOpen)},
		{"ssh.authorized_keys", spell(&c.SSH.AuthorizedKeys, l.resolve)},
		{"index.engine", checkEngine(c.Index.Engine)},
		{"index.weaviate.ca", spell(&c.Index.Weaviate.CA, l.resolve)},
		{"directory.url", checkDatabase(c.Directory.URL)},
	})
	for _, test := range []func() error{l.checkProfiles, l.checkKeys, l.checkProviders, l.checkActive, l.checkModels} {
		if err == nil {
			err = test()
		}
	}
	return err
}

func (l *loader) checkProfiles() error {
	c := l.config
	for _, name := range c.ProfileNames() {
		group, p := "profiles."+name, c.Profiles[name]
		p.Name, p.TokenCommand = name, strings.TrimSpace(p.TokenCommand)
		if err := CheckName(name); err != nil {
			e := l.invalid(group, err)
			e.Fix = "rename the profile"
			return e
		}
		err := l.first(group, []check{
			{"kind", oneOf(p.Kind, "", KindOnyx, KindSlack)},
			{"server_url", spell(&p.ServerURL, wire.ServerURL)},
			{"api_prefix", spell(p.APIPrefix, wire.APIPrefix)},
			{"library", spell(&p.Library, l.resolve)},
			{"search_also", c.checkSearchAlso(p)},
		})
		if err != nil {
			return err
		}
		if err := p.check(); err != nil {
			return l.invalid(group, err)
		}
		if p.Kind == KindSlack && p.ServerURL == "" {
			p.ServerURL = SlackURL
		}
		c.Profiles[name] = p
	}
	return nil
}

// check tests what the keys of a profile mean together.
func (p Profile) check() error {
	secret := !p.Token.IsZero() || p.TokenCommand != ""
	slack := p.Kind == KindSlack
	for _, mistake := range []struct {
		found   bool
		problem string
	}{
		{slack && (p.APIPrefix != nil || !p.Agent.IsZero() || p.Library != ""),
			"is Slack, which has no api_prefix, agent or library"},
		{slack && p.Name == LocalProfile, "is the library of this machine; choose another name for Slack"},
		{!slack && p.Kind != "" && p.ServerURL == "", "has a kind but no server_url"},
		{p.ServerURL != "" && p.Library != "", "has a server_url and a library; use only one or the other"},
		{p.Name == LocalProfile && (p.ServerURL != "" || p.Library != ""),
			"is the library of this machine, which is in the data folder; choose another name"},
		{!slack && p.ServerURL == "" && p.Library == "" && p.Name != LocalProfile,
			"has neither a server_url nor a library"},
		{!slack && p.ServerURL == "" && (secret || p.APIPrefix != nil),
			"has a token or an api_prefix but no server_url"},
		{!p.Token.IsZero() && p.TokenCommand != "", "has a token and a token_command; use only one of them"},
	} {
		if mistake.found {
			return errors.New(mistake.problem)
		}
	}
	return nil
}

func (c *Config) checkSearchAlso(p Profile) error {
	for i, name := range p.SearchAlso {
		_, exists := c.Lookup(name)
		switch {
		case !exists:
			return unknownProfile(name, append(c.ProfileNames(), LocalProfile))
		case name == p.Name:
			return fmt.Errorf("contains its own profile %s", name)
		case slices.Contains(p.SearchAlso[:i], name):
			return fmt.Errorf("contains %s twice", name)
		}
	}
	return nil
}

func (l *loader) checkKeys() error {
	for action, keys := range l.config.Keys {
		if action == "" || len(action) > longestName || strings.ContainsAny(action, " \t\n") {
			return l.invalid("keys."+action, errors.New("is not the name of an action"))
		}
		if slices.ContainsFunc(keys, func(key string) bool { return key == "" || len(key) > longestName }) {
			return l.invalid("keys."+action, errors.New("is not a key such as q or ctrl+c"))
		}
	}
	return nil
}

func (l *loader) checkProviders() error {
	providers := l.config.LLM.Providers
	for name, p := range providers {
		err := l.first("llm.providers", []check{
			{name, CheckName(name)},
			{name + ".base_url", spell(&p.BaseURL, wire.ServerURL)},
			{name, refuseIf(p.BaseURL == "", "has no base_url")},
		})
		if err != nil {
			return err
		}
		providers[name] = p
	}
	return nil
}

func (l *loader) checkActive() error {
	c := l.config
	if _, exists := c.Lookup(c.Active); exists || c.Active == "" {
		return nil
	}
	e := l.invalid("active", unknownProfile(c.Active, c.ProfileNames()))
	e.Fix = "set active to one of " + strings.Join(append(c.ProfileNames(), LocalProfile), ", ") +
		", or remove it; quarry configure creates a profile"
	return e
}

// checkModels tests that the default model exists.
func (l *loader) checkModels() error {
	c := l.config
	if c.Embeddings.BaseURL != "" && c.Embeddings.Model == "" {
		return l.invalid("embeddings.model", errors.New("is missing: embeddings.base_url is set"))
	}
	if c.LLM.Default == "" {
		return nil
	}
	name, model, _ := strings.Cut(c.LLM.Default, "/")
	provider, exists := c.LLM.Providers[name]
	var err error
	switch {
	case !exists:
		err = fmt.Errorf("unknown provider %q%s", clip(name), hint(name, sortedKeys(c.LLM.Providers)))
	case model == "" && len(provider.Models) == 0:
		err = fmt.Errorf("provider %s lists no models: write %s/MODEL", name, name)
	case model != "" && len(provider.Models) > 0 && !slices.Contains(provider.Models, model):
		err = fmt.Errorf("provider %s has no model %q%s", name, clip(model), hint(model, provider.Models))
	default:
		return nil
	}
	return l.invalid("llm.default", err)
}

func unknownProfile(name string, known []string) error {
	return fmt.Errorf("unknown profile %q%s", clip(name), hint(name, known))
}

// hint suggests the nearest known value, or lists all if there are few.
func hint(value string, known []string) string {
	if nearest := wire.Nearest(value, known); nearest != "" {
		return "; did you mean " + clip(nearest) + "?"
	}
	if len(known) == 0 || len(known) > 10 {
		return ""
	}
	return "; known are " + strings.Join(known, ", ")
}

func (l *loader) checkTheme() error {
	name := l.config.Theme
	if slices.Contains(Themes(), name) {
		return nil
	}
	problem := fmt.Errorf("unknown theme %q%s", clip(name), hint(name, Themes()))
	if CheckName(name) != nil || l.config.sandbox {
		return problem
	}
	if _, err := os.Stat(filepath.Join(l.configDir(), "themes", name+".yaml")); err != nil {
		return problem
	}
	return nil
}

func refuseIf(wrong bool, problem string) error {
	if wrong {
		return errors.New(problem)
	}
	return nil
}

func oneOf(value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("is %q, not one of %s", clip(value), strings.Join(allowed, ", "))
}

// spell gives a value, if there is one, its one spelling.
func spell(value *string, spelling func(string) (string, error)) error {
	if value == nil || *value == "" {
		return nil
	}
	spelt, err := spelling(*value)
	if err == nil {
		*value = spelt
	}
	return err
}

func checkPrefix(text string) error {
	const longest = 1000 // characters
	return refuseIf(utf8.RuneCountInString(text) > longest, fmt.Sprintf("is longer than %d characters", longest))
}

func checkHosts(hosts []string) error {
	for _, host := range hosts {
		u, err := url.Parse("//" + host)
		if err != nil || host == "" || u.Host != host || u.User != nil || strings.ContainsAny(host, " \t/\\@,*") {
			return fmt.Errorf("%q is not a host name such as search.example.com", clip(host))
		}
	}
	return nil
}

// checkEngine allows the embedded engine and addresses of others, without connecting to them.
func checkEngine(engine string) error {
	if engine == EngineEmbedded || engine == EnginePostgres {
		return nil
	}
	scheme, rest, ok := strings.Cut(engine, "://")
	hosts, _, _ := strings.Cut(rest, "?")
	switch {
	case !ok || scheme != "weaviate" && scheme != "weaviates" || strings.Trim(hosts, "/") == "":
		return fmt.Errorf("is not %q, %q or the address of a Weaviate cluster such as weaviate://host1:8080,host2:8080",
			EngineEmbedded, EnginePostgres)
	case strings.Contains(hosts, "@"):
		return errors.New("contains a user name or password: set index.weaviate.key instead")
	}
	return nil
}

// checkDatabase never quotes the address, which may contain a password.
func checkDatabase(address Secret) error {
	if address.IsZero() {
		return nil
	}
	u, err := url.Parse(address.Reveal())
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") ||
		u.Host == "" && u.Query().Get("host") == "" {
		return errors.New("is not the address of a database such as postgres://db.example.com/quarry")
	}
	return nil
}

// DefaultAPIPrefix is where a normal Onyx deployment exposes its API.
const DefaultAPIPrefix = "/api"

const longestName = 64

// CheckName returns an error if the name of a profile or provider is invalid.
func CheckName(name string) error {
	if name == "" || len(name) > longestName {
		return fmt.Errorf("a name has 1 to %d characters", longestName)
	}
	isOther := func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' }
	return refuseIf(strings.ContainsFunc(name, isOther), "a name has only a to z, 0 to 9, _ and -")
}

// ParseRate parses a limit such as "60/h"; the periods are s, m, h and d. "" and "0" are no limit.
func ParseRate(text string) (Rate, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "0" {
		return Rate{}, nil
	}
	number, unit, _ := strings.Cut(text, "/")
	count, err := strconv.Atoi(number)
	if err != nil || count < 1 || count > 1_000_000_000 {
		return Rate{}, errors.New("is not a number of requests per period, such as 60/h")
	}
	per, known := ratePeriods()[unit]
	if !known {
		return Rate{}, errors.New("the period is s, m, h or d, as in 60/h")
	}
	return Rate{count, per}, nil
}

func ratePeriods() map[string]time.Duration {
	return map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
}

// String returns the text that ParseRate parses; "" for no limit.
func (r Rate) String() string {
	for unit, per := range ratePeriods() {
		if r.Per == per {
			return strconv.Itoa(r.Count) + "/" + unit
		}
	}
	return ""
}

// ParseAgent parses an agent's number; other text is a name.
func ParseAgent(text string) (agent wire.Agent, err error) {
	text = strings.TrimSpace(text)
	number, err := strconv.Atoi(text)
	switch {
	case text == "":
		return agent, errors.New("is empty")
	case err == nil && number < 0:
		return agent, errors.New("an agent's number is not negative")
	case err == nil:
		return wire.Agent{ID: &number}, nil
	case errors.Is(err, strconv.ErrRange):
		return agent, errors.New("the number is too large for an agent")
	case len(text) > 500:
		return agent, errors.New("the name is too long for an agent")
	}
	return wire.Agent{Name: text}, nil
}

// resolve resolves a path of the configuration: "~" is the home folder, and relative paths start at the file's.
func (l *loader) resolve(path string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", errors.New("not a path")
	}
	if rest, tilde := strings.CutPrefix(path, "~"); tilde && (rest == "" || rest[0] == '/' || rest[0] == '\\') {
		if l.home == "" {
			return "", errors.New("the home folder (~) is unknown")
		}
		return filepath.Join(l.home, rest), nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.configDir(), path)
	}
	return filepath.Clean(path), nil
}
