package text

import "testing"

func TestTable(t *testing.T) {
	table := Table("-5: EST CDT\n\t1.5: X; b c:d  e\n")
	for name, want := range map[string]string{"EST": "-5", "CDT": "-5", "X": "1.5", "d": "b c", "e": "b c", "b": "", "": ""} {
		if got, found := table(name); got != want || found != (want != "") {
			t.Errorf("%q is in the row %q (%v), want %q", name, got, found, want)
		}
	}
}

// A row that was broken before its last name would lose it.
func TestBrokenTable(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a row without a value was read")
		}
	}()
	Table("a: b\nc")("b")
}
