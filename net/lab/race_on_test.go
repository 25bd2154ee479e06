//go:build race

package lab

// raceEnabled says that the race detector is on, under which matches take ten times as long.
const raceEnabled = true
