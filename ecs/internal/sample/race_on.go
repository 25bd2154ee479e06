//go:build race

package sample

// RaceEnabled reports that the binary was built with the race detector, which allocates.
const RaceEnabled = true
