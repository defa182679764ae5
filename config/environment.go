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

// lookup reports set variables only; a nil Env has none.
func (e Env) lookup(key string) (string, bool) {
	if e == nil {
		return "", false
	}
	return e(key)
}

// ReadOnly reports whether QUARRY_READONLY forbids every change to a library, directory, token or profile. Anything
// but empty, 0, false, no and off counts as a yes: a misspelt wish to be safe is still one.
func ReadOnly(env Env) bool {
	switch strings.ToLower(strings.TrimSpace(env.Get("QUARRY_READONLY"))) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// Environment is what the environment says about where to search: one whole set of variables, QUARRY_* or ONYX_*.
type Environment struct {
	Family    string  // "QUARRY" or "ONYX": the set that was taken; "" if neither names a server or a token
	ServerURL string  // as given
	Token     Secret  //
	APIPrefix *string // nil if not set; set to empty means no prefix
	Persona   string  // as given; "" if not set
	ReadOnly  bool    // QUARRY_READONLY
}

// ReadEnvironment takes the set QUARRY_* if it names a server or a token, else ONYX_* if that does. Values are checked
// by who uses them, since a set that loses must not fail.
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

// NamesTarget reports whether the environment decides where to search: by a server or a token, not by a prefix or a
// persona alone.
func (e Environment) NamesTarget() bool { return e.ServerURL != "" || !e.Token.IsZero() }

// Variable is the full name of a variable of the set that was taken, such as "ONYX_PAT" for "PAT".
func (e Environment) Variable(name string) string { return e.Family + "_" + name }
