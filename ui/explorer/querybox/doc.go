// Package querybox is the box that a question is typed into. Filters such as source:slack leave the text as soon as they
// are finished and stand beside it as chips; what counts as a filter is decided by client.ParseQuery alone.
package querybox
