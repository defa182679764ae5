package config

import "strings"

// Env looks up an environment variable, like os.LookupEnv.
type Env func(key string) (string, bool)

// Get returns the variable's value, or "" if it is not set.
func (e Env) Get(key string) string {
	if e == nil {
		return ""
	}
	value, _ := e(key)
	return value
}

// lookup is nil-safe; a nil Env has no variables.
func (e Env) lookup(key string) (string, bool) {
	if e == nil {
		return "", false
	}
	return e(key)
}

// ReadOnly reports whether QUARRY_READONLY forbids changes to libraries, directories, tokens and profiles. All values
// except empty, 0, false, no and off do: a typo must not allow changes.
func ReadOnly(env Env) bool {
	switch strings.ToLower(strings.TrimSpace(env.Get("QUARRY_READONLY"))) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// Environment is one whole set of variables about where to search: QUARRY_* or ONYX_*.
type Environment struct {
	Family    string  // "QUARRY" or "ONYX"; "" if neither has a server or a token
	ServerURL string  // as given
	Token     Secret  //
	APIPrefix *string // nil if not set; set to empty means no prefix
	Persona   string  // as given; "" if not set
	ReadOnly  bool    // QUARRY_READONLY
}

// ReadEnvironment returns the set QUARRY_* if it has a server or a token, else ONYX_* if that does. Callers check the
// values: a set that is not used must not fail.
func ReadEnvironment(env Env) Environment {
	for _, family := range [...]string{"QUARRY", "ONYX"} {
		e := Environment{
			Family:    family,
			ServerURL: strings.TrimSpace(env.Get(family + "_SERVER_URL")),
			Token:     NewSecret(strings.TrimSpace(env.Get(family + "_PAT"))),
			Persona:   strings.TrimSpace(env.Get(family + "_PERSONA_ID")),
			ReadOnly:  ReadOnly(env),
		}
		if prefix, ok := env.lookup(family + "_API_PREFIX"); ok {
			prefix = strings.TrimSpace(prefix)
			e.APIPrefix = &prefix
		}
		if e.NamesTarget() {
			return e
		}
	}
	return Environment{ReadOnly: ReadOnly(env)}
}

// NamesTarget reports whether the environment decides where to search: it has a server or a token. A prefix or persona
// alone does not.
func (e Environment) NamesTarget() bool { return e.ServerURL != "" || !e.Token.IsZero() }

// Variable returns the full name of a variable of the set, such as "ONYX_PAT" for "PAT".
func (e Environment) Variable(name string) string { return e.Family + "_" + name }
