package field

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

// lists are the fields of a struct that are lists, by the address of each in one value of it.
func lists(of any) map[any]string {
	found := map[any]string{}
	for value, i := reflect.ValueOf(of).Elem(), 0; i < value.NumField(); i++ {
		if value.Field(i).Kind() == reflect.Slice {
			found[value.Field(i).Addr().Interface()] = value.Type().Field(i).Name
		}
	}
	return found
}

// Every list of the wire's structs of filters and counts has a row that points to it, and the JSON key of that list.
func TestEveryListHasARow(t *testing.T) {
	t.Parallel()
	var (
		filters   wire.Filters
		questions wire.ChatLists
		facets    wire.Facets
	)
	inFilters, inQuestions, inFacets := lists(&filters), lists(&questions), lists(&facets)
	delete(inFacets, &facets.Months) // times
	for id, row := range All() {
		if row.ID != ID(id) || Of(row.ID).Name != row.Name {
			t.Errorf("row %d is that of %d", id, row.ID)
		}
		for _, point := range []struct {
			at  any
			in  map[any]string
			of  any
			key string
		}{
			{row.Request(&filters), inFilters, filters, row.Key},
			{row.Request((*wire.Filters)(&questions)), inQuestions, questions, row.Chat},
			{row.Counts(&facets), inFacets, facets, ""},
		} {
			at := reflect.ValueOf(point.at).FieldByName("at")
			for address, name := range point.in {
				if reflect.ValueOf(address).Pointer() != at.Pointer() {
					continue
				}
				of, _ := reflect.TypeOf(point.of).FieldByName(name)
				if key, _, _ := strings.Cut(of.Tag.Get("json"), ","); point.key != "" && key != point.key {
					t.Errorf("%s: the key of %T.%s is %q, not %q", row.Name, point.of, name, key, point.key)
				}
				delete(point.in, address)
			}
		}
	}
	for _, left := range []map[any]string{inFilters, inQuestions, inFacets} {
		for _, name := range left {
			t.Errorf("no row has %s", name)
		}
	}
}

// A row has what it needs, and says why it cannot do what others can.
func TestRowsAreWhole(t *testing.T) {
	t.Parallel()
	var names []string
	for _, row := range All() {
		for what, missing := range map[string]bool{
			"name": row.Name == "" || strings.ToLower(row.Name) != row.Name, "noun": row.Noun == "", "title": row.Title == "",
			"key": row.Key == "", "key of a question": row.Chat == "", "request": row.Request == nil,
			"counts":                row.Counts == nil,
			"result, or its reason": (row.Result == nil) != (row.Lacks[Result] != ""),
			"show, or its reason":   (row.Show == nil) != (row.Lacks[Show] != ""),
			"flag, or its reason":   (row.Flag == nil) != (row.Lacks[Flag] != ""),
			"usage of its flag":     row.Flag != nil && (row.Flag.Name == "" || row.Flag.Usage == ""),
		} {
			if missing {
				t.Errorf("%s: no %s", row.Name, what)
			}
		}
		names = append(names, row.Name, row.Key)
	}
	slices.Sort(names)
	if twice := slices.Compact(slices.Clone(names)); len(twice) != len(names) {
		t.Errorf("two rows have the same name or key: %v", names)
	}
	if _, known := Named("nothing"); known {
		t.Error("there is a field without a row")
	}
}

// What people write gets through every form of a value and back, in every list of a row.
func TestValuesOfEveryRow(t *testing.T) {
	t.Parallel()
	written := [N]struct{ in, text, refused string }{
		Source: {in: "Google-Drive", text: "google_drive"}, Set: {in: "Engineering handbook", text: "Engineering handbook"},
		Tag: {in: " team = a=b ", text: "team=a=b", refused: "team"}, Author: {in: "Kim Lee", text: "Kim Lee"},
		Type: {in: ".PDF", text: "pdf", refused: "."}, Lang: {in: "De", text: "de", refused: "."},
		Place: {in: " handbook/people/ ", text: "handbook/people", refused: " / "},
	}
	for _, row := range All() {
		var filters, other wire.Filters
		test, values := written[row.ID], row.Request(&filters)
		if test.in == "" {
			t.Errorf("%s: no example", row.Name)
			continue
		}
		if !IsEmpty(filters) || !values.Add(test.in) || values.Len() != 1 || IsEmpty(filters) {
			t.Errorf("%s: %q is not added: %+v", row.Name, test.in, filters)
		}
		if test.refused != "" && values.Add(test.in, test.refused) || values.Len() != 1 {
			t.Errorf("%s: %q is added: %+v", row.Name, test.refused, filters)
		}
		row.Request(&other).Put(values.Keys()...)
		row.Request(&other).Join(values)
		if got := row.Of(other); !slices.Equal(got, []string{test.text}) || !slices.Equal(row.Of(filters), got) {
			t.Errorf("%s: %q is %q", row.Name, test.in, got)
		}
		if keys := KeysOf(filters); len(keys[row.ID]) != 1 {
			t.Errorf("%s: keys %q", row.Name, keys)
		}
		var facets wire.Facets
		row.Counts(&facets).Put(values.Keys()[0], 3)
		if got := row.Counts(&facets).Values(); !slices.Equal(got, []wire.FacetValue{{Value: test.text, Count: 3}}) {
			t.Errorf("%s: counts %+v", row.Name, got)
		}
		if values.Clear(); !IsEmpty(filters) || len(row.Of(other)) != 1 {
			t.Errorf("%s: left %+v, and %+v", row.Name, filters, other)
		}
	}
}

// A filter is applied to what a server returns as the server would, where results have the field.
func TestPasses(t *testing.T) {
	t.Parallel()
	result := wire.SearchResult{SourceType: "slack", Authors: []string{"Kim Lee"}, DocumentType: "md", Language: "en", Place: "acme/Team/a%2Fb/c",
		Metadata: map[string]wire.Metadata{"team": {Values: []string{"infra"}}, "a=b": {Values: []string{"c"}}}}
	tests := [N]struct{ yes, no []string }{
		Source: {[]string{"slack"}, []string{"Slack"}}, Tag: {[]string{"team=infra"}, []string{"team=inf", "a=b=c"}},
		Author: {[]string{"kim", "Kim Lee"}, []string{"ki", "kim l"}}, Type: {[]string{"md", "MD"}, []string{"m"}},
		Lang:  {[]string{"en", "EN"}, []string{"de"}},
		Place: {[]string{"acme", "team", "/Acme/team", "Team/a%2Fb", "a%2Fb/c"}, []string{"Tea", "/team", "acme/a%2Fb", "b", "a", "/"}},
	}
	for _, row := range All() {
		if row.Show != nil {
			var shown wire.SearchResult
			if row.Show(&shown, row.Result(&result)); !slices.Equal(row.Result(&shown), row.Result(&result)) {
				t.Errorf("%s: shows %q", row.Name, row.Result(&shown))
			}
		}
		if row.Has(wire.SearchResult{}) || row.Has(result) != (row.Result != nil) {
			t.Errorf("%s: has %v", row.Name, row.Has(result))
		}
		for _, value := range tests[row.ID].yes {
			if !row.Passes(&result, []string{"other", value}) {
				t.Errorf("%s:%s does not pass", row.Name, value)
			}
		}
		if row.Passes(&result, tests[row.ID].no) || row.Result != nil && tests[row.ID].yes == nil {
			t.Errorf("%s: %q pass", row.Name, tests[row.ID].no)
		}
	}
}

// Onyx has filters by source, document set and tag alone. An index knows values as documents have them, however a request
// writes them.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, row := range All() {
		if isOnyx := row.ID <= Tag; row.Extension == isOnyx {
			t.Errorf("%s: an extension of Onyx's API: %v", row.Name, row.Extension)
		}
	}
	keys := KeysOf(wire.Filters{DocumentTypes: []string{".MD"}, Languages: []string{"DE"}, Places: []string{"Team"}})
	if want := (Keys{Type: {"md"}, Lang: {"de"}, Place: {"Team"}}); !reflect.DeepEqual(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
}

// A tag's key cannot end early in an index.
func TestPairs(t *testing.T) {
	t.Parallel()
	if key, value := CutPair(Pair("a=b", "c\x00d")); key != "a=b" || value != "c\x00d" {
		t.Errorf("%q, %q", key, value)
	}
	if Pair("a\x00b", "c") == Pair("a", "b\x00c") {
		t.Error("two tags are one")
	}
}

// What a person reads is no code where a code says nothing; requests keep the code.
func TestDisplay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id          ID
		value, want string
	}{{Source, "google_drive", "Google Drive"}, {Lang, "und", "unknown"}, {Lang, "de", "de"}, {Type, "pdf", "pdf"}} {
		if got := Of(c.id).Display(c.value); got != c.want {
			t.Errorf("%s:%s is displayed as %q, want %q", Of(c.id).Name, c.value, got, c.want)
		}
		var filters wire.Filters
		if values := Of(c.id).Request(&filters); !values.Add(c.value) || values.Texts()[0] != c.value {
			t.Errorf("%s:%s is requested as %q", Of(c.id).Name, c.value, values.Texts())
		}
	}
}
