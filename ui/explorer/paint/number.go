package paint

import "strconv"

// Number writes a number with its thousands apart.
func Number(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
