// Package passage is being written.
package passage
