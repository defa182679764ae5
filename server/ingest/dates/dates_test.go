package dates

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	const utc = "2024-03-05T14:30:00Z"
	for date, want := range map[string]string{
		"Tue, 05 Mar 2024 14:30:00 +0000": utc, "Tue, 5 Mar 2024 14:30 +0000": utc, "5 Mar 24 14:30:00 GMT": utc, "Tue, 5 Mar 2024 14:30:00": utc,
		"Tue, 5 Mar 2024 09:30:00 EST": utc, "Tue, 5 Mar 2024 10:30:00 EDT": utc, "Tue, 5 Mar 2024 08:30:00 CST": utc, "Tue, 5 Mar 2024 09:30:00 cdt": utc,
		"Tue, 5 Mar 2024 07:30:00 MST": utc, "Tue, 5 Mar 2024 08:30:00 MDT": utc, "Tue, 5 Mar 2024 06:30:00 PST": utc, "Tue, 5 Mar 2024 07:30:00 PDT": utc,
		"Tue, 5 Mar 2024 14:30:00 UT": utc, "Tue, 5 Mar 2024 14:30:00 Z": utc, "Tue, 5 Mar 2024 14:30:00 A": utc, "Tue, 5 Mar 2024 14:30:00 y": utc,
		"Tue, 5 Mar 2024 14:30:00 XYZ": utc, "Tue, 5 Mar 2024 15:30:00 CET": utc, "Tue, 5 Mar 2024 16:30:00 +0200 (CEST (summer))": utc,
		"Tue, 5 Mar 2024 14:30:00 -0000": utc, "Tue, 5 Mar 2024 16:30:00 GMT+02:00": utc, "Tue, 5 Mar 2024 16:30:00 UTC+2": utc, "Tue, 5 Mar 2024 13:00:00 -0130": utc,
		"Tue (yes), 5 Mar 2024 14:30:00 (noon) +0000": utc, "Tuesday, 05-Mar-24 14:30:00 GMT": utc, "Tue Mar  5 14:30:00 2024": utc,
		"Tue Mar  5 09:30:00 EST 2024": utc, "Tue Mar 5 15:30:00 +0100 2024": utc, "Tue Mar 5 14:30 2024": utc, "March 5, 2024 2:30 PM": utc, "5 Mar 2024 14.30.00 +0000": utc,
		"2024-03-05T14:30:00Z": utc, "2024-03-05 15:30:00 +01:00": utc, "2024-03-05T15:30:00.250+0100": "2024-03-05T14:30:00.25Z", "Di, 5 Mar 2024 14:30:00 +0000": utc,
		"Sun, 31 Dec 2023 23:30:00 PST": "2024-01-01T07:30:00Z", "1 Jan 50 00:00 +0000": "1950-01-01T00:00:00Z", "1 Jan 49 00:00 +0000": "2049-01-01T00:00:00Z",
		"1 Jan 124 00:00 +0000": "2024-01-01T00:00:00Z", "30 Jun 2015 23:59:60 +0000": "2015-06-30T23:59:59Z",
		"": "", "Fri, 99 Xyz 99999": "", "31 Feb 2024 10:00 +0000": "", "yesterday": "", "Tue, 5 Mar 2024 25:00:00 +0000": "", "Tue, 5 Mar 2024 24:00:00 +0000": "2024-03-06T00:00:00Z", "Tue, 5 Mar 2024 24:01:00 +0000": "", "5 Mar 2024": "2024-03-05T00:00:00Z",
		"Tue, 5 Mar 2024 09:30:00 (EST)": utc, "Tue, 05 Mar 2024 09:30:00 \"EST\"": utc, "Tue,5 Mar 2024 14:30:00 +0000": utc, "Tue, 05 Mar 2024 15:30:00 BST": utc,
		"Tue Mar  5 15:30:00 2024 +0100": utc, "Tue, 5 Mar 2024 15:30:00 W. Europe Standard Time": utc, "Tuesday, March 5, 2024 at 3:30:00 PM Central European Standard Time": utc,
		"Tue, 5 Mar 2024 22:30:00 China Standard Time": utc, "5 Mar 2024 20:00 (India Standard Time)": utc, "5 Mar 2024 2:30 PM Nowhere Standard Time": utc, "Wed, 6 Mar 2024 01:30:00 AUS Eastern Daylight Time": utc,
		"Tue, 5 Mar 2024 09:30:00 Eastern Standard Time": utc, "Tue Mar 05 2024 09:30:00 GMT-0500 (Eastern Standard Time)": utc, "Di, 5 Mrz 2024 15:30:00 +0100": utc,
		"mar., 5 mars 2024 15:30:00 +0100": utc, "Tue, 05 Mar 2024 09:30:00 -500": utc, "Tue, 05 Mar 2024 09:30:00 -05": utc, "Tue, 5 Mar 2024 09:30:00 -0500 EST": utc,
		"2024-03-05 2:30 PM": utc, "March 5, 2024 at 2:30 PM": utc, "2:30 PM, March 5, 2024": utc, "05.03.2024 14:30": utc, "2024.03.05 14:30:00": utc, "2024-03-05, 14:30": utc,
		"20240305T143000Z": utc, "20240305T143059Z": "2024-03-05T14:30:59Z", "20240305143059": "2024-03-05T14:30:59Z",
		"2024-03-05 15:30 Europe/Berlin": utc, "2024-07-05T16:30:00 [Europe/Berlin]": "2024-07-05T14:30:00Z", "5 Mar 2024 11:30 America/Argentina/Ushuaia": utc,
		"2024-03-05 16:30 /citadel.org/20210210_1/Europe/Helsinki": utc, "5 Mar 2024 14:30 Nowhere/Land": utc, "5 Mar 2024 14:30 Europe/Lisbon": utc,
		"2024-03-10 01:30 America/New_York": "2024-03-10T06:30:00Z", "2024-03-10 03:30 America/New_York": "2024-03-10T07:30:00Z", "202403": "2024-03-01T00:00:00Z", "20240305143000": utc, "202403051430": utc, "20240305 14:30": utc, "<2024-03-05 Tue 14:30 +1w>": utc, "2024-03-05 14h30": utc, "1709649000": utc,
		"2024-03-05T15:30:00+01:00[Europe/Paris]": utc, "1709649000000": utc, "[[Daily/2024-03-05]]": "2024-03-05T00:00:00Z", "2024-03-05 (Tuesday)": "2024-03-05T00:00:00Z",
		"2024-03": "2024-03-01T00:00:00Z", "2024": "2024-01-01T00:00:00Z", "5-Mar-2024": "2024-03-05T00:00:00Z", "3/5/2024": "", "2024-W10-2": "", "12": "", "2024-02-31": "",
		"2024-03-05 23:30 EST": "2024-03-06T04:30:00Z", "2024-07-05 23:30:00 PDT": "2024-07-06T06:30:00Z", "Tue, 05 Mar 2024 23:30:00 EST": "2024-03-06T04:30:00Z",
		"2024-03-05T23:30:00 GMT+02:00": "2024-03-05T21:30:00Z", "March 5, 2024 11:30 PM CST": "2024-03-06T05:30:00Z", "2024-03-05 14:30:00 +0100 CET": "2024-03-05T13:30:00Z",
		"2024-03-05 14:30": utc, "Tuesday, 05-Mar-24 14:30:00 MST": "2024-03-05T21:30:00Z",
	} {
		at, ok := Parse(date)
		if got := at.Format(time.RFC3339Nano); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s, %v; want %q", date, got, ok, want)
		}
	}
}

func TestMonthsOfLanguages(t *testing.T) {
	for text, want := range map[string]time.Month{
		"Mär 05, 2024": 3, "05 mars 2024": 3, "5 mag 2024": 5, "05 août 2024": 8, "5 juil. 2024": 7, "5 juin 2024": 6, "5. Dezember 2024": 12, "5 ene 2024": 1, "5 мая 2024 г.": 5, "5 lis 2024": 11,
		"mar., 5 févr. 2024": 2, "mar 5 feb 2024": 2, "Mar 5 2024 Feb": 3, "5. července 2024": 7, "5. června 2024": 6, "5. maaliskuuta 2024": 3, "5. marraskuuta 2024": 11, "3月 05, 2024": 3, "2024년 3월 5일": 3, "set 05, 2024": 9, "5 Eki 2024": 10, "2024. 3. 5.": 3,
	} {
		if got, ok := Find(text); !ok || got != time.Date(2024, want, 5, 0, 0, 0, 0, time.UTC) {
			t.Errorf("%q is %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "2024", "5 2024", "Mar 2024", "31 Feb 2024", "99 Mar 2024", "5 xyz 2024"} {
		if got, ok := Find(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// TestLongZones: each row names a zone that there is, and no name has two.
func TestLongZones(t *testing.T) {
	names := 0
	for row := range strings.Lines(longZoneRows) {
		names += 1 + strings.Count(row, ",")
	}
	if len(longZones()) != names || names < 60 {
		t.Errorf("%d names, %d of them differ", names, len(longZones()))
	}
	for name, place := range longZones() {
		if _, err := time.LoadLocation(place); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"Tue Mar  5 09:30:00 EST 2024", "3월 05, 2024 14.30.00 GMT+02:00 (x (y))", "20240305T143000Z", "1 Jan 49 2:30 pm /x/Europe/Paris", "1709649000", "5 Mar 2024 2:30 PM W. Europe Standard Time"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if at, ok := Parse(text); ok && (at.Year() < 1900 || at.Year() > 2200 || at.Location() != time.UTC) {
			t.Fatalf("%q: %v", text, at)
		}
		_, _ = OfFile(text)
	})
}
