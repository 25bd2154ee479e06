package travelpage

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"tendon/cmd/cli/page"
	"tendon/ecs"
	"tendon/rollback/recording"
	"tendon/rollback/travel"
)

// stage is a match at a tick, with its picture.
type stage struct {
	name    string
	source  travel.Source
	at      *travel.Traveller
	view    *ecs.View
	picture *page.Picture
}

// opened is what the page is told of a match that it shows.
type opened struct {
	Name   string   `json:"name"`
	Game   string   `json:"game"`
	Build  string   `json:"build"`
	Seed   string   `json:"seed"` // a number of 64 bits
	Rate   int      `json:"rate"` // ticks per second
	First  ecs.Tick `json:"first"`
	Last   ecs.Tick `json:"last"`
	Drawn  bool     `json:"drawn"`  // the game draws
	Budget int64    `json:"budget"` // nanoseconds per tick
}

// open opens what the page's address names.
func (v *visit) open(ctx context.Context, r *request) error {
	v.drop()
	matches, err := v.config.Open(ctx, *r.Open)
	if err == nil && (len(matches) == 0 || len(matches) > mostMatches) {
		err = fmt.Errorf("%d matches: one or two can be shown", len(matches))
	}
	if err != nil {
		return v.fail(r.ID, err.Error())
	}
	var stages []*stage
	answer := struct {
		ID      int      `json:"id"`
		Matches []opened `json:"matches"`
	}{ID: r.ID}
	for _, m := range matches {
		s, err := v.config.stage(m)
		if err != nil {
			return v.fail(r.ID, fmt.Sprintf("%s: %v", m.Name, err))
		}
		stages = append(stages, s)
		answer.Matches = append(answer.Matches, s.opened(v.config.Game, m.Source.Header()))
	}
	v.matches = stages
	return v.say(answer)
}

func (c *Config) stage(m Match) (s *stage, err error) {
	s = &stage{name: m.Name, source: m.Source, picture: page.NewPicture()}
	config := travel.Config{Game: c.Game, Source: m.Source}
	if c.Meter != nil {
		config.Meter = c.Meter()
	}
	if s.at, err = travel.New(config); err == nil {
		s.view, err = ecs.NewView(c.Game)
	}
	return s, err
}

func (s *stage) opened(g *ecs.Game, h recording.Header) opened {
	return opened{Name: s.name, Game: h.Name, Build: h.Build, Seed: fmt.Sprint(h.Seed), Rate: h.TickRate, First: s.at.First(), Last: s.at.Last(),
		Drawn: g.Screen.Draw != nil, Budget: int64(1e9) / int64(max(h.TickRate, 1))}
}

// shown is all that a page shows of a tick.
type shown struct {
	Frame     *travel.Frame      `json:"frame"`
	Picture   json.RawMessage    `json:"picture"`
	Entities  []listed           `json:"entities"`
	Count     int                `json:"count"`            // of all entities, listed or not
	Entity    *travel.Entity     `json:"entity,omitempty"` // that was chosen; nil: it is not there
	Resources []travel.Component `json:"resources"`
}

// listed is an entity in the list.
type listed struct {
	ID         string      `json:"id"`
	Owner      string      `json:"owner"`
	Components []string    `json:"components"`
	At         *[2]float64 `json:"at"` // where it is in the picture's plane; null without a Motion
}

// mostListed bounds the entities of one answer; the others are found by a part of their name.
const mostListed = 300

// goTo goes to a tick with all matches, or to their last, and shows it.
func (v *visit) goTo(r *request) error {
	answer := struct {
		ID      int     `json:"id"`
		Matches []shown `json:"at"`
	}{ID: r.ID}
	for i, s := range v.matches {
		if err := s.at.Seek(min(max(r.Go.Tick, s.at.First()), s.at.Last())); err != nil {
			return v.fail(r.ID, fmt.Sprintf("%s: %v", s.name, err))
		}
		answer.Matches = append(answer.Matches, s.show(v.config.Game, r.Go, r.Go.Entity[i]))
	}
	if len(v.matches) == 0 {
		return v.fail(r.ID, "nothing is open")
	}
	return v.say(answer)
}

func (s *stage) show(g *ecs.Game, q *goRequest, chosen string) shown {
	out := shown{Frame: s.at.Frame(), Entities: []listed{}, Resources: s.at.Resources()}
	out.Entities, out.Count = s.list(q.Find)
	if ref, err := travel.ParseEntity(chosen); err == nil {
		if e, ok := s.at.Find(ref); ok {
			if whole, ok := s.at.Entity(e); ok {
				out.Entity = &whole
			}
		}
	}
	s.picture.Reset(q.Aspect)
	if g.Screen.Draw != nil {
		s.view.Update(s.at.StateBefore(), s.at.State(), s.at.State(), 1)
		g.Screen.Draw(s.picture, s.view)
	}
	out.Picture = s.picture.Append(nil)
	return out
}

// list returns the entities that have a text in what is said of them, the first of them, and how many there are in all.
func (s *stage) list(find string) (list []listed, count int) {
	list, state := []listed{}, s.at.State()
	for e := range s.at.Entities {
		count++
		if len(list) == mostListed {
			continue
		}
		whole, _ := s.at.Entity(e)
		l := listed{ID: whole.ID, Owner: whole.Owner, Components: make([]string, 0, len(whole.Components))}
		for _, c := range whole.Components {
			l.Components = append(l.Components, c.Name)
		}
		if !strings.Contains(l.ID+" "+l.Owner+" "+strings.Join(l.Components, " "), find) {
			continue
		}
		if m, ok := state.Motion(e); ok {
			l.At = &[2]float64{m.Pos.X.Float(), m.Pos.Y.Float()}
		}
		list = append(list, l)
	}
	return list, count
}
