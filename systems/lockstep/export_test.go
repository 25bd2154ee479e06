package lockstep

// RaceDetector reports to the acceptance tests whether they run under the race detector.
const RaceDetector = raceDetector
