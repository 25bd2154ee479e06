//go:build !race

package matchtest

// raceEnabled says that everything takes ten times as long.
const raceEnabled = false
