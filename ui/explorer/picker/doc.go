// Package picker is being written.
package picker
