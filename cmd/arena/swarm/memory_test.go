package swarm

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"tendon/ecs/race"
	"tendon/systems"
	"tendon/systems/predict"
	"tendon/systems/reckon"
)

// Queues and histories have bounds. With packet loss, joins and leaves, a room and its clients use no more memory after
// a hundred seconds than after fifty.
func TestMemoryDoesNotGrowWithTheMatch(t *testing.T) {
	if !race.Long {
		t.Skip("a long match")
	}
	for _, s := range []systems.Strategy{predict.Strategy, reckon.Strategy} {
		t.Run(s.Name, func(t *testing.T) {
			o := options{seed: 3, game: "dots", sync: s, pause: 12}
			for _, profile := range []string{"P3", "P5", "P6", "P8"} {
				o.clients = append(o.clients, plan{profile: profile, hz: 60})
			}
			r, err := begin(o, nil)
			if err != nil {
				t.Fatal(err)
			}
			for at := 8 * time.Second; at < 95*time.Second; at += 7 * time.Second {
				r.Net.At(at, func() { r.strike(incident{kind: partition, client: 1, length: 2 * time.Second}) })
				r.Net.At(at, func() { r.strike(incident{kind: reconnect, client: 2}) })
				r.Net.At(at, func() { r.strike(incident{kind: away, client: 3, length: 3 * time.Second}) })
			}
			r.RunUntil(50 * time.Second)
			before := r.footprints()
			r.RunUntil(100 * time.Second)
			for i, now := range r.footprints() {
				if was := before[i]; now > was+was/4+32<<10 || was < 10<<10 {
					t.Errorf("%d (0: the room, then clients): %d bytes after 50 s, %d after 100 s", i, was, now)
				}
			}
		})
	}
}

// footprints returns the bytes that the room and each client's half hold, without the pages of worlds.
func (r *run) footprints() (list []int) {
	list = append(list, footprint(r.Room))
	for i := range r.Clients {
		list = append(list, footprint(r.state[i].monitor.half))
	}
	return list
}

// footprint returns the bytes of a value and of all that it refers to. It excludes ecs, whose worlds have bounds of their
// own, and the harness.
func footprint(v any) int {
	seen := map[uintptr]bool{}
	return weigh(reflect.ValueOf(v), seen)
}

func weigh(v reflect.Value, seen map[uintptr]bool) (bytes int) {
	if path := v.Type().PkgPath(); v.Type() == reflect.TypeFor[run]() || (path == "tendon/ecs" || path == "tendon/ecs/image") && v.Kind() == reflect.Struct || strings.Contains(path, "simnet") || strings.Contains(path, "matchsim") || strings.Contains(path, "journal") {
		return 0
	}
	switch v.Kind() {
	case reflect.Pointer:
		if p := v.Pointer(); p != 0 && !seen[p] {
			seen[p] = true
			return int(v.Elem().Type().Size()) + weigh(v.Elem(), seen)
		}
	case reflect.Interface:
		if !v.IsNil() {
			return weigh(v.Elem(), seen)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			bytes += weigh(v.Field(i), seen)
		}
	case reflect.Array:
		for i := range v.Len() {
			if !plain(v.Type().Elem()) {
				bytes += weigh(v.Index(i), seen)
			}
		}
	case reflect.Slice:
		if p := v.Pointer(); v.Cap() > 0 && !seen[p] {
			seen[p] = true
			bytes = v.Cap() * int(v.Type().Elem().Size())
			for i := range v.Len() {
				if !plain(v.Type().Elem()) {
					bytes += weigh(v.Index(i), seen)
				}
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			bytes += int(v.Type().Key().Size()+v.Type().Elem().Size()) + weigh(it.Value(), seen)
		}
	case reflect.String:
		bytes = v.Len()
	}
	return bytes
}

// plain reports whether a type refers to nothing.
func plain(t reflect.Type) bool { return t.Kind() <= reflect.Complex128 }
