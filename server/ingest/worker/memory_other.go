//go:build !linux

package worker

// limitAddressSpace does nothing: Windows bounds the process from outside, and elsewhere the watch is the bound.
func limitAddressSpace(uint64) {}
