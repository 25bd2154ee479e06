// Package checks holds the errors of client halves for configurations and orders that are not valid. They name the field.
//
// # Tasks
//
//   - check a configuration: [Client], [InputDelay], [Prediction]
//   - check an order of the local player: [Order]
package checks
