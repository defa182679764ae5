package encoder

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"quarry/server/encoder/builtin"
)

var (
	kernelFlag = flag.String("kernel", "", "measure only the kernels of that name: plain, AVX2 or AVX-512-VNNI")
	piecesFlag = flag.String("pieces", "", "write the word pieces of the measured texts to a file, and measure nothing")
	thanFlag   = flag.Float64("than", 0, "tokens/s of onnxruntime on the same texts, to compare with")
	judgeFlag  = flag.Bool("judge", false, "fail where a budget is missed")
)

// The texts that are measured: as many of the handbook, of so many word pieces each with [CLS] and [SEP].
const (
	measuredTexts               = 100
	leastMeasured, mostMeasured = 180, 220
)

// handbookTexts returns the beginnings of files below $QUARRY_DATA, with their word pieces.
func handbookTexts(b *testing.B, m *Model) (texts []string, pieces [][]int32) {
	b.Helper()
	folder := os.Getenv("QUARRY_DATA")
	if folder == "" {
		b.Skip("QUARRY_DATA does not name a folder with corpora")
	}
	folder = filepath.Join(folder, "corpora", "sourcegraph-handbook")
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" || len(texts) == measuredTexts {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		words := strings.Fields(string(data))
		for n := min(len(words), mostMeasured); n > 0; {
			text := strings.Join(words[:n], " ")
			found := m.Pieces(text)
			if len(found)+2 <= mostMeasured {
				if len(found)+2 >= leastMeasured {
					texts, pieces = append(texts, text), append(pieces, slices.Concat([]int32{101}, found, []int32{102}))
				}
				break
			}
			n = min(n-1, n*mostMeasured/(len(found)+2))
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	if len(texts) == 0 {
		b.Skip("no text is long enough: ", folder)
	}
	return texts, pieces
}

// BenchmarkMeaning measures the model in the binary on texts of the handbook, on one thread: word pieces a second of its
// processor time with each kind of kernels, a short question, and the memory that they take. Its figures are medians of
// as many passes as -benchtime says; make bench-meaning compares them with onnxruntime's.
func BenchmarkMeaning(b *testing.B) {
	before := anonymous(b)
	m, err := OpenPacked(builtin.Model())
	if err != nil {
		b.Fatal(err)
	}
	texts, pieces := handbookTexts(b, m)
	if *piecesFlag != "" {
		data, err := json.Marshal(pieces)
		if err == nil {
			err = os.WriteFile(*piecesFlag, data, 0o600)
		}
		if err != nil {
			b.Fatal(err)
		}
		return
	}
	for _, k := range available() {
		if *kernelFlag != "" && *kernelFlag != k.name {
			continue
		}
		m.network.(*bert).runBy(k)
		b.Run(k.name, func(b *testing.B) {
			measured := texts
			if k.name == plain().name {
				measured = texts[:1] // which takes seconds
			}
			most := measureTexts(b, m, measured, map[string]float64{"AVX2": .4, "AVX-512-VNNI": .8}[k.name])
			if most > 0 {
				b.ReportMetric(most-before, "MB-above")
			}
			if *judgeFlag && most-before > 80 {
				b.Errorf("RssAnon grew by %.0f MB, above 80", most-before)
			}
		})
	}
	question := m.QueryPrompt + "how do we roll back a deploy"
	b.Run("question", func(b *testing.B) {
		m.network.(*bert).runBy(fastest())
		warm := median(b, 100, func() { m.Vector(question) })
		cold := median(b, 10, func() {
			fresh, err := OpenPacked(builtin.Model())
			if err != nil {
				b.Fatal(err)
			}
			fresh.Vector(question)
		})
		b.ReportMetric(1e3*warm, "ms-warm")
		b.ReportMetric(1e3*cold, "ms-cold")
		if *judgeFlag && warm > .004 {
			b.Errorf("a question takes %.1f ms, above 4", 1e3*warm)
		}
	})
}

// measureTexts reports the tokens of texts that a model reads in a second, and returns the most memory seen meanwhile.
func measureTexts(b *testing.B, m *Model, texts []string, share float64) (memory float64) {
	b.Helper()
	tokens := 0
	for _, text := range texts {
		tokens += len(m.Pieces(text)) + 2
	}
	took := median(b, b.N, func() {
		for _, text := range texts {
			m.Vector(text)
		}
		memory = max(memory, anonymous(b))
	})
	rate := float64(tokens) / took
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(rate, "tokens/s")
	if *thanFlag > 0 {
		b.ReportMetric(rate / *thanFlag, "×onnxruntime")
		if *judgeFlag && rate < share**thanFlag {
			b.Errorf("%.0f tokens/s are less than %.1f of the %.0f of onnxruntime", rate, share, *thanFlag)
		}
	}
	return memory
}

// median returns the seconds of processor time that a run takes, which other programs do not change much. It is of this
// one thread, so that the collector's work beside it does not count.
func median(b *testing.B, runs int, run func()) float64 {
	b.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var took []float64
	for range runs {
		began := processorTime(b)
		run()
		took = append(took, (processorTime(b) - began).Seconds())
	}
	slices.Sort(took)
	return took[len(took)/2]
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Nano())
}

// anonymous returns the anonymous memory of this process in MB; 0 where the system does not say it.
func anonymous(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return float64(kilobytes) / 1024
}
