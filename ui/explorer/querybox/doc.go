// Package querybox is being written.
package querybox
