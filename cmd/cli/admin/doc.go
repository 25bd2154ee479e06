// Package admin shows an operator a running server: metrics for Prometheus, profiles, health checks, and a live page of its
// rooms, players and costs. It only reads; it cannot control the server.
//
// Call [New] and [Server.Serve], then open the socket and resume matches, then [Server.Ready]; at the end [Server.Stopping].
//
//	path            answers
//	/               the live page
//	/last/?of=ROOM  the last seconds of a room, tick by tick
//	/metrics        all counters, with label values from fixed lists only
//	/debug/pprof/   profiles; those of the CPU carry the labels phase, system and side
//	/healthz        200 while the process answers
//	/readyz         200 from Ready to Stopping, 503 before and after
//
// /healthz and /readyz need no token, since probes often have none. Package page protects all paths.
//
// It never takes a lock that a tick needs. Rooms publish their figures once a second. The selected room returns its players
// between two ticks.
package admin
