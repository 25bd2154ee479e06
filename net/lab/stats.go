package lab

import (
	"math"
	"slices"
)

// Spread is the distribution of values. All fields are 0 if there were none.
type Spread struct {
	N    int     `json:"n"` // number of values
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
}

// spreadOf sorts the values.
func spreadOf(values []float64) (s Spread) {
	if s.N = len(values); s.N == 0 {
		return s
	}
	slices.Sort(values)
	quantile := func(share float64) float64 { // the smallest value that a share of them does not exceed
		return values[max(int(math.Ceil(share*float64(s.N)))-1, 0)]
	}
	return Spread{N: s.N, P50: quantile(0.5), P95: quantile(0.95), P99: quantile(0.99), Mean: mean(values), Max: values[s.N-1]}
}

func mean(of []float64) float64 {
	sum := 0.0
	for _, v := range of {
		sum += v
	}
	return sum / float64(max(len(of), 1))
}

// Error is the distribution of errors: the root mean square and the 99th percentile.
type Error struct {
	N   int     `json:"n"`
	RMS float64 `json:"rms"`
	P99 float64 `json:"p99"`
}

func errorOf(values []float64) Error {
	sum := 0.0
	for _, v := range values {
		sum += v * v
	}
	return Error{N: len(values), RMS: math.Sqrt(sum / float64(max(len(values), 1))), P99: spreadOf(values).P99}
}

// deviation returns the standard deviation of values as a share of their mean.
func deviation(values []float64) float64 {
	mean, sum := spreadOf(values).Mean, 0.0
	if mean == 0 {
		return 0
	}
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum/float64(len(values))) / mean
}

// slope returns the mean increase from one value to the next, by least squares.
func slope(values []float64) float64 {
	n := float64(len(values))
	if n < 2 {
		return 0
	}
	var x, y, xx, xy float64
	for i, v := range values {
		f := float64(i)
		x, y, xx, xy = x+f, y+v, xx+f*f, xy+f*v
	}
	return (n*xy - x*y) / (n*xx - x*x)
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
