package host

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tendon/cmd/cli/internal/app"
	"tendon/ecs"
	"tendon/ecs/image"
	"tendon/net/broadcast"
	"tendon/net/room"
	"tendon/rollback/record"
	"tendon/systems"
)

// Broadcast configures the broadcasts of a host.
type Broadcast struct {
	Dir   string        // contains a folder for each room
	Delay time.Duration // from the end of a fragment until it is visible
}

// startBroadcast returns the writer of a room's match, and adds its sink. It returns nil if the files cannot be written.
func (h *Host) startBroadcast(roomName string, c *room.Config) *broadcast.Writer {
	dir := filepath.Join(h.config.Broadcast.Dir, roomName)
	failed := func(err error) {
		if err == nil {
			h.app.Logf("the broadcast of room %s can be written again", roomName)
			h.app.Emit("broadcast_recovered", app.Fields{"room": roomName})
			return
		}
		h.app.Logf("the broadcast of room %s has a gap, but the match continues: %v; free space on the disk of %s or choose another --broadcast", roomName, err, dir)
		h.app.Emit("broadcast_failed", app.Fields{"room": roomName, "error": err.Error()})
	}
	if !h.awaitBroadcast(roomName) {
		failed(errors.New("the files of the match before are still being written"))
		return nil
	}
	store, err := broadcast.OpenDir(dir)
	if err != nil {
		failed(err)
		return nil
	}
	var first image.Snapshot
	config := broadcast.Config{Game: c.Game, Header: record.HeaderOf(c.Game, c.Seed, app.Build()), Store: store, Failed: failed,
		Run:   strings.ToLower(timestamp() + "-" + rand.Text()[:8]),
		Delay: ecs.Tick((h.config.Broadcast.Delay*time.Duration(c.Game.TickRate) + time.Second - 1) / time.Second)}
	config.Header.Strategy, config.Header.Room, config.Header.Match = h.config.Strategy.Name, roomName, c.Match
	if c.Resume != nil {
		config.Header.Strategy = cmp.Or(c.Resume.Strategy, config.Header.Strategy)
		config.Header.Start, config.Seats = record.PositionOf(c.Resume.World, c.Resume.Chain), c.Resume.Seats
		c.Resume.World.Image().Save(&first)
		defer first.Release()
	}
	w, err := broadcast.NewWriter(config, &first)
	if err != nil {
		failed(err)
		return nil
	}
	c.Sinks = append(c.Sinks, room.Sink{Tick: func(f systems.FinalTick) { w.Tick(f.Recorded(), f.State, f.World) }, NeedState: true})
	h.app.Logf("broadcasting room %s into %s", roomName, dir)
	h.app.Emit("broadcast", app.Fields{"room": roomName, "directory": dir, "run": config.Run, "delay_seconds": h.config.Broadcast.Delay.Seconds()})
	return w
}

// endBroadcast ends the broadcast of a room without waiting for the disk. wait returns when its files are written.
func (h *Host) endBroadcast(roomName string, wait func()) {
	written := make(chan struct{})
	h.mu.Lock()
	h.ending[roomName] = written
	h.mu.Unlock()
	h.recordings.Go(func() {
		wait()
		h.mu.Lock()
		delete(h.ending, roomName)
		h.mu.Unlock()
		close(written)
	})
}

// awaitBroadcast waits until the files of a room's match before are written: its index would replace that of the next one. It
// returns false if the disk does not answer.
func (h *Host) awaitBroadcast(roomName string) bool {
	h.mu.Lock()
	written := h.ending[roomName]
	h.mu.Unlock()
	return written == nil || within(diskLimit, func() { <-written })
}

// MaxBroadcastDelay is the maximum delay. Fragments that are not visible yet are kept in memory.
const MaxBroadcastDelay = 15 * time.Minute

// CheckBroadcast returns an error if a game must not be broadcast with these settings. explicit is true if the operator set the
// delay. private is true if viewers may receive private data.
func CheckBroadcast(g *ecs.Game, delay time.Duration, explicit, private bool) error {
	switch hidden := g.Schema().HasPrivate(); {
	case delay < 0 || delay > MaxBroadcastDelay:
		return fmt.Errorf("--broadcast-delay %v: give 0s to %v", delay, MaxBroadcastDelay)
	case hidden && !(private && explicit):
		return fmt.Errorf("%s has private data, and viewers receive the whole state: players could see hidden data of other players. Give --broadcast-private with a --broadcast-delay after which all data may be known, such as 5m", g.Name)
	case !hidden && private:
		return fmt.Errorf("%s has no private data: leave --broadcast-private out", g.Name)
	}
	return nil
}
