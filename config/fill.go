package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"quarry/client/wire"
)

// Themes are the names that theme takes beside those of the user's own themes.
func Themes() []string { return []string{"auto", "dark", "light", "high-contrast", "ansi16", "mono"} }

// fill takes the settings out of viper and checks each.
func (l *loader) fill() error {
	c, v := l.config, l.v
	c.Instant, c.Fast, c.Private = v.GetBool("instant"), v.GetBool("fast"), v.GetBool("private")
	c.Theme = v.GetString("theme")
	c.LLM.Default, c.LLM.Budget = v.GetString("llm.default"), v.GetInt("llm.budget")
	c.Embeddings.BaseURL, c.Embeddings.Model = v.GetString("embeddings.base_url"), v.GetString("embeddings.model")
	c.Embeddings.Key = NewSecret(v.GetString("embeddings.key"))
	c.Embeddings.QueryPrefix = v.GetString("embeddings.query_prefix")
	c.Embeddings.DocumentPrefix = v.GetString("embeddings.document_prefix")
	c.HTTP.Hosts, c.HTTP.Metrics = v.GetStringSlice("http.hosts"), v.GetString("http.metrics")
	c.SSH.AuthorizedKeys = v.GetString("ssh.authorized_keys")
	c.SSH.Token, c.SSH.Open = v.GetBool("ssh.token"), v.GetBool("ssh.open")
	c.IndexEngine, c.DirectoryURL = v.GetString("index.engine"), NewSecret(v.GetString("directory.url"))

	checks := []struct {
		key   string
		check func() error
	}{
		{"theme", l.checkTheme},
		{"rate", func() (err error) { c.Rate, err = ParseRate(v.GetString("rate")); return err }},
		{"llm.budget", func() error { return notNegative(c.LLM.Budget) }},
		{"embeddings.base_url", func() error { return optionalURL(&c.Embeddings.BaseURL) }},
		{"embeddings.key", func() error { return checkSecret(c.Embeddings.Key) }},
		{"embeddings.query_prefix", func() error { return checkPrefix(c.Embeddings.QueryPrefix) }},
		{"embeddings.document_prefix", func() error { return checkPrefix(c.Embeddings.DocumentPrefix) }},
		{"http.hosts", func() error { return checkHosts(c.HTTP.Hosts) }},
		{"http.metrics", func() error { return oneOf(c.HTTP.Metrics, MetricsToken, MetricsOpen) }},
		{"ssh.authorized_keys", func() error { return l.resolve(&c.SSH.AuthorizedKeys) }},
		{"index.engine", func() error { return checkEngine(c.IndexEngine) }},
		{"directory.url", func() error { return checkDatabase(c.DirectoryURL) }},
	}
	for _, item := range checks {
		if err := item.check(); err != nil {
			return l.invalid(item.key, err)
		}
	}
	return nil
}

// checkReferences looks at the names that keys give of others.
func (l *loader) checkReferences() error {
	c := l.config
	if c.Active != "" && c.Active != LocalProfile {
		if _, exists := c.Profiles[c.Active]; !exists {
			return activeRemedy(l.invalid("active", unknownProfile(c.Active, c.ProfileNames())), c.ProfileNames())
		}
	}
	if c.Embeddings.BaseURL != "" && c.Embeddings.Model == "" {
		return l.invalid("embeddings.model", errors.New("is missing: embeddings.base_url is set"))
	}
	if c.LLM.Default == "" {
		return nil
	}
	name, model, _ := strings.Cut(c.LLM.Default, "/")
	provider, exists := c.LLM.Providers[name]
	if !exists {
		return l.invalid("llm.default", fmt.Errorf("no provider %q is configured%s", clip(name),
			hint(name, sortedKeys(c.LLM.Providers))))
	}
	if model == "" && len(provider.Models) == 0 {
		return l.invalid("llm.default", fmt.Errorf("provider %s lists no models: write %s/MODEL", name, name))
	}
	if model != "" && len(provider.Models) > 0 && !slices.Contains(provider.Models, model) {
		return l.invalid("llm.default", fmt.Errorf("provider %s has no model %q%s", name, clip(model),
			hint(model, provider.Models)))
	}
	return nil
}

// activeRemedy names what active may be.
func activeRemedy(err error, known []string) error {
	var e *Error
	if errors.As(err, &e) {
		e.Fix = "set active to one of " + strings.Join(append(known, LocalProfile), ", ") +
			", or remove it; quarry configure makes a profile"
	}
	return err
}

func unknownProfile(name string, known []string) error {
	return fmt.Errorf("no profile %q is configured%s", clip(name), hint(name, known))
}

// hint names the nearest of the known values, or all of them if there are few.
func hint(value string, known []string) string {
	if nearest := wire.Nearest(value, known); nearest != "" {
		return "; the nearest is " + clip(nearest)
	}
	if len(known) == 0 || len(known) > 10 {
		return ""
	}
	return "; there are " + strings.Join(known, ", ")
}

func (l *loader) checkTheme() error {
	name := l.config.Theme
	if slices.Contains(Themes(), name) {
		return nil
	}
	problem := fmt.Errorf("no theme %q%s", clip(name), hint(name, Themes()))
	if CheckName(name) != nil || l.config.sandbox {
		return problem
	}
	entries, err := os.ReadDir(filepath.Join(l.configDir(), "themes"))
	if err != nil {
		return problem
	}
	for _, entry := range entries {
		if strings.TrimSuffix(entry.Name(), filepath.Ext(entry.Name())) == name {
			return nil
		}
	}
	return problem
}

func notNegative(number int) error {
	if number < 0 {
		return errors.New("is negative")
	}
	return nil
}

func oneOf(value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("is %q, not one of %s", clip(value), strings.Join(allowed, ", "))
}

func optionalURL(address *string) error {
	if *address == "" {
		return nil
	}
	checked, err := ServerURL(*address)
	if err == nil {
		*address = checked
	}
	return err
}

func checkPrefix(text string) error {
	const longest = 1000 // characters
	if utf8.RuneCountInString(text) > longest {
		return fmt.Errorf("is longer than %d characters", longest)
	}
	return nil
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

// checkEngine allows the embedded engine and the addresses of others; whether one can be reached is found out later.
func checkEngine(engine string) error {
	if engine == EngineEmbedded {
		return nil
	}
	u, err := url.Parse(engine)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return fmt.Errorf("is neither %q nor the address of an engine", EngineEmbedded)
	}
	if u.User != nil {
		return errors.New("holds a user name or password")
	}
	return nil
}

// checkDatabase never quotes the address: it holds the password of the database.
func checkDatabase(address Secret) error {
	if address.IsZero() {
		return nil
	}
	u, err := url.Parse(address.Reveal())
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") || u.Host == "" {
		return errors.New("is not the address of a database such as postgres://db.example.com/quarry")
	}
	return nil
}

func (l *loader) resolve(path *string) error {
	if *path == "" {
		return nil
	}
	resolved, err := absolute(*path, l.home, l.configDir())
	if err == nil {
		*path = resolved
	}
	return err
}
