// Package bench measures Tendon. Its benchmarks are the rows of the table in README.md:
//
//	go test ./bench -bench Save -benchtime 1x            the rows whose names match
//	go test ./bench -bench Save/everything/10k           one row
//	go test ./bench -list Benchmark                      the names of the benchmarks
//	go test ./bench -bench . -benchtime 1x -write        all rows, some minutes; replaces the table
//
// Each figure is a ratio of two pieces of work that take turns in one run; see package measure. Rows that need other
// libraries are in bench/peers, a module of its own.
package bench
