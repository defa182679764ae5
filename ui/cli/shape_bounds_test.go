package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
)

// TestOperatorsAreBounded: operators of jq make what gojq makes of them, and no value that is larger than the output may be.
func TestOperatorsAreBounded(t *testing.T) {
	all := func(code *gojq.Code) string {
		var values []string
		for results := code.Run(map[string]any{"a": 3, "b": []any{1, "x"}, "c": "é"}); ; {
			value, more := results.Next()
			if !more || len(values) > 99 {
				return strings.Join(values, "\n")
			}
			values = append(values, fmt.Sprintf("%T %.99v", value, value))
			if _, failed := value.(error); failed {
				return strings.Join(values, "\n")
			}
		}
	}
	for _, expression := range []string{
		"(1,2) * (3,4)", "[(1,2) + (10,20,30)]", `{"a":{"b":1}} * {"a":{"c":2}}`, ".a += 1", ".a *= (2,3)", `.c *= 2 | .c`, `.c * 3, 2 * .c, .c * 0, .c * -1, .c * 0.5, .c * 1.9`,
		".b + [2]", "null + 1", "def f(x): x * x; f(1,2)", "reduce range(9) as $i (0; . + $i)", `"\(1 + 2) and \(.a * 2)"`, "{a: (1 + 1), (.c + .c): 2}", "[.b[] | . + 1?]", "1 + 2 * 3 - 4",
		"try ({} + 1) catch .", "{} * 1", ".c * .c", "-(1 + 2)", "if 1 + 1 == 2 then 1 * 3 else 0 end", "label $f | 1 + 1, break $f, 3", ".b as [$x] | $x + 1", "foreach (1,2) as $i (0; . + $i; . * 2)",
		"first(.a + (1,2))", ".b | map(. + .)", ". + {d: (.a + 1)} | .d", "9007199254740993 + 1, 99999999999999999999 * 10", ".b[1 + 0], .b[(0 + 1):]", "[limit(3; repeat(1 + 1))]",
	} {
		plain, err := gojq.Parse(expression)
		if err != nil {
			t.Fatal(err)
		}
		want, wrong := gojq.Compile(plain)
		got, err := compileQuery(expression)
		if wrong != nil || err != nil {
			t.Fatalf("%s: %v, %v", expression, wrong, err)
		}
		if got, want := all(got), all(want); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", expression, got, want)
		}
	}
	for _, expression := range []string{`"x" * 1e9`, `1e9 * "x"`, `.c *= 1e8`, `"xy" | until(false; . + .)`, `[.] | until(false; . + .)`, `def f: {a: ["x" * 1e9]}; f`, `"\("x" * 99999999)"`, `.c | until(false; . += .)`} {
		code, err := compileQuery(expression)
		if err != nil {
			t.Fatal(err)
		}
		if got := all(code); !strings.Contains(got, "more than 67 MB of memory") {
			t.Errorf("%s: %.200s", expression, got)
		}
	}
}
