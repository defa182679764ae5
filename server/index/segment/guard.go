package segment

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// damage is raised as a panic inside of the package where a segment turns out to be unreadable, and becomes an error in
// Protect.
type damage struct{ name, what string }

func (d *damage) Error() string { return fmt.Sprintf("%v: %s: %s", ErrDamaged, d.name, d.what) }

func (d *damage) Unwrap() error { return ErrDamaged }

// Protect runs f, which reads segments. Failures caused by a damaged file, or by one that was cut off while it was
// mapped, are returned as an error that wraps ErrDamaged; name says which segment was being read.
func Protect(name func() string, f func() error) (err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		switch cause := recover().(type) {
		case nil:
		case *damage:
			err = cause
		case runtime.Error:
			err = &damage{name(), cause.Error()}
		default:
			panic(cause)
		}
	}()
	return f()
}

// protect is Protect for what reads this segment alone.
func (r *Reader) protect(f func()) error {
	return Protect(r.Name, func() error {
		f()
		return nil
	})
}

// NameOf returns the name of the segment that err says is damaged.
func NameOf(err error) (name string, ok bool) {
	var d *damage
	if errors.As(err, &d) {
		return d.name, true
	}
	return "", false
}
