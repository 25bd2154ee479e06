// Package vectors reads the test vectors of wire layouts. It is for the tests of the packages that decode them.
//
// A line is `kind/name | bytes in hexadecimal | meaning`. The package chooses the form of a meaning; Refused stands for
// bytes that a reader must refuse. Blank lines and those that begin with # are skipped.
//
// # Tasks
//
//   - read a package's vectors: [Read]
package vectors

import (
	"encoding/hex"
	"os"
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
