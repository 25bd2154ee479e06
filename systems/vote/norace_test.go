//go:build !race

package vote

const raceDetector = false
