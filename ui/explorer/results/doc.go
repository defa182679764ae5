// Package results is being written.
package results
