// Package reader is being written.
package reader
