package client

import (
	"strconv"
	"strings"

	"quarry/client/wire"
)

// FindAgent finds the number of an agent by its name, whatever the case. A number that no agent is called is taken as
// it is: the server knows agents that it does not list. Where nothing is found, near is the name that comes closest, if
// any does.
func FindAgent(personas []wire.Persona, name string) (id int, near string, found bool) {
	names := make([]string, 0, len(personas))
	for _, persona := range personas {
		if strings.EqualFold(persona.Name, name) {
			return persona.ID, "", true
		}
		names = append(names, persona.Name)
	}
	if number, err := strconv.Atoi(name); err == nil {
		return number, "", true
	}
	return 0, wire.Nearest(name, names), false
}
