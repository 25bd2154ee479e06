// Package lib has helpers of the corpus that are in another package than the rules.
package lib

import "time"

var started = time.Now()

// Uptime reads the clock.
func Uptime() time.Duration { return time.Since(started) }

var next int32

// Next returns a number from a counter of the process.
func Next() int32 {
	next++
	return next
}

// Rule is a rule behind an interface.
type Rule interface{ Apply() int32 }

// Run applies a rule.
func Run(r Rule) int32 { return r.Apply() }
