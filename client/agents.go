package client

import (
	"strconv"
	"strings"

	"quarry/client/wire"
)

// FindAgent finds the number of an agent by its name. Another case will do if only one agent has the name in it. A number
// that no agent is called is taken as it is: the server knows agents that it does not list. Where nothing is found, near
// is the name that comes closest, if any does.
func FindAgent(personas []wire.Persona, name string) (id int, near string, found bool) {
	names := make([]string, 0, len(personas))
	var folded []int
	for _, persona := range personas {
		if persona.Name == name {
			return persona.ID, "", true
		}
		if strings.EqualFold(persona.Name, name) {
			folded = append(folded, persona.ID)
		}
		names = append(names, persona.Name)
	}
	if len(folded) == 1 {
		return folded[0], "", true
	}
	if number, err := strconv.Atoi(name); err == nil {
		return number, "", true
	}
	return 0, wire.Nearest(name, names), false
}
