package main

import (
	"fmt"
	"os"
	"slices"

	"tendon/bench/internal/measure"
)

func main() {
	rows := slices.Concat(iterateRows(), saveRows(), restoreRows(), structureRows(), checksumRows(), rewindRows(), sessionRows())
	if err := measure.Main(rows, "core", "go run ./bench -row", "bench/README.md"); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
