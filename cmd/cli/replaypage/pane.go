package replaypage

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tendon/cmd/cli/page"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/rollback/record"
	"tendon/rollback/record/cursor"
)

// pane is a match at a tick, with its picture.
type pane struct {
	name    string
	also    string
	record  *record.Record
	at      *cursor.Cursor
	view    *ecs.View
	picture *page.Picture
}

// opened describes a match to the page.
type opened struct {
	Name   string   `json:"name"`
	Also   string   `json:"also,omitempty"`
	Game   string   `json:"game"`
	Build  string   `json:"build"`
	Seed   string   `json:"seed"` // a number of 64 bits
	Rate   int      `json:"rate"` // ticks per second
	First  ecs.Tick `json:"first"`
	Last   ecs.Tick `json:"last"`
	Drawn  bool     `json:"drawn"`  // the game draws
	Budget int64    `json:"budget"` // nanoseconds per tick
	// Players is the number of seats. Hides reports that players do not know all: see cursor.Cursor.As.
	Players int  `json:"players"`
	Hides   bool `json:"hides"`
}

// open opens the matches that the page's address names.
func (s *session) open(ctx context.Context, r *request) error {
	s.stop()
	matches, err := s.source(ctx, *r.Open)
	if err == nil && (len(matches) == 0 || len(matches) > maxMatches) {
		err = fmt.Errorf("%d matches: one or two can be shown", len(matches))
	}
	if err != nil {
		return s.fail(r.ID, err.Error())
	}
	var panes []*pane
	a := answer{ID: r.ID}
	for _, m := range matches {
		p, err := newPane(m)
		if err != nil {
			return s.fail(r.ID, fmt.Sprintf("%s: %v", m.Name, err))
		}
		panes = append(panes, p)
		a.Matches = append(a.Matches, p.opened())
	}
	s.panes = panes
	return s.send(a)
}

func newPane(m Match) (p *pane, err error) {
	p = &pane{name: m.Name, also: m.Also, record: m.Record, picture: page.NewPicture()}
	if p.at, err = cursor.New(m.Record, time.Now); err == nil {
		p.view, err = ecs.NewView(m.Record.Game())
	}
	return p, err
}

func (p *pane) opened() opened {
	h := p.record.Header()
	return opened{Name: p.name, Also: p.also, Game: h.Game, Build: h.Build, Seed: fmt.Sprint(h.Seed), Rate: h.TickRate, First: p.at.First(), Last: p.at.Last(),
		Drawn: p.record.Game().Screen.Draw != nil, Budget: int64(1e9) / int64(h.TickRate),
		Players: p.record.Game().MaxPlayers, Hides: p.at.Hides()}
}

// tickView is everything that a page shows of a tick.
type tickView struct {
	Frame     *cursor.Frame   `json:"frame"`
	Picture   json.RawMessage `json:"picture"`
	Entities  []listed        `json:"entities"`
	Count     int             `json:"count"`            // of all entities, listed or not
	Entity    *cursor.Entity  `json:"entity,omitempty"` // the selected one; nil if it does not exist
	Resources []image.Record  `json:"resources"`
}

// listed is an entity in the list.
type listed struct {
	ID         string      `json:"id"`
	Owner      string      `json:"owner"`
	Components []string    `json:"components"`
	At         *[2]float64 `json:"at"` // its place in the picture; null without a Motion
}

// maxListed bounds the entities of one answer; a search by a part of the name finds the rest.
const maxListed = 300

// seek seeks with all matches to a tick, or to their last, and sends it.
func (s *session) seek(r *request) error {
	if len(s.panes) == 0 {
		return s.fail(r.ID, "no match is open")
	}
	a := answer{ID: r.ID}
	for i, p := range s.panes {
		p.at.As(viewer(r.Go.Seen))
		if err := p.at.Seek(min(max(r.Go.Tick, p.at.First()), p.at.Last())); err != nil {
			return s.fail(r.ID, fmt.Sprintf("%s: %v", p.name, err))
		}
		a.At = append(a.At, p.show(r.Go, r.Go.Entity[i]))
	}
	return s.send(a)
}

func (p *pane) show(q *goRequest, selected string) tickView {
	out := tickView{Frame: p.at.Frame(), Resources: p.at.State().DescribeResources()}
	out.Entities, out.Count = p.list(q.Find)
	if ref, err := cursor.ParseEntity(selected); err == nil {
		e, _ := p.at.Find(ref)
		if entity, ok := p.at.Entity(e); ok {
			out.Entity = &entity
		}
	}
	p.picture.Reset(q.Aspect)
	if draw := p.record.Game().Screen.Draw; draw != nil {
		p.view.Update(p.at.StateBefore(), p.at.State(), p.at.State(), 1)
		p.view.Roster, p.view.Seat = p.at.Roster(p.view.Roster[:0]), max(p.at.Viewer(), cursor.Spectator)
		draw(p.picture, p.view)
	}
	out.Picture = p.picture.Append(nil)
	return out
}

// list returns the first entities whose name, owner or components contain a text, and the number of all entities.
func (p *pane) list(find string) (list []listed, count int) {
	list, state := []listed{}, p.at.State()
	for e := range p.at.State().Entities {
		count++
		if len(list) == maxListed {
			continue
		}
		entity, _ := p.at.Entity(e)
		l := listed{ID: entity.ID, Owner: entity.Owner, Components: make([]string, 0, len(entity.Components))}
		for _, c := range entity.Components {
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
