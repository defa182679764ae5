// Package line is being written.
package line
