package mailmime

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"quarry/internal/text"
)

//go:embed charsets.txt
var charsetTables string

// tableRow returns the row of a name in charsets.txt. They are parsed when the first mail names such a charset.
var tableRow = sync.OnceValue(func() map[string]string {
	rows := map[string]string{}
	for row := range strings.Lines(charsetTables) {
		if names, table, found := strings.Cut(strings.TrimSuffix(row, "\n"), "\t"); found {
			for name := range strings.FieldsSeq(names) {
				rows[name] = table
			}
		}
	}
	return rows
})

// codePages are names of Microsoft and others for charsets that golang.org/x/text knows by other names.
var codePages = text.Table(
	`shift_jis: 932; gbk: 936 51936 20936; euc-kr: 949 51949; big5: 950; big5-hkscs: 951; euc-jp: 51932 20932
	gb18030: 54936; koi8-r: 20866; koi8-u: 21866; macintosh: 10000; x-mac-cyrillic: 10007; us-ascii: 20127 367
	utf-16le: 1200; utf-16be: 1201; utf-8: 65001; iso-8859-1: 819`)

// latinParts are the parts of ISO 8859 that are Latin 1 to 10.
var latinParts = strings.Fields("1 2 3 4 9 10 13 14 15 16")

// Decode returns data in a charset as UTF-8, with U+FFFD for what is invalid in it. ok is false if the charset is
// unknown.
func Decode(data []byte, charset string) (text []byte, ok bool) {
	name := strings.ToLower(strings.Trim(charset, " \t\"'"))
	key := plainKey(name)
	switch {
	case key == "utf7" || strings.HasSuffix(key, "unicode11utf7") || strings.HasSuffix(key, "unicode20utf7") ||
		key == "cp65000":
		return bytes.ToValidUTF8(decodeUTF7(data), []byte("\uFFFD")), true
	case strings.Contains(key, "iso2022") && !strings.HasSuffix(key, "iso2022jp") || strings.HasPrefix(key, "cp5022"):
		return decodeISO2022(data), true
	}
	if found := encodingOf(name, key); found != nil {
		text, err := found.NewDecoder().Bytes(data)
		return text, err == nil
	}
	table, known := tableRow()[key]
	if !known { // IBM00858, ms720
		table, known = tableRow()["cp"+strings.TrimLeft(key, "abcdefghijklmnopqrstuvwxyz0")]
	}
	if !known {
		return nil, false
	}
	return decodeTable(data, table), true
}

// plainKey returns a lower-case name without signs, as names differ in those alone: ISO_8859-15, iso8859_15.
func plainKey(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, name)
}

// encodingOf returns the encoding of golang.org/x/text with a name, or nil.
func encodingOf(name, key string) encoding.Encoding {
	switch strings.TrimPrefix(key, "cs") {
	case "hz", "hzgb2312", "cp52936", "xhz":
		return simplifiedchinese.HZGB2312
	case "utf16":
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case "utf32", "ucs4", "iso10646ucs4":
		return utf32.UTF32(utf32.BigEndian, utf32.UseBOM)
	case "utf32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	case "utf32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case "ucs2", "iso10646ucs2", "unicode":
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	}
	page := strings.TrimLeft(key, "abcdefghijklmnopqrstuvwxyz") // cp932, ms932, windows-932
	codePage, _ := codePages(page)
	candidates := []string{name, strings.ReplaceAll(name, "_", "-"), key, strings.TrimPrefix(key, "x"), codePage}
	if part, isISO := strings.CutPrefix(key, "iso8859"); isISO || strings.HasPrefix(key, "8859") {
		candidates = append(candidates, "iso-8859-"+strings.TrimPrefix(part, "8859"))
	}
	if number, err := strconv.Atoi(page); err == nil && number > 28590 && number < 28610 {
		candidates = append(candidates, "iso-8859-"+strconv.Itoa(number-28590))
	}
	if number, _ := strconv.Atoi(page); number > 0 && number <= len(latinParts) && strings.Trim(key, "latin") == page {
		candidates = append(candidates, "iso-8859-"+latinParts[number-1])
	}
	candidates = append(candidates, "x-mac-"+strings.TrimPrefix(key, "mac"))
	for _, candidate := range candidates {
		if found, err := htmlindex.Get(candidate); err == nil && found != encoding.Replacement {
			return found
		}
	}
	return nil
}

func decodeTable(data []byte, table string) []byte {
	first, quoted, _ := strings.Cut(table, "\t")
	characters, err := strconv.Unquote(quoted)
	start, failed := strconv.ParseUint(first, 16, 8)
	if err != nil || failed != nil {
		return nil // a test reads all rows
	}
	runes := []rune(characters)
	text := make([]byte, 0, len(data)+len(data)/4)
	for _, b := range data {
		switch at := int(b) - int(start); {
		case at < 0:
			text = append(text, b)
		case at < len(runes):
			text = utf8.AppendRune(text, runes[at])
		default:
			text = utf8.AppendRune(text, utf8.RuneError)
		}
	}
	return text
}

// DecodeFolder decodes the modified UTF-7 of the names of folders (RFC 3501): Gel&APY-scht is Gelöscht.
func DecodeFolder(name string) string {
	return string(decodeShifted([]byte(name), "&", strings.Replace(base64Alphabet, "/", ",", 1), true))
}

// decodeUTF7 decodes UTF-7 (RFC 2152): +AOQ- is ä, +- a plus sign.
func decodeUTF7(data []byte) []byte { return decodeShifted(data, "+", base64Alphabet, false) }

// decodeShifted decodes UTF-16 in base64 between the sign shift and a hyphen, which may be missing unless it must
// close. What is not valid stays as it is.
func decodeShifted(data []byte, shift, alphabet string, mustClose bool) []byte {
	utf16 := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder()
	encoding := base64.NewEncoding(alphabet).WithPadding(base64.NoPadding)
	var text []byte
	for {
		plain, rest, found := bytes.Cut(data, []byte(shift))
		text = append(text, plain...)
		if !found {
			return text
		}
		coded := rest[:len(rest)-len(bytes.TrimLeft(rest, alphabet))]
		after, isClosed := bytes.CutPrefix(rest[len(coded):], []byte("-"))
		units := make([]byte, encoding.DecodedLen(len(coded)))
		n, err := encoding.Decode(units, coded)
		decoded, failed := utf16.Bytes(units[:n&^1])
		switch isText := err == nil && failed == nil && len(decoded) > 0; {
		case len(coded) == 0 && (isClosed || !mustClose):
			text = append(text, shift...)
		case isText && (isClosed || !mustClose):
			text = append(text, decoded...)
		default:
			text = append(append(text, shift...), coded...)
			after = rest[len(coded):]
		}
		data = after
	}
}
