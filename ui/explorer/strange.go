package explorer

import (
	"fmt"

	"quarry/client"
	"quarry/client/wire"
)

// strangeSource is a source of a query that a server refused, with the one that was probably meant.
type strangeSource struct{ name, near string }

func (s strangeSource) Error() string { return fmt.Sprintf("there is no source %q", s.name) }

// Remedy says what to do about it.
func (s strangeSource) Remedy() string {
	if s.near == "" {
		return "Remove the filter, or choose a source from the list"
	}
	return fmt.Sprintf("Did you mean source:%s? Or choose a source from the list", s.near)
}

// explained is why a server refused a request, in words for the person, where it may be a source that does not exist.
func explained(err error, sources []string) error {
	if client.KindOf(err) != client.BadRequest {
		return err
	}
	var known []string
	for _, source := range wire.Sources() {
		known = append(known, source.Value)
	}
	for _, name := range sources {
		if _, found := wire.LookupSource(name); !found {
			return strangeSource{name, wire.Nearest(name, known)}
		}
	}
	return err
}
