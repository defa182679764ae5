package wire

import "testing"

func TestServerURL(t *testing.T) {
	tests := []struct{ in, want, origin string }{
		{"https://onyx.acme.com", "https://onyx.acme.com", "https://onyx.acme.com"},
		{" HTTPS://Onyx.ACME.com:443/ ", "https://onyx.acme.com", "https://onyx.acme.com"},
		{"http://x:80/api//", "http://x/api", "http://x"},
		{"http://x:443", "http://x:443", "http://x:443"},
		{"https://x:80", "https://x:80", "https://x:80"},
		{"https://x.:0443/a", "https://x/a", "https://x"},
		{"http://[::1]:8080/", "http://[::1]:8080", "http://[::1]:8080"},
		{"http://127.0.0.1", "http://127.0.0.1", "http://127.0.0.1"},
		{"https://x/a%2Fb", "https://x/a%2Fb", "https://x"},
		{"", "", ""},
		{"x", "", ""},
		{"//x", "", ""},
		{"https:", "", ""},
		{"https://", "", ""},
		{"https:///path", "", ""},
		{"https://.", "", ""},
		{"https:opaque", "", ""},
		{"javascript:alert(1)", "", ""},
		{"file:///etc/passwd", "", ""},
		{"https://user@x", "", ""},
		{"https://@x", "", ""},
		{"https://x?a", "", ""},
		{"https://x?", "", ""},
		{"https://x#", "", ""},
		{"https://x:0", "", ""},
		{"https://x:65536", "", ""},
		{"https://x:port", "", ""},
		{"https://x\ny", "", ""},
		{"https://x/a b", "", ""},
	}
	for _, test := range tests {
		got, err := ServerURL(test.in)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("ServerURL(%q) = %q, %v; want %q", test.in, got, err, test.want)
		}
		origin, _ := Origin(test.in)
		if origin != test.origin {
			t.Errorf("Origin(%q) = %q, want %q", test.in, origin, test.origin)
		}
		if again, err := ServerURL(got); got != "" && (again != got || err != nil) {
			t.Errorf("ServerURL(%q) is not stable: %q, %v", got, again, err)
		}
	}
}

func TestAPIPrefix(t *testing.T) {
	for in, want := range map[string]string{"": "", "/": "", "/api": "/api", "api/": "/api", " /api/v2/ ": "/api/v2"} {
		if got, err := APIPrefix(in); got != want || err != nil {
			t.Errorf("APIPrefix(%q) = %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"..", "/a/../b", "a//b", "a?b", "a#b", "a b", "http://x", "a\nb", "%2e"} {
		if got, err := APIPrefix(in); err == nil {
			t.Errorf("APIPrefix(%q) = %q", in, got)
		}
	}
}
