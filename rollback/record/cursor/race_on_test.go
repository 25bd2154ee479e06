//go:build race

package cursor_test

// raceEnabled says that this test binary was built with the race detector, whose allocations are not ours.
const raceEnabled = true
