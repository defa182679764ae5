// Package dates reads dates as people and programs write them: in any of many forms and languages, with the names of
// zones.
package dates

import (
	"cmp"
	_ "embed"
	"math"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // of Windows and of containers, which have none

	"quarry/client/wire"
	"quarry/internal/pattern"
	"quarry/internal/text"
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

// zones are the hours of the zone names of RFC 5322, and of those in use that mean one zone in practice. Others, also
// the military letters, stand for an unknown zone there, which is read as UTC.
var zones = text.Table(
	`-10: HST; -9: AKST; -8: PST AKDT; -7: MST PDT; -6: CST MDT; -5: EST CDT; -4: EDT AST; -3.5: NST; -3: ADT BRT
	-2.5: NDT; 1: BST WEST CET MET MEZ WAT; 2: CEST MEST MESZ EET SAST CAT; 3: EEST MSK EAT; 5: PKT; 7: WIB ICT
	8: HKT SGT PHT AWST; 9: JST KST; 9.5: ACST; 10: AEST; 10.5: ACDT; 11: AEDT; 12: NZST; 13: NZDT`)

var (
	dateWord = pattern.Lazy(`\d{1,2}[月월]|\d+|\pL+`)
	// numericDay matches a day from its year, a German one, one without signs, and those of short years.
	numericDay = pattern.Lazy(`(?i)(?:^|\D)(?:(\d{4})[-/_.] ?(\d{1,2})[-/_.] ?(\d{1,2})|` +
		`(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})|(\d{4})(\d\d)(\d\d))(?:\D|$)`)
	shortYear = pattern.Lazy(`(?i)\b(\d{1,2})[\s-]+([a-z]{3})[a-z]*\.?[\s-]+(\d{2,3})\b`)
	clock     = pattern.Lazy(`(?i)(?:^|[\s,T_-])(\d{1,2})(?:[:h](\d\d)(?::(\d\d(?:[.,]\d+)?))?|\.(\d\d)\.(\d\d))` +
		`(?:\s*([ap])\.?m\b\.?)?(?:\s*(?:GMT|UTC?|Z)?\s*([+-])(\d{1,2}):?(\d\d)?([^\d\pL]|$)|(\D|$))`)
	// compactTime matches the times of ISO 8601 without signs, and the ids of notes.
	compactTime = pattern.Lazy(`(?i)^(\d{8})[T ]?(\d\d)(\d\d)(\d\d)?(Z(?:00:?00)?|[+-]\d\d:?\d\d)?$`)
	monthOnly   = pattern.Lazy(`^(\d{4})(?:-?(\d\d))?$`)
	comments    = pattern.Lazy(`\([^()]*\)`)
	zoneName    = pattern.Lazy(`\b[A-Za-z]{3,4}\b`)
	// longZone matches names such as W. Europe Standard Time.
	longZone = pattern.Lazy(`\b((?:[A-Z][\w.]*\s+){1,4})(?:Standard|Daylight|Summer)\s+Time\b`)
	// yearLast matches the year before the offset, as git writes dates.
	yearLast = pattern.Lazy(`(:\d\d) (\d{4}) ([+-]\d\d:?\d\d)\b`)
)

//go:embed longzones.txt
var longZoneRows string

// longZones are the places of long names of zones, as Windows and browsers write them, without Standard Time. What
// others name is unknown.
var longZones = sync.OnceValue(func() map[string]string {
	places := map[string]string{}
	for row := range strings.Lines(longZoneRows) {
		place, names, _ := strings.Cut(strings.TrimSpace(row), "\t")
		for name := range strings.SplitSeq(names, ",") {
			places[name] = place
		}
	}
	return places
})

// Parse parses a date as people and programs write it, to UTC: a day in any of many forms and languages, a time of
// day, and its zone, in any order and whatever is between them. Without a zone it is in UTC (RFC 5322 requires one;
// -0000 stands for an unknown one). Other numbers and implausible years are no dates.
func Parse(text string) (time.Time, bool) {
	const longest = 200 // bytes
	if text = strings.TrimSpace(text); len(text) > longest {
		return time.Time{}, false
	}
	for _, layout := range [...]string{time.RFC3339Nano, time.DateOnly, "2006-01-02T15:04:05"} { // of programs
		if t, err := time.Parse(layout, text); err == nil {
			return Plausible(t)
		}
	}
	text = longZone().ReplaceAllStringFunc(text, func(name string) string {
		words := strings.Fields(name)
		words = words[:len(words)-2]
		for i := range words { // other words may precede it, such as PM
			if place := longZones()[strings.ToLower(strings.Join(words[i:], " "))]; place != "" {
				return strings.Join(append(words[:i:i], place), " ")
			}
		}
		return words[0]
	})
	said := text
	for range 4 { // comments may be in comments
		said = comments().ReplaceAllString(said, " ")
	}
	said = compactTime().ReplaceAllString(strings.Join(strings.Fields(said), " "), "$1 $2:$3:$4 $5")
	said = yearLast().ReplaceAllString(said, "$1 $3 $2")
	said = strings.Replace(said, ": ", " ", 1) // without seconds
	after, zone, rest, ok := timeOfDay(said, text)
	if day, found := Find(rest); found && ok {
		year, month, number := day.Date()
		return Plausible(time.Date(year, month, number, 0, 0, int(after/time.Second), int(after%time.Second), zone))
	}
	if parts := monthOnly().FindStringSubmatch(text); parts != nil {
		return validDay(parts[1], cmp.Or(parts[2], "01"), "1")
	}
	const leastEpoch = 1e8 // seconds; smaller numbers are counts
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= leastEpoch {
		return checked(wire.ParseTime(text))
	}
	return time.Time{}, false
}

// Plausible returns a time in UTC if it can be that of a document.
func Plausible(t time.Time) (time.Time, bool) {
	t = t.UTC()
	if t.Year() < 1900 || t.Year() > 2200 {
		return time.Time{}, false
	}
	return t, true
}

func checked(t time.Time, err error) (time.Time, bool) {
	if err != nil {
		return time.Time{}, false
	}
	return Plausible(t)
}

// timeOfDay cuts the first time of day out of text, and its zone. The name of a zone may also be in a comment of the
// whole date. ok is false if the time cannot be.
func timeOfDay(text, whole string) (after time.Duration, zone *time.Location, rest string, ok bool) {
	at := clock().FindStringSubmatchIndex(text)
	if at == nil {
		return 0, time.UTC, text, true
	}
	part := func(i int) string {
		if at[2*i] < 0 {
			return ""
		}
		return text[at[2*i]:at[2*i+1]]
	}
	number := func(i int) float64 { // digits, or empty
		n, _ := strconv.ParseFloat(strings.Replace(part(i), ",", ".", 1), 64)
		return n
	}
	hour, minute, second := number(1), number(2)+number(4), number(3)+number(5)
	if half := strings.ToLower(part(6)); half != "" {
		hour = math.Mod(hour, 12) + map[string]float64{"a": 0, "p": 12}[half]
	}
	after = time.Duration((hour*3600 + minute*60) * float64(time.Second)).Round(time.Second)
	after += time.Duration(min(second, 59) * float64(time.Second)) // a leap second is one too many
	rest = text[max(at[2*10], at[2*11]):]                          // what ends the time is no part of it
	hours := number(8) + number(9)/60
	if part(7) == "-" {
		hours = -hours
	}
	isTime := hour*60+minute <= 24*60 && minute < 60 && second <= 60 && math.Abs(hours) < 24
	place, name := Zone(rest + " " + whole)
	switch text := text[:at[0]] + " " + strings.Replace(rest, name, "", 1); {
	case part(7) != "":
	case place != nil:
		return after, place, text, isTime
	default:
		for _, name := range zoneName().FindAllString(rest+" "+whole, -1) {
			if known, isZone := zones(strings.ToUpper(name)); isZone {
				hours, _ = strconv.ParseFloat(known, 64)
				break
			}
		}
	}
	return after, time.FixedZone("", int(math.Round(hours*60))*60), text[:at[0]] + " " + rest, isTime
}

// zonePath matches names such as America/Argentina/Ushuaia, also below the name of a program that has its own copies.
var zonePath = pattern.Lazy(`[A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_-]+)+`)

// Zone returns the first zone of the IANA that a text names, and the name; nil if there is none.
func Zone(text string) (zone *time.Location, name string) {
	for _, name := range zonePath().FindAllString(text, -1) {
		for found := true; found; _, name, found = strings.Cut(name, "/") {
			if zone, err := time.LoadLocation(name); err == nil && strings.Contains(name, "/") {
				return zone, name
			}
		}
	}
	return nil, ""
}

// Find returns the first day in a text: in numbers, or with the name of the month in one of many languages, whatever
// is between them.
func Find(text string) (time.Time, bool) {
	if parts := numericDay().FindStringSubmatch(text); parts != nil {
		return validDay(parts[1]+parts[6]+parts[7], parts[2]+parts[5]+parts[8], parts[3]+parts[4]+parts[9])
	}
	if parts := shortYear().FindStringSubmatch(text); parts != nil { // RFC 5322 4.3
		year, _ := strconv.Atoi(parts[3])
		if year += 1900; year < 1950 {
			year += 100
		}
		return validDay(strconv.Itoa(year), strconv.Itoa(monthOf(strings.ToLower(parts[2]))), parts[1])
	}
	words := dateWord().FindAllString(strings.ToLower(text), -1)
	for i, word := range words {
		month := monthOf(word)
		if i == 0 && len(words) > 2 && monthOf(words[2]) > 0 {
			continue // the weekday of "mar., 5 févr."
		}
		day, year := "", ""
		for _, near := range words[max(0, i-2):min(len(words), i+5)] { // "5 de marzo de 2024"
			_, err := strconv.Atoi(near)
			if isYear := len(near) == 4; err == nil && isYear {
				year = cmp.Or(year, near)
			} else if err == nil {
				day = cmp.Or(day, near)
			}
		}
		if t, ok := validDay(year, strconv.Itoa(month), day); month > 0 && ok {
			return t, true
		}
	}
	return time.Time{}, false
}

// validDay returns a day by its digits.
func validDay(year, month, day string) (time.Time, bool) {
	return checked(time.Parse("2006-1-2", year+"-"+month+"-"+day))
}

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

// dateInName matches the days with which files and folders of posts and journals are named, at the end of a path
// without its extension: 2024-03-05-oak, the id 202403051430, and 2024/03/05/oak in folders.
var dateInName = pattern.Lazy(`(?:^|/)(?:(\d{4})(?:[-_.](\d{1,2})[-_.](\d{1,2})|` +
	`(\d\d)(\d\d)(?:T?\d{4}(?:\d\d)?)?)(?:[^\d/][^/]*)?|(\d{4})/(\d{1,2})[-/](\d{1,2})(?:\D[^/]*)?)$`)

// OfFile returns the day that the name of a post or journal says, or that of its folder if it is an index.
func OfFile(file string) (time.Time, bool) {
	file = strings.TrimSuffix(file, path.Ext(file))
	parts := dateInName().FindStringSubmatch(strings.TrimSuffix(file, "/index"))
	if parts == nil {
		return time.Time{}, false
	}
	return validDay(parts[1]+parts[6], parts[2]+parts[4]+parts[7], parts[3]+parts[5]+parts[8])
}
