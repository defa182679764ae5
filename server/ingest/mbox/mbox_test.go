package mbox

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// split returns the messages of a file.
func split(t testing.TB, file string) (messages []string) {
	t.Helper()
	err := Split(strings.NewReader(file), int64(len(file)), func(m Message) {
		messages = append(messages, file[m.Start:m.End])
	})
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

const (
	line = "From ana@acme.com Fri Mar  1 08:00:00 2024\n"
	bare = "Subject: x\n\nbody\n\n"
)

// inner is a body with an unquoted message.
const inner = "x\n\n" + line + "To: z\n\ninner text\n\n"

// measured returns a message that declares the length of its body, wrong by more.
func measured(body string, more int) string {
	return fmt.Sprintf("Content-Length: %d\n\n%s", len(body)+more, body)
}

func TestSplit(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"two":                     {line + bare + line + bare, []string{bare, bare}},
		"nothing":                 {"", nil},
		"no mbox":                 {"From here on\nall is text\n", nil},
		"text before":             {"x\n\n" + line + bare, []string{bare}},
		"cut off":                 {line + bare + line + "Subject: y\n\nbo", []string{bare, "Subject: y\n\nbo"}},
		"cut off in the line":     {line + bare + "From ana@acme.com Fri M", []string{bare + "From ana@acme.com Fri M"}},
		"a line alone":            {line + bare + line, []string{bare}},
		"CRLF":                    {strings.ReplaceAll(line+bare+line+bare, "\n", "\r\n"), []string{"Subject: x\r\n\r\nbody\r\n\r\n", "Subject: x\r\n\r\nbody\r\n\r\n"}},
		"prose after a blank":     {line + "A: b\n\nx\n\nFrom here: to\nthere\n", []string{"A: b\n\nx\n\nFrom here: to\nthere\n"}},
		"prose and a note":        {line + "A: b\n\nx\n\nFrom now on\nNote: this\n", []string{"A: b\n\nx\n\nFrom now on\nNote: this\n"}},
		"no blank between":        {line + "A: b\n\nx\n" + line + bare, []string{"A: b\n\nx\n", bare}},
		"quoted in a paragraph":   {line + "A: b\n\nx\n" + line + "Y: z\n", []string{"A: b\n\nx\n" + line + "Y: z\n"}},
		"undated":                 {"From -\n" + bare + "From \n" + bare, []string{bare, bare}},
		"Gmail":                   {"From 17902@xxx Thu Feb 08 03:00:00 +0000 2024\nX-GM-THRID: 1\n\nx\n", []string{"X-GM-THRID: 1\n\nx\n"}},
		"Mailman":                 {"From ana at acme.com  Fri Mar  1 08:00:00 2024\n" + bare, []string{bare}},
		"any field after a blank": {line + "A: b\n\nx\n\n" + line + "Odd: z\n\n", []string{"A: b\n\nx\n\n", "Odd: z\n\n"}},
		"length":                  {line + measured(inner, 0) + "\n" + line + bare, []string{measured(inner, 0) + "\n", bare}},
		"length with the end":     {line + measured(inner, 0) + line + bare, []string{measured(inner, 0), bare}},
		"length in a line":        {line + measured(inner, -3) + line + bare, []string{measured("x\n\n", len(inner)-6), "To: z\n\ninner text\n\n", bare}},
		"length to the end":       {line + measured(inner, 0), []string{measured(inner, 0)}},
		"false length":            {line + "Content-Length: 9\n\nx\n\n" + line + bare, []string{"Content-Length: 9\n\nx\n\n", bare}},
		"length past the end":     {line + "Content-Length: 900000000000\n\nx\n\n" + line + bare, []string{"Content-Length: 900000000000\n\nx\n\n", bare}},
		"length that is absurd":   {line + "Content-Length: -5\n\nx\n\n" + line + bare, []string{"Content-Length: -5\n\nx\n\n", bare}},
	} {
		if got := split(t, test.file); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, not %q", name, got, test.want)
		}
	}
}

// TestSplitAtWindows moves a separator over the ends of what is read at once.
func TestSplitAtWindows(t *testing.T) {
	for shift := range 48 {
		for _, base := range []int{looked, window, 2 * window} {
			body := "Subject: x\n\n" + strings.Repeat("y", base-len(line)-40+shift) + "\n\n"
			if got := split(t, line+body+line+bare); !slices.Equal(got, []string{body, bare}) {
				t.Fatalf("%d + %d: %d messages", base, shift, len(got))
			}
		}
	}
}

func TestIs(t *testing.T) {
	for start, want := range map[string]bool{
		line + bare: true, "\n" + line + bare: true, line: true, "From - \nX-Mozilla-Status: 0001\n": true,
		"From the start\nall was well\n": false, "": false, "Subject: x\n\n": false, "From a\n": false, "From a": false,
	} {
		if Is([]byte(start)) != want {
			t.Errorf("%q: %v", start, !want)
		}
	}
}

func TestUnquote(t *testing.T) {
	for message, want := range map[string]string{
		"A: b\n\n>From here\n":             "A: b\n\nFrom here\n",
		"A: b\n\n>>From here\n> From x\n>": "A: b\n\n>From here\n> From x\n>",
		"A: b\n\n>From here\nFrom x":       "A: b\n\n>From here\nFrom x",
		"A: b\r\n\r\n>From here\r\n":       "A: b\r\n\r\nFrom here\r\n",
		"A: b\n\n> quoted\n":               "A: b\n\n> quoted\n",
	} {
		if got := string(Unquote([]byte(message))); got != want {
			t.Errorf("%q: %q", message, got)
		}
	}
}

// cut is a file that became shorter.
type cut struct{ io.ReaderAt }

func TestFileThatShrinks(t *testing.T) {
	err := Split(cut{strings.NewReader(line)}, 1000, func(Message) {})
	if err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
}

// FuzzSplit reads mboxrd files as they were written, and any other file without a message twice or out of order.
func FuzzSplit(f *testing.F) {
	f.Add([]byte(line+bare+line+bare), "x\nFrom y\n>From z\n")
	f.Add([]byte("From \nFrom \r\nContent-Length: 3\n\n\nFrom - 1:00 2000\nTo: x"), line)
	f.Add([]byte(line+"Content-Length: 7\r\n\r\n\r\n\r\nFrom x\r\n\r\n"), "\n\n\n")
	f.Fuzz(func(t *testing.T, file []byte, body string) {
		last := int64(0)
		err := Split(bytes.NewReader(file), int64(len(file)), func(m Message) {
			if m.Start < last || m.End <= m.Start || m.End > int64(len(file)) {
				t.Fatalf("message %d to %d after %d", m.Start, m.End, last)
			}
			last = m.End
		})
		if err != nil {
			t.Fatal(err)
		}
		var quoted strings.Builder
		message := "Subject: x\n\n" + body + "\n\n"
		for part := range strings.Lines(message) {
			if strings.HasPrefix(strings.TrimLeft(part, ">"), "From ") {
				quoted.WriteString(">")
			}
			quoted.WriteString(part)
		}
		for _, got := range split(t, line+quoted.String()+line+quoted.String()) {
			if got = string(Unquote([]byte(got))); got != message {
				t.Fatalf("%q, not %q", got, message)
			}
		}
	})
}
