package ingest

import (
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/index"
)

// messageOf returns a message with fields and a body.
func messageOf(body string, fields ...string) string {
	return "Subject: Cranes\nFrom: ana@acme.com\nDate: " + first + "\n" + strings.Join(fields, "\n") + "\n\n" + body
}

// partsOf returns a body of parts, each with its fields and a body after an empty line.
func partsOf(boundary string, parts ...string) string {
	return "--" + boundary + "\n" + strings.Join(parts, "\n--"+boundary+"\n") + "\n--" + boundary + "--\n"
}

const calendarText = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Launch\nLOCATION:Pier\nEND:VEVENT\nEND:VCALENDAR"

// readMail returns the text of a message, and its metadata by key, with what is left out.
func readMail(t testing.TB, message string) (string, map[string][]string) {
	t.Helper()
	r := newFileReader(t.Context(), nil)
	read, err := guard.Result(func() extracted { return fromMail(r, []byte(message)) })
	if err != nil {
		return "error: " + err.Error(), nil
	}
	fields := map[string][]string{}
	for _, field := range read.Metadata {
		fields[field.Key] = field.Values
	}
	fields["left out"] = r.leftOut.Reasons
	return read.body, fields
}

// TestLinksOfMail: a message in an archive is cited by its address there, and one of a list not by that of all its messages,
// but by its id.
func TestLinksOfMail(t *testing.T) {
	for header, want := range map[string]string{"Archived-At: <https://lists.acme.com/m/1>": "https://lists.acme.com/m/1", "List-Archive: <https://lists.acme.com>": "",
		"Archived-At: <file:///etc/passwd>": "", "X-GM-THRID: 17": "", "X-Mailer: x": ""} {
		l := newLibrary(t, map[string]string{"m.eml": messageOf("hello", header, "Message-ID: <1@acme.com>")})
		l.add(Options{}, ".")
		if link := l.document("m.eml").Link; link != want && (want != "" || link != fileLink(l.path("m.eml"))) {
			t.Errorf("%s: %s", header, link)
		}
		if cited := l.document("m.eml").Permalink; (cited == "mid:1@acme.com") == (want != "") {
			t.Errorf("%s: cited by %q", header, cited)
		}
	}
}

// TestMessagesAreCitedAndFound: each message of a thread has its own link, or its id, under which its document is found
// as long as it is there.
func TestMessagesAreCitedAndFound(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"x/work.mbox": mboxOf(mailOf("a", "Rollback", first, "How?", "Archived-At: <https://lists.acme.com/a>"),
			mailOf("b/1", "Re: Rollback", second, "With the lever.", "References: <a@acme.com>"), "From: bo@acme.com\nSubject: None\n\nwithout an id\n"),
		"x/copy.eml": mailOf("b/1", "Re: Rollback", second, "With the lever."), "x/none.eml": "From: bo@acme.com\nSubject: None\n\nnone\n",
		"x/note.md": "# Note\n\n## Part\n\ntext",
	})
	l.add(Options{}, "x")
	var links []string
	for _, h := range l.document("x/work.mbox!a@acme.com").Outline {
		links = append(links, h.Link)
	}
	if got := strings.Join(links, " "); got != "https://lists.acme.com/a mid:b%2F1@acme.com" {
		t.Errorf("links of the thread: %s", got)
	}
	holders := func() string {
		ids, err := CitedIn(t.Context(), l.idx, "mid:b%2F1@acme.com")
		must(t, err)
		return strings.ReplaceAll(strings.Join(ids, " "), fileID(l.path("x")), "")
	}
	if got := holders(); got != "/copy.eml /work.mbox!a@acme.com" {
		t.Errorf("found in %s", got)
	}
	must(t, os.Remove(l.path("x/work.mbox")))
	l.sync()
	if got := holders(); got != "/copy.eml" {
		t.Errorf("without the mailbox found in %s", got)
	}
	l.remove(wire.RemoveRequest{Refs: []string{l.path("x")}})
	if len(l.idx.cursors) > 0 {
		t.Errorf("left %v", l.idx.cursors)
	}
}

// TestPartsOfMail reads messages of every structure: text that must be there, text that must not, attachments, and notes.
func TestPartsOfMail(t *testing.T) {
	mixed, alternative := "Content-Type: multipart/mixed; boundary=b", "Content-Type: multipart/alternative; boundary=a"
	html := "Content-Type: text/html\n\n<p>the <b>page</b></p>"
	table := "Content-Type: text/csv; name=cranes.csv\nContent-Disposition: attachment; filename=cranes.csv\n\nname,height\nQuay,40"
	for name, test := range map[string]struct {
		message           string
		has, lacks        []string
		attached, leftOut []string
	}{
		"an attachment in a version": {message: messageOf(partsOf("a", "\nplain words", "Content-Type: multipart/mixed; boundary=b\n\n"+partsOf("b", html, table, html)), alternative),
			has: []string{"plain words", "Quay"}, lacks: []string{"page"}, attached: []string{"cranes.csv"}},
		"an attachment beside versions":  {message: messageOf(partsOf("a", html, "\nplain words", table), alternative), has: []string{"plain words", "Quay"}, lacks: []string{"page"}, attached: []string{"cranes.csv"}},
		"an empty plain version":         {message: messageOf(partsOf("a", "\n \n", html), alternative), has: []string{"**page**"}},
		"only pages":                     {message: messageOf(partsOf("a", html, "Content-Type: multipart/related; boundary=b\n\n"+partsOf("b", "Content-Type: text/html\n\nthe second", "Content-Type: image/png; name=logo.png\n\nx")), alternative), has: []string{"the second"}, lacks: []string{"page"}, attached: []string{"logo.png"}},
		"an invitation":                  {message: messageOf(partsOf("a", "\nYou are invited", html, "Content-Type: text/calendar; method=REQUEST\n\n"+calendarText), alternative), has: []string{"You are invited", "## Invitation", "Launch", "Pier"}, lacks: []string{"page"}},
		"an invitation twice":            {message: messageOf(partsOf("a", "\nYou are invited", "Content-Type: text/calendar\n\n"+calendarText, "Content-Type: application/ics; name=invite.ics\n\n"+calendarText), alternative), has: []string{"Launch"}, attached: []string{"invite.ics"}},
		"only an invitation":             {message: messageOf(calendarText, "Content-Type: text/calendar"), has: []string{"Launch", "Pier"}},
		"a boundary with an equals sign": {message: messageOf(partsOf("=_x?y", "\none", "\ntwo"), "Content-Type: multipart/mixed; boundary==_x?y"), has: []string{"one\n\ntwo"}, lacks: []string{"=_x"}},
		"another boundary":               {message: messageOf(partsOf("=_real", "\none", "\ntwo"), "Content-Type: multipart/mixed; boundary=other"), has: []string{"one\n\ntwo"}, lacks: []string{"_real"}},
		"no boundary":                    {message: messageOf(partsOf("=_real", "\none", "\ntwo"), "Content-Type: multipart/mixed"), has: []string{"one\n\ntwo"}, lacks: []string{"_real"}},
		"no parts":                       {message: messageOf("just text", mixed), has: []string{"just text"}},
		"a header that is none":          {message: messageOf(partsOf("b", "Hello world\nand on", "Content-Type text/plain\n\nafter", "Content-Type: text/plain\nBad header\n\nthe third"), mixed), has: []string{"Hello world\nand on", "after", "the third"}},
		"cut off":                        {message: messageOf("--b\n\none\n--b\nContent-Type: text/csv; name=a.csv\n\nname\nQua", mixed), has: []string{"one", "Qua"}, attached: []string{"a.csv"}},
		"nameless":                       {message: messageOf(partsOf("b", "\none", "Content-Type: application/octet-stream\nContent-Disposition: attachment\n\nnameless text", "Content-Type: text/csv\nContent-Disposition: attachment\n\nname,x\nNameless table,1"), mixed), has: []string{"## Attachment\n\nnameless text", "Nameless table"}},
		"a text file in a version": {message: messageOf(partsOf("a", "\nplain words", "Content-Type: multipart/mixed; boundary=b\n\n"+partsOf("b", html,
			"Content-Disposition: inline; filename=notes.txt\n\nof the file")), alternative), has: []string{"plain words", "## Attachment: notes.txt\n\nof the file"}, attached: []string{"notes.txt"}},
		"a named version":                   {message: messageOf(partsOf("a", "Content-Disposition: inline; filename=body.txt\n\nplain words", html), alternative), has: []string{"plain words"}, lacks: []string{"page", "##"}},
		"an empty version in base64":        {message: messageOf(partsOf("a", "Content-Transfer-Encoding: base64\n\nDQo=", html), alternative), has: []string{"**page**"}},
		"an empty quoted version":           {message: messageOf(partsOf("a", "Content-Transfer-Encoding: quoted-printable\n\n=20=\n", html), alternative), has: []string{"**page**"}},
		"parts encoded together":            {message: messageOf(base64.StdEncoding.EncodeToString([]byte(partsOf("b", "\none"))), mixed, "Content-Transfer-Encoding: base64"), has: []string{"one"}, lacks: []string{"--b"}},
		"parts quoted together":             {message: messageOf(strings.ReplaceAll(partsOf("b", "Content-Type: text/plain; charset=3Dutf-8\n\nGr=C3=BC=C3=9Fe =\nund=3D mehr"), "\n--b--", "\n--b--"), mixed, "Content-Transfer-Encoding: quoted-printable"), has: []string{"Grüße und= mehr"}},
		"some parts without their encoding": {message: messageOf(partsOf("b", "Content-Transfer-Encoding: base64\n\nb25l", "\nGr=C3=BC=C3=9Fe", "Content-Transfer-Encoding: 8bit\n\na=3Db"), mixed, "Content-Transfer-Encoding: quoted-printable"), has: []string{"one", "Grüße", "a=3Db"}},
		"each part in base64":               {message: messageOf(partsOf("b", "\nb25l\n", "\nSoon: two."), mixed, "Content-Transfer-Encoding: base64"), has: []string{"one", "Soon: two."}},
		"a name for the web":                {message: messageOf(partsOf("b", "\none", "Content-Disposition: attachment; filename=\"Gr%C3%B6%C3%9Fe%20A.csv\"\n\na\nQuay", "Content-Disposition: attachment; filename=\"100%.csv\"\n\na\nPier"), mixed), has: []string{"Quay", "Pier"}, attached: []string{"Größe A.csv", "100%.csv"}},
		"yEnc":                              {message: messageOf("See:\n=ybegin line=128 size=9 name=list.csv\n=ypart begin=1 end=9\n\x98\x8b\x97\x8f=t{\x9f\x8b\xa3\n=yend size=9\nBest, Ana"), has: []string{"See:\nBest, Ana", "## Attachment: list.csv", "Quay"}, attached: []string{"list.csv"}},
		"boundaries with signs":             {message: messageOf(partsOf("a (b) c", "\none"), "Content-Type: multipart/mixed; boundary=a (b) c"), has: []string{"one"}, lacks: []string{"--a"}},
		"an old calendar":                   {message: messageOf(partsOf("a", "\nplain", "Content-Type: text/x-vCalendar\n\n"+calendarText), alternative), has: []string{"Launch"}},
		"a page with format":                {message: messageOf("<p>the <b>page", "Content-Type: text/html; format=flowed"), has: []string{"**page**"}},
		"an encrypted body":                 {message: messageOf(partsOf("b", "Content-Type: application/pgp-encrypted\n\nVersion: 1", "Content-Type: application/octet-stream\n\nxx"), "Content-Type: multipart/encrypted; boundary=b"), has: []string{"error: its message is encrypted"}},
		"two forks of a file":               {message: messageOf(partsOf("b", "Content-Type: application/applefile; name=a.csv\n\n\x00\x05", "Content-Type: text/csv; name=a.csv\n\nname\nQuay"), "Content-Type: multipart/appledouble; boundary=b"), has: []string{"Quay"}, attached: []string{"a.csv"}},
		"lines of an old Mac":               {message: "Subject: Cranes\rFrom: ana@acme.com\r\rwords\r", has: []string{"words"}},
		"an attached message":               {message: messageOf(partsOf("b", "\none", "Content-Type: message/rfc822; name=fwd.eml\n\nSubject: Inner\n\nof the inner"), mixed), has: []string{"of the inner"}, attached: []string{"fwd.eml"}},
		"odd names": {message: messageOf(partsOf("b", "\none", "Content-Disposition: attachment; filename=price list.csv\n\na\nUnquoted", "Content-Disposition: attachment; filename=a.csv; filename=b.csv\n\na\nTwice", "Content-Disposition: attachment;\n filename*0*=utf-8''Gr%C3%B6%C3%9F;\n filename*1*=en.csv\n\na\nPieces",
			"Content-Type: text/csv; name=\"=?utf-8?Q?T=C3=BCr.csv?=\"\n\na\nWord", "Content-Disposition: attachment; filename=\"caf\xe9.csv\"\n\na\nLatin", "Content-Disposition: attachment; filename=\"C:\\x\\path.csv\"\n\na\nPath"), mixed),
			has: []string{"Unquoted", "Twice", "Pieces", "Word", "Latin", "Path"}, attached: []string{"price list.csv", "a.csv", "Größen.csv", "Tür.csv", "café.csv", "path.csv"}},
		"types and names that differ": {message: messageOf(partsOf("b", "Content-Type: text/calendar; name=invite\n\n"+calendarText, "Content-Type: text/plain; name=x.unknown\nContent-Disposition: attachment\n\nany text", "Content-Type: application/octet-stream; name=m.eml\n\nSubject: Inner\n\nof the inner"), mixed),
			has: []string{"Launch", "any text", "## Message: Inner", "of the inner"}, attached: []string{"invite", "x.unknown", "m.eml"}},
		"forwarded":             {message: messageOf(partsOf("b", "\none", "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"+base64.StdEncoding.EncodeToString([]byte("Subject: Inner\n\ncoded")), "Content-Type: message/rfc822\n\nno header at all"), mixed), has: []string{"## Message: Inner", "coded", "no header at all"}},
		"a digest":              {message: messageOf(partsOf("b", "\nSubject: First\n\none", "\nSubject: Second\n\ntwo"), "Content-Type: multipart/digest; boundary=b"), has: []string{"Message: First", "Message: Second", "two"}},
		"a report":              {message: messageOf(partsOf("b", "\nnot delivered", "Content-Type: message/delivery-status\n\nStatus: 5.1.1", "Content-Type: text/rfc822-headers\n\nSubject: Lost"), "Content-Type: multipart/report; boundary=b"), has: []string{"not delivered", "5.1.1", "Subject: Lost"}},
		"what is not read":      {message: messageOf(partsOf("b", "\none", "Content-Type: application/ms-tnef; name=winmail.dat\n\nx", "Content-Type: image/png\n\n\x89PNG\r\n\x1a\n", "Content-Type: application/rtf\n\n{\\rtf}", "Content-Type: application/pkcs7-mime\n\nx", "Content-Type: application/pdf; name=bad.pdf\n\nx"), mixed), has: []string{"one"}, attached: []string{"winmail.dat", "bad.pdf"}, leftOut: []string{"winmail.dat: quarry does not read .dat files", "a part of type application/rtf: quarry does not read .rtf files", "a part of type application/pkcs7-mime: it is encrypted", "bad.pdf: it contains text/plain, not PDF"}},
		"only encrypted":        {message: messageOf("x", "Content-Type: application/pkcs7-mime; smime-type=enveloped-data"), has: []string{"error: its message is encrypted"}},
		"only signed":           {message: messageOf("x", "Content-Type: application/pkcs7-mime; smime-type=signed-data"), leftOut: []string{"a part of type application/pkcs7-mime: it is signed in a form that is not read (S/MIME)"}},
		"too many parts":        {message: messageOf("--b\n\nthe first\n"+strings.Repeat("--b\n\nx\n", mostParts+9), mixed), has: []string{"the first"}, leftOut: []string{"further parts: they are too many or nested too deeply"}},
		"a control byte":        {message: messageOf("before=20it\x01\x02\nGr=C3=B6=C3=9Fe = x", "Content-Transfer-Encoding: quoted-printable"), has: []string{"before it\nGröße = x"}},
		"damaged base64":        {message: messageOf("VGhl!!IGNyYW5l\nIGlz", "Content-Transfer-Encoding: base64"), has: []string{"The crane is"}, leftOut: []string{"a part of type text/plain: its encoding is damaged; the rest is read"}},
		"uuencode":              {message: messageOf("See the list.\nbegin 644 list.csv\n-;F%M90I196%Y:6YG9P``\n`\nend\nBest, Ana"), has: []string{"See the list.\nBest, Ana", "## Attachment: list.csv"}, attached: []string{"list.csv"}},
		"flowed":                {message: messageOf("The crane \nis high.\n> quoted \n> words\n", "Content-Type: text/plain; format=flowed"), has: []string{"The crane is high.\n> quoted words"}},
		"flowed without space":  {message: messageOf("会議は月曜 \n日に", "Content-Type: text/plain; charset=utf-8; format=Flowed; delsp=Yes"), has: []string{"会議は月曜日に"}},
		"enriched":              {message: messageOf("<bold>Bold</bold> words", "Content-Type: text/enriched"), has: []string{"Bold words"}, lacks: []string{"<bold>"}},
		"a type without a kind": {message: messageOf("words", "Content-Type: text"), has: []string{"words"}},
		"of a charset":          {message: messageOf("T\x81r", "Content-Type: text/plain; charset=cp850"), has: []string{"Tür"}},
		"a table of a charset":  {message: messageOf(partsOf("b", "Content-Type: text/csv; charset=utf-7; name=t.csv\n\nname,x\nT+APw-r,1"), mixed), has: []string{"Tür"}, attached: []string{"t.csv"}},
		"a false charset":       {message: messageOf("caf\xe9 cr\xe8me", "Content-Type: text/plain; charset=utf-8"), has: []string{"café crème"}},
		"a charset with damage": {message: messageOf("\x1b$)C\x0eH8@G\x0f \x0e\x7f\x7f\x0f!", "Content-Type: text/plain; charset=iso-2022-kr"), has: []string{"회의 "}},
	} {
		t.Run(name, func(t *testing.T) {
			text, fields := readMail(t, test.message)
			for _, want := range test.has {
				if strings.Count(text, want) != 1 {
					t.Errorf("%q is not there once: %q", want, text)
				}
			}
			for _, unwanted := range test.lacks {
				if strings.Contains(text, unwanted) {
					t.Errorf("%q is there: %q", unwanted, text)
				}
			}
			if !slices.Equal(fields["attachments"], test.attached) || fields != nil && !slices.Equal(fields["left out"], test.leftOut) {
				t.Errorf("attachments %q, left out %q; want %q and %q", fields["attachments"], fields["left out"], test.attached, test.leftOut)
			}
		})
	}
}

func TestPeopleOfMail(t *testing.T) {
	for field, want := range map[string]string{
		`"=?utf-8?Q?Ren=C3=A9_H=C3=B6lt?=" <r@acme.com>`: "René Hölt <r@acme.com>", `=?utf-8?Q?Ren=C3=A9?= <R@acme.com>, bo@acme.com`: "René <r@acme.com>; <bo@acme.com>",
		`Hölt, René <r@acme.com>`: "Hölt <>; René <r@acme.com>", `"Hölt, René" <r@acme.com>, bad@@x, <b@acme.com>`: "Hölt, René <r@acme.com>; bad@@x <>; <b@acme.com>",
		`=?nonsense?Q?Ren=C3=A9?= <r@acme.com>`: "René <r@acme.com>", `Ana Ortiz <ana@acme.com`: "Ana Ortiz <ana@acme.com <>", `Team: a@acme.com, b@acme.com;`: "<a@acme.com>; <b@acme.com>",
		`Ana [Ops] Ortiz <ana@acme.com>`: "Ana [Ops] Ortiz <ana@acme.com>", "Ren\xe9 <r@acme.com>": "René <r@acme.com>",
	} {
		header, _, err := splitMessage([]byte("From: " + field + "\n\n"))
		must(t, err)
		var people []string
		for _, person := range addressesOf(header, "From") {
			people = append(people, strings.TrimSpace(fmt.Sprintf("%s <%s>", person.Name, person.Email)))
		}
		if got := strings.Join(people, "; "); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
}

func TestLabelsOfGmail(t *testing.T) {
	for field, want := range map[string][]string{
		`Inbox,"Hill, north side",Opened`: {"Inbox", "Hill, north side", "Opened"}, `=?UTF-8?Q?Inbox,"H=C3=BCgel,_Nord",B=C3=BCro/Plan?=`: {"Inbox", "Hügel, Nord", "Büro/Plan"},
		"Inbox,\n \"a, b\"": {"Inbox", "a, b"}, `a "quoted" label,b`: {`a "quoted" label`, "b"}, `"no end, b`: {"no end, b"}, "": nil,
	} {
		header, _, err := splitMessage([]byte("X-Gmail-Labels: " + field + "\n\n"))
		must(t, err)
		if got := labelsOf(header); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}

// TestFoldedCharacters folds calendars and contacts at each byte.
func TestFoldedCharacters(t *testing.T) {
	const words = "Größe der 会議 prüfen"
	for name, form := range map[string]string{"c.ics": "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:%s\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n", "c.vcf": "BEGIN:VCARD\r\nFN:A\r\nNOTE:%s\r\nEND:VCARD\r\n"} {
		f, _ := formatOf(name)
		for at := 1; at < len(words); at++ {
			for _, fold := range []string{"\r\n ", "\n\t"} {
				text, err := guard.Result(func() string {
					return newFileReader(t.Context(), nil).textOf(f, fmt.Appendf(nil, form, words[:at]+fold+words[at:]))
				})
				if err != nil || !strings.Contains(text, words) {
					t.Fatalf("%s folded at %d: %q, %v", name, at, text, err)
				}
			}
		}
	}
}

func TestEncodedContacts(t *testing.T) {
	gb, err := simplifiedchinese.GBK.NewEncoder().String("会议")
	must(t, err)
	quoted := func(text string) string {
		var out strings.Builder
		for i := range len(text) {
			fmt.Fprintf(&out, "=%02X", text[i])
		}
		return out.String()
	}
	f, _ := formatOf("c.vcf")
	for contact, want := range map[string]string{
		"FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=B6rg": "## Jörg", "FN;ENCODING=quoted-printable;CHARSET=ISO-8859-1:J=F6rg": "## Jörg", "FN;QUOTED-PRINTABLE:J=F6rg T=E4nn": "## Jörg Tänn",
		"FN:A\nNOTE;ENCODING=QUOTED-PRINTABLE:Schl=C3=BCssel =\nf=C3=BCr=\n alle": "Note: Schlüssel für alle", "FN;CHARSET=GBK;ENCODING=QUOTED-PRINTABLE:" + quoted(gb): "## 会议",
		"FN:A\nNOTE;ENCODING=BASE64:R3LDtsOfZQ==": "Note: Größe", "FN:A\nNOTE;ENCODING=QUOTED-PRINTABLE:one=0D=0Atwo": "one", "FN:cut=\nNOTE:x": "## cut=",
		"N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:T=C3=A4nn;J=C3=B6rg": "## Tänn, Jörg", "FN:One\nBEGIN:VCARD\nFN:Two": "## One\n\n## Two",
	} {
		text, err := guard.Result(func() string { return newFileReader(t.Context(), nil).textOf(f, []byte("BEGIN:VCARD\n"+contact)) })
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%q: %q, %v; want %q", contact, text, err, want)
		}
	}
	events, _ := formatOf("c.vcs")
	text, err := guard.Result(func() string {
		return newFileReader(t.Context(), nil).textOf(events, []byte("BEGIN:VCALENDAR\nVERSION:1.0\nBEGIN:VEVENT\nSUMMARY;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Gr=C3=B6=\n=C3=9Fe\nEND:VEVENT\nEND:VCALENDAR"))
	})
	if err != nil || !strings.Contains(text, "## Größe") {
		t.Errorf("%q, %v", text, err)
	}
}

// TestEntriesBeyondTheBound reads the first entries of a calendar and of contacts that have too many.
func TestEntriesBeyondTheBound(t *testing.T) {
	r := newFileReader(t.Context(), nil)
	for name, entry := range map[string]string{"c.ics": "BEGIN:VEVENT\nSUMMARY:x\nEND:VEVENT\n", "c.vcf": "BEGIN:VCARD\nFN:x\nEND:VCARD\n"} {
		f, _ := formatOf(name)
		data := "BEGIN:VCALENDAR\n" + strings.Repeat(entry, mostEvents+5)
		doc, err := resultOf(r, f, []byte(data), index.Document{ID: "x", Type: f.name})
		if err != nil || len(doc.Chunks) == 0 || !strings.Contains(strings.Join(r.leftOut.Reasons, ""), "more than 50000") {
			t.Errorf("%s: %d chunks, %v, %v", name, len(doc.Chunks), r.leftOut, err)
		}
	}
}

// FuzzMailFile reads any message, alone and in a mailbox.
func FuzzMailFile(f *testing.F) {
	f.Add(messageOf(partsOf("a", "\nplain", "Content-Type: multipart/mixed; boundary==_b\n\n--=_b\nContent-Type: text/html\n\nx\n--=_b--"), "Content-Type: multipart/alternative; boundary=a"))
	f.Add(messageOf("begin 644 x.csv\n#0V%T\n`\nend", "Content-Type: text/plain; charset=iso-2022-kr; format=flowed; delsp=yes"))
	f.Add(messageOf(calendarText, "Content-Type: text/calendar", "X-Gmail-Labels: a,\"b, c\""))
	f.Add(messageOf("=01=\n\x01", "Content-Transfer-Encoding: quoted-printable", "From: \"=?x?Q?=FF?=\" <a@b>, =?"))
	f.Add(messageOf(partsOf("b", "Content-Type: text/plain; charset=3Dutf-8\n\nGr=C3=BC=C3=9Fe", "Content-Disposition: attachment; filename=\"a%20b%ZZ.csv\"\n\na"), "Content-Type: multipart/mixed; boundary=b", "Content-Transfer-Encoding: quoted-printable"))
	f.Add(messageOf("=ybegin line=128 size=9 name=list.csv\n\x98=t\xa3=\n=yend size=9\nbegin-base64 644 x.txt\nQ2F0\n====\n", "To: "+strings.Repeat("a@b, ", mostTags+9)))
	f.Add("From x Tue Mar  5 09:30:00 EST 2024\n" + messageOf("QUI=", "Content-Transfer-Encoding: base64"))
	f.Fuzz(func(t *testing.T, message string) {
		text, fields := readMail(t, message)
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			t.Errorf("%q became %q", message, text)
		}
		for key, values := range fields {
			for _, value := range values {
				if value != oneLine(value, longestValue+utf8.UTFMax) {
					t.Errorf("%s: %q", key, value)
				}
			}
		}
	})
}
