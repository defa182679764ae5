// Package xmlreader reads XML from the outside in, for readers of formats: a function gets each element of the current
// one, and reads as much of it as it needs with the methods of the Reader. Nothing that a document declares is
// expanded.
package xmlreader

import (
	"cmp"
	"encoding/xml"
	"strings"
)

// Element is the beginning of an element.
type Element struct {
	Name, Space string
	Attr        []xml.Attr
}

// Attribute returns the value of an attribute in any name space, or "".
func (e Element) Attribute(name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// Reader reads XML. After its first error the methods return at once, so that callers ask for Err when they are done.
type Reader struct {
	// Most bounds the elements in each other, and TooDeep is the error beyond it: each takes a part of the stack.
	Most    int
	TooDeep error
	// Before is called before each token is read; nil: nothing is.
	Before func()

	tokens *xml.Decoder
	open   int // elements whose end was not read
	err    error
}

// New returns a reader of tokens.
func New(tokens *xml.Decoder, most int, tooDeep error) Reader {
	return Reader{Most: most, TooDeep: tooDeep, tokens: tokens}
}

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Fail ends the reading with an error, if there is one and it is the first.
func (r *Reader) Fail(err error) { r.err = cmp.Or(r.err, err) }

// Each calls visit for the elements in the current one, up to its end. What visit does not read of one is skipped.
func (r *Reader) Each(visit func(Element)) {
	level := r.open
	r.Walk(func(e Element) {
		if r.open == level+1 {
			visit(e)
		}
	}, nil)
}

// Walk calls visit for all elements below the current one, up to its end, but not for those in an element that visit
// reads; and text, unless it is nil, for the text between them.
func (r *Reader) Walk(visit func(Element), text func([]byte)) {
	for level := r.open; r.err == nil; {
		if r.Before != nil {
			r.Before()
		}
		token, err := r.tokens.Token()
		r.Fail(err)
		switch token := token.(type) {
		case xml.StartElement:
			if r.open++; r.open > r.Most {
				r.Fail(r.TooDeep)
			} else {
				visit(Element{token.Name.Local, token.Name.Space, token.Attr})
			}
		case xml.EndElement:
			if r.open--; r.open < level {
				return
			}
		case xml.CharData:
			if text != nil {
				text(token)
			}
		}
	}
}

// Enter calls visit for the element at hand and, unless visit reads it, for those in it.
func (r *Reader) Enter(e Element, visit func(Element)) {
	level := r.open
	if visit(e); r.open == level {
		r.Walk(visit, nil)
	}
}

// Skip reads the current element to its end.
func (r *Reader) Skip() { r.Walk(func(Element) {}, nil) }

// Find calls visit for all elements of a name below the current one.
func (r *Reader) Find(name string, visit func(Element)) {
	r.Walk(func(e Element) {
		if e.Name == name {
			visit(e)
		}
	}, nil)
}

// Text returns the text of the current element and of those in it.
func (r *Reader) Text() string {
	var out strings.Builder
	r.AppendText(&out)
	return out.String()
}

// AppendText appends what Text returns.
func (r *Reader) AppendText(out *strings.Builder) {
	r.Walk(func(Element) {}, func(text []byte) { out.Write(text) })
}
