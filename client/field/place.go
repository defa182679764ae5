package field

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
)

// A place is where a document lives: a path of names, from the short name of the root that it was added from, or its
// source, down. Filters and counts name places by such paths. A slash before one says that it begins at the top; else
// it is any run of names.

const (
	mostNames    = 32  // of a place
	longestPlace = 500 // bytes
)

// JoinPlace returns the place with these names; empty ones are left out. A name may contain slashes.
func JoinPlace(names ...string) string {
	var place strings.Builder
	for _, name := range names[:min(mostNames, len(names))] {
		name = strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, name))
		if name == "" {
			continue
		}
		if place.Len()+len(name) >= longestPlace {
			break
		}
		if place.Len() > 0 {
			place.WriteByte('/')
		}
		place.WriteString(strings.ReplaceAll(name, "/", "%2F"))
	}
	return place.String()
}

// PlaceNames returns the names that JoinPlace was given.
func PlaceNames(place string) []string {
	names := strings.FieldsFunc(place, func(r rune) bool { return r == '/' })
	return exslices.CastFunc(names, func(name string) string { return strings.ReplaceAll(name, "%2F", "/") })
}

// partsOfPlace returns the names of a place, as a filter takes them.
func partsOfPlace(place string) []string { return strings.Split(strings.Trim(place, "/"), "/") }

// PlacesTo returns a place and those that contain it, the outermost first.
func PlacesTo(place string) (places []string) {
	for i, r := range place {
		if r == '/' && i > 0 {
			places = append(places, place[:i])
		}
	}
	if place != "" {
		places = append(places, place)
	}
	return places
}

// LevelIn returns how a request names the places directly in a place, to have them counted; "/" for those at the top.
// Without the slash it would also mean those in others of that name.
func LevelIn(place string) string { return "/" + strings.TrimPrefix(place, "/") }

// LevelOf returns how a request names the level that a place is on.
func LevelOf(place string) string { return LevelIn(place[:max(0, strings.LastIndexByte(place, '/'))]) }

// IsWithin reports whether a place is another one, or in it.
func IsWithin(inner, outer string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(inner, "/"), strings.TrimPrefix(outer, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// EndsInPlace reports whether a place ends in the names of a filter's value, in any case. A slash at the value's end
// says nothing.
func EndsInPlace(place, filter string) bool {
	names, anchored := strings.CutPrefix(strings.TrimSuffix(filter, "/"), "/")
	at := len(place) - len(names)
	begins := at == 0 || at > 0 && !anchored && place[at-1] == '/'
	return names != "" && begins && strings.EqualFold(place[at:], names)
}

// isInPlace reports whether a place is one that a filter's value means, or in one.
func isInPlace(place, filter string) bool {
	return slices.ContainsFunc(PlacesTo(place), func(above string) bool { return EndsInPlace(above, filter) })
}

// placeKeys are the keys of metadata that name the place of a document in its source, the most telling first; paths are
// those whose values may have several names.
var placeKeys = [...]struct {
	name string
	path bool
}{{name: "channel"}, {name: "space"}, {name: "wiki space name"}, {name: "repo", path: true},
	{name: "repository", path: true}, {name: "project"}, {name: "project_name"},
	{name: "mailbox"}, {name: "folder", path: true}, {name: "site"}}

// PlaceOf returns the place of a document that no root has: its source, and what PlaceInSource says.
func PlaceOf(source, link string, metadata map[string][]string) string {
	return JoinPlace(append([]string{source}, PlaceInSource(source, link, metadata)...)...)
}

// PlaceOfResult returns the place that the metadata and the link of a result say.
func PlaceOfResult(r wire.SearchResult) string {
	metadata := make(map[string][]string, len(r.Metadata))
	for key, value := range r.Metadata {
		metadata[key] = value.Values
	}
	return PlaceOf(r.SourceType, text.OrEmpty(r.Link), metadata)
}

// PlaceInSource returns the names below its source that the metadata and the link of a document say: its channel, its
// space and the pages above it, its repository and folder, its project, or the sections of its site.
func PlaceInSource(source, link string, metadata map[string][]string) (names []string) {
	folded := make(map[string][]string, len(metadata))
	for key, values := range metadata {
		if len(values) > 0 {
			folded[strings.ToLower(key)] = values
		}
	}
	below := placeInLink(source, link)
	for _, key := range placeKeys {
		values := folded[key.name]
		switch {
		case len(values) == 0 || strings.TrimSpace(values[0]) == "":
			continue
		case key.name == "channel":
			return []string{"#" + strings.TrimPrefix(values[0], "#")}
		case key.path:
			names = strings.Split(strings.Trim(values[0], "/"), "/")
		default:
			names = values[:1]
		}
		if strings.HasPrefix(key.name, "repo") {
			return append(names, below[min(2, len(below)):]...)
		}
		return append(slices.Clip(names), folded["parents"]...)
	}
	if len(below) == 0 && len(folded["team"]) > 0 {
		return folded["team"][:1]
	}
	return below
}

// placeInLink returns the key of a wiki's space, the host and the sections of a page of a site, or the owner, the
// repository and the folders of a file in a forge.
func placeInLink(source, link string) []string {
	u, err := url.Parse(link)
	if err != nil || u.Host == "" {
		return nil
	}
	host, parts := strings.TrimPrefix(u.Hostname(), "www."), strings.Split(strings.Trim(u.Path, "/"), "/")
	if at := slices.Index(parts, "spaces"); at >= 0 && at+2 < len(parts) {
		return parts[at+1 : at+2]
	}
	isForge := slices.ContainsFunc([]string{"github.", "gitlab.", "bitbucket.", "codeberg."}, func(forge string) bool {
		return strings.HasPrefix(host, forge)
	})
	if source == "web" || source == "google_sites" {
		return append([]string{host}, sections(u)...)
	}
	if !isForge || len(parts) < 2 {
		return nil
	}
	names := slices.Clip(parts[:2])
	isTree := func(part string) bool { return part == "blob" || part == "tree" || part == "src" }
	if at := slices.IndexFunc(parts, isTree); at > 1 && at+2 < len(parts) {
		return append(names, parts[at+2:len(parts)-1]...) // behind the branch
	}
	return names
}

// sections returns the folders in the path of an address.
func sections(u *url.URL) []string {
	return strings.FieldsFunc(strings.TrimPrefix(path.Dir(u.Path), "."), func(r rune) bool { return r == '/' })
}

// readPlace reads a place without slashes behind it, or beyond the one before it.
func readPlace(text string) (string, bool) {
	names := strings.Trim(text, "/ \t")
	if names != "" && strings.HasPrefix(strings.TrimSpace(text), "/") {
		names = "/" + names
	}
	return names, names != ""
}
