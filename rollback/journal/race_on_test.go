//go:build race

package journal

// raceEnabled says that this test binary was built with the race detector, whose allocations are not ours.
const raceEnabled = true
