//go:build !linux

package api

// yieldProcessor does nothing where the priority of a thread is not the program's to set.
func yieldProcessor() {}

// spareProcessor does nothing: there is no thread of low priority.
func (s *Server) spareProcessor() (release func()) { return func() {} }
