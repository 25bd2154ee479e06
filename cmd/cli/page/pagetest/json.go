package pagetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

var (
	// snakeCase matches a name in JSON: a field, a label such as "P1" or an index.
	snakeCase = regexp.MustCompile(`^[a-z0-9_]*$`)
	// ids are the names of identities that have 64 bits.
	ids = []string{"client_id", "seed", "checksum", "chain", "fingerprint", "claim", "own"}
)

// CheckJSON fails the test unless a text is JSON whose names are in snake_case and whose identities of 64 bits are strings. A
// larger number than 2^53 is such an identity in any case: JavaScript reads it as another one. Names below the fields
// in free are data, and may be any text.
func CheckJSON(t testing.TB, text []byte, free ...string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Errorf("%q is not JSON: %v", text, err)
		return
	}
	for _, fault := range faults(nil, "", v, free) {
		t.Errorf("%s in %.300s", fault, text)
	}
}

func faults(list []string, path string, v any, free []string) []string {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			at := path + "." + name
			_, number := field.(json.Number)
			switch {
			case slices.Contains(free, name):
				continue
			case !snakeCase.MatchString(name):
				list = append(list, at+" is not in snake_case")
			case number && slices.Contains(ids, name):
				list = append(list, at+" is a number")
			}
			list = faults(list, at, field, free)
		}
	case []any:
		for _, element := range v {
			list = faults(list, path+"[]", element, free)
		}
	case json.Number:
		if n, err := strconv.ParseFloat(v.String(), 64); err != nil || math.Abs(n) > 1<<53 && !bytes.ContainsAny([]byte(v), ".eE") {
			list = append(list, fmt.Sprintf("%s is %s", path, v))
		}
	}
	return list
}
