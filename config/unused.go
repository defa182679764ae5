package config

import (
	"fmt"
	"strings"
)

// warnOfUnused says which settings are checked and kept, but change nothing in this version: whoever wrote them should
// not wonder why.
func (c *Config) warnOfUnused() {
	var unused []string
	note := func(set bool, key string) {
		if set {
			unused = append(unused, key)
		}
	}
	note(c.SSH.AuthorizedKeys != "" || c.SSH.Token || c.SSH.Open, "ssh")
	if unused != nil {
		c.Warnings = append(c.Warnings, Warning{
			Text:   fmt.Sprintf("%s: not used by this version: %s", c.File, strings.Join(unused, ", ")),
			Remedy: "leave them for a later version, or take them out"})
	}
}
