// Package screentest is being written.
package screentest
