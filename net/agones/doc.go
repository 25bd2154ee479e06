// Package agones reports a server to Agones, which runs fleets of game servers on Kubernetes. It uses the REST interface of the
// SDK server that runs beside each game server.
//
// [Client] has one method for each request. [Reporter] keeps Agones informed about a server with several rooms:
//
//   - It sends ready, and the labels, when the server listens.
//   - It sends health only while the rooms of the server answer. Agones replaces a server that misses it.
//   - It keeps the counter rooms at the number of open rooms, and the list players at the ids of the connected players.
//   - It sets the state Allocated while a room is open, and Ready when the last one has closed.
//   - It calls [Config.Drain] when Agones is to remove the server.
//
// An allocation increments the counter rooms before its players arrive. The reporter counts that as a reservation. The next room
// that opens uses it. A reservation that no room uses within [Config.Hold] is released.
//
// Counts in Kubernetes lag by about a second. A server that an allocation chose may therefore be full, and refuses the players.
package agones
