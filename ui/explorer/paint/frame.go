package paint

import "strings"

// Frame is the border around a panel: what the panel is stands in its upper edge, the keys in its lower one.
type Frame struct {
	Width, Height int // of the panel, border included
	Border        Pen
	Title, Beside string // styled; Beside stands at the right, and must fit
	Hints         string // styled
}

const (
	leastFramedWidth, leastFramedHeight = 12, 4
	// paddedWidth is where the text stands off the border by a column.
	paddedWidth = 30
)

// Fits tells whether the panel has room for a border. A smaller one goes without.
func (f Frame) Fits() bool { return f.Width >= leastFramedWidth && f.Height >= leastFramedHeight }

// Inset is where the inside begins, in columns and lines from the panel's corner.
func (f Frame) Inset() (x, y int) {
	if f.Width >= paddedWidth {
		return 2, 1
	}
	return 1, 1
}

// Inside is the size of the inside.
func (f Frame) Inside() (width, height int) {
	x, y := f.Inset()
	return f.Width - 2*x, f.Height - 2*y
}

// Around draws the border around lines of the size that Inside tells. Those from one to before another get a thumb at
// their right, which stands for what is shown of something longer; none where the two are the same.
func (f Frame) Around(inside []string, thumbFrom, thumbTo int) []string {
	x, _ := f.Inset()
	pad := Blank(x - 1)
	left, right, thumb := f.Border.Write("│")+pad, pad+f.Border.Write("│"), pad+f.Border.Write("┃")
	lines := make([]string, 0, f.Height)
	lines = append(lines, f.edge("┌", f.Title, f.Beside, "┐"))
	for i, line := range inside {
		if i >= thumbFrom && i < thumbTo {
			lines = append(lines, left+line+thumb)
		} else {
			lines = append(lines, left+line+right)
		}
	}
	return append(lines, f.edge("└", f.Hints, "", "┘"))
}

// edge is a border line with a text at its left, cut if need be, and another at its right.
func (f Frame) edge(start, left, right, end string) string {
	room := f.Width - 2
	if left != "" {
		left = " " + Fit(left, min(Width(left), room-2)) + " "
	}
	if right != "" {
		right = " " + right + " "
	}
	rule := strings.Repeat("─", max(0, room-Width(left)-Width(right)))
	return f.Border.Write(start) + left + f.Border.Write(rule) + right + f.Border.Write(end)
}
