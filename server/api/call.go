package api

import (
	"net/http"
	"strconv"

	"quarry/server/directory"
	"quarry/server/index"
)

// call is a request by somebody who may make it.
type call struct {
	*http.Request
	*fields // of its body, or of its URL if it has none
	server  *Server
	who     directory.Principal
}

// responder returns the answer to a request.
type responder func(c *call) (any, error)

// query makes a handler of a responder to requests without a body.
func (s *Server) query(do responder) handler {
	return func(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
		return do.send(w, &call{r, queryFields(r.URL.Query()), s, who})
	}
}

// body makes a handler of a responder to requests whose body is a JSON object.
func (s *Server) body(do responder) handler {
	return func(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
		return do.send(w, &call{r, bodyFields(r), s, who})
	}
}

func (do responder) send(w http.ResponseWriter, c *call) error {
	value, err := do(c)
	if err == nil {
		writeJSON(w, http.StatusOK, value)
	}
	return err
}

// directory opens the directory if the request is valid. With create, it is made where there is none.
func (c *call) directory(create bool) (*directory.Directory, error) {
	if err := c.failure(); err != nil {
		return nil, err
	}
	return c.server.Directory(c.Context(), create)
}

// view runs do on a snapshot of the caller's documents if the request is valid.
func (c *call) view(do func(index.Snapshot) (any, error)) (value any, err error) {
	if err := c.failure(); err != nil {
		return nil, err
	}
	err = c.server.reading(c.Context(), c.who.Tenant, func(snapshot index.Snapshot) (err error) {
		value, err = do(snapshot)
		return err
	})
	return value, err
}

// pathNumber reads a number of the path. An error in the path is the only one that is answered.
func (c *call) pathNumber(name, field string) int {
	id, err := strconv.Atoi(c.PathValue(name))
	if err != nil {
		f := newFields("path")
		f.refuse(mustJSON(c.PathValue(name)), "int_parsing", notAnInteger, field)
		c.broken = f.failure()
	}
	return id
}

// pathSession reads the id of a chat session of the path.
func (c *call) pathSession() string {
	f := newFields("path")
	id := f.uuid(mustJSON(c.PathValue("id")), "session_id")
	if err := f.failure(); err != nil {
		c.broken = err
	}
	return id
}

// mapped returns what convert makes of each item; never nil, so that it is written as a list.
func mapped[T, W any](items []T, convert func(T) W) []W {
	converted := make([]W, len(items))
	for i, item := range items {
		converted[i] = convert(item)
	}
	return converted
}

// listed returns a copy of items that is never nil, so that it is written as a list.
func listed[T any](items []T) []T { return append([]T{}, items...) }
