//go:build !unix

package main

import "tendon/bench/internal/measure"

// Other processes are started on Unix only.
func role() (run func() error, ok bool) { return nil, false }

func connectionRows() []measure.Row { return nil }

func roomRows() []measure.Row { return nil }
