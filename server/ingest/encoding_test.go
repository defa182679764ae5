package ingest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"quarry/client/wire"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode/utf32"
)

// encoded writes text in an encoding, which for UTF-16 has no byte order mark.
func encoded(t testing.TB, text, name string) []byte {
	t.Helper()
	encoding, err := htmlindex.Get(name)
	must(t, err)
	data, err := encoding.NewEncoder().Bytes([]byte(text))
	must(t, err)
	return data
}

const englishLines = "Ask the release manager before a deploy.\nThe error budget is on the dashboard.\n"

// samples are texts in the languages that are written in an encoding.
var samples = map[string][]string{
	"windows-1252": {
		"café", "naïve", "Müller", "Der Fahrplan für die Straßenbahn hängt über der Tür.", "“Quoted” – it’s 5 €", "50 £, 20 °C and ½ cup",
		"Le résumé de la réunion a été envoyé à l'équipe.", "El niño comió piñas en España.", "Não há informação; a reunião é amanhã.",
		"Smörgåsbord på svenska, är det bra?", strings.Repeat(englishLines, 500) + "The café on the corner is closed.",
		"Þetta er íslenska: ég á að gera það í dag.",
	},
	"shift_jis": {
		"これは日本語の文書です。会議は月曜日に行われます。", "デプロイを元に戻す方法を説明します。\nリリースツールを使ってください。",
		"本日の会議は中止です。", "データベースの復元方法", "手順書を更新しました。",
		strings.Repeat(englishLines, 500) + "障害が発生したら、まず担当者に連絡してください。",
	},
	"euc-jp": {
		"これは日本語の文書です。会議は月曜日に行われます。", "デプロイを元に戻す方法を説明します。\nリリースツールを使ってください。",
	},
	"euc-kr": {
		"데이터베이스 복구 방법", "오늘 회의는 취소되었습니다.", "배포를 되돌리는 방법을 설명합니다. 릴리스 도구를 사용하세요.", "이 안내서는 회사의 휴가 제도를 설명한다.",
		strings.Repeat(englishLines, 500) + "장애가 발생하면 먼저 담당자에게 연락하세요.",
	},
	"gb18030": {
		"我们如何回滚一次部署？请使用发布工具，并注意错误预算。", "本手册介绍公司的休假制度。",
		strings.Repeat(englishLines, 500) + "如果发生故障，请先联系负责人。",
	},
	"big5": {"我們如何回復一次部署？請使用發布工具，並注意錯誤預算。", "本手冊介紹公司的休假制度。"},
	"koi8-r": {
		"Привет, мир", "Как откатить развёртывание? Используйте инструмент выпуска.", "README: описание deploy",
		strings.Repeat(englishLines, 500) + "Это руководство описывает отпуска сотрудников компании.",
	},
	"windows-1251": {"Как откатить развёртывание? Используйте инструмент выпуска.", "Это руководство описывает отпуска сотрудников."},
	"windows-1253": {"Η τεκμηρίωση περιγράφει την άδεια των εργαζομένων."},
	"utf-16le": {
		"plain ASCII", "One café among many words.", "Что нового?\n", "会议在星期一。", "これは日本語の文書です。", "회의는 월요일에 열린다.\n", "Only the 😀 is new",
	},
	"utf-16be": {"plain ASCII", "One café among many words.", "Что нового?\n", "会议在星期一。", "これは日本語の文書です。", "회의는 월요일에 열린다.\n"},
}

func TestEncodings(t *testing.T) {
	for name, texts := range samples {
		for _, text := range texts {
			got, assumed, err := decode(encoded(t, text, name), false)
			if err != nil || string(got) != text || assumed != name {
				t.Errorf("%s %.40q: %.60q, assumed %q (%v)", name, text, got, assumed, err)
			}
			got, assumed, err = decode([]byte(text), false)
			if err != nil || string(got) != text || assumed != "" {
				t.Errorf("UTF-8 %.40q: %.60q, assumed %q (%v)", text, got, assumed, err)
			}
		}
	}
	for name, mark := range map[string]string{"utf-16le": "\xFF\xFE", "utf-16be": "\xFE\xFF"} {
		got, assumed, err := decode(append([]byte(mark), encoded(t, "日本", name)...), false)
		if err != nil || string(got) != "日本" || assumed != "" {
			t.Errorf("%s with a mark: %q, assumed %q (%v)", name, got, assumed, err)
		}
	}
}

func TestMarkedUTF32(t *testing.T) {
	for data, want := range map[string]string{
		"\xff\xfe\x00\x00a\x00\x00\x00\xe5\x65\x00\x00": "a日", "\x00\x00\xfe\xff\x00\x00\x00a\x00\x01\xf6\x00": "a😀",
		"\xff\xfe\x00\x00\xfd\xff\x00\x00": "\uFFFD", // of its own
	} {
		if got, assumed, err := decode([]byte(data), false); err != nil || string(got) != want || assumed != "" {
			t.Errorf("%q: %q, assumed %q (%v)", data, got, assumed, err)
		}
	}
	wide, err := utf32.UTF32(utf32.LittleEndian, utf32.UseBOM).NewEncoder().String(line("one", "café"))
	must(t, err)
	l := newLibrary(t, map[string]string{"d/wide.jsonl": wide})
	l.add(Options{}, "d")
	l.wantText("one", "café")
}

func TestDeclaredEncodings(t *testing.T) {
	page := func(charset, text string) []byte {
		return append([]byte("<html><head><meta charset="+charset+"></head><p>"), text...)
	}
	for _, test := range []struct {
		data          []byte
		want, assumed string
	}{
		{page("shift_jis", string(encoded(t, "東京", "shift_jis"))), "東京", ""},
		{page("iso-8859-1", "caf\xe9"), "café", ""},
		{page("iso-8859-2", string(encoded(t, "Zażółć gęślą jaźń", "iso-8859-2"))), "Zażółć gęślą jaźń", ""},
		{page("shift_jis", "in truth 東京"), "in truth 東京", ""},             // valid UTF-8 is never converted
		{page("utf-8", "caf\xe9 cr\xe8me"), "café crème", "windows-1252"}, // what is declared is wrong
		{page("nonsense", "caf\xe9 cr\xe8me"), "café crème", "windows-1252"},
		{[]byte("<p>caf\xe9"), "café", "windows-1252"},
	} {
		got, assumed, err := decode(test.data, true)
		if err != nil || !strings.HasSuffix(string(got), ">"+test.want) || assumed != test.assumed {
			t.Errorf("%q: %q, assumed %q (%v)", test.data, got, assumed, err)
		}
	}
}

func TestUndecodable(t *testing.T) {
	for reason, datas := range map[string][]string{
		"binary data": {
			"a\x00b", "text with\x00 a zero in it", "ab\x00d", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00>\x00",
			"\x01\x00\x02\x00\x03\x00\x04\x00", "\xff\xfe\x00\x00\x00\x00\x00\x00", strings.Repeat("\xe9\x03\x04\x05\x06", 50),
		},
		"cannot be determined": {"\xb7|\xc4\xb3", "price \xc8\xcb", "\x81\x81\x81\x81", "a\xff\xff\xffb"},
		"not valid utf-32":     {"\xff\xfe\x00\x00a\x00\x00", "\xff\xfe\x00\x00a\x00\x00\xd8", "\x00\x00\xfe\xff\x00\x00\xd8\x00"},
		"not valid utf-16le":   {"\xff\xfea\x00b", "\xff\xfe\x00\xd8a\x00"},
	} {
		for _, data := range datas {
			if text, assumed, err := decode([]byte(data), false); err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%q: %q, assumed %q (%v), want %q", data, text, assumed, err, reason)
			}
		}
	}
	// The detector sees a sample; the rest must be decoded too.
	long := append(encoded(t, strings.Repeat("これは日本語の文書です。\n", 2_000), "shift_jis"), bytes.Repeat([]byte{0xFD}, 200)...)
	if text, assumed, err := decode(long, false); err == nil {
		t.Errorf("%d bytes, assumed %q", len(text), assumed)
	}
	if text, assumed, err := decode([]byte("truly \uFFFD"), false); err != nil || string(text) != "truly \uFFFD" || assumed != "" {
		t.Errorf("a replacement character of its own: %q, %q, %v", text, assumed, err)
	}
}

// TestDamagedTexts: a few bad bytes in a long text cost only themselves, in each encoding.
func TestDamagedTexts(t *testing.T) {
	for name, texts := range samples {
		long := encoded(t, strings.Repeat(texts[0]+"\n", 1+8_000/len(texts[0])), name)
		for _, bad := range []string{"\xff", "\x00", "\x81", "\xd8"} {
			at := len(long) / 2 &^ 3
			damaged := slices.Concat(long[:at], []byte(bad), long[at+1:])
			text, _, err := decode(damaged, false)
			if err != nil || !strings.HasPrefix(string(text), texts[0]) || !strings.Contains(string(text[len(text)/2:]), texts[0]) {
				t.Errorf("%s with %q: %v, %.60q", name, bad, err, text)
			}
		}
	}
	for data, want := range map[string]string{"caf\u00e9 \xff and naïve": "café \uFFFD and naïve", "日本\xe6": "日本\uFFFD"} {
		if got, assumed, err := decode([]byte(data), false); err != nil || string(got) != want || assumed != "" {
			t.Errorf("%q: %q, %q, %v", data, got, assumed, err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for size := 100; size < 100_000; size *= 2 {
		data := make([]byte, size)
		for i := range data {
			if data[i] = byte(random.IntN(256)); i%3 > 0 { // with many letters
				data[i] = 'a' + data[i]%26
			}
		}
		if text, assumed, err := decode(data, false); err == nil {
			t.Errorf("%d random bytes are %q: %.60q", size, assumed, text)
		}
	}
}

func TestEncodingsOfFiles(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"d/utf8.md": "# Käse\n\ncafé", "d/latin.md": "# K\xe4se\n\ncaf\xe9 cr\xe8me", "d/page.html": "<h1>Caf\xe9</h1>",
		"d/sjis.txt": string(encoded(t, samples["shift_jis"][0], "shift_jis")), "d/bad.txt": "\xb7|\xc4\xb3",
		"d/latin.jsonl": line("one", "plain") + strings.ReplaceAll(line("two", "caf@"), "@", "\xe9"),
		"d/mixed.jsonl": line("three", "café") + strings.ReplaceAll(line("four", "caf@"), "@", "\xe9"),
		"d/wide.jsonl":  string(encoded(t, line("five", "wide café"), "utf-16le")),
	})
	l.add(Options{}, "d")
	l.want("d/utf8.md", "d/latin.md", "d/page.html", "d/sjis.txt", "one", "two", "three", "five")
	assumed := map[string]string{}
	for _, event := range l.events.all {
		if event.Type == wire.LibraryAssumed {
			assumed[strings.TrimPrefix(event.Path, l.folder+"/")] = event.Encoding
		}
	}
	want := map[string]string{
		"d/latin.md": "windows-1252", "d/page.html": "windows-1252", "d/sjis.txt": "shift_jis",
		"d/latin.jsonl": "windows-1252", "d/wide.jsonl": "utf-16le",
	}
	if len(assumed) != len(want) {
		t.Errorf("assumed %v", assumed)
	}
	for name, encoding := range want {
		if assumed[name] != encoding {
			t.Errorf("%s is assumed to be %q, want %q", name, assumed[name], encoding)
		}
	}
	l.wantReason("d/bad.txt", "cannot be determined")
	l.wantReason("d/mixed.jsonl", "line 2: it is not valid UTF-8")
	l.wantText("two", "café")
	l.wantText("five", "wide café")
	l.wantText(fileID(l.path("d/latin.md")), "café crème")
	for range 2 {
		status, err := Status(t.Context(), l.idx)
		must(t, err)
		if status.AssumedFiles != len(want) || status.SkippedFiles != 2 {
			t.Errorf("status %+v", status)
		}
		for _, file := range status.Assumed {
			if name := strings.TrimPrefix(file.Path, l.folder+"/"); want[name] != file.Encoding {
				t.Errorf("status: %+v", file)
			}
		}
		l.counts(l.sync(), 0, 0, 0, 8)
	}
}

func FuzzDecode(f *testing.F) {
	for name, texts := range samples {
		for _, text := range texts {
			f.Add(encoded(f, text, name), name == "shift_jis")
		}
	}
	for _, seed := range []string{"", "a\x00b", "\xff\xfe\x00\x00a\x00\x00\x00", "\x00\x00\xfe\xff\x00\x00\x00a", "\xff\xfe", "\xfe\xff\xd8\x00", "\xef\xbb\xbfx", "<meta charset=utf-16>\xff", "caf\u00e9 \xff"} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, page bool) {
		text, assumed, err := decode(bytes.Clone(data), page)
		if err != nil {
			return
		}
		if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			t.Errorf("%q became %q", data, text)
		}
		if body := bytes.TrimPrefix(data, markUTF8); utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 && (assumed != "" || !bytes.Equal(text, body)) {
			t.Errorf("UTF-8 %q became %q, assumed %q", data, text, assumed)
		}
		if !utf8.Valid(data) && bytes.Contains(text, replacement) && !strings.HasPrefix(assumed, "utf-16") && !bytes.HasPrefix(data, []byte("\x00\x00\xFE\xFF")) && markedWide(data).unit == 0 {
			t.Errorf("%q became %q, assumed %q", data, text, assumed)
		}
	})
}
