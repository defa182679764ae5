package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ProfileNames lists the profiles of the file in order.
func (c *Config) ProfileNames() []string { return sortedKeys(c.Profiles) }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// ActiveProfile returns the profile that searches go to, if the file chooses one: by active, or by holding only one.
func (c *Config) ActiveProfile() (Profile, bool) {
	if c.Active != "" {
		return c.Lookup(c.Active)
	}
	if len(c.Profiles) == 1 {
		return c.Profiles[c.ProfileNames()[0]], true
	}
	return Profile{}, false
}

// Lookup finds a profile by name; LocalProfile exists always.
func (c *Config) Lookup(name string) (Profile, bool) {
	if profile, ok := c.Profiles[name]; ok {
		return profile, true
	}
	return Profile{Name: LocalProfile}, name == LocalProfile
}

// Sandbox reports whether the configuration file was left alone because the environment alone configures this run.
func (c *Config) Sandbox() bool { return c.sandbox }

func (l *loader) readProfiles(node *yaml.Node) error {
	l.config.Profiles = map[string]Profile{}
	err := l.tree.fields(node, "profiles", nil, func(name string, node *yaml.Node) error {
		path := "profiles." + name
		if err := CheckName(name); err != nil {
			return &Error{File: l.tree.file, Line: node.Line, Key: clip(path), Problem: err.Error(), Fix: "rename the profile"}
		}
		profile, err := l.readProfile(node, name, path)
		l.config.Profiles[name] = profile
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range l.config.ProfileNames() {
		if err := l.checkSearchAlso(l.config.Profiles[name], child(child(node, name), "search_also")); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) readProfile(node *yaml.Node, name, path string) (Profile, error) {
	p := Profile{Name: name}
	err := l.tree.fields(node, path, profileKeys(), func(key string, node *yaml.Node) (err error) {
		whole := path + "." + key
		if key == "search_also" {
			p.SearchAlso, err = l.tree.texts(node, whole)
			return err
		}
		text, err := l.tree.scalar(node, whole)
		if err != nil {
			return err
		}
		if err := l.setProfile(&p, key, text); err != nil {
			return l.tree.badValue(node, whole, err)
		}
		return nil
	})
	if err != nil {
		return p, err
	}
	if err := p.check(); err != nil {
		return p, l.tree.badValue(node, path, err)
	}
	if p.Kind == KindSlack && p.ServerURL == "" {
		p.ServerURL = SlackURL
	}
	return p, nil
}

func (l *loader) setProfile(p *Profile, key, text string) (err error) {
	switch key {
	case "kind":
		p.Kind = text
		err = oneOf(text, KindOnyx, KindSlack)
	case "server_url":
		p.ServerURL, err = ServerURL(text)
	case "api_prefix":
		text, err = APIPrefix(text)
		p.APIPrefix = &text
	case "token":
		p.Token = NewSecret(strings.TrimSpace(text))
		err = checkSecret(p.Token)
	case "token_command":
		p.TokenCommand = strings.TrimSpace(text)
	case "agent":
		p.Agent, err = ParseAgent(text)
	case "library":
		p.Library = text
		err = l.resolve(&p.Library)
	}
	return err
}

// check looks at what the keys of a profile mean together.
func (p Profile) check() error {
	secret := !p.Token.IsZero() || p.TokenCommand != ""
	slack := p.Kind == KindSlack
	switch {
	case slack && (p.APIPrefix != nil || !p.Agent.IsZero() || p.Library != ""):
		return errors.New("is Slack, which has no api_prefix, agent or library")
	case slack && p.Name == LocalProfile:
		return errors.New("is the library of this machine; choose another name for Slack")
	case slack && !p.Token.IsZero() && p.TokenCommand != "":
		return errors.New("has a token and a token_command; one of them is enough")
	case slack:
		return nil
	case p.Kind != "" && p.ServerURL == "":
		return errors.New("has a kind, which is that of a server, but no server_url")
	case p.ServerURL != "" && p.Library != "":
		return errors.New("names a server_url and a library; a profile is one or the other")
	case p.Name == LocalProfile && (p.ServerURL != "" || p.Library != ""):
		return errors.New("is the library of this machine, which lies in the data folder; choose another name")
	case p.ServerURL == "" && p.Library == "" && p.Name != LocalProfile:
		return errors.New("names neither a server_url nor a library")
	case p.ServerURL == "" && (secret || p.APIPrefix != nil):
		return errors.New("has a token or an api_prefix but no server_url")
	case !p.Token.IsZero() && p.TokenCommand != "":
		return errors.New("has a token and a token_command; one of them is enough")
	}
	return nil
}

func (l *loader) checkSearchAlso(p Profile, node *yaml.Node) error {
	for i, name := range p.SearchAlso {
		key := "profiles." + p.Name + ".search_also"
		_, exists := l.config.Lookup(name)
		switch {
		case !exists:
			return l.tree.badValue(node, key, unknownProfile(name, append(l.config.ProfileNames(), LocalProfile)))
		case name == p.Name:
			return l.tree.badValue(node, key, fmt.Errorf("names its own profile %s", name))
		case slices.Contains(p.SearchAlso[:i], name):
			return l.tree.badValue(node, key, fmt.Errorf("names %s twice", name))
		}
	}
	return nil
}

func (l *loader) readKeys(node *yaml.Node) error {
	l.config.Keys = map[string][]string{}
	return l.tree.fields(node, "keys", nil, func(action string, node *yaml.Node) error {
		path := "keys." + action
		if action == "" || len(action) > longestName || strings.ContainsAny(action, " \t\n") {
			return l.tree.badValue(node, path, errors.New("not the name of an action"))
		}
		keys, err := l.tree.texts(node, path)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if key == "" || len(key) > longestName {
				return l.tree.badValue(node, path, errors.New("not a key such as q or ctrl+c"))
			}
		}
		l.config.Keys[action] = keys
		return nil
	})
}

func (l *loader) readProviders(node *yaml.Node) error {
	l.config.LLM.Providers = map[string]Provider{}
	return l.tree.fields(node, "llm.providers", nil, func(name string, node *yaml.Node) error {
		path := "llm.providers." + name
		if err := CheckName(name); err != nil {
			return l.tree.badValue(node, path, err)
		}
		p, err := l.readProvider(node, path)
		if err == nil && p.BaseURL == "" {
			err = l.tree.badValue(node, path, errors.New("has no base_url"))
		}
		l.config.LLM.Providers[name] = p
		return err
	})
}

func (l *loader) readProvider(node *yaml.Node, path string) (Provider, error) {
	var p Provider
	err := l.tree.fields(node, path, providerKeys(), func(key string, node *yaml.Node) (err error) {
		whole := path + "." + key
		if key == "models" {
			p.Models, err = l.tree.texts(node, whole)
			return err
		}
		text, err := l.tree.scalar(node, whole)
		if err != nil {
			return err
		}
		if key == "base_url" {
			p.BaseURL, err = ServerURL(text)
		} else {
			p.Key = NewSecret(strings.TrimSpace(text))
			err = checkSecret(p.Key)
		}
		if err != nil {
			return l.tree.badValue(node, whole, err)
		}
		return nil
	})
	return p, err
}

// holdsSecret reports whether the file itself holds a secret.
func (c *Config) holdsSecret(t *tree) bool {
	for _, p := range c.Profiles {
		if !p.Token.IsZero() {
			return true
		}
	}
	for _, p := range c.LLM.Providers {
		if !p.Key.IsZero() {
			return true
		}
	}
	key, address := child(child(t.root, "embeddings"), "key"), child(child(t.root, "directory"), "url")
	return (key != nil && !isNull(key)) || (address != nil && !isNull(address))
}
