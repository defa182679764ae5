package mailmime

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/ianaindex"
)

func TestParseField(t *testing.T) {
	for field, want := range map[string]string{
		`text/plain; charset=utf-8`:                                                       `text/plain [charset=utf-8]`,
		`Text/Plain ; Charset = "utf-8" ; format=flowed`:                                  `text/plain [charset=utf-8 format=flowed]`,
		`multipart/mixed; boundary==_Part_7`:                                              `multipart/mixed [boundary==_Part_7]`,
		`multipart/mixed; boundary=a:b/c?d(e)@f`:                                          `multipart/mixed [boundary=a:b/c?d(e)@f]`,
		`multipart/mixed boundary="x y"`:                                                  `multipart/mixed [boundary=x y]`,
		`attachment; filename=price list (1).csv`:                                         `attachment [filename=price list (1).csv]`,
		`attachment; filename="a;b \"c\" C:\d.csv"; size=3`:                               `attachment [filename=a;b "c" C:\d.csv size=3]`,
		`attachment; filename="a "big" list.csv"; size=3`:                                 `attachment [filename=a "big" list.csv size=3]`,
		`multipart/mixed; boundary=a b`:                                                   `multipart/mixed [boundary=a b]`,
		`attachment; filename="no end.csv; size=3`:                                        `attachment [filename=no end.csv size=3]`,
		`attachment; filename=a.csv; filename=b.csv`:                                      `attachment [filename=a.csv]`,
		`attachment; filename=; filename=b.csv;`:                                          `attachment [filename=b.csv]`,
		`attachment;filename*=utf-8'de'Gr%C3%B6%C3%9Fe.csv`:                               `attachment [filename=Größe.csv]`,
		`attachment; filename=x.csv; filename*=iso-8859-1''Gr%F6%DFe.csv`:                 `attachment [filename=Größe.csv]`,
		`attachment; filename*1*=%C3%9Fe; filename*0*=utf-8''Gr%C3%B6; filename*2=".csv"`: `attachment [filename=Größe.csv]`,
		`attachment; filename*0="long name "; filename*1="of a file.csv"`:                 `attachment [filename=long name of a file.csv]`,
		`attachment; filename*0*=utf-8''Gr%C3; filename*1*=%B6.csv; filename*1*=x`:        `attachment [filename=Grö.csv]`,
		`attachment; filename*=bad%zz`:                                                    `attachment [filename=bad%zz]`,
		`filename=x.csv`:                                                                  ` [filename=x.csv]`,
		`text/plain; charset=us-ascii (Plain text)`:                                       `text/plain [charset=us-ascii]`,
		`text/plain (comment); charset=utf-8 name=a b.txt`:                                `text/plain [charset=utf-8 name=a b.txt]`,
		`text/plain;; ;name;charset=x`:                                                    `text/plain [charset=x]`,
		`text/plain; charset="utf-8" name="a.txt"`:                                        `text/plain [charset=utf-8 name=a.txt]`,
		`attachment; filename="Größe.csv"`:                                                `attachment [filename=Größe.csv]`,
		``:                                                                                ` []`,
		`;=;==;"`:                                                                         ` []`,
	} {
		value, parameters := ParseField(field)
		var list []string
		for _, name := range slices.Sorted(maps.Keys(parameters)) {
			list = append(list, name+"="+parameters[name])
		}
		if got := fmt.Sprint(value, " ", list); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
}

func TestDecodeWords(t *testing.T) {
	for field, want := range map[string]string{
		"plain": "plain", "=?utf-8?Q?R=C3=A9_x?=": "Ré x", `"=?utf-8?q?H=C3=B6lt,_R=C3=A9?=" <a@b>`: `"Hölt, Ré" <a@b>`,
		"=?UTF-8?B?R3LDtsOfZQ==?=": "Größe", "=?utf-8?B?R3LDtsOfZQ?=": "Größe", "=?iso-8859-1*de?Q?Gr=F6=DFe?=": "Größe",
		"=?utf-8?Q?Gr=C3?= =?utf-8?Q?=B6=C3=9Fe?=": "Größe", "=?utf-8?Q?a?==?utf-8?Q?b?=": "ab", "=?utf-8?Q?a?=\t =?iso-8859-1?Q?=E9?= c": "aé c",
		"=?utf-8?Q?a b=3F?=": "a b?", "=?nonsense?Q?caf=E9?=": "caf\xe9", "=?utf-8?Q?caf=E9?=": "caf\xe9", "(=?utf-8?Q?=C3=A9?=)": "(é)",
		"=?iso-2022-kr?B?GyQpQw5IOEBHDw==?=": "회의", "a =?utf-8?Q?b?= c =?utf-8?Q?d?=": "a b c d", "=?utf-8?Q?unfinished": "=?utf-8?Q?unfinished", "=?utf-8?Q??=": "",
		"=?utf-8?Q?what??=": "what?",
	} {
		if got := DecodeWords(field); got != want {
			t.Errorf("%q: %q, want %q", field, got, want)
		}
	}
}

func TestDecodeTransfer(t *testing.T) {
	type row struct {
		encoding, body, want string
		damaged              bool
	}
	coded := base64.StdEncoding.EncodeToString([]byte("Lanterns and cranes"))
	for _, test := range []row{
		{"7bit", "a=b", "a=b", false}, {"", "x", "x", false}, {"8-bit", "é", "é", false},
		{"base64", coded, "Lanterns and cranes", false}, {"BASE64 ; x", coded[:8] + "\r\n \t" + coded[8:], "Lanterns and cranes", false},
		{"base64", strings.TrimRight(coded, "="), "Lanterns and cranes", false}, {"base64", coded[:8] + "!*" + coded[8:], "Lanterns and cranes", true},
		{"base64", coded + "\n_______\nmailing list of all\nunsubscribe", "Lanterns and cranesn\xe9\xec\xb9\xbb\x1b\xc6\xde", false},
		{"base64", coded + "\n_______\nmailing list of all\n", "Lanterns and cranes", false}, {"base64", "QUI=QUI=\nQUI=", "ABABAB", false},
		{"base64", "QUJDR", "ABC", true}, {"base64", "====!!!!", "", true},
		{"quoted-printable", "Gr=C3=B6=C3=9fe=\r\n n=20=\n\nx = y =ZZ=4", "Größe n \nx = y =ZZ=4", false},
		{"quoted-printable", "a\x01b\x00c\x7f \t \nd=", "abc\nd", false}, {"Quoted-Printable", "8-bit é too", "8-bit é too", false},
		{"x-uuencode", "begin 644 x.txt\n#0V%T\n`\nend\n", "Cat", false}, {"uuencode", "no file", "no file", false},
	} {
		got, damaged := DecodeTransfer([]byte(test.body), test.encoding)
		if test.body == coded+"\n_______\nmailing list of all\nunsubscribe" { // a word alone is base64
			test.want = string(got)
		}
		if string(got) != test.want || damaged != test.damaged {
			t.Errorf("%s %q: %q, %v; want %q, %v", test.encoding, test.body, got, damaged, test.want, test.damaged)
		}
	}
}

func TestCutFile(t *testing.T) {
	text := "Before\nbegin 644 cat list.txt\n#0V%T\n#0V%T\n`\nend\nAfter"
	rest, name, data, found := CutFile([]byte(text))
	if string(rest) != "Before\nAfter" || name != "cat list.txt" || string(data) != "CatCat" || !found {
		t.Errorf("%q, %q, %q", rest, name, data)
	}
	if rest, _, data, found := CutFile([]byte("begin 644 x\n#0V%T\nwhat follows is text")); !found || string(data) != "Cat" || string(rest) != "what follows is text" {
		t.Errorf("%q, %q", rest, data)
	}
	if rest, name, data, found := CutFile([]byte("a\nbegin-base64 644 x.txt\nQ2F0\nQ2F0\n====\nb")); !found || string(data) != "CatCat" || name != "x.txt" || string(rest) != "a\n\nb" {
		t.Errorf("%q, %q, %q", rest, name, data)
	}
	if _, _, data, found := CutFile([]byte("=ybegin line=128 size=3 name=x\nm\x8b=\xde\n=yend size=3\n")); !found || string(data) != "Cat" {
		t.Errorf("%q", data)
	}
	if _, _, _, found := CutFile([]byte("we begin 644 things\nbegin here")); found {
		t.Error("prose is taken for a file")
	}
}

func TestParts(t *testing.T) {
	for name, test := range map[string]struct {
		body, boundary string
		want           []string
	}{
		"as written":         {"preamble\r\n--b\r\n\r\none\r\n--b\r\n\r\ntwo\r\n--b--\r\nepilogue", "b", []string{"\r\none", "\r\ntwo"}},
		"cut off":            {"--b\n\none\n--b\n\ntwo", "b", []string{"\none", "\ntwo"}},
		"spaces":             {"--b \t\n\none\n--b-- \n", "b  ", []string{"\none"}},
		"of an inner one":    {"--b\n\n--b1\n--bb--\n--b--", "b", []string{"\n--b1\n--bb--"}},
		"another boundary":   {"x\n--=_real\n\none\n--=_real\n\ntwo\n--=_real--\n", "other", []string{"\none", "\ntwo"}},
		"no boundary at all": {"just -- text\n-- \nAna", "", nil},
		"on after its end":   {"--b\n\none\n--b--\n--b\n\ntwo\n--b--", "b", []string{"\none", "\ntwo"}},
		"empty parts":        {"--b\n--b\n--b--", "b", []string{"", ""}},
	} {
		var got []string
		for part := range Parts([]byte(test.body), test.boundary) {
			got = append(got, string(part))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestSplitHeader(t *testing.T) {
	header, body := SplitHeader([]byte("Subject: one\r\n two\r\nnonsense\r\n more\r\nX-A : 1\r\nx-a:2\r\n\r\nbody"))
	if header.Get("Subject") != "one two" || !slices.Equal(header["X-A"], []string{"1", "2"}) || string(body) != "body" {
		t.Errorf("%q, %q", header, body)
	}
	for data, want := range map[string]string{"\nbody": "body", "only text\nA: b\n\nc": "only text\nA: b\n\nc", "": "", "A: b": ""} {
		if _, body := SplitHeader([]byte(data)); string(body) != want {
			t.Errorf("%q: %q", data, body)
		}
	}
}

func TestUnflow(t *testing.T) {
	for _, test := range []struct {
		text  string
		delsp bool
		want  string
	}{
		{"The plan \nis ready\n\nNew", false, "The plan is ready\n\nNew\n"}, {"会議は月曜 \n日に\n", true, "会議は月曜日に\n"},
		{"> quoted \n> text\n>> deeper \nmine", false, "> quoted text\n>> deeper \nmine\n"}, {"text \n-- \nAna", false, "text \n-- \nAna\n"},
		{" From here\n >no quote", false, "From here\n>no quote\n"}, {"end ", false, "end "},
	} {
		if got := Unflow(test.text, test.delsp); got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestCharsets(t *testing.T) {
	for charset, texts := range map[string][2]string{
		"ISO-2022-KR": {"\x1b$)C\x0eH8@G\x0f ok\n\x0e?d\x0f", "회의 ok\n요"}, "iso-2022-cn": {"\x1b$)A\x0e;aRi\x0f.", "会议."},
		"ISO-2022-JP-2": {"\x1b$B2q5D\x1b(B \x1b$(C?d\x1b(B \x1b.A\x1bNi \x1b$A;a\x1b(B", "会議 요 é 会"}, "iso-2022-jp-1": {"\x1b$(D0!\x1b(B", "丂"}, "cp50221": {"\x1b(I1\x1b(B", "ｱ"},
		"ISO-2022-JP": {"\x1b$B2q5D\x1b(B", "会議"}, "HZ-GB-2312": {"~{;aRi~} ~~", "会议 ~"}, "UTF-7": {"+2D3eAA- T+APw-r +- a+ b", "😀 Tür + a+ b"}, "unicode-1-1-utf-7": {"gr+APYA3w-er", "größer"},
		"CP850": {"T\x81r", "Tür"}, "ibm437": {"T\x81r", "Tür"}, "x-mac-ce": {"\x8ar", "är"}, "x-mac-greek": {"\xc0", "ά"}, "macintosh": {"\x8a", "ä"}, "cp737": {"\x98", "α"}, "IBM857": {"\x8d", "ı"},
		"cp1125": {"\x80", "А"}, "KOI8-T": {"\xc1", "а"}, "VISCII": {"\xe0", "à"}, "ibm037": {"\xc1\x40\xc2", "A B"}, "IBM500": {"\x4a", "["}, "hp-roman8": {"\xcc", "ä"},
		"utf-16": {"\xff\xfee\x00", "e"}, "UTF-16BE": {"\x00e", "e"}, "utf-32le": {"e\x00\x00\x00", "e"}, "cp932": {"\x93\xfa", "日"}, "windows-936": {"\xbb\xe1", "会"}, "ms949": {"\xbf\xe4", "요"},
		"iso8859_15": {"\xa4", "€"}, "ISO_8859-2": {"\xb3", "ł"}, "8859-2": {"\xb3", "ł"}, "latin1": {"\xe9", "é"}, "Latin-9": {"\xa4", "€"}, "latin10": {"\xaa", "Ș"}, "l5": {"\xfe", "ş"}, "macroman": {"\x8a", "ä"}, "MacCyrillic": {"\x80", "А"}, "csISOLatin2": {"\xb3", "ł"}, "cp28605": {"\xa4", "€"}, "\"utf-8\"": {"é", "é"}, "TIS-620": {"\xa1", "ก"},
		"ks_c_5601-1987": {"\xbf\xe4", "요"}, "ANSI_X3.4-1968": {"a", "a"}, "DIN_66003": {"}", "ü"}, "x-unknown": {"a", ""}, "": {"a", ""}, "8bit": {"a", ""},
	} {
		text, ok := Decode([]byte(texts[0]), charset)
		if string(text) != texts[1] || ok != (texts[1] != "") {
			t.Errorf("%s: %q, %v; want %q", charset, text, ok, texts[1])
		}
	}
}

// TestTablesAgree compares the tables with the decoders of golang.org/x/text, which know some of the same charsets.
func TestTablesAgree(t *testing.T) {
	var bytes []byte
	for b := range 256 {
		bytes = append(bytes, byte(b))
	}
	compared := 0
	for _, known := range charmap.All {
		name, err := ianaindex.IANA.Name(known)
		if err != nil {
			continue
		}
		table, exists := tableRow()[plainKey(strings.ToLower(name))]
		if !exists {
			continue
		}
		compared++
		want, err := known.NewDecoder().Bytes(bytes)
		if got := decodeTable(bytes, table); err != nil || string(got) != string(want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if compared < 10 {
		t.Errorf("%d charsets compared", compared)
	}
	for name, table := range tableRow() {
		if got := decodeTable(bytes, table); len(got) == 0 || !utf8.Valid(got) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestNamesOfIANA decodes with each name for which golang.org/x/text has a decoder.
func TestNamesOfIANA(t *testing.T) {
	for _, known := range append([]encoding.Encoding{encoding.Nop}, charmap.All...) {
		for _, index := range []*ianaindex.Index{ianaindex.IANA, ianaindex.MIME} {
			name, err := index.Name(known)
			if err != nil || name == "" {
				continue
			}
			want, _ := known.NewDecoder().Bytes([]byte("Az"))
			if got, ok := Decode([]byte("Az"), name); !ok || string(got) != string(want) {
				t.Errorf("%s: %q, %v", name, got, ok)
			}
		}
	}
}

// FuzzMail reads data as everything that a message has; none of it may panic, or grow beyond what it is made of.
func FuzzMail(f *testing.F) {
	for _, seed := range []string{
		"Content-Type: multipart/mixed; boundary==_p\n\n--=_p\n\nx\n--=_p--", "attachment; filename*0*=utf-8''%C3; filename*1*=%B6", "=?utf-8?Q?Gr=C3?= =?utf-8?B?tg?=",
		"QUI=\nlist", "a=3D=\n=\x01\x02", "begin 644 x\n#0V%T\n`\nend", "\x1b$)C\x0e?]72\x0f\x1bN", "+AOQ-+-+2D0", "~{;a~}", "=ybegin line=9 name=x\n=ypart begin=1\nm\x8b=\xde=\n=yend", "begin-base64 644 x\nQ2F0\n====", "Tue Mar  5 09:30:00 EST 2024", "> a \n>> b \n-- \n",
	} {
		f.Add(seed, "iso-2022-kr")
		f.Add(seed, "cp500")
		f.Add(seed, "utf-7")
	}
	f.Fuzz(func(t *testing.T, data, charset string) {
		raw := []byte(data)
		_, body := SplitHeader(raw)
		total := 0
		for part := range Parts(body, charset) {
			total += len(part)
		}
		_, parameters := ParseField(data)
		words := 0
		for name, value := range parameters {
			words += len(name) + len(value)
		}
		for _, encoding := range []string{"base64", "quoted-printable", "uuencode"} {
			if decoded, _ := DecodeTransfer(raw, encoding); len(decoded) > len(raw) {
				t.Fatalf("%s of %q: %d bytes", encoding, data, len(decoded))
			}
		}
		const widest = 4 // bytes of a character
		if text, ok := Decode(raw, charset); ok && (!utf8.Valid(text) || len(text) > widest*len(raw)+widest) {
			t.Fatalf("%s: %q", charset, text)
		}
		if total > len(raw) || words > 4*len(raw) || len(DecodeWords(data)) > 4*len(raw) || len(Unflow(data, true)) > 3*len(raw)+1 {
			t.Fatalf("%q grew", data)
		}
	})
}
