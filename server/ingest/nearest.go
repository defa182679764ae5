package ingest

import "quarry/client/wire"

func lookupSource(value string) (known bool, near string) {
	if s, ok := wire.LookupSource(value); ok && !s.Internal {
		return true, value
	}
	var values []string
	for _, s := range wire.Sources() {
		if !s.Internal {
			values = append(values, s.Value)
		}
	}
	return false, wire.Nearest(value, values)
}
