// Package plain is being written.
package plain
