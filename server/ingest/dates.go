package ingest

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// monthNames are the beginnings of the names of months, in the languages of western and central Europe, Finnish,
// Turkish and Russian. Of several that a name begins with, the longest counts.
var monthNames = [...]string{
	"jan ene gen янв sty led tam oca ian 一月",
	"feb fev fév fév lut úno hel şub фев 二月",
	"mar mär mrz maa mrt bře мар 三月",
	"apr avr abr kwi dub huh nis апр 四月",
	"may mai mag mei maj kvě tou май мая 五月",
	"jun juin giu cze červ kes haz июн iun 六月",
	"jul juil lug lip červenc hei tem июл iul 七月",
	"aug aoû aou ago sie srp elo ağu авг 八月",
	"sep set wrz zář syy eyl сен 九月",
	"oct okt out ott paź říj lok eki окт 十月",
	"nov lis marras kas ноя noi 十一月",
	"dec déc dez dic gru pro jou ara дек 十二月",
}

var dateWord = lazyPattern(`\d{1,2}[月월]|\d+|\pL+`)

// findDate returns the first day in a text: numbers from the year to the day, or with the name of the month in one of
// many languages, whatever is between them.
func findDate(text string) (time.Time, bool) {
	words := dateWord().FindAllString(strings.ToLower(text), -1)
	for i, word := range words {
		month := monthOf(word)
		day, year := 0, 0
		for _, near := range words[max(0, i-2):min(len(words), i+5)] { // "5 de marzo de 2024"
			n, err := strconv.Atoi(near)
			if isYear := len(near) == 4; err == nil && isYear && year == 0 {
				year = n
			} else if err == nil && !isYear && day == 0 {
				day = n
			}
		}
		if len(word) == 4 && i+2 < len(words) {
			if n, err := strconv.Atoi(word + pad(words[i+1]) + pad(words[i+2])); err == nil {
				if t, err := time.Parse("20060102", strconv.Itoa(n)); err == nil {
					return plausible(t)
				}
			}
		}
		t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
		if month > 0 && year > 0 && day > 0 && t.Day() == day {
			return plausible(t)
		}
	}
	return time.Time{}, false
}

// pad returns a number with at least two digits.
func pad(number string) string { return strings.Repeat("0", max(0, 2-len(number))) + number }

// monthOf returns the month that a word names; 0 for other words.
func monthOf(word string) (month int) {
	if digits := strings.TrimRight(word, "月월"); digits != word && digits != "" && digits[0] <= '9' {
		number, _ := strconv.Atoi(digits) // of one or two digits
		return number % 13
	}
	longest := 0
	for i, names := range monthNames {
		for name := range strings.FieldsSeq(names) {
			if strings.HasPrefix(word, name) && len(name) > longest {
				month, longest = i+1, len(name)
			}
		}
	}
	return month
}

// bracketedDate matches the dates of Org and the links to days of other notes.
var bracketedDate = lazyPattern(`^[\[<"]*(\d{4}[-/_.]\d{1,2}[-/_.]\d{1,2})(?: \pL[\pL.]*)?(?: (\d{1,2}:\d\d))?[\]>"]*$`)

// ordinal matches the ending of a day's number, as in March 5th.
var ordinal = lazyPattern(`(\d)(?:st|nd|rd|th)\b`)

var dateInName = lazyPattern(`^\d{4}[-_.]\d\d[-_.]\d\d(?:[-_. ]|$)`)

// dateOfName returns the day with which the name of a post or journal begins, or that of its folder if it is an index.
func dateOfName(file string) (time.Time, bool) {
	folder, name := path.Split(file)
	if strings.HasPrefix(name, "index.") {
		_, name = path.Split(strings.TrimSuffix(folder, "/"))
	}
	if !dateInName().MatchString(name) {
		return time.Time{}, false
	}
	return findDate(name[:len("2006-01-02")])
}

// lazyPattern returns a function that compiles a pattern when it is called first: most runs need few of them.
func lazyPattern(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
