// Package cost accounts what ticks cost: each phase of the engine and each system of the game, forward and computed
// again, on every run.
package cost
