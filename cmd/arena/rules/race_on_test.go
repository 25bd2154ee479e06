//go:build race

package rules

// raceEnabled says that allocation counts mean nothing.
const raceEnabled = true
