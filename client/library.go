package client

import (
	"context"
	"net/url"
	"time"

	"quarry/client/wire"
)

// LibraryReport is called with the events of a change to a library.
type LibraryReport func(wire.LibraryEvent)

// LibraryStatus describes the library of this machine.
func (c *Client) LibraryStatus(ctx context.Context) (*wire.LibraryStatus, error) {
	return c.LibraryChange(ctx, "")
}

// LibraryChange is LibraryStatus if the version of the library is not the known one; otherwise only Version is set.
func (c *Client) LibraryChange(ctx context.Context, known string) (*wire.LibraryStatus, error) {
	status, err := fetched[wire.LibraryStatus](ctx, c, get("/library/status", url.Values{"known": {known}}))
	if err == nil && status.Roots == nil {
		status.Roots = []wire.LibraryRoot{}
	}
	return status, err
}

// ModelStatus describes the language model of the library of this machine, and what it used today.
func (c *Client) ModelStatus(ctx context.Context) (*wire.ModelStatus, error) {
	return fetched[wire.ModelStatus](ctx, c, get("/library/model", nil))
}

// TestModel calls the default language model of the library of this machine once. Without a default it lists the models
// of a provider.
func (c *Client) TestModel(ctx context.Context, provider string) (*wire.ModelTest, error) {
	r := post("/library/model", map[string]string{"provider": provider})
	r.timeout = modelTestTime
	return fetched[wire.ModelTest](ctx, c, r)
}

// modelTestTime is how long a model of this machine may take to load before it replies.
const modelTestTime = 90 * time.Second

// LibraryFile returns the path of the file that a document of the library of this machine is.
func (c *Client) LibraryFile(ctx context.Context, documentID string) (string, error) {
	var file wire.LibraryFile
	err := c.fetch(ctx, get("/library/file", url.Values{"document_id": {documentID}}), &file)
	return file.Path, err
}

// ChangeLibrary changes or checks the library of this machine; files on the disk stay as they are. It calls report,
// which may be nil, with progress and skipped files, in this goroutine, and returns the last event. There is no time
// limit by default.
func (c *Client) ChangeLibrary(ctx context.Context, change wire.LibraryRequest, report LibraryReport) (
	wire.LibraryEvent, error) {
	const unlimited = time.Duration(0)
	r := post(change.Route(), change)
	r.stream, r.timeout = true, unlimited
	a, err := c.open(ctx, r)
	if err != nil {
		return wire.LibraryEvent{}, err
	}
	defer a.Close()
	if !a.isStream() {
		if _, err := a.read(); err != nil { // which names a web page
			return wire.LibraryEvent{}, err
		}
		return wire.LibraryEvent{}, a.unusable("one response instead of a stream of events")
	}
	var done wire.LibraryEvent
	err = a.lines(func(text []byte) (last bool, err error) {
		var event wire.LibraryEvent
		if err := c.decode(a, text, &event); err != nil {
			return false, err
		}
		switch event.Type {
		case wire.LibraryError:
			return false, a.streamError(event.ErrorCode, event.Detail)
		case wire.LibraryDone:
			done = event
			return true, nil
		}
		if report != nil {
			report(event)
		}
		return false, nil
	})
	return done, err
}
