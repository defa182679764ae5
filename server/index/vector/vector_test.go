package vector

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quarry/internal/testkit/longtest"
	"quarry/server/index/segment"
)

// firstVersion is a file of the three vectors of TestFirstVersion, as version 1 wrote them.
//
//go:embed testdata/version1.vec
var firstVersion []byte

// clustered makes unit vectors around centres that share a direction, as those of embedding models do.
type clustered struct {
	random  *rand.Rand
	common  []float32
	centres [][]float32
}

func newClustered(seed uint64, dimensions, centres int) *clustered {
	c := &clustered{random: rand.New(rand.NewPCG(seed, 1))}
	c.common = c.gaussian(dimensions, 1)
	for range centres {
		c.centres = append(c.centres, c.gaussian(dimensions, 1))
	}
	return c
}

func (c *clustered) gaussian(dimensions int, length float64) []float32 {
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(length * c.random.NormFloat64() / math.Sqrt(float64(dimensions)))
	}
	return v
}

func (c *clustered) vector() []float32 {
	centre := c.centres[c.random.IntN(len(c.centres))]
	v := c.gaussian(len(centre), 0.8)
	for i := range v {
		v[i] += centre[i] + c.common[i]
	}
	return unit(v)
}

func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func exact(vectors [][]float32, query []float32, admitted func(int) bool, limit int) []int {
	var all []Near
	for i, v := range vectors {
		if !admitted(i) {
			continue
		}
		score := float32(0)
		for d := range v {
			score += v[d] * query[d]
		}
		all = append(all, Near{i, score})
	}
	slices.SortFunc(all, func(a, b Near) int { return cmp.Compare(b.Score, a.Score) })
	var best []int
	for _, n := range all[:min(limit, len(all))] {
		best = append(best, n.Index)
	}
	return best
}

// build makes a file of which a search sorts out the likely vectors by their signs, however few there are.
func build(t testing.TB, vectors [][]float32) *File {
	t.Helper()
	b := NewBuilder(len(vectors[0]), 0)
	b.exact = 0
	for i, v := range vectors {
		b.Add(uint32(2*i), Key{byte(i), byte(i >> 8)}, v)
	}
	f, err := Open("test", b.Build())
	if err != nil {
		t.Fatal(err)
	}
	f.exact = 0
	return f
}

func recall(f *File, vectors [][]float32, queries [][]float32, admits func(int) bool, limit int) float64 {
	admitted := make([]uint64, (len(vectors)+63)/64)
	for i := range vectors {
		if admits(i) {
			admitted[i/64] |= 1 << (i % 64)
		}
	}
	found, wanted := 0, 0
	for _, q := range queries {
		near := f.Nearest(q, admitted, f.Depth(limit))
		slices.SortFunc(near, func(a, b Near) int { return cmp.Compare(b.Score, a.Score) })
		want := exact(vectors, q, admits, 10)
		wanted += len(want)
		for _, n := range near[:min(10, len(near))] {
			if slices.Contains(want, n.Index) {
				found++
			}
		}
	}
	return float64(found) / float64(max(1, wanted))
}

// TestPacked: of the ten nearest by 32-bit floats, codes of one byte find nineteen in twenty.
func TestPacked(t *testing.T) {
	t.Parallel()
	made := newClustered(9, 384, 30)
	var vectors, packed [][]float32
	for range 2_000 {
		vectors = append(vectors, made.vector())
		packed = append(packed, Unpack(Pack(vectors[len(vectors)-1])))
	}
	all, found := func(int) bool { return true }, 0
	for range 40 {
		query := made.vector()
		same := exact(packed, query, all, 10)
		for _, i := range exact(vectors, query, all, 10) {
			if slices.Contains(same, i) {
				found++
			}
		}
	}
	if found < 380 {
		t.Errorf("%d of 400", found)
	}
	if nothing := Unpack(Pack(make([]float32, 3))); !slices.Equal(nothing, make([]float32, 3)) {
		t.Errorf("zeros become %v", nothing)
	}
}

// TestRecall: what is found is what an exact search of the stored vectors finds, whatever they are like.
func TestRecall(t *testing.T) {
	t.Parallel()
	type shape struct{ dimensions, count, centres int }
	shapes := []shape{{768, 1_500, 20}, {384, 2_000, 60}, {64, 5_000, 20}, {3, 3_000, 10}, {100, 1_500, 5}, {768, 1_000, 1}}
	if longtest.Enabled() {
		shapes = append(shapes, shape{768, 6_000, 40}, shape{384, 12_000, 200}, shape{64, 10_000, 20}, shape{768, 5_000, 1})
	}
	for _, shape := range shapes {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			t.Parallel()
			made := newClustered(uint64(shape.count), shape.dimensions, shape.centres)
			var vectors, queries [][]float32
			for range shape.count {
				vectors = append(vectors, Unpack(Pack(made.vector())))
			}
			for range 40 {
				queries = append(queries, made.vector())
			}
			f := build(t, vectors)
			for name, admits := range map[string]func(int) bool{
				"all": func(int) bool { return true }, "half": func(i int) bool { return i%2 == 0 },
				"few": func(i int) bool { return i%97 == 0 }, "none": func(int) bool { return false },
			} {
				for _, limit := range []int{10, 150} { // of either the ten best
					got := recall(f, vectors, queries, admits, limit)
					if name == "none" {
						got++
					}
					t.Logf("%s, limit %d: recall@10 %.4f, depth %d", name, limit, got, f.Depth(limit))
					if got < 0.98 {
						t.Errorf("%s, limit %d: recall@10 %.3f", name, limit, got)
					}
				}
			}
		})
	}
}

// TestKernelsAgree: the processor's instructions give the numbers of the loop in Go, for every length, at the bounds too.
func TestKernelsAgree(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(36, 2))
	for n := range 200 {
		query, codes := make([]int16, n), make([]byte, n+random.IntN(3))
		for round := range 4 {
			for i := range query {
				query[i], codes[i] = int16(random.IntN(1<<16)-1<<15), byte(random.IntN(256))
				if round == 0 {
					query[i], codes[i] = math.MinInt16, 0x80
				}
			}
			if got, want := kernel()(query, codes), dotPlain(query, codes); got != want {
				t.Fatalf("%d numbers: %d, want %d", n, got, want)
			}
		}
	}
}

// TestBest: the best are kept, wherever the scores lie.
func TestBest(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(36, 3))
	for n := range 300 {
		var all []Near
		for i := range n {
			all = append(all, Near{i, float32(random.NormFloat64() * math.Pow(10, float64(n%5-3)))})
		}
		kept := best(slices.Clone(all), 20)
		if !slices.IsSortedFunc(kept, func(a, b Near) int { return a.Index - b.Index }) {
			t.Fatal("another order")
		}
		slices.SortFunc(all, func(a, b Near) int { return cmp.Compare(b.Score, a.Score) })
		for _, near := range all[:min(20, n)] {
			if !slices.Contains(kept, near) {
				t.Fatalf("of %d, %v is missing", n, near)
			}
		}
	}
}

// TestFirstVersion: files with codes of two bytes, which older versions wrote, are read, and carried into new ones.
func TestFirstVersion(t *testing.T) {
	t.Parallel()
	vectors := [][]float32{unit([]float32{1, 2, -3, 0, 5}), unit([]float32{-4, 1, 1, 2, 0}), unit([]float32{0, 0, 1, 0, 0})}
	old, err := Open("old", firstVersion)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(5, 0)
	for i := range old.Len() {
		b.Copy(uint32(i), old, i)
	}
	carried, err := Open("carried", b.Build())
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*File{"old": old, "carried": carried} {
		if err := f.Verify(); err != nil || f.Len() != len(vectors) || f.Key(2) != (Key{2}) {
			t.Fatalf("%s: %d vectors, key %v, %v", name, f.Len(), f.Key(2), err)
		}
		for q, query := range vectors {
			for _, n := range f.Nearest(query, []uint64{7}, 10) {
				want := float32(0)
				for d, x := range vectors[n.Index] {
					want += x * query[d]
				}
				if math.Abs(float64(n.Score-want)) > .01 {
					t.Errorf("%s: vector %d to %d is %v, want %v", name, n.Index, q, n.Score, want)
				}
			}
		}
	}
}

// TestCarriedAlong: a file made of another's codes finds the same.
func TestCarriedAlong(t *testing.T) {
	t.Parallel()
	made := newClustered(7, 96, 12)
	var vectors [][]float32
	for range 3_000 {
		vectors = append(vectors, made.vector())
	}
	f := build(t, vectors)
	b := NewBuilder(96, 0)
	for i := range vectors {
		b.Copy(uint32(i), f, i)
	}
	carried, err := Open("carried", b.Build())
	if err != nil {
		t.Fatal(err)
	}
	if carried.Key(300) != f.Key(300) || carried.Len() != f.Len() {
		t.Fatal("keys were not carried along")
	}
	queries := [][]float32{made.vector(), made.vector(), made.vector(), made.vector(), made.vector()}
	if got := recall(carried, vectors, queries, func(int) bool { return true }, 10); got < 0.98 {
		t.Errorf("recall@10 %.3f", got)
	}
}

// TestDamage: every changed byte and every cut is noticed by Open or Verify.
func TestDamage(t *testing.T) {
	t.Parallel()
	b := NewBuilder(5, 0)
	made := newClustered(3, 5, 2)
	for i := range 40 {
		b.Add(uint32(i), Key{byte(i)}, made.vector())
	}
	b.Missing = 3
	good := b.Build()
	check := func(data []byte) error {
		f, err := Open("damaged", data)
		if err != nil {
			return err
		}
		return f.Verify()
	}
	if err := check(good); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x41
		if name := segment.NameOf(check(bad)); name != "damaged" {
			t.Fatalf("a change of byte %d of %d was not noticed", i, len(good))
		}
		if check(good[:i]) == nil {
			t.Fatalf("a cut at %d of %d was not noticed", i, len(good))
		}
	}
}

// FuzzOpen: no file makes the reader fail but with an error, and what opens can be searched.
func FuzzOpen(f *testing.F) {
	made := newClustered(3, 9, 2)
	for _, n := range []int{1, 70} {
		b := NewBuilder(9, 0)
		for i := range n {
			b.Add(uint32(i), Key{byte(i)}, made.vector())
		}
		f.Add(b.Build())
	}
	f.Add([]byte(magic))
	f.Add(firstVersion)
	f.Fuzz(func(t *testing.T, data []byte) {
		opened, err := Open("fuzz", data)
		if err != nil {
			if segment.NameOf(err) != "fuzz" {
				t.Fatalf("not an error of damage: %v", err)
			}
			return
		}
		admitted := make([]uint64, (opened.Len()+63)/64)
		for i := range opened.Len() {
			admitted[i/64] |= 1 << (i % 64)
		}
		_ = segment.Protect(opened.Name, func() {
			opened.Nearest(make([]float32, opened.Dimensions()), admitted, 10)
		})
	})
}

// BenchmarkNearest: a hundred thousand vectors of 768 dimensions.
func BenchmarkNearest(b *testing.B) {
	made := newClustered(1, 768, 500)
	builder := NewBuilder(768, 0)
	for i := range 100_000 {
		builder.Add(uint32(i), Key{}, made.vector())
	}
	f, err := Open("bench", builder.Build())
	if err != nil {
		b.Fatal(err)
	}
	admitted := make([]uint64, (f.Len()+63)/64)
	for i := range f.Len() {
		admitted[i/64] |= 1 << (i % 64)
	}
	query := made.vector()
	for _, limit := range []int{10, 150} {
		b.Run(fmt.Sprintf("limit=%d", limit), func(b *testing.B) {
			b.ReportMetric(float64(f.Depth(limit)), "depth")
			for b.Loop() {
				f.Nearest(query, admitted, f.Depth(limit))
			}
		})
	}
}
