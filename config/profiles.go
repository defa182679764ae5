package config

import (
	"maps"
	"slices"
)

// ProfileNames lists the profiles of the file in order.
func (c *Config) ProfileNames() []string { return sortedKeys(c.Profiles) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// ActiveProfile returns the profile of active, or else the only profile of the file.
func (c *Config) ActiveProfile() (Profile, bool) {
	if c.Active != "" {
		return c.Lookup(c.Active)
	}
	if len(c.Profiles) == 1 {
		return c.Profiles[c.ProfileNames()[0]], true
	}
	return Profile{}, false
}

// Lookup returns a profile by name; LocalProfile always exists.
func (c *Config) Lookup(name string) (Profile, bool) {
	if profile, ok := c.Profiles[name]; ok {
		return profile, true
	}
	return Profile{Name: LocalProfile}, name == LocalProfile
}

// Sandbox reports whether the file was not read because only the environment configures this run.
func (c *Config) Sandbox() bool { return c.sandbox }
