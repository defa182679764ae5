package client

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token is a piece of a typed query between white space outside of quotation marks.
type Token struct {
	Start, End int
	Open       bool // a quotation mark in it is not closed; the token of a filter then ends with the text

	// Of what begins like a filter, whether its values make sense or not:
	Field  string // the name of the filter; "" for any other token
	At     int    // where the last value begins
	Value  string // the last value, without quotation marks
	Quoted bool   // it ends with the mark that closes a quoted text
}

// Tokens takes a query apart while it is being typed: unlike ParseQuery it keeps together what an open quotation mark
// began in a filter, and values that do not make sense yet.
func Tokens(text string) []Token {
	var tokens []Token
	for at := 0; at < len(text); {
		r, width := utf8.DecodeRuneInString(text[at:])
		if unicode.IsSpace(r) {
			at += width
			continue
		}
		t := tokenAt(text, at)
		tokens = append(tokens, t)
		at = t.End
	}
	return tokens
}

func tokenAt(text string, start int) Token {
	rest := text[start:]
	word := wordWidth(rest)
	key, _, colon := strings.Cut(rest[:word], ":")
	if field := filterField(key); colon && field != "" {
		values := readValues(rest[len(key)+1:])
		at := start + len(key) + 1
		return Token{Start: start, End: at + values.width, Open: values.open, Field: field, At: at + values.last,
			Value: values.text, Quoted: values.quoted}
	}
	phrase := strings.TrimPrefix(rest, "-")
	if first, _ := utf8.DecodeRuneInString(phrase); phrase == "" || !isQuote(first) {
		return Token{Start: start, End: start + word}
	}
	_, width := quoted(phrase)
	if width == 0 {
		return Token{Start: start, End: start + word, Open: true}
	}
	end := start + len(rest) - len(phrase) + width
	return Token{Start: start, End: end + wordWidth(text[end:])}
}

// filterValues are the values of a filter as they stand in a text.
type filterValues struct {
	all    []string // without the empty ones
	width  int
	last   int    // where the last value begins, after the last comma
	text   string // of the last value
	quoted bool   // the last value ends with a closed quotation
	open   bool   // a quotation is not closed
}

// readValues reads values separated by commas up to a space, each of them or a part of it in quotes, as in
// source:slack,"google drive" and tag:team="site reliability". A doubled quotation mark in quotes stands for itself.
func readValues(s string) filterValues {
	var v filterValues
	var value strings.Builder
	finish := func() {
		if v.text = strings.Join(strings.Fields(value.String()), " "); v.text != "" {
			v.all = append(v.all, v.text)
		}
		value.Reset()
	}
	for v.width < len(s) && !v.open {
		r, size := utf8.DecodeRuneInString(s[v.width:])
		if unicode.IsSpace(r) {
			break
		}
		v.quoted = false
		switch {
		case r == ',':
			finish()
			v.last = v.width + size
		case isQuote(r):
			var text string
			text, size, v.open = quotedValue(s[v.width:])
			v.quoted = !v.open
			value.WriteString(text)
		default:
			value.WriteString(s[v.width : v.width+size])
		}
		v.width += size
	}
	finish()
	return v
}

// quotedValue reads a quoted part of a value up to the mark that closes it; of an open one, all.
func quotedValue(s string) (text string, width int, open bool) {
	var value strings.Builder
	_, width = utf8.DecodeRuneInString(s)
	for width < len(s) {
		r, size := utf8.DecodeRuneInString(s[width:])
		width += size
		if isQuote(r) {
			if next, _ := utf8.DecodeRuneInString(s[width:]); next != r {
				return value.String(), width, false
			}
			width += size
		}
		value.WriteString(s[width-size : width])
	}
	return value.String(), width, true
}

// QuoteValue writes a value so that a filter reads it back, in quotes if anything in it could end it. White space is read
// back as single spaces.
func QuoteValue(value string) string {
	if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || isQuote(r) || r == ',' }) {
		return value
	}
	var quoted strings.Builder
	quoted.WriteByte('"')
	for _, r := range value {
		if isQuote(r) {
			quoted.WriteRune(r)
		}
		quoted.WriteRune(r)
	}
	quoted.WriteByte('"')
	return quoted.String()
}
