package main

import (
	"fmt"
	"os"
	"slices"

	"tendon/bench/internal/measure"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	if run, ok := role(); ok {
		return run()
	}
	return measure.Main(rows(), "core", "go run ./bench -row", "bench/README.md")
}

// rows returns every row of the table.
func rows() []measure.Row {
	return slices.Concat(iterateRows(), saveRows(), restoreRows(), structureRows(), checksumRows(), rewindRows(), sessionRows(), connectionRows(), lockstepRows(), roomRows(), stateRows(), cubeRows(), interestRows(), costsRows())
}
