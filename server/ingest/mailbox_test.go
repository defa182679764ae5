package ingest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/ingest/mailmime"
)

// mboxOf returns messages as an mbox file.
func mboxOf(messages ...string) string {
	var out strings.Builder
	for _, message := range messages {
		out.WriteString("From ana@acme.com Fri Mar  1 08:00:00 2024\n" + message + "\n\n")
	}
	return out.String()
}

// mailOf returns a message with an id, a subject, a body, and further fields.
func mailOf(id, subject, date, body string, fields ...string) string {
	return strings.Join(append(fields, "Message-ID: <"+id+"@acme.com>", "From: =?utf-8?q?Ana_Ortiz?= <ana@acme.com>",
		"To: bo@acme.com", "Date: "+date, "Subject: "+subject), "\n") + "\n\n" + body
}

const (
	first  = "Fri, 1 Mar 2024 08:00:00 +0000"
	second = "Fri, 1 Mar 2024 10:30:00 +0100"
	third  = "Sat, 2 Mar 2024 08:00:00 +0000"
)

// smallMailbox has two threads, a message twice, and a message without an id.
func smallMailbox() []string {
	return []string{
		mailOf("b", "Re: Rollback", second, "> How?\n\nWith the lever.", "References: <a@acme.com>", "In-Reply-To: <x@acme.com>"),
		mailOf("a", "Rollback", first, "How do we roll back?\n\n>From here?", "Archived-At: <https://lists.acme.com/a>"),
		mailOf("c", "Menu", third, "<h1>Lunch</h1><p>at <b>noon</b></p>", "Content-Type: text/html", "X-Keywords: x"),
		mailOf("a", "Rollback", first, "How do we roll back? Again."),
		"From: bo@acme.com\nSubject: =?iso-8859-1?q?Gr=FC=DFe?=\n\nwithout an id\n",
		mailOf("d", "RE: [ops] Rollback", third, "not of the list"),
		mailOf("e", "AW: rollback", third, "the crank"),
		mailOf("c", "Of a program that has one id", third, "reused"),
	}
}

func (l *library) textOf(name string) string {
	l.t.Helper()
	text := ""
	for _, chunk := range l.document(name).Chunks {
		text += chunk.Text
	}
	return text
}

func TestMailboxes(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"x/work.mbox": mboxOf(smallMailbox()...), "x/Inbox": strings.ReplaceAll(mboxOf(smallMailbox()...), "\n", "\r\n"),
		"x/list.txt": mboxOf(smallMailbox()...), "x/note.txt": "From here on, all is well.\nTruly: so.", "x/one.mbox": mailOf("z", "One", first, "alone"),
		"x/md/tmp/9.x": "unfinished", "x/md/dovecot-uidlist": "3 V1", "x/md/note.md": "beside", "x/md/.Gel&APY-scht.Alt/new/8.x": mailOf("y", "Old", first, "odd"),
		"x/md/.Gel&APY-scht.Alt/cur/.hidden": "no", "x/md/.cache/x.txt": "no mail", "x/md/new/.keep": "",
	})
	for i, message := range smallMailbox() {
		l.write(fmt.Sprintf("x/md/cur/%d.host:2,S", i), strings.Replace(message, "\n>From", "\nFrom", 1))
	}
	l.write("x/md/cur/10.host:2,ST", mailOf("trash", "Trash", first, "deleted"))
	l.add(Options{}, "x")
	boxes := []string{"x/work.mbox", "x/Inbox", "x/list.txt", "x/md"}
	names := []string{"x/note.txt", "x/one.mbox", "x/md/note.md", "x/md!y@acme.com"}
	for _, box := range boxes {
		for _, id := range []string{"a@acme.com", "c@acme.com", "d@acme.com"} {
			names = append(names, box+"!"+id)
		}
	}
	var others []string
	for id := range l.idx.documents {
		if strings.Contains(id, "!sha256:") {
			others = append(others, id)
		}
	}
	if len(others) != 2*len(boxes) || len(l.idx.documents) != len(names)+len(others) {
		t.Errorf("%d documents, without ids %q", len(l.idx.documents), others)
	}
	for _, name := range names {
		l.document(name)
	}
	if got := l.document("x/md!y@acme.com").Path; !slices.Equal(got, []string{"Gelöscht", "Alt"}) {
		t.Errorf("folders %q", got)
	}
	for _, box := range boxes {
		thread := l.document(box + "!a@acme.com")
		if got, want := l.textOf(box+"!a@acme.com"), "**Ana Ortiz** · 2024-03-01 08:00\n\nHow do we roll back?\n\nFrom here?\n\n"+
			"**Ana Ortiz** · 2024-03-01 09:30\n\n> How?\n\nWith the lever.\n\n**Ana Ortiz** · 2024-03-02 08:00\n\nthe crank"; got != want {
			t.Errorf("%s: text %q", box, got)
		}
		if thread.Title != "Rollback" || thread.Source != "imap" || thread.Type != "email" || thread.Link != "https://lists.acme.com/a" ||
			thread.CreatedAt.Format("15:04") != "08:00" || thread.UpdatedAt.Format("2006-01-02") != "2024-03-02" || len(thread.Authors) != 1 ||
			thread.Authors[0].Name != "Ana Ortiz" || thread.Origin != l.path(box) || len(thread.Outline) != 3 || thread.Outline[1].Text != "Ana Ortiz · 2024-03-01 09:30" {
			t.Errorf("%s: thread %+v", box, thread)
		}
		if got := l.textOf(box + "!c@acme.com"); !strings.Contains(got, "# Lunch\n\nat **noon**") {
			t.Errorf("%s: page %q", box, got)
		}
		if reason := l.events.skipped()[l.path(box)]; reason != "" {
			t.Errorf("%s: %s", box, reason)
		}
	}
	kinds := map[string]int{}
	for _, event := range l.events.all {
		if event.Type == wire.LibraryTaken {
			kinds[event.Kind]++
		}
	}
	if kinds["mailbox (mbox)"] != 3 || kinds["Maildir"] != 1 {
		t.Errorf("taken for %v", kinds)
	}
	doc := l.idx.documents[others[slices.IndexFunc(others, func(id string) bool { return l.idx.documents[id].Title == "Grüße" })]]
	if doc.Title != "Grüße" || doc.Authors[0].Email != "bo@acme.com" {
		t.Errorf("without an id: %+v", doc)
	}
}

func TestSyncOfAMailbox(t *testing.T) {
	l := newLibrary(t, map[string]string{"m.mbox": mboxOf(smallMailbox()...)})
	l.counts(l.add(Options{Set: "Mail"}, "m.mbox"), 5, 0, 0, 0)
	l.counts(l.sync(), 0, 0, 0, 5)
	l.dated = l.dated.Add(1e9)
	l.write("m.mbox", mboxOf(append(smallMailbox()[:4], mailOf("f", "Re: Menu", third, "or at one", "In-Reply-To: <c@acme.com>"))...))
	l.counts(l.sync(), 0, 2, 3, 0)
	status, err := Status(t.Context(), l.idx)
	must(t, err)
	if len(status.Taken) != 1 || status.Taken[0].Kind != "mailbox (mbox)" || status.Roots[0].Source != "imap" || status.Roots[0].Documents != 2 {
		t.Errorf("status %+v", status)
	}
	l.dated = l.dated.Add(1e9)
	l.write("m.mbox", "no mail any more")
	l.counts(l.sync(), 0, 0, 2, 0)
	l.wantReason("m.mbox", "it is not a message: it has no header")
}

// TestFlagsOfAMaildir renames messages as mail programs do: nothing is read or written again, but what is deleted goes.
func TestFlagsOfAMaildir(t *testing.T) {
	l := newLibrary(t, map[string]string{"md/new/3.host": mailOf("c", "Three", first, "three"), "md/tmp/.x": "",
		"md/cur/1.host:2,S": mailOf("a", "One", first, "one"), "md/cur/2.host:2,": mailOf("b", "Two", first, "two")})
	l.counts(l.add(Options{}, "md"), 3, 0, 0, 0)
	must(t, l.rename("md/cur/1.host:2,S", "md/cur/1.host:2,RS"))
	must(t, l.rename("md/new/3.host", "md/cur/3.host:2,"))
	l.idx.batches = nil
	l.counts(l.sync(), 0, 0, 0, 3)
	for _, batch := range l.idx.batches {
		if len(batch.Upsert) > 0 {
			t.Errorf("%d documents were written", len(batch.Upsert))
		}
	}
	must(t, l.rename("md/cur/2.host:2,", "md/cur/2.host:2,ST"))
	l.counts(l.sync(), 0, 0, 1, 2)
	must(t, os.Remove(l.path("md/cur/1.host:2,RS")))
	l.write("md/new/4.host", mailOf("d", "Re: Three", second, "four", "References: <c@acme.com>"))
	l.counts(l.sync(), 0, 1, 1, 0)
	l.want("md!c@acme.com")
}

func TestGmail(t *testing.T) {
	message := func(id, thread, labels string) string {
		return mailOf(id, "Plan "+id, first, "text of "+id, "X-GM-THRID: "+thread, "X-Gmail-Labels: "+labels)
	}
	l := newLibrary(t, map[string]string{"all.mbox": mboxOf(message("a/1", "7", `Inbox,=?UTF-8?Q?Gr=C3=BC=C3=9Fe?=,"To do"`), message("b", "8", "Sent"), message("c", "7", "Inbox"))})
	l.counts(l.add(Options{}, "all.mbox"), 2, 0, 0, 0)
	doc := l.document("all.mbox!a/1@acme.com")
	if doc.Source != "gmail" || doc.Link != "https://mail.google.com/mail/#search/rfc822msgid:a%2F1@acme.com" || !strings.Contains(l.textOf("all.mbox!a/1@acme.com"), "text of c") ||
		!strings.Contains(fmt.Sprint(doc.Metadata), "{labels [Inbox Grüße To do]") || !slices.Equal(doc.Path, []string{"all"}) {
		t.Errorf("%+v", doc)
	}
	status, err := Status(t.Context(), l.idx)
	must(t, err)
	if status.Roots[0].Source != "gmail" || status.Taken[0].Kind != "Gmail mailbox" {
		t.Errorf("status %+v", status)
	}
	l.add(Options{As: "imap"}, "all.mbox")
	if source := l.document("all.mbox!b@acme.com").Source; source != "imap" {
		t.Errorf("source %s", source)
	}
}

func TestMailThreads(t *testing.T) {
	const day = 24 * 60 * 60
	type mail struct {
		id, subject, references string
		at                      int64
	}
	for name, test := range map[string]struct {
		mails []mail
		want  string
	}{
		"references":               {[]mail{{"a", "x", "", 1}, {"b", "y", "<a>", 2}, {"c", "z", "<b> <a>", 3}}, "[a b c]"},
		"a parent that is missing": {[]mail{{"a", "x", "<p>", 2}, {"b", "y", "<p>", 1}}, "[b a]"},
		"a cycle":                  {[]mail{{"a", "x", "<b>", 1}, {"b", "y", "<a> <b>", 2}}, "[a b]"},
		"two threads":              {[]mail{{"a", "x", "", 1}, {"b", "y", "", 2}, {"c", "x", "<a>", 3}}, "[a c] [b]"},
		"a subject":                {[]mail{{"a", "Plan", "", 1}, {"b", "Re: plan", "", 2}, {"c", "AW: RE[2]: PLAN", "", 3}}, "[a b c]"},
		"a subject again":          {[]mail{{"a", "Plan", "", 1}, {"b", "Plan", "", 2}}, "[a] [b]"},
		"a subject too late":       {[]mail{{"a", "Plan", "", 1}, {"b", "Re: Plan", "", 2 + 30*day}}, "[a] [b]"},
		"a reply before":           {[]mail{{"a", "Re: Plan", "", 5}, {"b", "Plan", "", 9}}, "[a] [b]"},
		"a subject of others":      {[]mail{{"a", "Plan", "", 1}, {"b", "Re: Plan", "<q>", 2}}, "[a] [b]"},
		"no subject":               {[]mail{{"a", "", "", 1}, {"b", "Re:", "", 2}}, "[a] [b]"},
		"no time":                  {[]mail{{"a", "x", "", 5}, {"b", "y", "<a>", 0}, {"c", "z", "<a>", 4}}, "[c a b]"},
	} {
		threads := newMailThreads()
		names := map[int64]string{}
		for i, m := range test.mails {
			names[int64(i)] = m.id
			threads.add(mailHead{start: int64(i), at: m.at}, m.id, m.subject, referencesOf(m.references))
		}
		var got []string
		for heads := range threads.all() {
			var ids []string
			for _, head := range heads {
				ids = append(ids, names[head.start])
			}
			got = append(got, fmt.Sprint(ids))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v, not %s", name, got, test.want)
		}
	}
}

func TestNamesInMailboxes(t *testing.T) {
	for line, want := range map[string]string{
		"From ana@acme.com Fri Mar  1 08:00:00 2024": "2024-03-01 08:00", "From 1@xxx Fri Mar 01 08:00:00 +0100 2024": "2024-03-01 07:00",
		"From ana at acme.com  Fri Mar  1 08:00:00 2024": "2024-03-01 08:00", "From -": "", "From x Fri Mar 1 2024": "2024-03-01 00:00", "From x Fri Mar  1 08:00:00 9999": "",
	} {
		if at, ok := lineTime(line); ok != (want != "") || ok && at.Format("2006-01-02 15:04") != want {
			t.Errorf("%q: %v", line, at)
		}
	}
	for name, want := range map[string]string{"Gel&APY-scht": "Gelöscht", "A &- B": "A & B", "&": "&", "&A": "&A", "&!-x": "&!-x", "plain": "plain", "&ZeVnLIqe-": "日本語"} {
		if got := mailmime.DecodeFolder(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
	for name, want := range map[string]string{"1.host:2,S": "1.host", "1.host": "1.host", "1.host;2,": "1.host", "1.host!2,RS": "1.host", "1,S=2,W=3:2,": "1,S=2,W=3", "2,": "2,"} {
		if got, _ := cutFlags(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// TestLongThreadIsContinued cuts a thread between messages, under ids of its own.
func TestLongThreadIsContinued(t *testing.T) {
	var messages []string
	for i := range 10 {
		messages = append(messages, mailOf(fmt.Sprint(i), "Long", first, strings.Repeat("word ", 200_000), "References: <0@acme.com>"))
	}
	l := newLibrary(t, map[string]string{"m.mbox": mboxOf(messages...)})
	l.counts(l.add(Options{}, "m.mbox"), 3, 0, 0, 0)
	l.want("m.mbox!0@acme.com", "m.mbox!0@acme.com+4", "m.mbox!0@acme.com+8")
}

// TestMailThatMovesMeanwhile renames messages after they were listed, as mail programs do.
func TestMailThatMovesMeanwhile(t *testing.T) {
	l := newLibrary(t, map[string]string{"cur/1.host:2,RS": mailOf("a", "One", first, "one"), "cur/3.host:2,ST": mailOf("c", "Three", first, "three")})
	read := mailReading{collector: &collector{innerFiles: innerFiles{fs: os.DirFS(l.folder)}}}
	file, _, err := read.open("new/1.host")
	must(t, err)
	must(t, file.Close())
	for _, name := range []string{"cur/2.host:2,", "cur/3.host:2,S"} {
		if _, _, err := read.open(name); err != errGone {
			t.Errorf("%s: %v", name, err)
		}
	}
}
