//go:build !race

package lagcomp

const raceDetector = false
