package line

// history is a stack of states, bounded in number and size.
type history struct {
	states []state
	bytes  int
}

const (
	maxSteps     = 500
	maxStepBytes = 256 << 10
)

// push adds a state and drops the oldest ones that exceed the bounds. The latest always stays.
func (h *history) push(s state) {
	h.states = append(h.states, s)
	h.bytes += s.size()
	forget := 0
	for len(h.states)-forget > 1 && (len(h.states)-forget > maxSteps || h.bytes > maxStepBytes) {
		h.bytes -= h.states[forget].size()
		forget++
	}
	if forget > 0 {
		kept := copy(h.states, h.states[forget:])
		clear(h.states[kept:])
		h.states = h.states[:kept]
	}
}

func (h *history) pop() (state, bool) {
	if len(h.states) == 0 {
		return state{}, false
	}
	end := len(h.states) - 1
	last := h.states[end]
	h.states[end] = state{}
	h.states = h.states[:end]
	h.bytes -= last.size()
	return last, true
}

func (h *history) clear() {
	clear(h.states)
	h.states, h.bytes = h.states[:0], 0
}

func (s state) size() int {
	size := len(s.text)
	for _, text := range s.attached {
		size += len(text)
	}
	return size
}
