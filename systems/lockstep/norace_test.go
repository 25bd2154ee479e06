//go:build !race

package lockstep

const raceDetector = false
