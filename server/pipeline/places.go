package pipeline

import (
	"context"
	"slices"
	"strings"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/index"
)

// withPlaces returns a request whose filters name places from the top down: all that the caller may see and that end in
// the names of a filter's value. A value without any stays, and nothing matches it. The places are those of all visible
// documents, whatever else the request asks for.
func withPlaces(ctx context.Context, snapshot index.Snapshot, r Request) Request {
	s := &r.Search
	if len(s.Places)+len(s.ExcludeFilters.Places) == 0 {
		return r
	}
	counts, err := snapshot.Facets(ctx, index.Filter{Access: r.Access})
	guard.While("list the places", err)
	for _, list := range []*[]string{&s.Places, &s.ExcludeFilters.Places} {
		var meant []string
		for _, value := range *list {
			found := placesOf(counts.Values[field.Place], value)
			if len(found) == 0 {
				found = []string{value}
			}
			meant = append(meant, found...)
		}
		slices.Sort(meant)
		*list = slices.Compact(meant)
	}
	return r
}

// placesOf returns the places that a filter's value means: those that are written like it, else in any case. Places in
// another one of them are left out.
func placesOf(known []index.ValueCount, value string) []string {
	var exact, folded []string
	for _, place := range known {
		if field.EndsInPlace(place.Value, value) {
			folded = append(folded, place.Value)
			if strings.HasSuffix(place.Value, strings.Trim(value, "/")) {
				exact = append(exact, place.Value)
			}
		}
	}
	if len(exact) > 0 {
		folded = exact
	}
	has := make(map[string]bool, len(folded))
	for _, place := range folded {
		has[place] = true
	}
	return slices.DeleteFunc(folded, func(place string) bool {
		above := field.PlacesTo(place)
		return slices.ContainsFunc(above[:len(above)-1], func(outer string) bool { return has[outer] })
	})
}

// placeLevel returns the counts of the places directly in another one, those at the top for a slash; without one, those
// of the first level at which the documents divide. A place that as a filter would mean others, too, begins with a
// slash, which rules them out.
func placeLevel(all []index.ValueCount, within string) (level []index.ValueCount) {
	children, tops := map[string][]index.ValueCount{}, map[string]bool{}
	for _, place := range all {
		parent, name := splitPlace(place.Value)
		if children[parent] = append(children[parent], place); parent == "" {
			tops[name] = true
		}
	}
	level = children[""]
	switch strings.Trim(within, "/") {
	case "":
		for within == "" && len(level) == 1 && len(children[level[0].Value]) > 0 {
			whole := level[0]
			// A few files beside it divide nothing.
			if level = children[whole.Value]; 10*level[0].Count <= 9*whole.Count {
				break
			}
		}
	default:
		level = nil
		for _, place := range placesOf(all, within) {
			level = append(level, children[place]...)
		}
		slices.SortStableFunc(level, func(a, b index.ValueCount) int { return b.Count - a.Count })
	}
	inner := map[string]bool{} // runs of names that begin like a top place, and end one that does not
	for _, place := range all {
		for at, c := range place.Value {
			if rest := place.Value[at+1:]; c == '/' && tops[topOf(rest)] {
				inner[rest] = true
			}
		}
	}
	if len(inner) == 0 {
		return level
	}
	level = slices.Clone(level)
	for i, place := range level {
		if inner[place.Value] {
			level[i].Value = "/" + place.Value
		}
	}
	return level
}

func topOf(place string) string { top, _, _ := strings.Cut(place, "/"); return top }

// splitPlace returns the place that contains another one, empty for one at the top, and its name there.
func splitPlace(place string) (parent, name string) {
	at := strings.LastIndexByte(place, '/')
	return place[:max(at, 0)], place[at+1:]
}

// restorePlaces puts the places into a request as somebody wrote them, for a server that has others.
func (r *run) restorePlaces(request *wire.SearchRequest) {
	request.Places, request.ExcludeFilters.Places = r.places[0], r.places[1]
}
