package client

import (
	"testing"

	"quarry/client/wire"
)

func TestFindAgent(t *testing.T) {
	t.Parallel()
	personas := []wire.Persona{{ID: 3, Name: "Engineering"}, {ID: 4, Name: "12"}, {ID: 5, Name: "hrbot"},
		{ID: 6, Name: "HRBot"}}
	for _, test := range []struct {
		name  string
		id    int
		near  string
		found bool
	}{
		{"engineering", 3, "", true}, {"12", 4, "", true}, {"7", 7, "", true}, {"Enginering", 0, "Engineering", false},
		{"Sales", 0, "", false},
		{"HRBot", 6, "", true}, {"hrbot", 5, "", true}, {"HRBOT", 0, "hrbot", false}, // which of the two is meant is not clear
	} {
		if id, near, found := FindAgent(personas, test.name); id != test.id || near != test.near || found != test.found {
			t.Errorf("%s: %d, %q, %v", test.name, id, near, found)
		}
	}
	if id, _, found := FindAgent(nil, "7"); id != 7 || !found {
		t.Error("a number needs no list")
	}
}
