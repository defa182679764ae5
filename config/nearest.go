package config

import (
	"slices"
	"strings"
)

// Nearest returns the known value that is closest to a misspelt one, or "" if none is close.
func Nearest(value string, known []string) string {
	best, bestDistance := "", len([]rune(value))/3+2
	for _, candidate := range known {
		if d := distance(strings.ToLower(value), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// nearestKey also compares last parts, so that a key written at the wrong level is found.
func nearestKey(path string, known []string) string {
	if best := Nearest(path, known); best != "" {
		return best
	}
	last := func(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
	tails := make([]string, len(known))
	for i, key := range known {
		tails[i] = last(key)
	}
	if best := Nearest(last(path), tails); best != "" {
		return known[slices.Index(tails, best)]
	}
	return ""
}

// distance is Levenshtein's, over the first 64 characters: keys and names are short, and a file may hold anything.
func distance(a, b string) int {
	x, y := clipRunes(a), clipRunes(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i, c := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j, d := range y {
			cost := 1
			if c == d {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}

func clipRunes(s string) []rune {
	const longest = 64
	if len(s) > 4*longest {
		s = s[:4*longest]
	}
	r := []rune(s)
	return r[:min(len(r), longest)]
}
