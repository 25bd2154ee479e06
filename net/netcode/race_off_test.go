//go:build !race

package netcode

// raceDetector is off.
const raceDetector = false
