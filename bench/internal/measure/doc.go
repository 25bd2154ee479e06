// Package measure compares two pieces of work in one benchmark and publishes the results as a table.
//
// A published figure is a ratio. The reference and the subject take turns of a few milliseconds, and each turn gives one
// ratio of the medians of both. The table shows the median of these ratios and their quartiles. Another program on the
// machine slows one turn of either side; the median of many turns stays the same. testing.B measures one side after the
// other, so it cannot do this.
//
//   - compare two pieces of work: [Compare], [Of]
//   - report a row of the table: [Row.Report]
//   - start the benchmarks of a package, and publish their rows: [Main]
package measure
