//go:build race

package reckon

const raceDetector = true
