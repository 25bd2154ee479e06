package travel

import (
	"sort"

	"tendon/ecs"
	"tendon/ecs/image"
)

// Life is when an entity was in the match: in the states of the ticks in [From, To].
type Life struct {
	Entity string   `json:"entity"` // see EntityName
	From   ecs.Tick `json:"from"`   // its birth, or the source's first tick if it is older
	To     ecs.Tick `json:"to"`
	Alive  bool     `json:"alive"` // it is there in the source's last state
}

// Life returns when an entity lived; ok is false if it never did, as far as the source goes. The Traveller stays where
// it is. An entity lives from its birth on without a break, so that few ticks have to be looked at.
func (t *Traveller) Life(e ecs.Entity) (l Life, ok bool, err error) {
	home, from := t.tick, max(e.Born, t.First())
	there := func(f ecs.Tick) bool {
		if err == nil {
			err = t.Seek(f)
		}
		return err == nil && image.ExistsAt(t.State(), e)
	}
	if from > t.last || !there(from) {
		return l, false, joined(err, t.Seek(home))
	}
	n := sort.Search(int(t.last-from), func(i int) bool { return !there(from + 1 + ecs.Tick(i)) })
	l = Life{Entity: EntityName(e), From: from, To: from + ecs.Tick(n)}
	l.Alive = l.To == t.last
	return l, err == nil, joined(err, t.Seek(home))
}

// Lives returns the entities that had a row, one after the other. It plays the whole match; progress is called now and
// then with the tick that was reached, and says whether to go on; nil: always. The Traveller stays where it is.
func (t *Traveller) Lives(row uint32, progress func(ecs.Tick) bool) (list []Life, err error) {
	var last ecs.Entity
	err = t.excursion(t.First(), t.last, 1, progress, func() {
		e := t.State().EntityAt(row)
		if !e.IsZero() && e == last {
			list[len(list)-1].To = t.tick
		} else if !e.IsZero() {
			list = append(list, Life{Entity: EntityName(e), From: t.tick, To: t.tick})
		}
		last = e
	})
	if n := len(list); n > 0 {
		list[n-1].Alive = list[n-1].To == t.last
	}
	return list, err
}

// joined returns the first of two errors.
func joined(first, second error) error {
	if first != nil {
		return first
	}
	return second
}
