//go:build !race

package swarm

// raceEnabled says that everything takes ten times as long.
const raceEnabled = false
