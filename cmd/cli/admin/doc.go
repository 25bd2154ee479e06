// Package admin shows an operator a running server: metrics for Prometheus, profiles, health checks, and a live page of its
// rooms, players and costs. A program with the token can also remove and ban players, change the sync strategy of a room,
// and pause its match.
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
//	/players        players and banned clients, with evidence; ?room=ROOM: the players of one room
//	POST /kick      removes a client: {"client_id": "7", "reason": "text"}
//	POST /ban       bans a client: {"client_id": "7", "seconds": 600, "reason": "text"}; seconds is required, 0 ends the ban
//	POST /switch    changes the sync strategy of a room: {"room": "main", "strategy": "lockstep"}
//	POST /pause     pauses the match of a room: {"room": "main", "on": true}; false continues it
//
// The last five are JSON. They always need the token as Authorization: Bearer, also on loopback. A server without a token
// responds with 403. No GET has an effect. An error is {"error": "sentence"}.
//
// /healthz and /readyz need no token, since probes often have none. Package page protects all paths.
//
// It never takes a lock that a tick needs. Rooms publish their figures once a second. The selected room returns its players
// between two ticks.
package admin
