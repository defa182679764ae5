// Package builtin has the sentence encoder that comes with the program, 34 MB: bge-small-en-v1.5 of the Beijing Academy
// of Artificial Intelligence, under the MIT licence (LICENSE, NOTICE), made by tools/encoder. Only main imports it, and
// the tests of the encoder, so that no other test carries it.
package builtin

import _ "embed"

//go:embed bge-small-en-v1.5.bin
var model string

// Model returns the packed model, which lies in the binary and costs nothing until it is read.
func Model() string { return model }
