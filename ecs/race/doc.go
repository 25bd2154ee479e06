// Package race reports whether a test runs with the race detector. Under the detector, allocation counts are meaningless
// and a test takes about ten times as long. Only tests import this package.
package race
