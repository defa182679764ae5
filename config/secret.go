package config

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[secret]"

// Secret is a text that no formatting, encoding or logging shows. The value is behind a pointer because fmt cannot call
// methods of unexported fields: for those it prints the address.
type Secret struct{ value *string }

// NewSecret wraps a text; for an empty text it returns the zero Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{value: &text}
}

// Reveal returns the text, to be sent or stored only.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.value == nil }

// String shows only whether there is a secret.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return redacted
}

// GoString is String.
func (s Secret) GoString() string { return s.String() }

// Format writes String under every verb.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, s.String()) }

// MarshalText writes String; JSON uses it too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML writes String.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// LogValue writes String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
