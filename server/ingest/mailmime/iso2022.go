package mailmime

import (
	"bytes"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// characterSet is a set of ISO 2022: its characters are those of an encoding with the high bit set, after a prefix.
type characterSet struct {
	encoding encoding.Encoding // nil: ASCII
	prefix   string
	width    int
}

// designations are the escape sequences of ISO-2022-JP, -JP-1, -JP-2, -KR and -CN after the escape character, with the
// number of the slot that they fill: 0 at once, 1 between shift out and shift in, 2 for the next character.
var designations = []struct {
	sequence string
	slot     int
	set      characterSet
}{
	{"(B", 0, characterSet{}}, {"(J", 0, characterSet{}}, {"(H", 0, characterSet{}},
	{"(I", 0, characterSet{japanese.EUCJP, "\x8E", 1}},
	{"$@", 0, characterSet{japanese.EUCJP, "", 2}}, {"$B", 0, characterSet{japanese.EUCJP, "", 2}},
	{"$(B", 0, characterSet{japanese.EUCJP, "", 2}},
	{"$(O", 0, characterSet{japanese.EUCJP, "", 2}}, {"$(Q", 0, characterSet{japanese.EUCJP, "", 2}},
	{"$(D", 0, characterSet{japanese.EUCJP, "\x8F", 2}},
	{"$A", 0, characterSet{simplifiedchinese.GBK, "", 2}}, {"$(A", 0, characterSet{simplifiedchinese.GBK, "", 2}},
	{"$(C", 0, characterSet{korean.EUCKR, "", 2}},
	{"$)C", 1, characterSet{korean.EUCKR, "", 2}}, {"$)A", 1, characterSet{simplifiedchinese.GBK, "", 2}},
	{".A", 2, characterSet{charmap.ISO8859_1, "", 1}}, {".F", 2, characterSet{charmap.ISO8859_7, "", 1}},
}

// decodeISO2022 decodes the encodings of ISO 2022 for mail (RFC 1468, 1554, 1557, 1922). Sets without a table here, as
// those of Taiwan, become U+FFFD.
func decodeISO2022(data []byte) []byte {
	var slots [3]characterSet
	d := iso2022{}
	shifted := 0
	for len(data) > 0 {
		set := slots[shifted]
		switch c := data[0]; {
		case c == 0x1B && bytes.HasPrefix(data[1:], []byte("N")): // one character of slot 2
			data = d.character(data[2:], slots[2])
		case c == 0x1B:
			data = data[1:]
			for _, known := range designations {
				if rest, begins := bytes.CutPrefix(data, []byte(known.sequence)); begins {
					slots[known.slot], data = known.set, rest
					break
				}
			}
		case c == 0x0E:
			shifted, data = 1, data[1:]
		case c == 0x0F:
			shifted, data = 0, data[1:]
		case c == '\n':
			shifted, slots[0] = 0, characterSet{}
			data = d.character(data, characterSet{})
		case c <= ' ':
			data = d.character(data, characterSet{})
		default:
			data = d.character(data, set)
		}
	}
	d.flush()
	return d.text
}

type iso2022 struct {
	text []byte
	run  []byte            // not decoded yet
	in   encoding.Encoding // of run
}

// character adds the next character, and returns what follows it.
func (d *iso2022) character(data []byte, set characterSet) []byte {
	if set.encoding != d.in {
		d.flush()
		d.in = set.encoding
	}
	n := min(max(set.width, 1), len(data))
	if set.encoding == nil {
		d.run = append(d.run, data[:n]...)
		return data[n:]
	}
	d.run = append(d.run, set.prefix...)
	for _, b := range data[:n] {
		d.run = append(d.run, b|0x80)
	}
	return data[n:]
}

func (d *iso2022) flush() {
	decoded := bytes.ToValidUTF8(d.run, []byte("\uFFFD"))
	if d.in != nil {
		decoded, _ = d.in.NewDecoder().Bytes(d.run) // decoders replace what is invalid
	}
	d.text, d.run = append(d.text, decoded...), d.run[:0]
}
