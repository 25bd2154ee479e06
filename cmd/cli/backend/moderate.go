package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tendon/cmd/cli/admin"
	"tendon/cmd/cli/backend/api"
	"tendon/net/cluster"
	"tendon/net/server"
	"tendon/net/session"
)

const askLimit = 5 * time.Second // for the answer of an admin server

// each calls f for every server with an admin server, several at a time. It returns after askLimit at the latest.
func (s *Service) each(ctx context.Context, servers []cluster.Server, f func(ctx context.Context, i int, c admin.Client)) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	slots := make(chan struct{}, 16)
	var all sync.WaitGroup
	for i := range servers {
		if servers[i].Admin == "" || s.config.Admin == "" {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			f(ctx, i, admin.Client{Addr: servers[i].Admin, Token: s.config.Admin})
			<-slots
		})
	}
	all.Wait()
}

var (
	errNoAdmin = errors.New("the server announces no admin server, or the backend has no --admin-token-file")
	errAlone   = errors.New("--server gives no admin address: start the servers and the backend with --cluster")
)

// noAdmin returns why a request cannot be sent to a server without a known admin server.
func (s *Service) noAdmin() error {
	if s.alone() {
		return errAlone
	}
	return errNoAdmin
}

// servers returns the servers that run rooms.
func (s *Service) servers() []cluster.Server {
	return slices.DeleteFunc(s.config.Directory.Servers(), func(s cluster.Server) bool { return s.MaxRooms == 0 })
}

// rooms serves GET /v1/rooms.
func (s *Service) rooms(_ http.ResponseWriter, r *http.Request, _ caller) (int, any, error) {
	servers := s.servers()
	answer := api.Rooms{Servers: []api.Server{}, Rooms: []api.Room{}}
	for _, v := range servers {
		answer.Servers = append(answer.Servers, api.Server{ID: v.ID, Name: v.Name, Addresses: v.Addresses, Build: v.Build, MaxRooms: v.MaxRooms, Rooms: v.Rooms,
			Players: v.Players, Draining: v.Draining, Error: s.noAdmin().Error()})
	}
	var mu sync.Mutex
	s.each(r.Context(), servers, func(ctx context.Context, i int, c admin.Client) {
		var players admin.Players
		err := c.Do(ctx, "/players", nil, &players)
		mu.Lock()
		defer mu.Unlock()
		if answer.Servers[i].Error = ""; err != nil {
			answer.Servers[i].Error = err.Error()
			return
		}
		rooms := map[string][]string{}
		for _, p := range players.Players {
			rooms[p.Evidence.Room] = append(rooms[p.Evidence.Room], strconv.FormatUint(p.ClientID, 10))
		}
		for room, clients := range rooms {
			answer.Rooms = append(answer.Rooms, api.Room{Room: room, Server: servers[i].ID, Clients: clients})
		}
	})
	slices.SortFunc(answer.Rooms, func(a, b api.Room) int { return strings.Compare(a.Room+" "+a.Server, b.Room+" "+b.Server) })
	return http.StatusOK, answer, nil
}

// kick serves POST /v1/kick.
func (s *Service) kick(_ http.ResponseWriter, r *http.Request, _ caller) (int, any, error) {
	return s.sanction(r, "/kick", false)
}

// ban serves POST /v1/ban.
func (s *Service) ban(_ http.ResponseWriter, r *http.Request, _ caller) (int, any, error) {
	return s.sanction(r, "/ban", true)
}

// checkSanction returns the client of a kick, or of a ban if it is timed.
func checkSanction(body *api.Sanction, timed bool) (client uint64, err error) {
	client, err = forPlayer(body)
	const most = int64(server.MaxBanTime / time.Second)
	switch {
	case err != nil:
	case !timed && body.Seconds != nil:
		err = errors.New("seconds is for a ban: leave it out")
	case timed && body.Seconds == nil:
		err = errors.New("seconds is missing: send the length of the ban, or 0 to end it")
	case timed && (*body.Seconds < 0 || *body.Seconds > most):
		err = errors.New("seconds is out of range: send 0 to " + strconv.FormatInt(most, 10))
	case server.CheckReason(body.Reason) != nil:
		err = fmt.Errorf("the reason is not valid: send at most %d bytes of UTF-8 without control or invisible characters", session.MaxText)
	}
	return client, err
}

// sanction sends a kick or a ban to all servers. A server without the client is not a failure. A ban is stored in the log first, so that
// the backend refuses the player's tickets.
func (s *Service) sanction(r *http.Request, path string, timed bool) (int, any, error) {
	var body api.Sanction
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	client, err := checkSanction(&body, timed)
	if err != nil {
		return 0, nil, wrong(http.StatusBadRequest, "%v", err)
	}
	answer := api.Sanctioned{ClientID: client, Servers: []string{}, Failed: []string{}}
	if timed {
		var refused error
		err := s.do(r.Context(), func(c *core) {
			event, err := c.state.SetBan(time.Now().UnixMilli(), client, *body.Seconds*1000, body.Reason)
			if refused = err; event != nil {
				answer.Stored = true
				c.apply(event)
			}
		})
		if err == nil {
			err = refused
		}
		if err != nil {
			return 0, nil, err
		}
	}
	servers, broken := s.servers(), 0
	for _, v := range servers {
		if v.Admin == "" || s.config.Admin == "" {
			answer.Failed = append(answer.Failed, v.Name+": "+s.noAdmin().Error())
		}
	}
	var mu sync.Mutex
	s.each(r.Context(), servers, func(ctx context.Context, i int, c admin.Client) {
		o := admin.Sanction{ClientID: client, Seconds: body.Seconds, Reason: body.Reason, Backend: timed}
		err := c.Do(ctx, path, o, &admin.Sanction{}) // body.Seconds is shared
		mu.Lock()
		defer mu.Unlock()
		refused := (*admin.RefusedError)(nil)
		switch {
		case err == nil:
			answer.Servers = append(answer.Servers, servers[i].ID)
			return
		case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
			return // it has no such client
		case refused != nil && refused.Status == http.StatusUnauthorized:
			err = errors.New("the server refuses the token of --admin-token-file")
		}
		broken++
		answer.Failed = append(answer.Failed, servers[i].Name+": "+err.Error())
	})
	slices.Sort(answer.Servers)
	slices.Sort(answer.Failed)
	switch {
	case answer.Stored || len(answer.Servers) > 0 && broken == 0:
		return http.StatusOK, answer, nil
	case broken > 0 || !timed && len(answer.Failed) > 0:
		return http.StatusBadGateway, answer, nil
	case timed:
		return 0, nil, wrong(http.StatusNotFound, "client %d is not banned", client)
	}
	return 0, nil, wrong(http.StatusNotFound, "no server has client %d: each server refuses its present tokens from now on", client)
}
