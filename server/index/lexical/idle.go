package lexical

// idle are values that no run uses.
type idle[T any] chan *T

func (i idle[T]) get(create func() *T) *T {
	select {
	case value := <-i:
		return value
	default:
		return create()
	}
}

func (i idle[T]) put(value *T) {
	select {
	case i <- value:
	default:
	}
}
