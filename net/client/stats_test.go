package client

import (
	"reflect"
	"testing"

	"tendon/systems"
)

// A reconnect or a change of the strategy makes a new half. No counter of the client returns to zero.
func TestEveryCounterContinuesInTheNextHalf(t *testing.T) {
	var before, now systems.ClientStats
	a, b := reflect.ValueOf(&before.ClientCounters).Elem(), reflect.ValueOf(&now.ClientCounters).Elem()
	for i := range a.NumField() {
		a.Field(i).SetUint(7)
		b.Field(i).SetUint(2)
	}
	sum := reflect.ValueOf(continued(before, now).ClientCounters)
	for i := range sum.NumField() {
		want := uint64(9)
		name := sum.Type().Field(i).Name
		if name == "Deepest" { // a maximum
			want = 7
		}
		if got := sum.Field(i).Uint(); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}
