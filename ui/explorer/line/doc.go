// Package line is an editor for one line of text: a query, a filter's name, an address. It works on grapheme clusters,
// so that an emoji or a letter with accents is one step of the cursor, and it reports the column of the cursor, so that
// the terminal's own cursor can be placed there.
package line
