package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"quarry/internal/text"
)

// Time is a time as the API accepts it: ISO 8601 with or without an offset (none means UTC), a date alone, or a
// number of seconds since 1970. It is always written as RFC 3339 in UTC.
type Time struct{ time.Time }

var timeLayouts = [...]string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999", "2006-01-02 15:04", "2006-01-02",
}

// ParseTime parses a time in any of the accepted forms. The error quotes the text.
func ParseTime(given string) (time.Time, error) {
	given = strings.TrimSpace(given)
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, given); err == nil {
			return checkYear(t, given)
		}
	}
	if seconds, err := strconv.ParseFloat(given, 64); err == nil && math.Abs(seconds) < 1e14 {
		return checkYear(epoch(seconds), given)
	}
	return time.Time{}, fmt.Errorf("not a date or time: %q", text.Shorten(given, 40))
}

// RetryAfter returns how long a header asks to wait, in seconds or with a date: at most the longest time, and 0 if it
// asks for nothing that can be read.
func RetryAfter(header http.Header, now time.Time, longest time.Duration) time.Duration {
	asked := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(asked, 64); err == nil && seconds > 0 { // not NaN
		return time.Duration(min(seconds, longest.Seconds()) * float64(time.Second))
	}
	at, err := http.ParseTime(asked)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), longest)
}

// epoch parses seconds, or milliseconds if as seconds they would be after the year 2600, as Onyx's own parser does.
func epoch(number float64) time.Time {
	const watershed = 2e10
	if math.Abs(number) > watershed {
		number /= 1000
	}
	seconds, fraction := math.Modf(number)
	return time.Unix(int64(seconds), int64(fraction*1e9)).UTC()
}

func checkYear(t time.Time, given string) (time.Time, error) {
	if y := t.UTC().Year(); y < 1 || y > 9999 {
		return time.Time{}, fmt.Errorf("year out of range: %q", text.Shorten(given, 40))
	}
	return t.UTC(), nil
}

// UnmarshalJSON accepts a string or a number.
func (t *Time) UnmarshalJSON(data []byte) error {
	text := string(bytes.TrimSpace(data))
	if text == "null" {
		return nil
	}
	if strings.HasPrefix(text, `"`) {
		if err := Unmarshal(data, &text); err != nil {
			return err
		}
	}
	parsed, err := ParseTime(text)
	if err != nil {
		return err
	}
	t.Time = parsed
	return nil
}

// DayZone is the name of the zone of a time that bounds a day of a person. Such times keep their offset from UTC.
const DayZone = "day"

// InZone returns a time of a person's day in a zone of its offset.
func InZone(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.In(time.FixedZone(DayZone, offset))
}

// MarshalJSON writes RFC 3339 in UTC, or in DayZone.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.Location().String() == DayZone {
		return json.Marshal(t.Format(time.RFC3339Nano))
	}
	return json.Marshal(t.UTC().Format(time.RFC3339Nano))
}

// Metadata is one metadata value: a string, or a list of strings. A single value that was not a list
// is written as a string.
type Metadata struct {
	Values []string
	List   bool
}

// One returns a single value.
func One(value string) Metadata { return Metadata{Values: []string{value}} }

// UnmarshalJSON accepts a string, a list of strings, and (leniently) numbers and booleans as their text.
func (m *Metadata) UnmarshalJSON(data []byte) error {
	var raw any
	if err := Unmarshal(data, &raw); err != nil {
		return err
	}
	m.Values, m.List = nil, false
	list, isList := raw.([]any)
	if !isList {
		list = []any{raw}
	}
	m.List = isList
	for _, item := range list {
		switch v := item.(type) {
		case nil:
		case string:
			m.Values = append(m.Values, v)
		case float64:
			m.Values = append(m.Values, strconv.FormatFloat(v, 'f', -1, 64))
		case bool:
			m.Values = append(m.Values, strconv.FormatBool(v))
		default:
			return fmt.Errorf("metadata value is neither text nor a list of texts")
		}
	}
	return nil
}

// MarshalJSON writes a string or a list.
func (m Metadata) MarshalJSON() ([]byte, error) {
	var value any = m.Values
	switch {
	case !m.List && len(m.Values) == 1:
		value = m.Values[0]
	case m.Values == nil:
		return []byte("[]"), nil
	}
	var b bytes.Buffer
	err := WriteJSON(&b, value) // the encoder around it decides about HTML
	return b.Bytes(), err
}

// CheckToken returns an error if a token cannot be sent in a header or is longer than a number of bytes. The error
// begins with a verb and never quotes the token.
func CheckToken(token string, longest int) error {
	if len(token) > longest {
		return fmt.Errorf("is longer than %d characters", longest)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("contains spaces, line breaks or invalid characters")
	}
	return nil
}

// Nearest returns the known value that is most similar to a mistyped one, by the number of letters that were added,
// omitted, replaced or swapped: at most one in short words and three in long ones. It returns "" if there is none.
func Nearest(value string, known []string) string {
	const longest = 100
	value = strings.ToLower(strings.TrimSpace(value))
	length := utf8.RuneCountInString(value)
	if length == 0 || length > longest {
		return ""
	}
	best, bound := "", min(3, max(1, (length+1)/3))
	for _, candidate := range known {
		lower := strings.ToLower(candidate)
		if lower == value {
			return candidate
		}
		difference := utf8.RuneCountInString(lower) - length
		if difference > bound || -difference > bound {
			continue
		}
		if d := text.EditDistance(value, lower); d <= bound && d < length {
			best, bound = candidate, d-1
		}
	}
	return best
}

// Hint adds a value that is near to a mistyped one to a hint, from the first of the lists that has one.
func Hint(value, hint string, known ...[]string) string {
	for _, values := range known {
		if near := Nearest(value, values); near != "" {
			return fmt.Sprintf("did you mean %q? %s", near, hint)
		}
	}
	return hint
}

// Timestamp writes a time in UTC as pydantic does, with six digits of a second or none. zone is the layout of the
// offset.
func Timestamp(t time.Time, zone string) string {
	t = t.UTC().Truncate(time.Microsecond)
	layout := "2006-01-02T15:04:05"
	if t.Nanosecond() != 0 {
		layout += ".000000"
	}
	return t.Format(layout + zone)
}
