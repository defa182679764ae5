package wire

import (
	"regexp"
	"slices"
	"testing"
)

// undescribed lists the values that Onyx gives no description, and so do we.
func undescribed() []string {
	return []string{"craft_file", "mock_connector", "not_applicable", "user_file"}
}

func TestSources(t *testing.T) {
	t.Parallel()
	const known = 59
	all := Sources()
	if len(all) != known {
		t.Errorf("%d sources, want %d", len(all), known)
	}
	seen := map[string]bool{}
	spelling := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	categories := []string{"Wiki", "Storage", "TicketingAndTaskManagement", "Messaging", "Sales", "CodeRepository",
		"Other"}
	for _, source := range all {
		if seen[source.Value] || !spelling.MatchString(source.Value) {
			t.Errorf("%q twice or misspelt", source.Value)
		}
		seen[source.Value] = true
		if source.Name == "" || !slices.Contains(categories, source.Category) {
			t.Errorf("%q has the name %q and the category %q", source.Value, source.Name, source.Category)
		}
		if (source.Description == "") != slices.Contains(undescribed(), source.Value) {
			t.Errorf("%q is described as %q", source.Value, source.Description)
		}
		if source.Internal != (source.Value == "ingestion_api" || source.Value == "craft_file") {
			t.Errorf("%q internal: %v", source.Value, source.Internal)
		}
		if found, ok := LookupSource(source.Value); !ok || found != source {
			t.Errorf("%q is not found", source.Value)
		}
	}
	for _, value := range undescribed() {
		if !seen[value] {
			t.Errorf("%q is listed as undescribed but unknown", value)
		}
	}
	if _, ok := LookupSource("nope"); ok {
		t.Error("an unknown source is found")
	}
	all[0].Name = "changed"
	if Sources()[0].Name == "changed" {
		t.Error("the table can be changed from outside")
	}
}
