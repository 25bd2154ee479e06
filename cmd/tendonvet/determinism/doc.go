// Package determinism is the analyzer of tendonvet. It can also be part of another checker: see [Analyzer].
//
// The analysis of a package has these steps:
//
//   - index: every function and literal is a node (unit.go)
//   - visit: each node collects its faults and its calls (visit.go, floats.go, orders.go, writes.go, copies.go). resolve.go finds the
//     functions that a variable can be. tables.go contains the rules for the standard library and the engine
//   - roots: the functions that a game gives the engine (roots.go)
//   - report: the faults of all nodes that the roots reach (reach.go, analyzer.go)
//   - export: a summary of each function, as a fact for packages that import it (analyzer.go)
//
// A new hook of package ecs that receives a *World needs no change. Another one needs a row in hooks.
package determinism
