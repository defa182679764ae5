package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"testing"

	"quarry/client/wire"
)

// valueProbe holds each answer that would cross as a value in process to what that takes: it equals what its JSON decodes
// to, and shares no memory with an earlier answer, so that its owner may change it. It takes none, so the JSON is sent.
type valueProbe struct {
	t     *testing.T
	mutex sync.Mutex
	seen  map[uintptr]any // the memory of earlier answers, which the answers keep from being used again
}

func (p *valueProbe) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(probedWriter{w, p, r.Method + " " + r.URL.Path}, r)
	})
}

type probedWriter struct {
	http.ResponseWriter
	probe   *valueProbe
	request string
}

func (w probedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w probedWriter) WriteValue(_ int, value any) bool {
	p := w.probe
	if value == nil {
		return false
	}
	text, err := json.Marshal(value)
	if err != nil {
		p.t.Errorf("%s: %v", w.request, err)
		return false
	}
	sent := reflect.ValueOf(value)
	if sent.Kind() == reflect.Pointer {
		sent = sent.Elem()
	}
	decoded := reflect.New(sent.Type())
	if err := wire.Unmarshal(text, decoded.Interface()); err != nil {
		p.t.Errorf("%s: %s cannot be decoded: %v", w.request, sent.Type(), err)
	} else if where := difference(sent, decoded.Elem()); where != "" {
		p.t.Errorf("%s: %s%s", w.request, sent.Type(), where)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	fresh := map[uintptr]any{}
	p.collect(w.request, sent.Type().String(), sent, fresh)
	for address := range fresh {
		p.seen[address] = value
	}
	return false
}

// collect notes where the slices, maps and pointers of a value are.
func (p *valueProbe) collect(request, path string, v reflect.Value, fresh map[uintptr]any) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() || v.Kind() != reflect.Pointer && v.Len() == 0 || v.Kind() == reflect.Pointer && v.Type().Elem().Size() == 0 {
			return
		}
		if _, shared := p.seen[v.Pointer()]; shared {
			p.t.Errorf("%s: %s is part of an earlier answer, too", request, path)
		}
		fresh[v.Pointer()] = nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			p.collect(request, path, v.Elem(), fresh)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			p.collect(request, fmt.Sprintf("%s[%d]", path, i), v.Index(i), fresh)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			p.collect(request, fmt.Sprintf("%s[%v]", path, key), v.MapIndex(key), fresh)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				p.collect(request, path+"."+v.Type().Field(i).Name, v.Field(i), fresh)
			}
		}
	}
}

// difference returns where two values differ first, or nothing.
func difference(a, b reflect.Value) string {
	if a.Kind() != b.Kind() {
		return fmt.Sprintf(": %v is not %v", a, b)
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			break
		}
		return difference(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			break
		}
		for i := range a.Len() {
			if where := difference(a.Index(i), b.Index(i)); where != "" {
				return fmt.Sprintf("[%d]%s", i, where)
			}
		}
		return ""
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[wire.Time]() {
			break
		}
		for i := range a.NumField() {
			if where := difference(a.Field(i), b.Field(i)); where != "" {
				return "." + a.Type().Field(i).Name + where
			}
		}
		return ""
	}
	if a.CanInterface() && reflect.DeepEqual(a.Interface(), b.Interface()) {
		return ""
	}
	return fmt.Sprintf(": %#v becomes %#v", a, b)
}
