package mailmime

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"quarry/internal/pattern"
)

// ParseField splits a field such as Content-Type into its value and its parameters, both names in lower case. It
// accepts what mail programs accept: values with any signs without quotes, file names with spaces, quotes that do not
// end, several parameters of one name, of which the first counts, and missing semicolons. Values in pieces or with a
// charset (RFC 2231) are joined and decoded; such a value counts before a plain one.
func ParseField(field string) (value string, parameters map[string]string) {
	at := strings.IndexAny(field+";", "; \t,(")
	value = strings.ToLower(strings.TrimSpace(field[:at]))
	if strings.Contains(value, "=") {
		value, at = "", 0
	}
	parameters = map[string]string{}
	pieces := map[string][]piece{}
	for rest := field[at:]; ; {
		rest = strings.TrimLeft(rest, "; \t,")
		end := strings.IndexAny(rest, "=;")
		if end < 0 {
			break
		}
		words := strings.Fields(rest[:end])
		if rest[end] == ';' || len(words) == 0 {
			rest = rest[end+1:]
			continue
		}
		name, text := strings.ToLower(words[len(words)-1]), ""
		isFree := strings.HasPrefix(name, "name") || strings.HasPrefix(name, "filename") || name == "boundary"
		text, rest = cutValue(rest[end+1:], isFree)
		if base, number, isPiece := strings.Cut(name, "*"); isPiece {
			pieces[base] = append(pieces[base], newPiece(number, text))
		} else {
			parameters[name] = cmp.Or(parameters[name], text)
		}
	}
	for name, list := range pieces {
		parameters[name] = cmp.Or(joined(list), parameters[name])
	}
	return value, parameters
}

// quotedValue matches a value in quotes, also with quotes in it: it ends before the next parameter.
var quotedValue = pattern.Lazy(`^"((?:\\["\\]|[^;]|;[^=]*?)*?)"\s*(?:[;,(]|$|[\w*-]+\s*=)`)

// cutValue returns the value at the start of text, and what follows it.
func cutValue(text string, isFree bool) (value, rest string) {
	text = strings.TrimLeft(text, " \t")
	if at := quotedValue().FindStringSubmatchIndex(text); at != nil {
		return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(text[at[2]:at[3]]), text[at[3]+1:]
	}
	value, rest, _ = strings.Cut(strings.TrimPrefix(text, `"`), ";")
	if inner := strings.IndexAny(value, " \t("); inner > 0 && !isFree { // a comment, or the next parameter
		value, rest = value[:inner], value[inner:]+";"+rest
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), `"`)), rest
}

// piece is a value of RFC 2231, or a piece of one.
type piece struct {
	number  int
	encoded bool
	text    string
}

// newPiece returns the piece of a parameter whose name ends with number: "0", "0*", "1", or "" for a whole value.
func newPiece(number, text string) piece {
	number, encoded := strings.CutSuffix(number, "*")
	n, err := strconv.Atoi(number)
	return piece{n, encoded || err != nil, text}
}

func joined(list []piece) string {
	slices.SortStableFunc(list, func(a, b piece) int { return cmp.Compare(a.number, b.number) })
	list = slices.CompactFunc(list, func(a, b piece) bool { return a.number == b.number })
	charset := ""
	var data []byte
	for i, p := range list {
		if i == 0 && p.encoded && strings.Count(p.text, "'") >= 2 {
			charset, p.text, _ = strings.Cut(p.text, "'")
			_, p.text, _ = strings.Cut(p.text, "'") // the language
		}
		if p.encoded {
			data = append(data, unescape(p.text, '%')...)
		} else {
			data = append(data, p.text...)
		}
	}
	if text, ok := Decode(data, charset); ok && charset != "" {
		return string(text)
	}
	return string(data)
}

var encodedWord = pattern.Lazy(`=\?([^?*\s]+)(?:\*[^?\s]*)?\?([bBqQ])\?([^\r\n]*?)\?=`)

// DecodeWords decodes the encoded words of a field (RFC 2047) wherever they are, also in quotes and without spaces
// between them. A character may be split between two words. The bytes of a word in an unknown charset, or in one that
// is not valid UTF-8 as declared, are returned as they are.
func DecodeWords(field string) string {
	if !strings.Contains(field, "=?") {
		return field
	}
	var out strings.Builder
	var data []byte
	charset, end := "", 0
	flush := func() {
		text, ok := Decode(data, charset)
		if !ok || strings.EqualFold(charset, "utf-8") {
			text = data
		}
		out.Write(text)
		data = data[:0]
	}
	for _, at := range encodedWord().FindAllStringSubmatchIndex(field, -1) {
		between := field[end:at[0]]
		isJoined := end > 0 && strings.TrimSpace(between) == ""
		if next := field[at[2]:at[3]]; !isJoined || !strings.EqualFold(next, charset) {
			flush()
			charset = next
		}
		if !isJoined {
			out.WriteString(between)
		}
		if coded := field[at[6]:at[7]]; field[at[4]]|0x20 == 'b' {
			word, _ := decodeBase64([]byte(coded))
			data = append(data, word...)
		} else {
			data = append(data, unescape(strings.ReplaceAll(coded, "_", " "), '=')...)
		}
		end = at[1]
	}
	flush()
	return out.String() + field[end:]
}
