package mailmime

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"

	"quarry/internal/pattern"
)

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// DecodeTransfer decodes a body as far as it is valid. damaged reports whether some of its bytes could not be used.
func DecodeTransfer(body []byte, encoding string) (data []byte, damaged bool) {
	encoding, _ = ParseField(encoding)
	switch strings.TrimPrefix(encoding, "x-") {
	case "base64":
		return decodeBase64(body)
	case "quoted-printable":
		return DecodeQuoted(body), false
	case "uuencode", "uue", "uu":
		if rest, _, data, found := CutFile(body); found {
			return data, len(bytes.TrimSpace(rest)) > 0
		}
	}
	return body, false
}

// decodeBase64 leaves out what is not base64. After the padding only whole lines of it count: what lists and gateways
// add to a message is no content.
func decodeBase64(body []byte) (data []byte, damaged bool) {
	var group []byte
	padded := false
	decode := func() {
		decoded := make([]byte, base64.RawStdEncoding.DecodedLen(len(group)))
		if len(group)%4 == 1 { // bits of a byte that is cut off
			group, damaged = group[:len(group)-1], true
		}
		n, _ := base64.RawStdEncoding.Decode(decoded, group) // it has only the alphabet
		data, group = append(data, decoded[:n]...), group[:0]
	}
	for line := range bytes.Lines(body) {
		line, _ = cutLine(line)
		junk := bytes.Trim(line, base64Alphabet+"= \t")
		if padded && len(bytes.TrimSpace(line)) > 0 &&
			(len(junk) > 0 || bytes.ContainsAny(bytes.TrimSpace(line), " \t")) {
			continue
		}
		damaged = damaged || len(junk) > 0
		for _, c := range line {
			switch {
			case strings.IndexByte(base64Alphabet, c) >= 0:
				group = append(group, c)
			case c == '=' && len(group) > 0:
				decode()
				padded = true
			}
		}
	}
	decode()
	return data, damaged
}

// DecodeQuoted decodes quoted-printable: control characters are left out, an equals sign that encodes nothing stays
// (RFC 2045 6.7, notes 2 and 4).
func DecodeQuoted(body []byte) []byte {
	data := make([]byte, 0, len(body))
	for len(body) > 0 {
		var line []byte
		isLast := bytes.IndexByte(body, '\n') < 0
		line, body = cutLine(body)
		trimmed := bytes.TrimRight(line, " \t\r")
		soft, isSoft := bytes.CutSuffix(trimmed, []byte("="))
		if isSoft {
			trimmed = soft
		}
		data = append(data, unescape(string(trimmed), '=')...)
		if !isSoft && !isLast {
			data = append(data, '\n')
		}
	}
	return data
}

// unescape decodes a mark with two hexadecimal digits after it, and leaves out control characters that are not encoded.
func unescape(text string, mark byte) []byte {
	data := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == mark && i+2 < len(text) {
			if coded, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				data = append(data, byte(coded))
				i += 2
				continue
			}
		}
		if c >= ' ' && c != 0x7F || c == '\t' {
			data = append(data, c)
		}
	}
	return data
}

var uuStart = pattern.Lazy(`(?m)^begin(?:-base64)? [0-7]{3,4} (\S[^\r\n]*?)[ \t]*\r?\n`)

var yEncStart = pattern.Lazy(`(?m)^=ybegin [^\r\n]*?name=([^\r\n]*?)[ \t]*\r?\n`)

// CutFile cuts the first file out of text that is encoded in it: in uuencode, its form with base64, or yEnc.
func CutFile(text []byte) (rest []byte, name string, data []byte, found bool) {
	at := yEncStart().FindSubmatchIndex(text)
	isYEnc := at != nil
	if !isYEnc {
		at = uuStart().FindSubmatchIndex(text)
	}
	if at == nil {
		return text, "", nil, false
	}
	coded := text[at[1]:]
	switch {
	case isYEnc:
		coded, rest, _ = bytes.Cut(coded, []byte("\n=yend"))
		_, rest = cutLine(rest)
		data = decodeYEnc(coded)
	case bytes.HasPrefix(text[at[0]:], []byte("begin-base64")):
		coded, rest, _ = bytes.Cut(coded, []byte("===="))
		data, _ = decodeBase64(coded)
	default:
		data, rest = decodeUU(coded)
	}
	return append(bytes.Clone(text[:at[0]]), rest...), string(text[at[2]:at[3]]), data, true
}

// decodeUU decodes the lines of a file in uuencode, and returns what follows it.
func decodeUU(coded []byte) (data, rest []byte) {
	for len(coded) > 0 {
		line, after := cutLine(coded)
		if string(bytes.TrimSpace(line)) == "end" {
			return data, after
		}
		n, characters := 0, len(line)-1
		if len(line) > 0 && line[0] > ' ' && line[0] < 'a' {
			n = int(line[0]-' ') & 0x3F
		}
		// What follows is text.
		if n > 0 && characters < n*4/3 || n == 0 && len(bytes.TrimSpace(bytes.Trim(line, "` "))) > 0 {
			break
		}
		data, coded = append(data, uuLine(line, n)...), after
	}
	return data, coded
}

// decodeYEnc decodes the lines of a file in yEnc (yenc.org): each byte is 42 more, those that mail cannot have are
// escaped.
func decodeYEnc(coded []byte) (data []byte) {
	for line := range bytes.Lines(coded) {
		line, _ = cutLine(line)
		if bytes.HasPrefix(line, []byte("=ypart ")) {
			continue
		}
		for i := 0; i < len(line); i++ {
			c := line[i]
			if c == '=' && i+1 < len(line) {
				i++
				c = line[i] - 64
			}
			data = append(data, c-42)
		}
	}
	return data
}

func uuLine(line []byte, n int) []byte {
	var data []byte
	for i := 1; len(data) < n; i += 4 {
		bits := uint32(0)
		for j := i; j < i+4; j++ {
			bits <<= 6
			if j < len(line) {
				bits |= uint32(line[j]-' ') & 0x3F
			}
		}
		data = append(data, byte(bits>>16), byte(bits>>8), byte(bits))
	}
	return data[:n]
}
