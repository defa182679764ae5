package analysis

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// definitionsIn returns the terms of the definitions in a text, as a segment has them.
func definitionsIn(text string) (terms []string) {
	var s Scanner
	s.Scan(text, func(raw Raw) {
		if term := Definition(text, raw); term != "" {
			terms = append(terms, term)
		}
	})
	return terms
}

func TestDefinition(t *testing.T) {
	for text, want := range map[string]string{
		"We offer flexible Paid Time Off (PTO).":                 "=pto=Paid Time Off",
		"PTO (Paid  Time Off) is unlimited":                      "=pto=Paid Time Off",
		"Service Level\nAgreements (SLAs) hold":                  "=sla=Service Level\nAgreements",
		"the terms of service (ToS) say":                         "=tos=terms of service",
		"Objectives and Key Results (OKRs)":                      "=okr=Objectives and Key Results",
		"our go-to-market (GTM) team":                            "=gtm=go to market",
		"| PTO | Paid Time Off | 25 days |":                      "=pto=Paid Time Off",
		"| Paid Time Off | PTO |":                                "=pto=Paid Time Off",
		"- **ARR**: annual recurring revenue, in dollars":        "=arr=annual recurring revenue",
		"RFC – request for comments":                             "=rfc=request for comments",
		"налог добавленной стоимости (НДС)":                      "=ндс=налог добавленной стоимости",
		"Allgemeine Geschäftsbedingungen für Öffentliches (AGÖ)": "",
		"Öffentlicher Dienst (ÖD)":                               "=od=Öffentlicher Dienst",
		"Paid. Time Off (PTO)":                                   "",
		"Paid Time Off PTO":                                      "",
		"US-based teammates":                                     "",
		"See the page (PTO) of paid time off":                    "",
		"A (B)":                                                  "",
		"Any Words In Capitals (ANYWORDSIN)":                     "",
		"paid (P2O) time off":                                    "",
		"We use the API: one programming interface":              "",
	} {
		want = strings.ReplaceAll(want, "\n", " ")
		if got := strings.Join(definitionsIn(text), " "); got != want {
			t.Errorf("%q defines %q, want %q", text, got, want)
		}
	}
}

func FuzzDefinition(f *testing.F) {
	for _, seed := range []string{"Paid Time Off (PTO)", "PTO (Paid Time Off)", "|ÄÖ|ä ö|", strings.Repeat("Aé ", 60) + "(AA)", "\xff(AB", "AB (a\xff b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, term := range definitionsIn(text) {
			acronym, long := ParseDefinition(term)
			if n := utf8.RuneCountInString(acronym); n < 2 || n > maxAcronym+1 || len(long) > maxLongForm ||
				!utf8.ValidString(term) || !strings.HasPrefix(term, Defining) || strings.ContainsAny(long, "\n=") {
				t.Errorf("%q defines %q", text, term)
			}
		}
	})
}
