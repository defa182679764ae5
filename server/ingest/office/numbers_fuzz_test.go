package office

import (
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzNumberFormat shows numbers in formats of foreign sheets, of which other targets reach the parsed ones only.
func FuzzNumberFormat(f *testing.F) {
	f.Add("[Red]0.00\"dm\"", "0.30000000000000004")
	f.Add("[h]:mm:ss", "1e300")
	f.Add("yyyy-mm;[>1]\\", "-45292.5")
	f.Add("m", "NaN")
	f.Fuzz(func(t *testing.T, code, value string) {
		shown := parseFormat(code).show(value, time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC))
		if len(shown) > len(value)+400 || utf8.ValidString(value) && !utf8.ValidString(shown) {
			t.Errorf("%q of %q in %q", shown, value, code)
		}
		_ = headerText(code)
		if at := columnOf(code); at < -1 {
			t.Errorf("column %d", at)
		}
	})
}
