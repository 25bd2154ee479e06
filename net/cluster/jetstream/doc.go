// Package jetstream implements the store of a cluster with NATS JetStream.
//
// All rooms share one stream, in which each room has a subject. An append expects the sequence number of the subject's last
// message, so the stream refuses the entries of a replaced owner. The newest entry is read from the stream's leader.
// Announcements are in a key-value bucket whose keys expire.
//
//	name              content
//	PREFIX_rooms      stream of PREFIX.room.NAME, a message for each entry; '.' in NAME is replaced by '=', which no room's name contains
//	PREFIX_servers    bucket of announcements, as JSON by Server.ID
//	PREFIX.drain.ID   subject of requests to a server: see DrainRequest
//	PREFIX_tokens     bucket of used connect tokens, each with the server that recorded it
//
// The durability of an acknowledged append depends on a setting of the NATS servers. With sync_interval: always, it survives a power
// failure of all servers. By default the servers write to their disks every two minutes. It then survives the end of processes,
// and the failure of machines while a majority of the replicas is up.
//
// Package tendon/net/cluster/jetstream/embedded runs a NATS server in this process, for one machine.
package jetstream
