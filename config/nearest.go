package config

import (
	"slices"
	"strings"

	"quarry/client/wire"
)

// nearestKey also compares last parts, so that a key written at the wrong level is found.
func nearestKey(path string, known []string) string {
	if best := wire.Nearest(path, known); best != "" {
		return best
	}
	last := func(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
	tails := make([]string, len(known))
	for i, key := range known {
		tails[i] = last(key)
	}
	if best := wire.Nearest(last(path), tails); best != "" {
		return known[slices.Index(tails, best)]
	}
	return ""
}
