// Package relay is rollback with a server relay: every peer simulates everything; the server fixes, tick by tick and
// at a pace that never changes, which inputs were used; a client runs ahead on its own inputs and on predictions of
// the others', and rewinds where the server's set differs.
//
// The idea of predicting inputs and rolling back is GGPO's; the timing is Overwatch's (Timothy Ford, "Overwatch
// Gameplay Architecture and Netcode", GDC 2017): the server takes exactly one input per player and tick, repeats the
// last where one is missing, and tells the client, whose clock then runs a little faster or slower.
//
// The server half simulates too. It is what joins, resyncs, verdicts and recordings are made from, and what clients'
// checksums are compared with.
//
// What a client sends and hears is in message.go. One datagram a tick goes each way: up, the inputs the server has
// not yet used; down, the input sets the client has not yet acknowledged. Orders and checksums go on the reliable
// channel.
package relay
