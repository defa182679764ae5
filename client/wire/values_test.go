package wire

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	at := func(h, m, s, ns int) time.Time { return time.Date(2026, 3, 12, h, m, s, ns, time.UTC) }
	tests := []struct {
		in   string
		want time.Time
	}{
		{"2026-03-12T09:14:05Z", at(9, 14, 5, 0)},
		{"2026-03-12T09:14:05+00:00", at(9, 14, 5, 0)},
		{"2026-03-12T09:14:05.220000+02:00", at(7, 14, 5, 220_000_000)},
		{"2026-03-12T09:14:05", at(9, 14, 5, 0)},
		{"2026-03-12T09:14:05.5", at(9, 14, 5, 500_000_000)},
		{"2026-03-12T09:14", at(9, 14, 0, 0)},
		{"2026-03-12 09:14:05+01:00", at(8, 14, 5, 0)},
		{"2026-03-12 09:14:05", at(9, 14, 5, 0)},
		{"2026-03-12 09:14", at(9, 14, 0, 0)},
		{" 2026-03-12\n", at(0, 0, 0, 0)},
		{"1773306845", at(9, 14, 5, 0)},
		{"1773306845.5", at(9, 14, 5, 500_000_000)},
		{"1773306845000", at(9, 14, 5, 0)},
		{"0", time.Unix(0, 0).UTC()},
		{"-86400", time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC)},
		{"0001-01-01", time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"9999-12-31", time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)},
	}
	for _, test := range tests {
		got, err := ParseTime(test.in)
		if err != nil || !got.Equal(test.want) || got.Location() != time.UTC {
			t.Errorf("%q is %v, %v; want %v", test.in, got, err, test.want)
		}
	}
	for _, in := range []string{
		"", " ", "yesterday", "2026-03", "2026-02-30", "2026-13-01", "12.03.2026", "2026-03-12T25:00", "NaN", "Inf",
		"-Inf", "1e300", "0x10", "0000-01-01", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00",
		"-99999999999999", strings.Repeat("9", 400), "2026-03-12T09:14:05Zgarbage", "null",
	} {
		if got, err := ParseTime(in); err == nil {
			t.Errorf("%q is %v", in, got)
		} else if err != nil && len([]rune(err.Error())) > 100 {
			t.Errorf("%q: the error is %d bytes long", in[:10], len(err.Error()))
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const longest = 24 * time.Hour
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "-5": 0, "2": 2 * time.Second, " 1.5 ": 1500 * time.Millisecond, "soon": 0, "NaN": 0,
		"1e300": longest, "Inf": longest, "999999999999": longest,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
		now.AddDate(9, 0, 0).Format(http.TimeFormat):      longest,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {value}}, now, longest); got != want {
			t.Errorf("%q is %s, want %s", value, got, want)
		}
	}
}

func TestTimeJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"2026-03-12"`:                `"2026-03-12T00:00:00Z"`,
		`"2026-03-12T09:14:05+02:00"`: `"2026-03-12T07:14:05Z"`,
		`1773306845`:                  `"2026-03-12T09:14:05Z"`,
		`1773306845.25`:               `"2026-03-12T09:14:05.25Z"`,
		`1.773306845e9`:               `"2026-03-12T09:14:05Z"`,
	} {
		var moment Time
		if err := json.Unmarshal([]byte(in), &moment); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got, err := json.Marshal(moment); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{`"x"`, `true`, `{}`, `[]`, `"\ud800"`, `1e99`} {
		var moment Time
		if json.Unmarshal([]byte(in), &moment) == nil {
			t.Errorf("%s is %v", in, moment)
		}
	}
	var request SearchRequest
	err := json.Unmarshal([]byte(`{"query":"x","time_cutoff":null}`), &request)
	if err != nil || request.TimeCutoff != nil {
		t.Errorf("null is %v, %v", request.TimeCutoff, err)
	}
}

func FuzzParseTime(f *testing.F) {
	for _, seed := range []string{
		"2026-03-12T09:14:05.1+02:00", "2026-03-12", "1773306845.5", "-1", "1e13", "2026-03-12 09:14",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		moment, err := ParseTime(text)
		if err != nil {
			return
		}
		if year := moment.Year(); year < 1 || year > 9999 || moment.Location() != time.UTC {
			t.Fatalf("%q is %v", text, moment)
		}
		written, err := json.Marshal(Time{moment})
		if err != nil {
			t.Fatal(err)
		}
		var read Time
		if err := json.Unmarshal(written, &read); err != nil || !read.Equal(moment) {
			t.Fatalf("%q is written %s and read %v, %v", text, written, read, err)
		}
	})
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in, out string
		want    Metadata
	}{
		{`"a"`, `"a"`, One("a")},
		{`""`, `""`, One("")},
		{`["a"]`, `["a"]`, Metadata{Values: []string{"a"}, List: true}},
		{`["a","b"]`, `["a","b"]`, Metadata{Values: []string{"a", "b"}, List: true}},
		{`[]`, `[]`, Metadata{List: true}},
		{`null`, `[]`, Metadata{}},
		{`["a",null]`, `["a"]`, Metadata{Values: []string{"a"}, List: true}},
		{`3`, `"3"`, One("3")},
		{`[1.5,true]`, `["1.5","true"]`, Metadata{Values: []string{"1.5", "true"}, List: true}},
	}
	for _, test := range tests {
		got := One("before")
		if err := json.Unmarshal([]byte(test.in), &got); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s is %+v, %v", test.in, got, err)
		}
		if out, err := json.Marshal(got); err != nil || string(out) != test.out {
			t.Errorf("%s is written %s, %v", test.in, out, err)
		}
	}
	for _, in := range []string{`{}`, `[[]]`, `[{"a":1}]`} {
		if err := json.Unmarshal([]byte(in), new(Metadata)); err == nil {
			t.Errorf("%s is taken", in)
		}
	}
}

func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`["a",1,true,null]`))
	f.Add([]byte(`"a"`))
	f.Add([]byte(`1e300`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var read, again Metadata
		if json.Unmarshal(body, &read) != nil {
			return
		}
		written, err := json.Marshal(read)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &again); err != nil || !equalValues(read.Values, again.Values) {
			t.Fatalf("%s is written %s and read %+v, %v", body, written, again, err)
		}
	})
}

func equalValues(a, b []string) bool {
	return strings.Join(a, "\x00") == strings.Join(b, "\x00") && len(a) == len(b)
}
