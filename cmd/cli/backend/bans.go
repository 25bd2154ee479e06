package backend

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"tendon/cmd/cli/admin"
	"tendon/cmd/cli/backend/queue"
	"tendon/net/cluster"
)

// sentBans are the ends of the bans that the servers have, by the server's ID and the client.
type sentBans struct {
	mu  sync.Mutex
	has map[string]map[uint64]int64
}

func (b *sentBans) set(server string, client uint64, until int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.has == nil {
		b.has = map[string]map[uint64]int64{}
	}
	if b.has[server] == nil {
		b.has[server] = map[uint64]int64{}
	}
	if b.has[server][client] = until; until == 0 {
		delete(b.has[server], client)
	}
}

// missing returns the bans that a server lacks, and as bans with the end 0 those that it has and that were ended.
func (b *sentBans) missing(server string, bans []queue.Ban, now int64) (list []queue.Ban) {
	b.mu.Lock()
	defer b.mu.Unlock()
	banned := map[uint64]bool{}
	for _, ban := range bans {
		banned[ban.Client] = true
		if b.has[server][ban.Client] != ban.Until {
			list = append(list, ban)
		}
	}
	for client, until := range b.has[server] {
		switch {
		case banned[client]:
		case until > now:
			list = append(list, queue.Ban{Client: client})
		default:
			delete(b.has[server], client)
		}
	}
	return list
}

// keep removes the servers that are not in a list.
func (b *sentBans) keep(servers []cluster.Server) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.has, func(id string, _ map[uint64]int64) bool {
		return !slices.ContainsFunc(servers, func(s cluster.Server) bool { return s.ID == id })
	})
}

// sendBans sends the bans to servers that started or failed since, once a second. So a ban holds on all servers.
func (s *Service) sendBans(ctx context.Context) {
	timer := time.NewTicker(time.Second)
	defer timer.Stop()
	for ctx.Err() == nil {
		var bans []queue.Ban
		servers := s.servers()
		if s.config.Admin != "" && s.do(ctx, func(c *core) { bans = c.state.Bans(time.Now().UnixMilli()) }) == nil {
			s.bans.keep(servers)
			s.each(ctx, servers, func(ctx context.Context, i int, c admin.Client) {
				now := time.Now().UnixMilli()
				for _, ban := range s.bans.missing(servers[i].ID, bans, now) {
					seconds := max(ban.Until-now+999, 0) / 1000
					o := admin.Sanction{ClientID: ban.Client, Seconds: &seconds, Reason: ban.Reason}
					if err := c.Do(ctx, "/ban", o, &o); err != nil && !isStatus(err, http.StatusNotFound) {
						return // the next attempt continues
					}
					s.bans.set(servers[i].ID, ban.Client, ban.Until)
				}
			})
		}
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
}
