package reader

import "strings"

// Notes are invisible characters of no width that Glamour carries along with the text around them. client.Sanitize and
// paint.Text remove these characters from foreign text. A note is a begin, a number in binary and an end.
const (
	noteBegin = "\u2063"
	noteZero  = "\u2061"
	noteOne   = "\u2062"
	noteEnd   = "\u2064"
)

type noteKind int

const (
	sourceText noteKind = iota // the text after the note starts at byte value of the source
	madeUpText                 // the text after the note is not in the source
	startBlock                 // the text of a block starts, after a blank line if value is 1
	newLine                    // a line starts, after a blank line if value is 1
	placeBlock                 // block number value goes here
	noteKinds
)

func isNote(r rune) bool { return r >= 0x2061 && r <= 0x2064 }

func note(kind noteKind, value int) string {
	var out strings.Builder
	out.WriteString(noteBegin)
	for number := value*int(noteKinds) + int(kind); number > 0; number >>= 1 {
		if number&1 == 1 {
			out.WriteString(noteOne)
		} else {
			out.WriteString(noteZero)
		}
	}
	out.WriteString(noteEnd)
	return out.String()
}

// readNote reads the note that a text begins with. size is 0 if there is none.
func readNote(s string) (kind noteKind, value, size int) {
	rest, found := strings.CutPrefix(s, noteBegin)
	if !found {
		return 0, 0, 0
	}
	number := 0
	for bit := 0; bit < 31; bit++ {
		if after, isOne := strings.CutPrefix(rest, noteOne); isOne {
			number |= 1 << bit
			rest = after
		} else if rest, found = strings.CutPrefix(rest, noteZero); !found {
			break
		}
	}
	rest, found = strings.CutPrefix(rest, noteEnd)
	if !found {
		return 0, 0, 0
	}
	return noteKind(number % int(noteKinds)), number / int(noteKinds), len(s) - len(rest)
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}
