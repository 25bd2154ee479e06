// Package vectors is for the tests of packages that decode bytes. It reads the test vectors of wire layouts, and counts what
// a decoder allocates.
//
// A line is `kind/name | bytes in hexadecimal | meaning`. The package chooses the form of a meaning; Refused stands for
// bytes that a reader must refuse. Blank lines and those that begin with # are skipped.
//
// # Tasks
//
//   - read a package's vectors: [Read]
//   - bound the memory of a decoder: [Allocated], [LeastAllocated]
package vectors

import (
	"encoding/hex"
	"os"
	"runtime"
	"strings"
	"testing"
)

// Path is where a package's vectors lie.
const Path = "testdata/vectors.txt"

// Refused is the meaning of bytes that a reader must refuse.
const Refused = "refused"

// Vector is a line.
type Vector struct {
	Name    string // kind/name
	Kind    string
	Bytes   []byte
	Meaning string
}

// Read returns the vectors of the package that is tested.
func Read(t testing.TB) (list []Vector) {
	t.Helper()
	text, err := os.ReadFile(Path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) != 3 {
			t.Fatalf("vector %q", line)
		}
		v := Vector{Name: strings.TrimSpace(cells[0]), Meaning: strings.TrimSpace(cells[2])}
		v.Kind, _, _ = strings.Cut(v.Name, "/")
		if v.Bytes, err = hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(cells[1]), " ", "")); err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		list = append(list, v)
	}
	return list
}

// Allocated returns the bytes that the program allocates while f runs.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// LeastAllocated returns the least of three results of [Allocated], since other goroutines may allocate at the same time. It calls
// prepare before each measurement, and does not count the allocations of prepare.
func LeastAllocated(prepare, f func()) uint64 {
	least := ^uint64(0)
	for range 3 {
		prepare()
		if least = min(least, Allocated(f)); least == 0 {
			break
		}
	}
	return least
}
