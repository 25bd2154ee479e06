// Package measure compares two pieces of work in one run and prints what was found as a table.
//
// A figure of this project is a ratio: the reference and the subject take turns, a few milliseconds each, and every
// turn gives one ratio of the medians of both. What is published is the median of these ratios with their quartiles.
// Another program on the machine slows a turn of either; it does not move the median of many turns.
//
// It is not a profiler and knows nothing of what it measures.
//
//   - compare two pieces of work: Compare
//   - describe a row of the table: Row, Result
//   - run rows, choose them by name, print or publish them: Main
package measure
