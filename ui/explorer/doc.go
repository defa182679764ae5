// Package explorer is being written.
package explorer

import (
	_ "charm.land/bubbles/v2/spinner"
	_ "charm.land/bubbletea/v2"
	_ "charm.land/glamour/v2"
	_ "github.com/alecthomas/chroma/v2"
	_ "github.com/atotto/clipboard"
	_ "github.com/charmbracelet/x/vt"
	_ "github.com/cli/browser"
	_ "github.com/creack/pty"
)
