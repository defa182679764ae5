package ingest

import (
	"io/fs"
	"strings"

	"quarry/server/ingest/mailmime"
)

var mhFolder = container{kind: "MH folder", source: mailSource, is: isMH, claims: inMH,
	state: stateInMH, read: readMessages}

// isMH reports whether a folder is one of MH, in which each message is a file with a number as name: half of its files
// are, and one of them begins as a message does.
func isMH(l layout) bool {
	var numbers, others int
	first := ""
	for _, name := range l.entries {
		switch {
		case isMHMessage(name):
			numbers++
			first = name
		case !strings.HasSuffix(name, "/") && !strings.HasPrefix(name, "."):
			others++
		}
	}
	if numbers == 0 || others > numbers {
		return false
	}
	header, _ := mailmime.SplitHeader([]byte(startOf(l.FS, first))) // what cannot be read is no message
	known := 0
	for _, name := range [...]string{"From", "Date", "Subject", "Received", "Message-Id", "Return-Path", "To"} {
		if header.Get(name) != "" {
			known++
		}
	}
	const enough = 2 // a text may begin with one
	return known >= enough
}

func isMHMessage(name string) bool {
	return name != "" && strings.Trim(name, "0123456789") == ""
}

// inMH claims messages, and those that were deleted, whose names begin with a comma or a number sign.
func inMH(name string) bool { return isMHMessage(strings.TrimLeft(name, ",#")) }

// stateInMH returns the state of a message; deleted ones are not read.
func stateInMH(name string, info fs.FileInfo) string {
	if !isMHMessage(name) {
		return ""
	}
	return name + "\x00" + fingerprint(info)
}
