//go:build !linux

package main

import "tendon/bench/internal/measure"

// roomRows needs Linux: it pins processes to cores and reads what they used.
func roomRows() []measure.Row { return nil }
