package segments

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"quarry/client/field"
	"quarry/server/index"
)

// BenchmarkVectors searches a hundred thousand chunks with vectors of 768 dimensions on disk: by vector alone, with a
// filter, and as the pipeline asks. The vectors lie around five hundred centres that share a direction, as those of
// embedding models do.
func BenchmarkVectors(b *testing.B) {
	const documents, dimensions, batch = 100_000, 768, 1_000
	ctx := context.Background()
	x, err := Open(ctx, Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	for from := 0; from < documents; from += batch {
		var some index.Batch
		for i := range batch {
			d := document(strconv.Itoa(from+i), fmt.Sprint("text ", from+i))
			d.Source = []string{"file", "slack", "github", "web"}[i%4]
			some.Upsert = append(some.Upsert, d)
		}
		write(b, x, some)
	}
	random := rand.New(rand.NewPCG(1, 2))
	centres := make([][]float32, 500)
	for i := range centres {
		centres[i] = gaussian(random, dimensions, nil, 1)
	}
	common := gaussian(random, dimensions, nil, 1)
	point := func() []float32 {
		v := gaussian(random, dimensions, centres[random.IntN(len(centres))], 0.8)
		length := 0.0
		for i := range v {
			v[i] += common[i]
			length += float64(v[i]) * float64(v[i])
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(length))
		}
		return v
	}
	start := time.Now()
	err = x.Embed(ctx, index.Embedding{Model: "m", Vectors: func(_ context.Context, texts []string) (vectors [][]float32, err error) {
		for range texts {
			vectors = append(vectors, point())
		}
		return vectors, nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	x.worker.loop.Wait()
	b.Logf("embedding and indexing took %v, %d segments", time.Since(start), len(segmentsOf(b, x)))
	s, err := x.Snapshot(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	everything := index.Access{All: true}
	for name, query := range map[string]index.Query{
		"ten":                {Limit: 10, Filter: index.Filter{Access: everything}},
		"as_the_pipeline":    {Limit: 150, PerDocument: 10, Filter: index.Filter{Access: everything}},
		"ten_of_one_source":  {Limit: 10, Filter: index.Filter{Access: everything, Any: field.Keys{field.Source: {"slack"}}}},
		"ten_of_one_percent": {Limit: 10, Filter: index.Filter{Access: everything, Documents: oneInHundred(documents)}},
	} {
		b.Run(name, func(b *testing.B) {
			var took []float64
			for b.Loop() {
				values := point()
				start := time.Now()
				hits, err := s.Nearest(ctx, index.Vector{Model: "m", Values: values}, query)
				if err != nil || len(hits) < 10 {
					b.Fatal(len(hits), err)
				}
				took = append(took, float64(time.Since(start).Microseconds())/1000)
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2], "p50-ms")
			b.ReportMetric(took[len(took)*95/100], "p95-ms")
		})
	}
}

func oneInHundred(n int) (ids []string) {
	for i := 0; i < n; i += 100 {
		ids = append(ids, strconv.Itoa(i))
	}
	return ids
}

func gaussian(random *rand.Rand, dimensions int, centre []float32, length float64) []float32 {
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(length * random.NormFloat64() / math.Sqrt(float64(dimensions)))
		if centre != nil {
			v[i] += centre[i]
		}
	}
	return v
}
