package main

import "tendon/bench/internal/measure"

func rewindRows() []measure.Row { return nil }
