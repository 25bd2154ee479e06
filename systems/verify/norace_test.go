//go:build !race

package verify

const raceDetector = false
