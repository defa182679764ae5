package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	utf "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"quarry/internal/text"
)

// longestEscape bounds a terminal sequence, so that an unfinished one does not swallow the rest of the document.
const longestEscape = 1024

// mostBlankLines bounds runs of newlines; longer ones make Markdown parsers quadratic.
const mostBlankLines = 8

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n")

// cleanText returns text that is safe to store: valid UTF-8, newlines as \n, no control characters but tab and newline,
// no terminal sequences, no long runs of blank lines. Everything else stays, including bidirectional controls.
func cleanText(text string) string {
	if !utf8.ValidString(text) { // which is five times as fast as replacing nothing
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if strings.ContainsFunc(text, isUnclean) { // most texts have none
		text = strings.Map(func(r rune) rune {
			if isUnclean(r) {
				return -1
			}
			return r
		}, withoutEscapes(lineEnds.Replace(text)))
	}
	var out strings.Builder
	out.Grow(len(text))
	newlines := 0
	for line := range strings.Lines(text) {
		if strings.Trim(line, " \t\n") != "" {
			newlines = 0
		}
		if strings.HasSuffix(line, "\n") {
			newlines++
		}
		if newlines <= mostBlankLines {
			out.WriteString(line)
		}
	}
	return out.String()
}

// isUnclean reports whether a character is a control (Unicode's category Cc) but tab and newline.
func isUnclean(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7F && r < 0xA0 }

// withoutEscapes removes terminal sequences.
func withoutEscapes(text string) string {
	var out strings.Builder
	for {
		at := strings.IndexFunc(text, func(r rune) bool { return r == 0x1B || isC1(r) })
		if at < 0 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:at])
		text = text[at+escapeWidth(text[at:]):]
	}
}

// escapeWidth returns the length of the terminal sequence that s begins with, within a line and longestEscape. Of a
// control string that BEL or ST does not end there, only the introducer counts: in a document, what follows is text.
func escapeWidth(s string) int {
	s = s[:min(len(s), longestEscape)]
	if end := strings.IndexByte(s, '\n'); end >= 0 {
		s = s[:end]
	}
	for _, introducer := range []string{"\x1b]", "\x1bP", "\x1bX", "\x1b^", "\x1b_", "\u009d", "\u0090", "\u0098",
		"\u009e", "\u009f"} {
		rest, begins := strings.CutPrefix(s, introducer)
		if !begins {
			continue
		}
		width := 0
		for _, end := range []string{"\a", "\x1b\\", "\u009c"} {
			if at := strings.Index(rest, end); at >= 0 && (width == 0 || at+len(end) < width) {
				width = at + len(end)
			}
		}
		return len(introducer) + width
	}
	return text.EscapeWidth(s)
}

// oneLine cleans a title, name or value: one line of at most most bytes, cut between characters.
func oneLine(s string, most int) string {
	s = cleanText(text.Clip(s, 4*most))
	if strings.ContainsAny(s, "\n\t") || strings.Contains(s, "  ") {
		s = text.OneLine(s)
	}
	return strings.TrimSpace(text.Clip(strings.TrimSpace(s), most))
}

const (
	// detectionSample bounds the bytes for statistics, taken from lines that are not ASCII.
	detectionSample = 16 << 10
	// enoughConfidence is the required confidence of the detector, from 0 to 1. Two Chinese characters stay below it, a
	// sentence is near 1.
	enoughConfidence = 0.5

	latinEncoding   = "windows-1252" // a superset of ISO 8859-1 as far as text uses it
	damagedEncoding = "utf-8"        // of text that is not valid in it; valid text needs no decoding
)

var (
	errBinary   = errors.New("it contains binary data, not text")
	errUnknown  = errors.New("its encoding cannot be determined; convert it to UTF-8")
	replacement = []byte("\uFFFD")
	markUTF8    = []byte("\xEF\xBB\xBF")
)

// wide is an encoding with units of several bytes. Its zero value is none.
type wide struct {
	name     string
	mark     string // byte order mark
	unit     int    // bytes
	encoding encoding.Encoding
}

// wides are in the order in which data is compared with their marks. That of UTF-16 and a NUL, which no text has,
// begins like the one of UTF-32.
var wides = [...]wide{
	{"utf-32", "\xFF\xFE\x00\x00", 4, utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)},
	{"utf-32", "\x00\x00\xFE\xFF", 4, utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)},
	{"utf-16le", "\xFF\xFE", 2, utf.UTF16(utf.LittleEndian, utf.IgnoreBOM)},
	{"utf-16be", "\xFE\xFF", 2, utf.UTF16(utf.BigEndian, utf.IgnoreBOM)},
}

// markedWide returns the encoding whose mark data begins with.
func markedWide(data []byte) wide {
	for _, w := range wides {
		if bytes.HasPrefix(data, []byte(w.mark)) {
			return w
		}
	}
	return wide{}
}

// decode returns data as UTF-8. assumed names the encoding unless the data, or page for HTML, declares it. Valid UTF-8
// is returned unchanged.
func decode(data []byte, page bool) (text []byte, assumed string, err error) {
	if w := markedWide(data); w.unit > 0 {
		text, err = w.decode(data[len(w.mark):])
		return text, "", err
	}
	data = bytes.TrimPrefix(data, markUTF8)
	if n := bytes.Count(data, []byte{0}); n > 0 && n <= tolerated(len(data)) { // as crashes leave in logs
		data = bytes.ReplaceAll(data, []byte{0}, replacement)
	}
	hasNUL := bytes.IndexByte(data, 0) >= 0
	if utf8.Valid(data) && !hasNUL {
		return data, "", nil
	}
	if w := unmarkedUTF16(data, hasNUL); w.unit > 0 {
		text, err = w.decode(data)
		return text, w.name, err
	}
	if hasNUL || isMostlyControls(data) {
		return nil, "", errBinary
	}
	if page {
		if declared := declaredEncoding(data); declared != "" {
			if text, err = decodeAs(data, declared); err == nil {
				return text, "", nil
			}
		}
	}
	assumed, err = detect(data)
	if err != nil {
		return nil, "", err
	}
	if text, err = decodeAs(data, assumed); assumed == damagedEncoding {
		assumed = ""
	}
	return text, assumed, err
}

// tolerated returns how many bytes or characters of a long text may be damaged: one in a thousand. Data that is no
// text, or text in another encoding, has far more.
func tolerated(length int) int { return length / 1000 }

// decode decodes data without a mark. Damage is an error unless it is little in a long text: the decoder replaces what
// is invalid, which encoding shows.
func (w wide) decode(data []byte) ([]byte, error) {
	text, err := w.encoding.NewDecoder().Bytes(data)
	same, failed := w.encoding.NewEncoder().Bytes(text)
	most := tolerated(len(data) / w.unit)
	switch isDamaged := !bytes.Equal(same, data) && bytes.Count(text, replacement) > most; {
	case bytes.Count(text, []byte{0}) > most:
		return nil, errBinary
	case err != nil || failed != nil || isDamaged:
		return nil, fmt.Errorf("it is not valid %s; convert it to UTF-8", w.name)
	}
	return bytes.ReplaceAll(text, []byte{0}, replacement), nil
}

// declaredEncoding returns the encoding declared in the first 1,024 bytes of a page, as browsers find it, or "".
func declaredEncoding(page []byte) string {
	const prescanned = 1024
	// With it the rules fall back to UTF-8 instead of windows-1252.
	const end = "é."
	start := bytes.ToValidUTF8(page[:min(len(page), prescanned-len(end))], nil)
	if _, name, _ := charset.DetermineEncoding(append(start, end...), ""); name != "utf-8" {
		return name
	}
	return ""
}

// decodeAs decodes all of data. Decoders replace invalid bytes with U+FFFD, which valid text in these encodings cannot
// contain, so that a few show damage and many another encoding.
func decodeAs(data []byte, name string) ([]byte, error) {
	if name == damagedEncoding {
		return bytes.ToValidUTF8(data, replacement), nil
	}
	encoding, err := htmlindex.Get(name)
	if err != nil {
		return nil, errUnknown
	}
	text, err := encoding.NewDecoder().Bytes(data)
	damage := bytes.Count(text, replacement)
	for _, r := range string(text) {
		if isC1(r) {
			damage++
		}
	}
	if err != nil || damage > tolerated(len(data)) {
		return nil, fmt.Errorf("it is not valid %s; convert it to UTF-8", name)
	}
	return text, nil
}

// isC1 reports whether a character is a C1 control, which text does not contain; in windows-1252 its byte is undefined.
func isC1(r rune) bool { return r >= 0x80 && r < 0xA0 && r != 0x85 }

// detect returns the encoding of bytes that are not valid UTF-8 and contain no NUL.
func detect(data []byte) (string, error) {
	if isDamagedUTF8(data) {
		return damagedEncoding, nil
	}
	sample := sampleOf(data)
	if looksLatin(sample) {
		return latinEncoding, nil
	}
	if name := detectByScript(sample); name != "" {
		return name, nil
	}
	half := lineEnd(sample, len(sample)/2)
	for _, part := range [][]byte{sample, sample[:half], sample[half:]} { // the detector does not expect a damaged byte
		for _, result := range chardet.DetectAll(part) {
			if name, known := detected(strings.ToLower(result.Encoding)); known &&
				result.Confidence >= enoughConfidence {
				if _, err := decodeAs(data, name); err == nil {
					return name, nil
				}
			}
		}
	}
	return "", errUnknown
}

// detectByScript detects encodings that the detector confuses, if the characters are unambiguous; else it returns "".
func detectByScript(sample []byte) string {
	count := func(name string, tables ...*unicode.RangeTable) (inTables, others int) {
		text, err := decodeAs(sample, name)
		if err != nil {
			return 0, 0
		}
		for _, r := range string(text) {
			switch {
			case r >= 0xFF61 && r < 0xFFA0: // half-width kana: other encodings read as Shift JIS
				return 0, 0
			case unicode.In(r, tables...):
				inTables++
			case r >= utf8.RuneSelf && unicode.IsLetter(r):
				others++
			}
		}
		return inTables, others
	}
	const enough = 8 // Hangul: common Chinese characters have the same bytes
	if kana, han := count("shift_jis", unicode.Hiragana, unicode.Katakana); kana > 0 && 8*kana >= han {
		return "shift_jis"
	}
	if hangul, others := count("euc-kr", unicode.Hangul); hangul >= enough && others == 0 {
		return "euc-kr"
	}
	return ""
}

// detected maps results of the detector to WHATWG names. Its Latin results are ignored, because it reports them for
// most bytes; looksLatin decides.
var detected = text.Table(`shift_jis: shift_jis cp932; euc-jp: euc-jp; euc-kr: euc-kr cp949; gb18030: gb2312 gbk gb18030
	big5: big5; koi8-r: koi8-r; windows-1251: windows-1251; iso-8859-5: iso-8859-5
	windows-1253: iso-8859-7 windows-1253; windows-1255: windows-1255`)

// isDamagedUTF8 reports whether most characters beyond ASCII are UTF-8, which in other encodings and in data they
// hardly are.
func isDamagedUTF8(data []byte) bool {
	valid, invalid := 0, 0
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, width := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && width == 1 {
			invalid++
		} else {
			valid++
		}
		i += width
	}
	return valid > invalid
}

// sampleOf returns non-ASCII lines from all of data.
func sampleOf(data []byte) []byte {
	var sample []byte
	for line := range bytes.Lines(data) {
		if len(sample) >= detectionSample {
			break
		}
		if at := bytes.IndexFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }); at >= 0 {
			line = line[max(0, at-detectionSample/4):] // also in an endless line
			sample = append(sample, line[:min(len(line), detectionSample-len(sample))]...)
		}
	}
	return sample
}

// looksLatin reports whether non-ASCII bytes occur singly among Latin letters, like accented letters and typographic
// quotes. In the encodings of other scripts they occur in runs.
func looksLatin(sample []byte) bool {
	letters, single, rows, undefined := 0, 0, 0, 0
	for i := 0; i < len(sample); {
		if sample[i] < utf8.RuneSelf {
			if isASCIILetter(sample[i]) {
				letters++
			}
			i++
			continue
		}
		start := i
		for i < len(sample) && sample[i] >= utf8.RuneSelf {
			switch sample[i] {
			case 0x81, 0x83, 0x8D, 0x8F, 0x90, 0x9D: // undefined, and a florin sign, which is katakana in Shift JIS
				if undefined++; undefined > tolerated(len(sample)) {
					return false
				}
			}
			i++
		}
		switch beside := start > 0 && isASCIILetter(sample[start-1]) || i < len(sample) && isASCIILetter(sample[i]); {
		case i-start == 1, i-start == 2 && beside:
			single += i - start
		default:
			rows += i - start
		}
	}
	return single >= 9*rows && 3*(single+rows) <= 7*letters
}

func isASCIILetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func isMostlyControls(data []byte) bool {
	const perThousand = 5
	controls := 0
	for _, b := range data {
		if isBinaryControl(rune(b)) {
			controls++
		}
	}
	return controls*1000 > len(data)*perThousand
}

// unmarkedUTF16 returns the encoding of UTF-16 without a byte order mark, if data is that.
func unmarkedUTF16(data []byte, hasNUL bool) wide {
	if len(data)%2 > tolerated(len(data)) || len(data) == 0 {
		return wide{}
	}
	little, big := wides[2], wides[3]
	switch isLittle := isPlainUTF16(data, little, hasNUL); {
	case isLittle == isPlainUTF16(data, big, hasNUL):
		return wide{}
	case isLittle:
		return little
	}
	return big
}

// isPlainUTF16 reports whether data in that byte order has only everyday characters. With NUL bytes, which no other
// text encoding has, it must be mostly Latin, or not look like ASCII. Without them it must have kana or Chinese
// punctuation, because such text has no spaces or newlines.
func isPlainUTF16(data []byte, w wide, hasNUL bool) bool {
	units, latin, round, damage, hasKana := 0, 0, 0, 0, false
	in := bufio.NewReader(w.encoding.NewDecoder().Reader(bytes.NewReader(data)))
	for {
		r, _, err := in.ReadRune()
		if err != nil {
			break
		}
		if !isEveryday(r) {
			if damage++; damage > tolerated(len(data)/2) {
				return false
			}
		} else if !hasNUL && r < 0x3000 {
			return false
		}
		units++
		if r > 0 && r < 0x100 {
			latin++
		}
		if r&0xFF == 0 {
			round++
		}
		hasKana = hasKana || r >= 0x3000 && r < 0x3100
	}
	if !hasNUL {
		return hasKana
	}
	zeros, printable := 0, 0
	for _, b := range data {
		if b == 0 {
			zeros++
		} else if b >= ' ' && b < 0x7F {
			printable++
		}
	}
	// ASCII with a stray NUL would decode to Chinese, and small numbers to the first characters of scripts.
	return 10*round <= units+10 && (4*latin >= 3*units || 5*printable <= 4*(len(data)-zeros))
}

// isEveryday reports whether texts of living languages use a character. In the wrong byte order, or in other data,
// about half of the characters are not.
func isEveryday(r rune) bool {
	switch {
	case r < ' ':
		return r == '\t' || r == '\n' || r == '\r' || r == '\f'
	case r < 0x700, r >= 0x900 && r < 0xE80, r >= 0x1E00 && r < 0x2000, r >= 0x2000 && r < 0x2100,
		r >= 0x2190 && r < 0x2600,
		r >= 0x3000 && r < 0x3100, r >= 0x4E00 && r < 0xA000, r >= 0xAC00 && r < 0xD7A4, r >= 0xFF00 && r < 0xFFF0:
		return unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r)
	}
	return r >= 0x1F300 && r < 0x20000 || r == 0xFEFF
}
