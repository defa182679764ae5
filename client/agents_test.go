package client

import (
	"testing"

	"quarry/client/wire"
)

func TestFindAgent(t *testing.T) {
	t.Parallel()
	personas := []wire.Persona{{ID: 3, Name: "Engineering"}, {ID: 4, Name: "12"}}
	for _, test := range []struct {
		name  string
		id    int
		near  string
		found bool
	}{
		{"engineering", 3, "", true}, {"12", 4, "", true}, {"7", 7, "", true}, {"Enginering", 0, "Engineering", false},
		{"Sales", 0, "", false},
	} {
		if id, near, found := FindAgent(personas, test.name); id != test.id || near != test.near || found != test.found {
			t.Errorf("%s: %d, %q, %v", test.name, id, near, found)
		}
	}
	if id, _, found := FindAgent(nil, "7"); id != 7 || !found {
		t.Error("a number needs no list")
	}
}
