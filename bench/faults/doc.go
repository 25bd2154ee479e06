// Package faults measures how long players are out of their matches after a fault. Servers are real processes with journals, and
// clients are complete clients with bots. The results are a table in bench/README.md:
//
//	go test ./bench/faults -bench Kill/relay -benchtime 1x                             one row
//	go test ./bench/faults -bench . -benchtime 1x -timeout 3h -write                   all rows, half an hour; replaces the table
//	TENDON_LONG=1 go test ./bench/faults -bench . -benchtime 1x -timeout 3h -write     also outages of one and of ten minutes
//
// The benchmarks Disk, Records and Flip need Linux. Disk mounts file systems: it needs root, and is skipped without it. The others
// need Unix.
package faults
