package ingest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/mail"
	"net/url"
	"runtime"
	"time"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/ingest/pdf"
	"quarry/server/ingest/web"
	"quarry/server/ingest/worker"
)

// Readers are the processes that read documents of the formats that need decompression, or whose readers can make more
// of a document than a constant times its size. They are bounded in memory, time and output for each document. Without
// Readers such formats are read in this process, as in the processes themselves.
type Readers struct {
	pool  *worker.Pool[job, answer]
	limit time.Duration // for each document, without what its size adds
}

// NewReaders returns readers that run program with ServeReaders. A document may take limit, and a second more for each
// MB.
func NewReaders(program worker.Program, limit time.Duration) *Readers {
	return &Readers{worker.NewPool[job, answer](program, runtime.GOMAXPROCS(0)), limit}
}

// Close ends the idle processes.
func (r *Readers) Close() { r.pool.Close() }

// apart calls do while no process starts, which would take descriptors that do needs.
func (r *Readers) apart(do func()) {
	if r == nil {
		do()
		return
	}
	r.pool.Apart(do)
}

// shrink ends a process that has nothing to do.
func (r *Readers) shrink() {
	if r != nil {
		r.pool.Shrink()
	}
}

// work is what a process does with a document.
type work int

const (
	workDocument work = iota // of a file in its format
	workText                 // of an uploaded file
	workPDF                  // its pages are parts of the answer
	workMessage              // of a mailbox
	workConfluence
	workNotion
	workStorage // a page in Confluence's own form
	workList    // a feed or sitemap
)

// job is a document, and what a process needs to know of it.
type job struct {
	Work      work
	Data      []byte
	Extension string                  // of its format
	Defaults  index.Document          // its fields where it does not say otherwise
	Member    string                  // its name in a container
	Address   string                  // of the site that an export is of, or of a list
	Pages     map[string]bool         // ids of the export that the page may link to
	People    map[string]index.Person // of the export, whom the page may mention
}

// answer is what a process made of a document. Problem says why it could not be read.
type answer struct {
	Document index.Document
	Assumed  string // encoding
	Text     string
	Message  mailContent
	Linked   map[string]attachment // of a page of Confluence
	List     *web.List
	Page     pdf.Message // of a part of an answer
	LeftOut  badLines
	Problem  string
}

// do lets a process do a job, or does it in this one without Readers. What could not be read is among the parts left
// out of the reader's document.
func (r *fileReader) do(j job, part func(answer) error) (a answer, err error) {
	if r.readers == nil {
		err = guard.Ended(func() { r.perform(j, nil, &a) })
		return a, err
	}
	j.Member = r.member
	a, err = r.readers.pool.Read(r.ctx, j, worker.Limit(r.readers.limit, len(j.Data)), part)
	if err != nil {
		return a, err
	}
	r.leftOut.merge(a.LeftOut)
	r.encoding = cmp.Or(r.encoding, a.Assumed)
	switch a.Problem {
	case "":
		return a, nil
	case errEmpty.Error():
		return a, errEmpty
	}
	return a, errors.New(a.Problem)
}

// ServeReaders reads the documents that Readers send, until in ends. It returns after an error of the engine, which
// reads PDF files.
func ServeReaders(ctx context.Context, in io.Reader, out io.Writer, engine pdf.Engine) error {
	return worker.Serve(in, out, func(session *worker.Session[answer], j job) (a answer, err error) {
		r := newFileReader(ctx, nil)
		r.member = j.Member
		var broken error
		r.pdf = func(data []byte, send func(pdf.Message) error) error {
			if broken = nil; !engine.IsStarted() { // a mail may have several files
				broken = session.Prepare(ctx, engine.Start)
			}
			if broken == nil {
				broken = engine.Read(data, send)
			}
			return broken
		}
		problem := recovered(func() { r.perform(j, session, &a) })
		if _, isOfFile := errors.AsType[*pdf.FileError](broken); broken != nil && !isOfFile {
			return a, broken
		}
		if a.LeftOut, a.Assumed = r.leftOut, r.encoding; problem != nil {
			a.Problem = problem.Error()
		}
		return a, nil
	})
}

// perform does a job in this process.
func (r *fileReader) perform(j job, session *worker.Session[answer], a *answer) {
	f := pageFormat
	if j.Extension != f.extension {
		f, _ = r.formatOf("x" + j.Extension)
	}
	f.name = j.Defaults.Type
	switch j.Work {
	case workText:
		a.Text = r.textOf(f, j.Data)
	case workPDF:
		guard.Check(r.pdf(j.Data, func(m pdf.Message) error { return session.Send(answer{Page: m}) }))
	case workMessage:
		m := &mailReader{fileReader: r, inThread: true}
		err := recovered(func() { m.message(j.Data) })
		a.Message = m.mailContent
		guard.Check(err)
	case workConfluence:
		reader := &confluenceReader{fileReader: r, base: j.Address, files: map[string]attachment{}}
		a.Linked = reader.files
		a.Document = reader.page(j.Data, j.Defaults)
	case workNotion:
		reader := &notionReader{fileReader: r, pages: j.Pages}
		a.Document = r.pageDocument(j.Data, reader.inspect, j.Defaults)
	case workStorage:
		mentioned := &site{people: j.People}
		a.Document = r.made(r.page(storageHTML(string(j.Data)), mentioned.inspectStorage), j.Defaults)
	case workList:
		a.List = guard.Must(web.ReadList(j.Data, guard.Must(url.Parse(j.Address))))
	default:
		a.Document = r.document(f, j.Data, j.Defaults)
	}
}

// mailContent is a message, as it crosses between processes.
type mailContent struct {
	Meta        meta
	Body        []byte
	Blocks      []block
	Header      mail.Header
	IsEncrypted bool

	id string // in its mailbox
}
