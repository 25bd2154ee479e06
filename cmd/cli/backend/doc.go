// Package backend lets players queue for matches, and gives each of them a connect token for a server. It serves HTTP and JSON.
//
//	POST   /v1/tickets          a player queues
//	GET    /v1/tickets/{id}     the state of a ticket, with the token once it is matched; ?wait=20 waits for a change
//	DELETE /v1/tickets/{id}     the player leaves the queue
//	PUT    /v1/backfill/{room}  a room requests players
//	GET    /v1/rooms            servers and rooms
//	POST   /v1/kick, /v1/ban    remove or ban a player
//	GET    /v1/openapi.json     the description of all of these
//	GET    /metrics             for Prometheus
//	GET    /healthz, /readyz    for load balancers: the process answers; it decides matches
//
// # State
//
// Package queue decides matches. Each of its events is in a Log before a reply depends on it. A process that starts after
// kill -9 reads the log and continues: tickets that wait, and matched tickets with their seats. A token is not stored. It is
// minted for each reply, always for the same room, seat and client id.
//
// A Log has one writer. In a cluster it is the journal of the room LogRoom in the store of the cluster. Two backends cannot
// both decide, because the store refuses entries of a replaced owner. The second one waits until the first one has ended.
//
// # Servers
//
// A Directory names the servers. Each new room is on the server with the smallest part of its rooms in use. A room that has a
// place and is not open yet counts. Without a place the tickets wait, and their replies contain the reason. If the server of
// a match dies before the room is open, the match moves to another server.
//
// # Access
//
// A program with a bearer key may send all requests, for any player. A player with a JWT may queue, read and cancel their own
// tickets. Each of them has a rate limit. Without keys and without an issuer, every request has full access, so the verb
// backend then listens on loopback only. Pages of other sites need an origin of Config.Origins.
//
// # Tasks
//
//   - run a backend: [New], [Service.Run], [Service.Handler]
//   - store its log: [OpenFile], or the journal of a room of package cluster
//   - replay a log with the match functions: [Check], [CheckCluster]
//   - authenticate: [LoadKeys], [Issuer], [PublicKey]
//   - use it from a program: package api
package backend
