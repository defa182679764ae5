//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"quarry/tools/drive"
	"quarry/tools/measure"
)

// The questions that are typed, and what every scenario starts with.
const (
	question        = "roll back a deploy"
	libraryQuestion = "how do i expense a laptop"
)

// scenario is one kind of use, and the figures that it gives.
type scenario struct {
	name, what string
	library    bool // needs a library of the caller
	measure    func(*bench) ([]measure.Figure, error)
}

func scenarios() []scenario {
	return []scenario{
		{"start", "from exec to the first paint, the sample library", false, (*bench).measureStart},
		{"typing", "keys in the query box, the sample library", false, (*bench).measureTyping},
		{"moves", "the selection moves, results and reader side by side", false, (*bench).measureMoves},
		{"list-moves", "the selection moves, no reader beside it", false, (*bench).measureList},
		{"resize", "30 resizes in 500 ms", false, (*bench).measureResize},
		{"idle", "nothing happens", false, (*bench).measureIdle},
		{"answer", "50 passages of 4 KB come from a server that sends six fields", false, (*bench).measureAnswer},
		{"memory", "1,000 different passages of a server are looked at", false, (*bench).measureMemory},
		{"quit", "the program ends, and the terminal is as before", false, (*bench).measureQuit},
		{"library-start", "from exec to the first paint, a library of the caller", true, (*bench).measureLibraryStart},
		{"library-typing", "keys in the query box, a library of the caller", true, (*bench).measureLibraryTyping},
		{"meaning", "keys in the query box while vectors are made of the library", true, (*bench).measureMeaning},
	}
}

// sample and local are the arguments for the two kinds of library.
func sample(more ...string) []string { return append([]string{"--sample"}, more...) }

func (b *bench) local(more ...string) []string {
	return append([]string{"--library", b.library}, more...)
}

// ready starts the program and waits for its first paint, for the results of the question if it is asked, and for what
// follows on its own.
func (b *bench) ready(program string, args ...string) (*session, error) {
	s, err := b.open(program, args...)
	if err != nil {
		return nil, err
	}
	if _, err = s.firstPaint(); err == nil && program == b.binary && slices.Contains(args, question) {
		err = s.Results()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.Settle(2 * drive.Quiet)
	return s, nil
}

// starts gives the times from exec to first paint of many runs. The first two warm the file cache and do not count.
func (b *bench) starts(program string, args ...string) ([]float64, error) {
	const warm = 2
	var samples []float64
	for i := range b.runs + warm {
		s, err := b.open(program, args...)
		if err != nil {
			return nil, err
		}
		took, err := s.firstPaint()
		s.Close()
		if err != nil {
			return nil, err
		}
		if i >= warm {
			samples = append(samples, measure.Milliseconds(took))
		}
	}
	return samples, nil
}

func (b *bench) measureStart() ([]measure.Figure, error)        { return b.startsBeside(sample()) }
func (b *bench) measureLibraryStart() ([]measure.Figure, error) { return b.startsBeside(b.local()) }

// startsBeside compares with fzf where it is installed: 1.6 times its start is the budget.
func (b *bench) startsBeside(args []string) ([]measure.Figure, error) {
	own, err := b.starts(b.binary, args...)
	if err != nil {
		return nil, err
	}
	empty, err := b.starts(b.empty)
	if err != nil {
		return nil, err
	}
	figures := []measure.Figure{
		measure.New("start → first paint", "ms", own, measure.P50(40)),
		measure.New("  an empty program", "ms", empty),
	}
	fzf, err := exec.LookPath("fzf")
	if err != nil {
		return figures, nil
	}
	finder, err := b.starts(fzf)
	if err != nil {
		return nil, err
	}
	figures[0] = measure.New("start → first paint", "ms", own, measure.P50(1.6*measure.Percentile(finder, 50)))
	return append(figures, measure.New("  fzf", "ms", finder)), nil
}

// typeAndDelete types a text and takes it back, until enough keys were typed.
func (b *bench) typeAndDelete(s *session, text string) ([]drive.Stroke, error) {
	var strokes []drive.Stroke
	keys := drive.Letters(text)
	keys = append(keys, slices.Repeat([]string{"backspace"}, len(keys))...)
	for len(strokes) < b.keys {
		more, err := s.TypeAll(keys, drive.Quiet)
		if err != nil {
			return nil, err
		}
		strokes = append(strokes, more...)
	}
	return strokes, nil
}

func (b *bench) measureTyping() ([]measure.Figure, error) { return b.typing(sample(), question, 20) }

func (b *bench) measureLibraryTyping() ([]measure.Figure, error) {
	return b.typing(b.local(), libraryQuestion, 30)
}

// errTooSmall says that a scenario has no figures.
var errTooSmall = errors.New("the vectors were made before the last key: the library is too small")

// measureMeaning types while the program makes vectors, of a copy of the library, so that the next run has to make them,
// too. The budget is that of typing: what is made runs at low priority, on one core.
func (b *bench) measureMeaning() (figures []measure.Figure, err error) {
	making := *b
	making.library, making.extra = filepath.Join(b.home, "meaning"), []string{"QUARRY_EMBEDDINGS_MODE=on"}
	if err := os.CopyFS(making.library, os.DirFS(b.library)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(making.library)) }()
	s, err := making.ready(b.binary, making.local()...)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	runs := func(screen string) bool {
		return strings.Contains(screen, "meaning ") && strings.Contains(screen, " %")
	}
	if !s.Wait(drive.Limit, runs) {
		return nil, fmt.Errorf("no vectors are made; the screen is\n%s", s.Text())
	}
	strokes, err := b.typeAndDelete(s, libraryQuestion)
	if err == nil && !s.Wait(2*time.Second, runs) {
		err = errTooSmall
	}
	return []measure.Figure{
		measure.New("key → first byte", "ms", drive.Collect(strokes, firstByte)),
		measure.New("key → new results painted", "ms", drive.Collect(strokes, lastByte), measure.P50(30)),
	}, err
}

// typing measures keys that bring new results, keys that bring none, and those of an empty program.
func (b *bench) typing(args []string, text string, painted float64) ([]measure.Figure, error) {
	changing, err := b.typed(b.binary, args, text)
	if err != nil {
		return nil, err
	}
	unchanged, err := b.spaces(args, text)
	if err != nil {
		return nil, err
	}
	empty, err := b.typed(b.empty, nil, text)
	if err != nil {
		return nil, err
	}
	both, emptyEcho := slices.Concat(changing, unchanged), drive.Collect(empty, firstByte)
	return []measure.Figure{
		measure.New("key → first byte", "ms", drive.Collect(both, firstByte), echo(emptyEcho)...),
		measure.New("  an empty program", "ms", emptyEcho),
		measure.New("key → new results painted", "ms", drive.Collect(changing, lastByte), measure.P50(painted)),
		measure.New("bytes, results changed", "B", drive.Collect(changing, byteCount), measure.P50(4000), measure.P95(8000)),
		measure.New("bytes, results unchanged", "B", drive.Collect(unchanged, byteCount), measure.P50(25)),
		measure.New("  an empty program", "B", drive.Collect(empty, byteCount)),
	}, nil
}

// echo is the budget of a key's first byte, in milliseconds: what an empty program takes in the same run, and a little.
func echo(empty []float64) []measure.Limit {
	return []measure.Limit{
		measure.P50(measure.Percentile(empty, 50) + 1.5), measure.P95(measure.Percentile(empty, 95) + 2),
	}
}

func (b *bench) typed(program string, args []string, text string) ([]drive.Stroke, error) {
	s, err := b.ready(program, args...)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return b.typeAndDelete(s, text)
}

// spaces are typed after a query, where they do not change what is looked for.
func (b *bench) spaces(args []string, text string) ([]drive.Stroke, error) {
	s, err := b.ready(b.binary, args...)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if _, err := s.TypeAll(drive.Letters(text), drive.Quiet); err != nil {
		return nil, err
	}
	var strokes []drive.Stroke
	for len(strokes) < b.keys/2 {
		more, err := s.TypeAll([]string{"space", "space", "backspace", "backspace"}, drive.Quiet)
		if err != nil {
			return nil, err
		}
		strokes = append(strokes, more...)
	}
	return strokes, nil
}

// walk goes down the results and back up to the first, which takes fewer keys where a result had passages below it.
func (s *session) walk(steps int) (down, up []drive.Stroke, err error) {
	if down, err = s.TypeAll(slices.Repeat([]string{"down"}, steps), drive.Quiet); err != nil {
		return nil, nil, err
	}
	for !strings.Contains(s.Text(), firstSelected) {
		stroke, err := s.Type("up", drive.Quiet)
		if err != nil {
			return nil, nil, err
		}
		up = append(up, stroke)
	}
	return down, up, nil
}

const firstSelected = "▌ 1  " // the bar of the selection, before the first result

const walkSteps = 8

// measureMoves goes down results that were not looked at yet, and then over them again.
func (b *bench) measureMoves() ([]measure.Figure, error) {
	var fresh, cached []drive.Stroke
	for len(fresh) < b.keys/2 {
		s, err := b.ready(b.binary, sample(question)...)
		if err != nil {
			return nil, err
		}
		down, up, err := s.walk(walkSteps)
		if err == nil {
			var again, back []drive.Stroke
			again, back, err = s.walk(walkSteps)
			cached = slices.Concat(cached, up, again, back)
		}
		s.Close()
		if err != nil {
			return nil, err
		}
		fresh = append(fresh, down...)
	}
	return []measure.Figure{
		measure.New("move → first byte, cached", "ms", drive.Collect(cached, firstByte), measure.P50(8), measure.P95(17)),
		measure.New("move → first byte, not cached", "ms", drive.Collect(fresh, firstByte), measure.P50(8), measure.P95(17)),
		measure.New("move → rendered, not cached", "ms", drive.Collect(fresh, lastByte), measure.P95(40)),
		measure.New("bytes, reader cached", "B", drive.Collect(cached, byteCount), measure.P50(4500), measure.P95(6000)),
		measure.New("bytes, reader not cached", "B", drive.Collect(fresh, byteCount), measure.P50(6000), measure.P95(9000)),
	}, nil
}

// measureList moves the selection in a terminal too low for a reader.
func (b *bench) measureList() ([]measure.Figure, error) {
	narrow := *b
	narrow.cols, narrow.rows = 100, 28
	s, err := narrow.ready(b.binary, sample(question)...)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var strokes []drive.Stroke
	for len(strokes) < b.keys {
		// Three rows fit without scrolling at any size.
		down, up, err := s.walk(3)
		if err != nil {
			return nil, err
		}
		strokes = slices.Concat(strokes, down, up)
	}
	return []measure.Figure{
		measure.New("move → first byte", "ms", drive.Collect(strokes, firstByte), measure.P50(8), measure.P95(13)),
		measure.New("bytes", "B", drive.Collect(strokes, byteCount), measure.P50(1800), measure.P95(2500)),
	}, nil
}

// measureResize drags the window and comes back to where it was: the screen must be what it was.
func (b *bench) measureResize() ([]measure.Figure, error) {
	const resizes, pause = 30, 500 * time.Millisecond / 30
	var took []float64
	for range max(5, b.runs/5) {
		s, err := b.ready(b.binary, sample(question)...)
		if err != nil {
			return nil, err
		}
		right, err := s.storm(b.cols, b.rows, resizes, pause)
		s.Close()
		if err != nil {
			return nil, err
		}
		took = append(took, measure.Milliseconds(right))
	}
	return []measure.Figure{measure.New("last resize → right frame", "ms", took, measure.P50(50))}, nil
}

// storm resizes and gives the time from the last resize to the frame that was there before the first.
func (s *session) storm(cols, rows, resizes int, pause time.Duration) (time.Duration, error) {
	s.Wait(drive.Limit, func(screen string) bool { return !strings.Contains(screen, "esc stops") })
	s.Settle(drive.Quiet) // Markdown is rendered behind the first frame
	before := s.Text()
	for i := range resizes - 1 {
		if err := s.Resize(cols-1-i%20, rows-1-i%10); err != nil {
			return 0, err
		}
		time.Sleep(pause)
	}
	at := time.Now()
	if err := s.Resize(cols, rows); err != nil {
		return 0, err
	}
	// The emulator may show a right frame by chance, before the program has heard of the new size: the last frame counts.
	// On a busy machine it may come after a pause.
	s.Settle(drive.Quiet)
	if !s.Wait(drive.Limit, func(screen string) bool { return screen == before }) {
		return 0, fmt.Errorf("the frame after the resizes is not the one before them:\n%s\nbefore:\n%s", s.Text(), before)
	}
	chunks := s.Since(0)
	return max(0, chunks[len(chunks)-1].At.Sub(at)), nil
}

// measureIdle watches the program and an empty one in turn.
func (b *bench) measureIdle() ([]measure.Figure, error) {
	var own, empty, ratio, bytes []float64
	for range 3 {
		mine, written, err := b.idleCost(b.binary, sample(question)...)
		if err != nil {
			return nil, err
		}
		other, _, err := b.idleCost(b.empty)
		if err != nil {
			return nil, err
		}
		own, empty, ratio, bytes = append(own, mine), append(empty, other), append(ratio, mine/other), append(bytes, written)
	}
	return []measure.Figure{
		measure.New("written", "B/s", bytes, measure.Most(0)),
		measure.New("CPU", "ms/s", own),
		measure.New("  an empty program", "ms/s", empty),
		measure.New("CPU, of an empty program's", "×", ratio, measure.P50(1.3)),
	}, nil
}

// idleCost is the CPU in milliseconds and the bytes written, both per second, of a program left alone.
func (b *bench) idleCost(program string, args ...string) (cpu, bytes float64, err error) {
	s, err := b.ready(program, args...)
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	time.Sleep(time.Second) // what a start leaves behind, such as collecting its garbage
	before, err := measure.RunningOf(s.Pid())
	if err != nil {
		return 0, 0, err
	}
	written := s.BytesWritten()
	time.Sleep(b.idle)
	after, err := measure.RunningOf(s.Pid())
	if err != nil {
		return 0, 0, err
	}
	seconds := b.idle.Seconds()
	return measure.Milliseconds(after-before) / seconds, float64(s.BytesWritten()-written) / seconds, nil
}

// measureQuit ends the program in each way, and looks at what it leaves.
func (b *bench) measureQuit() ([]measure.Figure, error) {
	ways := []struct {
		what string
		quit func(*session) (time.Duration, bool, error)
	}{
		{"by ctrl+c", (*session).quitByKey},
		{"by q from the list", func(s *session) (time.Duration, bool, error) {
			if _, err := s.Type("enter", drive.Quiet); err != nil {
				return 0, false, err
			}
			return s.quit(func() error { return s.Press("q") })
		}},
		{"by SIGTERM", func(s *session) (time.Duration, bool, error) { return s.quitBySignal(syscall.SIGTERM) }},
	}
	var figures []measure.Figure
	for _, way := range ways {
		var took, restored []float64
		for range max(5, b.runs/3) {
			s, err := b.ready(b.binary, sample(question)...)
			if err != nil {
				return nil, err
			}
			time, clean, err := way.quit(s)
			s.Close()
			if err != nil {
				return nil, fmt.Errorf("quit %s: %w", way.what, err)
			}
			took, restored = append(took, measure.Milliseconds(time)), append(restored, share(clean))
		}
		figures = append(figures, measure.New("quit "+way.what, "ms", took, measure.P50(50)),
			measure.New("  terminal restored", "", restored, measure.Least(1)))
	}
	return figures, nil
}

// share counts what is so as 1, and what is not as 0.
func share(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func firstByte(s drive.Stroke) float64 { return measure.Milliseconds(s.First) }
func lastByte(s drive.Stroke) float64  { return measure.Milliseconds(s.Last) }
func byteCount(s drive.Stroke) float64 { return float64(s.Bytes) }
