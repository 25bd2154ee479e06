//go:build race

package netcode

// raceDetector is on: it allocates on its own account.
const raceDetector = true
