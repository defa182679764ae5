package reader

import (
	"slices"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/formatters"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/alecthomas/chroma/v2/styles"
	"github.com/yuin/goldmark/ast"

	"quarry/ui/explorer/paint"
)

// mostColoured is the longest code, in bytes, that is coloured.
const mostColoured = 8 << 10

// code renders a code block: indented, coloured where its language is known, and going on in the next line, with a mark,
// where a line is too long.
func (r *renderer) code(node ast.Node, language string) {
	undo := r.out.indent(lead{"  ", 2}, lead{"  ", 2})
	defer undo()
	r.out.wrap = lead{r.pens.muted.Write("›") + " ", 2}
	defer func() { r.out.wrap = lead{} }()

	code, signals := r.codeOf(node)
	if code == "" {
		return
	}
	r.out.feedCode(r.coloured(code, language, signals))
}

// placed is a signal at a byte of a code block.
type placed struct {
	at     int
	signal string
}

// codeOf is the text of a code block, with the signals that belong into it.
func (r *renderer) codeOf(node ast.Node) (string, []placed) {
	var code strings.Builder
	var signals []placed
	add := func(at int, kind signalKind, value int) {
		signals = append(signals, placed{at, r.signals.add(signal{kind: kind, value: value})})
	}
	lines := node.Lines()
	for i := range lines.Len() {
		segment := lines.At(i)
		start := code.Len() + segment.Padding // of the bytes of the source
		code.Write(segment.Value(r.source[:r.length]))
		add(start, anchor, segment.Start)
		line := strings.TrimRight(string(segment.Value(r.source[:r.length])), "\n")
		if room := r.out.room(); paint.Width(line) > room {
			for _, part := range paint.WrapSpans(line, max(1, room-r.out.wrap.width))[1:] {
				add(start-segment.Padding+part.Start, lineBreak, 0)
			}
		}
		for j := r.firstSpan(segment.Start); j < len(r.spans) && r.spans[j][0] < segment.Stop; j++ {
			from, to := max(segment.Start, r.spans[j][0]), min(segment.Stop, r.spans[j][1])
			if from < to {
				add(start+from-segment.Start, spanBegin, j)
				add(start+to-segment.Start, spanEnd, 0)
			}
		}
	}
	slices.SortStableFunc(signals, func(x, y placed) int { return x.at - y.at })
	return code.String(), signals
}

// coloured prints code with its colours and its signals.
func (r *renderer) coloured(code, language string, signals []placed) string {
	var out strings.Builder
	lexer := lexers.Get(language)
	formatter := formatters.Get(r.theme.ChromaFormatter())
	if language == "" || lexer == nil || formatter == nil || len(code) > mostColoured {
		writeSignals(&out, code, signals)
		return out.String()
	}
	tokens, err := chroma.Tokenise(chroma.Coalesce(lexer), nil, code)
	if err != nil {
		writeSignals(&out, code, signals)
		return out.String()
	}
	iterator := chroma.Literator(withSignals(tokens, signals)...)
	if err := formatter.Format(&out, styles.Get(r.style.CodeBlock.Theme), iterator); err != nil {
		out.Reset()
		writeSignals(&out, code, signals)
	}
	return out.String()
}

func writeSignals(out *strings.Builder, code string, signals []placed) {
	at := 0
	for _, s := range signals {
		if s.at > at {
			out.WriteString(code[at:s.at])
			at = s.at
		}
		out.WriteString(s.signal)
	}
	out.WriteString(code[at:])
}

// withSignals splits tokens where signals stand and puts these between them.
func withSignals(tokens []chroma.Token, signals []placed) []chroma.Token {
	split := make([]chroma.Token, 0, len(tokens)+2*len(signals))
	at := 0
	for _, token := range tokens {
		for len(signals) > 0 && signals[0].at < at+len(token.Value) {
			if cut := signals[0].at - at; cut > 0 {
				split = append(split, chroma.Token{Type: token.Type, Value: token.Value[:cut]})
				token.Value = token.Value[cut:]
				at += cut
			}
			split = append(split, chroma.Token{Type: chroma.None, Value: signals[0].signal})
			signals = signals[1:]
		}
		if token.Value != "" {
			split = append(split, token)
		}
		at += len(token.Value)
	}
	for _, s := range signals {
		split = append(split, chroma.Token{Type: chroma.None, Value: s.signal})
	}
	return split
}
