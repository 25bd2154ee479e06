package replay

import (
	"fmt"
	"strings"

	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record/cursor"
)

// frameText describes a tick for people.
func frameText(f *cursor.Frame, resources []image.Record, entities []cursor.Entity) string {
	var b strings.Builder
	match := map[cursor.Match]string{cursor.Matches: "as recorded", cursor.Differs: "recorded as " + f.Recorded, cursor.Unknown: "not compared",
		cursor.Unproven: "recorded as " + f.Recorded + ", and a player's view looks back to before the recording"}[f.Match]
	fmt.Fprintf(&b, "tick %d · %.2f s · checksum %s, %s\n", f.Tick, f.Seconds, f.Checksum, match)
	for _, p := range f.Players {
		fmt.Fprintf(&b, "player %d", p.Player)
		if p.Late {
			b.WriteString(", substituted by the server")
		}
		if !p.In {
			b.WriteString(", not in the match")
		}
		fmt.Fprintf(&b, ": %s\n", fieldsText(p.Input))
	}
	for _, o := range f.Orders {
		b.WriteString(o.Kind + source(o.Kind, o.Operator, o.Player))
		switch {
		case o.Strategy != "":
			fmt.Fprintf(&b, ": the match continues with %s", o.Strategy)
		case o.Build != "":
			fmt.Fprintf(&b, ": the ticks before are of build %s", o.Build)
		case o.Seen > 0:
			fmt.Fprintf(&b, ": saw tick %.2f", o.Seen)
		case o.Name != "":
			fmt.Fprintf(&b, ", %s", strings.TrimSuffix(o.Name+": "+fieldsText(o.Fields), ": "))
		case o.Joined != "":
			fmt.Fprintf(&b, ", %s", o.Joined)
		}
		if len(o.Payload) > 0 && o.Strategy == "" && o.Seen == 0 {
			fmt.Fprintf(&b, ": %q", o.Payload)
		}
		if o.Entity != "" {
			fmt.Fprintf(&b, " to %s", o.Entity)
		}
		if o.Refused != "" {
			fmt.Fprintf(&b, "; refused: %s", o.Refused)
		}
		b.WriteByte('\n')
	}
	for _, e := range f.Events {
		fmt.Fprintf(&b, "event %s", e.Name)
		if e.Entity != "" {
			fmt.Fprintf(&b, " of %s", e.Entity)
		}
		fmt.Fprintf(&b, ": %s\n", fieldsText(e.Fields))
	}
	for _, r := range resources {
		fmt.Fprintf(&b, "resource %s: %s\n", r.Name, fieldsText(r.Fields))
	}
	for _, e := range entities {
		b.WriteString(entityText(e))
	}
	for _, c := range f.Costs {
		if c.System {
			fmt.Fprintf(&b, "system %s took %v\n", c.Section, c.Nanoseconds)
		}
	}
	return b.String()
}

// entityText describes an entity, one component per line.
func entityText(e cursor.Entity) string {
	var b strings.Builder
	fmt.Fprintf(&b, "entity %s of %s, born in tick %d\n", e.ID, strings.Replace(e.Owner, "world", "the world", 1), e.Born)
	for _, c := range e.Components {
		fmt.Fprintf(&b, "  %s: %s\n", c.Name, fieldsText(c.Fields))
	}
	return b.String()
}

func fieldsText(list []image.FieldValue) string {
	parts := make([]string, len(list))
	for i, f := range list {
		parts[i] = strings.TrimPrefix(f.Path+" "+f.Text, " ")
	}
	return strings.Join(parts, ", ")
}

// source names the player of an order, or the operator. A pause that reaches its longest time ends without either.
func source(kind string, ofServer bool, p ecs.Player) string {
	switch {
	case !ofServer:
		return fmt.Sprintf(" of player %d", p)
	case kind == cursor.KindNames[image.OrderPause]:
		return " of the operator"
	}
	return ""
}
