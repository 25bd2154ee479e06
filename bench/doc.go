// Command bench measures Tendon and prints a table: run it with
//
//	go run ./bench                  all rows, some minutes
//	go run ./bench -row save        the rows whose names match
//	go run ./bench -list            the names
//	go run ./bench -write           replaces the table in bench/README.md
//
// Each figure is a ratio of two pieces of work that take turns in one run; see package measure. Rows that need other
// libraries are in bench/peers, a module of its own.
package main
