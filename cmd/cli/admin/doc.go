// Package admin is what an operator sees of a running server: metrics for Prometheus, profiles, whether it is alive and
// ready, and a live page of its rooms, players and costs. It only reads; nothing in it steers a server.
//
//	s, err := admin.New(admin.Config{Page: page.Config{Addr: "127.0.0.1:9090"}, Game: game, Strategy: "relay"})
//	if err != nil {
//		return err
//	}
//	go s.Serve(ctx)
//	…                               // open the socket, bring matches back
//	s.Ready(admin.Source{Stats: server.Stats, Peers: server.Peers, Costs: costs})
//	…
//	s.Stopping()
//
//	path            answers
//	/               the live page
//	/last/?of=ROOM  the last seconds of a room, tick by tick
//	/metrics        everything that is counted, with label values from fixed lists only
//	/debug/pprof/   profiles; those of the CPU carry the labels phase, system and side
//	/healthz        200 while the process answers
//	/readyz         200 from Ready to Stopping, 503 before and after
//
// /healthz and /readyz ask for no token, since what probes them often has none. Package page guards all of it.
//
// It never takes a lock that a tick needs: figures are those that rooms publish once a second, and a table of players is
// asked from the one room that a page looks at, which answers between two ticks.
package admin
