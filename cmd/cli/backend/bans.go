package backend

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"tendon/cmd/cli/admin"
	"tendon/cmd/cli/backend/queue"
	"tendon/net/cluster"
	"tendon/net/server"
)

const (
	bansInterval = time.Second     // between two attempts to send bans to the servers
	banLimit     = 2 * time.Second // for the reply to one ban
)

// sendBans sends each server the bans that it lacks, and the ends of bans, until ctx is done. Servers without an admin server receive none.
func (s *Service) sendBans(ctx context.Context) {
	if s.config.Admin == "" {
		return
	}
	var mu sync.Mutex
	sent := map[string]int64{} // number of the last ban that a server has, by its ID
	every(ctx, bansInterval, func() {
		var bans []queue.Ban
		if s.do(ctx, func(c *core) { bans = c.state.Bans(time.Now().UnixMilli()) }) != nil || len(bans) == 0 {
			return
		}
		servers := s.servers()
		maps.DeleteFunc(sent, func(id string, _ int64) bool {
			return !slices.ContainsFunc(servers, func(s cluster.Server) bool { return s.ID == id })
		})
		s.each(ctx, servers, func(ctx context.Context, i int, c admin.Client) {
			id := servers[i].ID
			mu.Lock()
			last := sent[id]
			mu.Unlock()
			for _, ban := range bans {
				if ban.Number > last && !sendBan(ctx, c, ban) {
					break // the next attempt continues
				}
				last = max(last, ban.Number)
			}
			mu.Lock()
			sent[id] = last
			mu.Unlock()
		})
	})
}

// sendBan sends a ban, or its end, to a server. It returns false if it must be sent again.
func sendBan(ctx context.Context, c admin.Client, ban queue.Ban) bool {
	ctx, cancel := context.WithTimeout(ctx, banLimit)
	defer cancel()
	seconds := min(max((ban.Until-time.Now().UnixMilli()+999)/1000, 0), int64(server.MaxBanTime/time.Second))
	if ban.Ended {
		seconds = 0
	}
	o := admin.Sanction{ClientID: ban.Client, Seconds: &seconds, Reason: ban.Reason, Backend: true}
	err := c.Do(ctx, "/ban", o, &admin.Sanction{})
	if refused := (*admin.RefusedError)(nil); errors.As(err, &refused) {
		switch refused.Status {
		case http.StatusNotFound:
			return seconds == 0 // there is no ban to end
		case http.StatusBadRequest, http.StatusInsufficientStorage:
			return true // the server does not accept it, or it is in effect and could not be saved: the reply would be the same again
		}
	}
	return err == nil
}
