// Package pattern compiles regular expressions when they are used first: compiling takes longer than starting the
// program may, and most runs need few of them.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles an expression with its first call. It is safe for concurrent use, and panics if
// the expression is not valid.
func Lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
