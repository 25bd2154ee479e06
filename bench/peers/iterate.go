package main

import "tendon/bench/internal/measure"

func iterateRows() []measure.Row { return nil }
