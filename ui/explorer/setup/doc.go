// Package setup is being written.
package setup
