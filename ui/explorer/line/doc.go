// Package line edits one line of text: what is typed into the query box, a filter's name, an address. It works on
// grapheme clusters, so that an emoji or a letter with its accents is one step of the cursor, and it paints itself at
// the width that it measures, so that the terminal's own cursor can be put where the text continues.
package line
